"""Rays against known walls, against `mj_ray`, and over a step; and what a ray reads that meets nothing."""

import math

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import pole_task, world_of
from paddock import Environment, Robot
from paddock import terms as t
from paddock.errors import PaddockError

ROOM = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <geom type="box" pos="3.1 0 0" size=".1 4 1"/><geom type="box" pos="-2.1 0 0" size=".1 4 1"/>
    <geom type="box" pos="0 2.6 0" size="4 .1 1"/><geom type="box" pos="0 -1.6 0" size="4 .1 1"/>
    <body name="car">
      <joint name="turn" axis="0 0 1"/><geom type="sphere" size=".2" mass="1"/>
      <body pos="0 0 .5"><geom type="sphere" size=".05" mass=".1"/></body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos name="joint_pos/turn" joint="turn"/></sensor>
</mujoco>
"""
STAIR = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <geom type="plane" size="9 9 .1"/><geom type="box" pos="2 0 .1" size="1.65 5 .1"/>
    <body name="drone" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/><geom type="sphere" size=".1" mass="1"/></body>
  </worldbody>
  <actuator><motor name="x" joint="x" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos name="joint_pos/x" joint="x"/></sensor>
</mujoco>
"""
WALLS = {"+x": 3.0, "-x": 2.0, "+y": 2.5, "-y": 1.5}


def env_of(xml: str, joint: str, **parts: object) -> Environment:
    robot = Robot(name="seer", xml=xml, joints=(joint,))
    common = {"robot": robot, "scene": t.bare, "observe": {"joint_pos": t.joint_pos}, "control_dt": 0.01, "episode_s": 9.0}
    env = paddock.make(pole_task(**common, done={"never": t.Below(t.alive, 0.0)}, **parts), num_worlds=2)
    env.reset()
    return env


def to_the_wall(angle: float) -> float:
    """From the middle of the room, by hand."""
    x, y = math.cos(angle), math.sin(angle)
    along = WALLS["+x"] / x if x > 1e-9 else WALLS["-x"] / -x if x < -1e-9 else math.inf
    across = WALLS["+y"] / y if y > 1e-9 else WALLS["-y"] / -y if y < -1e-9 else math.inf
    return min(along, across)


def test_a_lidar_in_a_room_turns_with_its_body() -> None:
    env = env_of(ROOM, "turn", sensors={"ring": t.Lidar(body="car", rays=16)})
    for _ in range(60):
        env.step(torch.tensor([[1.0], [-0.5]]))
    turned = env.state.joint_pos("turn")[:, 0].tolist()
    assert turned[0] > 0.5 > 0 > turned[1]
    for world, yaw in enumerate(turned):
        expected = [to_the_wall(yaw - math.pi + i * math.pi / 8) for i in range(16)]
        np.testing.assert_allclose(env.state.sensor("ring")[world], expected, atol=1e-4)


def test_rings_look_up_and_down_as_mj_ray_does() -> None:
    lidar = t.Lidar(body="car", pos=(0.3, 0.1, 0.05), rays=5, field_of_view_deg=90.0, elevations_deg=(-15.0, 40.0))
    env = env_of(ROOM, "turn", sensors={"rings": lidar})
    for _ in range(20):
        env.step(torch.tensor([[1.0], [-0.5]]))
    for world in range(2):
        model, _ = world_of(env, world)
        data = mujoco.MjData(model)
        data.qpos[:] = env.state.qpos[world].double().numpy()
        mujoco.mj_forward(model, data)
        body, hit = model.body("car").id, np.zeros(1, dtype=np.int32)
        turn = data.xmat[body].reshape(3, 3)
        start = data.xpos[body] + turn @ np.array(lidar.pos)
        expected = []
        for up in np.radians(lidar.elevations_deg):
            for around in np.radians(np.linspace(-45, 45, 5)):
                ray = turn @ [np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)]
                expected.append(mujoco.mj_ray(model, data, start, ray, None, 1, body, hit))
        assert min(expected) == -1 < max(expected)
        np.testing.assert_allclose(env.state.sensor("rings")[world], np.array(expected), atol=1e-5)


def test_a_miss_reads_what_was_chosen_and_far_is_cut_off() -> None:
    near = t.Rangefinder(body="car", direction=(2, 0, 0), max_range=2.5)
    up = t.Rangefinder(body="car", pos=(0.0, 1.0, 0.0), direction=(0, 0, 1))
    env = env_of(ROOM, "turn", sensors={"near": near, "up": up, "back": t.Rangefinder(body="car", direction=(-1, 0, 0))})
    state = env.state
    assert state.sensor("near")[0].item() == 2.5  # the wall is at 3
    assert state.sensor("up")[0].item() == -1.0
    yaw = state.joint_pos("turn")[0, 0].item()  # near 0
    assert abs(state.sensor("back")[0].item() - to_the_wall(yaw + math.pi)) < 1e-5  # the body's own ball of 0.2 does not count
    assert [t.Ranges(sensor=name)(state)[0].item() for name in ("near", "up")] == [2.5, 10.0]
    assert [t.Ranges(sensor=name, miss=-7.0)(state)[0].item() for name in ("near", "up")] == [-7.0, -7.0]
    assert t.Ranges(sensor="back", miss=-7.0)(state)[0].item() == state.sensor("back")[0].item()


def test_a_height_scan_sees_a_step() -> None:
    scan = t.HeightScan(body="drone", size=(1.0, 0.4), spacing=0.2)
    env = env_of(STAIR, "x", sensors={"scan": scan})
    assert scan.points().shape == (18, 3)
    for _ in range(80):
        env.step(torch.tensor([[1.0], [-0.3]]))
    for world in range(2):
        x = env.state.joint_pos("x")[world, 0].item()
        over = [0.2 if 0.35 < x + ahead < 3.65 else 0.0 for ahead in np.arange(-0.5, 0.6, 0.2)]
        expected = np.repeat(1.0 - np.array(over), 3)
        np.testing.assert_allclose(env.state.sensor("scan")[world], expected, atol=1e-5)
    assert not torch.equal(env.state.sensor("scan")[0], env.state.sensor("scan")[1])


GLIDER = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <geom type="plane" size="9 9 .1"/>
    <geom type="box" pos="2 0 .1" size="1.65 .4 .1"/><geom type="box" pos="-.3 .2 .2" size=".2 .2 .2"/>
    <body name="glider" pos="0 0 1">
      <freejoint name="glider"/><geom type="box" size=".2 .1 .05" mass="1"/>
      <body pos="0 0 .2"><joint name="fin" axis="0 0 1"/><geom type="sphere" size=".02" mass=".01"/></body>
    </body>
  </worldbody>
  <actuator><motor name="fin" joint="fin" ctrlrange="-.001 .001"/></actuator>
  <sensor><jointpos name="joint_pos/fin" joint="fin"/></sensor>
</mujoco>
"""


def test_a_level_scan_turns_with_its_body_and_stays_plumb_while_that_tumbles() -> None:
    scan = t.HeightScan(body="glider", size=(0.8, 0.4), spacing=0.2, center=(0.1, 0.0, 0.3), frame="heading", max_range=1.6)
    env = env_of(GLIDER, "fin", sensors={"ground": scan})
    velocity = torch.tensor([[0.5, 0.2, 0.1, 1.5, -1.0, 2.0, 0.0], [-0.8, 0.3, 0.0, 0.4, 2.0, -3.0, 0.0]])
    env.sim.write("qvel", velocity)
    tilts, seen = [], set()
    grid = [(0.1 + x, y) for x in (-0.4, -0.2, 0.0, 0.2, 0.4) for y in (-0.2, 0.0, 0.2)]
    for _ in range(40):
        env.step(torch.zeros(2, 1))
        for world in range(2):
            _, live = world_of(env, world)
            data = mujoco.MjData(env.model)
            data.qpos[:] = live.qpos
            mujoco.mj_forward(env.model, data)
            w, x, y, z = data.qpos[3:7]
            yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
            tilts.append(math.acos(1 - 2 * (x * x + y * y)))
            expected = []
            for ahead, left in grid:
                over = np.array([ahead * math.cos(yaw) - left * math.sin(yaw), ahead * math.sin(yaw) + left * math.cos(yaw), 0.3])
                body, down = env.model.body("glider").id, np.array([0.0, 0.0, -1.0])
                far = mujoco.mj_ray(env.model, data, data.qpos[:3] + over, down, None, 1, body, np.zeros(1, dtype=np.int32))
                expected.append(min(far, 1.6))
            np.testing.assert_allclose(env.state.sensor("ground")[world], expected, atol=1e-5)
            seen |= {round(float(data.qpos[2]) + 0.3 - one, 2) for one in expected}
    assert max(tilts) > 0.4 and {0.0, 0.2, 0.4} <= seen  # tilted by more than 23 degrees, over the floor and both boxes


def test_a_level_scan_costs_a_step_no_bit_and_repeats_from_a_save() -> None:
    scan = {"ground": t.HeightScan(body="glider", size=(0.4, 0.4), spacing=0.2, frame="heading")}
    with_scan, without = env_of(GLIDER, "fin", sensors=scan), env_of(GLIDER, "fin")
    for env in (with_scan, without):
        env.sim.write("qvel", torch.tensor([[0.5, 0.2, 0.1, 1.5, -1.0, 2.0, 0.0]] * 2))
    for _ in range(10):
        with_scan.step(torch.ones(2, 1))
        without.step(torch.ones(2, 1))
    assert torch.equal(with_scan.sim.rows, without.sim.rows)
    saved = with_scan.save()
    with_scan.step(torch.ones(2, 1))
    after = with_scan.state.sensor("ground").clone()
    with_scan.load(saved)
    with_scan.step(torch.ones(2, 1))
    assert torch.equal(with_scan.state.sensor("ground"), after)


def test_a_level_scan_keeps_its_own_time_and_frames_have_names() -> None:
    scan = {"ground": t.HeightScan(body="glider", frame="heading")}
    with pytest.raises(PaddockError, match="'ground' is read by the sim, once a control step"):
        env_of(GLIDER, "fin", sensors=scan, timing={"ground": t.Timing(every_s=0.02)})
    with pytest.raises(PaddockError, match="unknown frame of a height scan 'headin'.*heading"):
        env_of(GLIDER, "fin", sensors={"ground": t.HeightScan(body="glider", frame="headin")})  # pyright: ignore[reportArgumentType]
