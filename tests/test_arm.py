"""The arm is the machine it says, its tool goes where it is told, and what it holds is held by friction alone."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import pole_task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.playing import play
from paddock.robots import ARM, Robot
from paddock.robots.arm import ARM_JOINTS
from paddock.tasks.arm_control import AHEAD
from paddock.tasks.arm_experts import towards
from paddock.tasks.arm_pick_place import ARM_PICK_PLACE, to_carry, to_grip, to_reach, to_release
from paddock.tasks.arm_push import ARM_PUSH, LOWEST
from paddock.tasks.arm_reach import ARM_REACH
from paddock.tasks.arm_scenes import CUBE_HALF, bench_with_cube
from paddock.tasks.curriculum import CURRICULUM

STILL = replace(ARM_REACH, reset=t.Ready(joints=(), spread=0.0), episode_s=10.0)
"""arm-reach from exactly the home pose."""


def tool(env: paddock.Environment) -> torch.Tensor:
    return env.state.sensor("tool_pos").clone()


def test_the_tool_is_where_the_published_table_says() -> None:
    """Modified Denavit-Hartenberg rows (a, alpha, d), then the flange, the hand's -45 degrees and its length."""
    rows: list[tuple[float, float, float]] = [
        (0, 0, 0.333),
        (0, -90, 0),
        (0, 90, 0.316),
        (0.0825, 90, 0),
        (-0.0825, -90, 0.384),
        (0, 90, 0),
        (0.088, 90, 0),
    ]
    model = ARM.spec().compile()
    data = mujoco.MjData(model)

    def row(a: float, alpha_deg: float, d: float, q: float) -> np.ndarray:
        ca, sa, c, s = math.cos(math.radians(alpha_deg)), math.sin(math.radians(alpha_deg)), math.cos(q), math.sin(q)
        return np.array([[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]])

    for q in np.random.default_rng(0).uniform(model.jnt_range[:7, 0], model.jnt_range[:7, 1], size=(20, 7)):
        data.qpos[:7] = q
        mujoco.mj_kinematics(model, data)
        pose = np.linalg.multi_dot(
            [*(row(*r, angle) for r, angle in zip(rows, q, strict=True)), row(0, 0, 0.107 + 0.1034, -math.pi / 4)]
        )
        np.testing.assert_allclose(data.site("tool").xpos, pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.site("tool").xmat.reshape(3, 3), pose[:3, :3], atol=1e-12)


def test_the_arm_is_the_machine_it_says() -> None:
    model = ARM.spec().compile()
    low, high = model.jnt_range[:7].T
    np.testing.assert_allclose(low, [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])
    np.testing.assert_allclose(high, [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
    np.testing.assert_allclose(model.actuator_forcerange[:7, 1], [87] * 4 + [12] * 3)
    np.testing.assert_allclose(model.jnt_actfrcrange[:7, 1], [87] * 4 + [12] * 3)
    assert 15 < model.body_subtreemass[0] < 20
    for body in range(1, model.nbody):
        inertia = np.sort(model.body_inertia[body])
        assert inertia[2] <= inertia[0] + inertia[1] + 1e-9  # or no solid body has it


@pytest.mark.parametrize("carried", [True, False])
def test_motors_carry_the_arm_and_its_sensors_feel_it(carried: bool) -> None:
    def scene(robot: Robot) -> mujoco.MjSpec:
        spec = t.flat_floor(robot)
        for body in spec.bodies[1:]:
            body.gravcomp = float(carried)
        return spec

    env = paddock.make(replace(STILL, act=t.JointTorque(), scene=scene))
    env.reset()
    start = tool(env)
    for _ in range(10):
        env.step(torch.zeros(1, 8))
    assert bool((tool(env) - start).norm() < 1e-3) == carried
    assert bool(env.state.sensor("joint_torque")[0, 3].abs() > 5.0) == carried  # the elbow holds up the forearm


def test_the_tool_stays_where_it_is_left() -> None:
    env = paddock.make(ARM_REACH, num_worlds=8)
    env.reset()
    for _ in range(20):
        env.step(torch.zeros(8, 3))
    start = tool(env)
    for _ in range(50):
        env.step(torch.zeros(8, 3))
    assert (tool(env) - start).norm(dim=1).max() < 5e-4
    quat = env.state.sensor("tool_quat")  # straight down is half a turn about x
    assert (quat[:, 1].abs() > math.cos(0.005)).all()


def test_an_action_moves_the_tool_by_its_step_and_keeps_it_upright() -> None:
    env = paddock.make(STILL, num_worlds=6)
    env.reset()
    start = tool(env)
    action = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, -1], [0.5, 0.5, -0.5], [0, 0, 0]])
    for _ in range(12):
        env.step(action)
    for _ in range(10):
        env.step(torch.zeros(6, 3))
    torch.testing.assert_close(tool(env) - start, action * 12 * 0.02, rtol=0, atol=3e-3)
    assert (env.state.sensor("tool_quat")[:, 1].abs() > math.cos(0.01)).all()


def test_a_target_does_not_wind_up_against_the_floor() -> None:
    env = paddock.make(STILL)
    env.reset()
    for _ in range(80):
        env.step(torch.tensor([[0.3, 0.0, -1.0]]))
    assert tool(env)[0, 2] > 0.0
    assert ((env.state.memory["act/target"] - tool(env)).abs() < AHEAD * 0.02 + 1e-5).all()
    assert ((env.state.ctrl[:, :7] - env.state.sensor("joint_pos")).abs() < 0.2).all()
    low = tool(env)[0, 2]
    for _ in range(8):
        env.step(torch.tensor([[0.0, 0.0, 1.0]]))
    assert tool(env)[0, 2] > low + 0.05
    assert (env.state.ctrl >= env.state.layout.ctrl_low).all() and (env.state.ctrl <= env.state.layout.ctrl_high).all()


@pytest.mark.parametrize("lowest", [LOWEST, -math.inf])
def test_a_tool_kept_off_the_bench_is_not_held_by_its_friction(lowest: float) -> None:
    env = paddock.make(replace(STILL, act=t.EndEffector(robot=ARM, lowest=lowest)))
    env.reset()
    for _ in range(50):
        env.step(torch.tensor([[0.3, 0.0, -1.0]]))
    start = tool(env)
    for _ in range(20):
        env.step(torch.tensor([[-0.1, 0.0, -1.0]]))
    back = float(start[0, 0] - tool(env)[0, 0])
    assert back > 0.03 if lowest > 0.0 else back < 0.01


def test_a_load_does_not_make_the_arm_sink_step_by_step() -> None:
    def scene(robot: Robot) -> mujoco.MjSpec:
        spec = t.flat_floor(robot)
        for body in spec.bodies[1:]:
            body.gravcomp = 0.0
        return spec

    env = paddock.make(replace(STILL, scene=scene))
    env.reset()
    start = tool(env)
    for _ in range(20):
        env.step(torch.zeros(1, 3))
    sagged, joints = tool(env), env.state.sensor("joint_pos").clone()
    assert 0.002 < start[0, 2] - sagged[0, 2] < 0.01
    for _ in range(100):
        env.step(torch.zeros(1, 3))
    assert (tool(env) - sagged).norm() < 1e-4 and (env.state.sensor("joint_pos") - joints).abs().max() < 0.005


def test_beyond_its_reach_an_arm_does_not_shake_and_its_elbow_comes_home() -> None:
    env = paddock.make(STILL, num_worlds=4)
    env.reset()
    start, home = tool(env), env.state.sensor("joint_pos").clone()
    away = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
    for _ in range(60):
        env.step(away)
    before = env.state.sensor("joint_vel").clone()
    env.step(away)
    assert (env.state.sensor("joint_vel") - before).abs().max() < 0.05
    for _ in range(80):
        env.step(towards(start - tool(env), 0.02))
    assert (env.state.sensor("joint_pos") - home).abs().max() < 0.1


def test_the_fourth_column_opens_and_closes_the_gripper() -> None:
    env = paddock.make(ARM_PICK_PLACE)
    env.reset()
    for opening, column in ((0.04, 1.0), (0.02, 0.0), (0.0, -1.0)):
        for _ in range(10):
            env.step(torch.tensor([[0.0, 0.0, 0.0, column]]))
        assert float(env.state.sensor("gripper_pos")) == pytest.approx(opening, abs=1e-3)
        left, right = env.state.joint_pos("left_finger"), env.state.joint_pos("right_finger")
        assert float(left - right) == pytest.approx(0.0, abs=5e-4)
    assert paddock.make(ARM_PUSH).action_size == 3


STRANGER = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.005" integrator="implicitfast"/>
  <default><joint armature=".1"/><geom type="capsule" size=".02"/></default>
  <worldbody>
    <body name="turret" pos="0 0 .3">
      <joint name="yaw" axis="0 0 1"/>
      <geom type="sphere" size=".05"/>
      <body pos="0 0 .05">
        <joint name="lift" axis="0 1 0" range="-1.5 1.5"/>
        <geom fromto="0 0 0 .3 0 0"/>
        <body pos=".3 0 0">
          <joint name="reach" type="slide" axis="1 0 0" range="-.2 .2"/>
          <geom fromto="0 0 0 .2 0 0"/>
          <site name="nozzle" pos=".2 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="yaw" joint="yaw" ctrlrange="-50 50"/>
    <motor name="lift" joint="lift" ctrlrange="-50 50"/>
    <motor name="reach" joint="reach" ctrlrange="-200 200"/>
  </actuator>
  <sensor><framepos name="tool_pos" objtype="site" objname="nozzle"/></sensor>
</mujoco>
"""


def test_another_arm_without_joint_sensors_is_steered_too() -> None:
    robot = Robot(name="stranger", xml=STRANGER, joints=("yaw", "lift", "reach"), tool="nozzle", gains=(2000.0, 60.0))
    task = pole_task(
        robot=robot, act=t.EndEffector(robot=robot, hold=False), observe={"tool": t.Sensor("tool_pos")}, done={}, episode_s=4.0
    )
    env = paddock.make(task)
    env.reset()
    for _ in range(20):
        env.step(torch.zeros(1, 3))
    start = tool(env)
    for _ in range(8):
        env.step(torch.tensor([[-0.4, 0.5, 0.5]]))
    for _ in range(20):
        env.step(torch.zeros(1, 3))
    torch.testing.assert_close(tool(env) - start, torch.tensor([[-0.064, 0.08, 0.08]]), rtol=0, atol=5e-3)
    with pytest.raises(PaddockError, match="with 3 joints, too few to hold"):
        paddock.make(replace(task, act=t.EndEffector(robot=robot)))
    with pytest.raises(PaddockError, match="has no gripper"):
        paddock.make(replace(task, act=t.EndEffector(robot=robot, hold=False, gripper=True)))
    with pytest.raises(PaddockError, match="names no tool"):
        paddock.make(replace(task, act=t.EndEffector(robot=replace(robot, tool=None), hold=False)))


def test_cubes_and_goals_lie_where_they_should() -> None:
    env = paddock.make(ARM_PICK_PLACE, num_worlds=400)
    env.reset()
    cube, goal = env.state.sensor("cube_pos"), env.state.memory["goal"]
    assert (cube[:, 0] >= 0.4).all() and (cube[:, 0] <= 0.6).all() and (cube[:, 1].abs() <= 0.25).all()
    assert (cube[:, 2] - CUBE_HALF).abs().max() < 1e-6
    assert cube.std(dim=0)[:2].min() > 0.05 and goal.std(dim=0).min() > 0.05
    assert (goal >= torch.tensor([0.37, -0.3]) - 1e-6).all() and (goal <= torch.tensor([0.63, 0.3]) + 1e-6).all()
    assert (goal - cube[:, :2]).norm(dim=1).min() > 0.15 - 1e-6
    with pytest.raises(PaddockError, match="need four times that"):
        t.GoalApart(sensor="cube_pos", low=(0.0, 0.0), high=(1.0, 0.5), apart=0.2)
    with pytest.raises(PaddockError, match="unknown joint 'cub'"):
        paddock.make(replace(ARM_PICK_PLACE, reset=t.Ready(joints=ARM_JOINTS, objects={"cub": t.Spot(low=(0, 0), high=(1, 1))})))


def test_a_cube_looks_alike_every_quarter_turn() -> None:
    env = paddock.make(ARM_PUSH)
    env.reset()
    columns = env.state.layout.sensors["cube_quat"]
    for yaw in (0.3, 0.3 + math.pi / 2, 0.3 - math.pi):
        sensordata = env.state.sensordata.clone()
        sensordata[:, columns] = torch.tensor([math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)])
        seen = t.SquareTurn("cube_quat")(env.state.replaced(sensordata=sensordata))
        assert seen[0].tolist() == pytest.approx([math.cos(1.2), math.sin(1.2)], abs=1e-5)


def lifting(friction: float) -> paddock.Environment:
    """Cubes in the hand after twenty steps up, with pads of a friction."""

    def scene(robot: Robot) -> mujoco.MjSpec:
        spec = bench_with_cube(robot)
        for pad in ("left_pad", "right_pad"):
            spec.geom(pad).friction = [friction, 0.02, 0.0001]
        return spec

    start = t.Ready(joints=(), objects={"cube": t.Spot(low=(0.4, -0.1), high=(0.5, 0.1), turn=0.1)})
    env = paddock.make(replace(ARM_PICK_PLACE, scene=scene, reset=start, done={}), num_worlds=6)
    env.reset()
    assert env.task.expert is not None
    for _ in range(30):
        action = env.task.expert(env.state)
        lifts = (env.state.sensor("cube_pos")[:, 2] > 0.05)[:, None]
        env.step(torch.where(lifts, torch.tensor([0.0, 0.0, 0.5, -1.0]), action))
    return env


def test_what_is_held_is_held_by_friction_alone() -> None:
    env = lifting(0.7)
    assert env.model.neq == 1  # the fingers' coupling, and nothing that could glue
    assert (env.state.sensor("cube_pos")[:, 2] > 0.05).all()
    held = env.state.sensor("cube_pos") - env.state.sensor("tool_pos")
    for _ in range(20):
        env.step(torch.tensor([0.3, -0.5, 0.0, -1.0]).expand(6, 4))
    slip = (env.state.sensor("cube_pos") - env.state.sensor("tool_pos") - held).norm(dim=1)
    assert slip.max() < 0.004 and (env.state.sensor("touch") > 2.0).all()
    for _ in range(10):
        env.step(torch.tensor([0.0, 0.0, 0.0, 1.0]).expand(6, 4))
    assert (env.state.sensor("cube_pos")[:, 2] < CUBE_HALF + 0.01).all()


def test_slippery_fingers_lift_nothing() -> None:
    assert (lifting(0.01).state.sensor("cube_pos")[:, 2] < 0.05).all()


def test_the_expert_picks_up_again_what_it_lost() -> None:
    env = paddock.make(replace(ARM_PICK_PLACE, episode_s=15.0), num_worlds=8, seed=1)
    env.reset()
    assert env.task.expert is not None
    lost, succeeded = torch.zeros(8, dtype=torch.bool), torch.zeros(8, dtype=torch.bool)
    opening = torch.zeros(8)
    for _ in range(250):
        action = env.task.expert(env.state)
        carried = (env.state.sensor("cube_pos")[:, 2] > 0.1) & ~lost
        opening = torch.where(carried, 6.0, opening - 1.0)
        lost |= carried
        action[:, 3] = torch.where(opening > 0, 1.0, action[:, 3])  # the hand opens against the expert's will
        step = env.step(action)
        succeeded |= step.success & lost
        lost &= ~step.ended
    assert succeeded.all()


def test_pick_and_place_pays_random_motion_nothing_and_success_most() -> None:
    zero, random, scripted = (
        play(ARM_PICK_PLACE, agent=agent, episodes=16, num_worlds=16, seed=5).mean_return
        for agent in ("zero", "random", "scripted")
    )
    assert abs(zero) < 0.01 and random < 1.0 < 20.0 < scripted


def test_a_cube_that_was_pushed_to_the_goal_is_not_delivered() -> None:
    env = paddock.make(ARM_PICK_PLACE)
    env.reset()
    sensordata = env.state.sensordata.clone()
    sensordata[:, env.state.layout.sensors["cube_pos"]][:, :2] = env.state.memory["goal"]
    there = env.state.replaced(sensordata=sensordata)
    lifted = there.replaced(memory={**there.memory, "lifted": torch.ones(1)})
    for stage in (to_reach, to_grip, to_carry):
        assert stage(there)[0] > 0.9 and stage(lifted)[0] < 0.01
    assert to_release(there)[0] == 1.0 and to_release(lifted)[0] < 1.0


def test_training_begins_in_the_midst_of_the_work_and_nothing_else_does() -> None:
    env = paddock.make(ARM_PICK_PLACE, num_worlds=64, curriculum=True)

    def hand() -> torch.Tensor:
        env.reset()
        away = env.state.sensor("cube_pos") - env.state.sensor("tool_pos")
        assert (away[away.norm(dim=1) < 0.2][:, :2].abs() < 1e-4).all()  # over the cube, or far from it
        return away.norm(dim=1)

    assert (hand() < 0.13).all()
    held = hand() < 1e-4
    assert 20 < held.sum() < 44
    for _ in range(10):
        env.step(torch.tensor([0.0, 0.0, 0.0, -1.0]).expand(64, 4))
    assert (env.state.sensor("touch")[held] > 2.0).all()
    assert (env.state.memory["lifted"][held] > 0.0).all()
    env.state.params[CURRICULUM][:, 0] = 0.5
    assert 20 < (hand() < 0.13).sum() < 44
    env.state.params[CURRICULUM][:, 0] = 1.0
    assert (hand() > 0.2).all()
    env = paddock.make(ARM_PICK_PLACE, num_worlds=64)
    assert (hand() > 0.2).all()
