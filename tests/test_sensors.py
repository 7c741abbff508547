"""Every sensor, in a scene that moves, against a computation of its own."""

from dataclasses import MISSING, fields, replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import BOXES, pole_task, world_of
from paddock import Environment, Robot, Task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.inspecting import task_card
from paddock.tasks import sensors as catalogue
from paddock.tasks.sensors import SensorSpec

DT = 0.004
KINDS = (
    "Contact",
    "Frame",
    "HeightScan",
    "Imu",
    "JointPositions",
    "JointTorques",
    "JointVelocities",
    "Lidar",
    "Rangefinder",
    "Touch",
)


def boxes_task(sensors: dict[str, SensorSpec], **changes: object) -> Task:
    robot = Robot(
        name="boxes", xml=BOXES.replace('<site name="box"/>', '<site name="box" pos=".05 .02 .1"/>'), joints=("arm",), base="box"
    )
    plain = {
        "robot": robot,
        "control_dt": DT,
        "episode_s": 10.0,
        "observe": {"joint_pos": t.joint_pos},
        "done": {},
        "scene": t.bare,
    }
    return pole_task(**plain | {"done": {"never": t.Below(t.alive, 0.0)}, "sensors": sensors} | changes)


def moving(sensors: dict[str, SensorSpec], *, steps: int = 5, push: float = 0.6, spin: float = 1.0) -> Environment:
    """A box that was thrown and turns, its arm driven."""
    env = paddock.make(boxes_task(sensors), num_worlds=2, seed=3)
    env.reset()
    everyone = env._everyone
    qvel = torch.zeros_like(env.state.qvel)
    qvel[:, :6] = torch.tensor([[0.5, -0.4, 3.0, 1.0, 0.7, 2.0], [0.3, 0.2, 3.0, -2.0, 0.4, -1.0]])
    qvel[:, 3:6] *= spin
    env.sim.write("qvel", qvel, everyone)
    for _ in range(steps):
        env.step(torch.full((2, 1), push))
    return env


def rotation(quat: np.ndarray) -> np.ndarray:
    mat = np.empty(9)
    mujoco.mju_quat2Mat(mat, quat)
    return mat.reshape(3, 3)


def test_joint_sensors_read_position_velocity_and_torque() -> None:
    env = moving({"p": t.JointPositions(), "v": t.JointVelocities(joints=("arm",)), "f": t.JointTorques()})
    before = env.state.sensor("p").clone()
    env.step(torch.full((2, 1), 0.6))
    state = env.state
    np.testing.assert_allclose((state.sensor("p") - before) / DT, state.sensor("v"), atol=1e-3)  # implicit Euler: q' is the new v
    np.testing.assert_allclose(state.sensor("f"), 3.0 * 0.6, rtol=1e-6)  # gear times ctrl
    np.testing.assert_allclose(t.joint_command(state), 0.6, rtol=1e-6)
    assert not torch.equal(state.sensor("p")[0], state.sensor("p")[1])


def test_an_imu_feels_rotation_orientation_and_what_is_not_free_fall() -> None:
    env = moving({"imu": t.Imu(pos=(0.05, 0.02, 0.1))}, push=0.0, spin=4.0)
    state = env.state
    for world in range(2):
        qpos, qvel = state.qpos[world].double().numpy(), state.qvel[world].double().numpy()
        np.testing.assert_allclose(state.sensor("imu/gyro")[world], qvel[3:6], atol=1e-5)  # a free joint turns in its body's frame
        np.testing.assert_allclose(state.sensor("imu/orientation")[world], qpos[3:7], atol=1e-6)

    def velocity(world: int) -> np.ndarray:
        """Of the point that carries the sensor, in the world's frame, by hand."""
        qpos, qvel = state.qpos[world].double().numpy(), state.qvel[world].double().numpy()
        turn = rotation(qpos[3:7])
        return qvel[:3] + turn @ np.cross(qvel[3:6], [0.05, 0.02, 0.1])

    before = [(velocity(i), rotation(state.qpos[i, 3:7].double().numpy())) for i in range(2)]
    env.step(torch.zeros(2, 1))
    for world, (velocity_before, turn_before) in enumerate(before):
        felt = turn_before.T @ ((velocity(world) - velocity_before) / DT + [0, 0, 9.81])
        assert np.abs(felt).max() > 1.0  # it falls, so what is felt is the turning alone
        np.testing.assert_allclose(state.sensor("imu/accelerometer")[world], felt, atol=0.05 * np.abs(felt).max() + 0.02)


def test_touch_and_contact_carry_the_weight_at_rest() -> None:
    sensors: dict[str, SensorSpec] = {
        "under_box": t.Touch(sites=("under",)),
        "on": t.Contact(body="box"),
        "all": t.Contact(body="box", whole_limb=True),
        "which": t.Contact(body="box", others=("world", "ball")),
    }
    env = paddock.make(boxes_task(sensors), num_worlds=1)
    env.reset()
    for _ in range(700):
        env.step(torch.zeros(1, 1))
    state, weight = env.state, 9.81 * float(env.model.body_subtreemass[env.model.body("box").id])
    model, data = world_of(env, 0)
    box, ball = model.body("box").id, model.body("ball").id
    np.testing.assert_allclose(state.sensor("all/force")[0], [0, 0, weight], rtol=0.02, atol=0.1)  # the ground pushes up
    np.testing.assert_allclose(state.sensor("under_box")[0], state.sensor("on/force")[0, 2:], rtol=1e-5)
    assert 0 < state.sensor("on/force")[0, 2].item() <= 1.01 * weight  # the arm may lean on the ground as well
    assert torch.equal(state.sensor("which/world/force"), state.sensor("on/force"))
    pairs = [set(model.geom_bodyid[list(data.contact[i].geom)].tolist()) for i in range(data.ncon)]
    assert state.sensor("which/world/found").item() == sum(pair == {0, box} for pair in pairs) > 0
    assert state.sensor("which/ball/found").item() == sum(pair == {ball, box} for pair in pairs) == 0


def test_a_frame_is_seen_from_a_body_that_moves_itself() -> None:
    env = moving({"f": t.Frame(site="ball", relative_to="box"), "w": t.Frame(site="box")})
    state = env.state

    def seen(world: int) -> np.ndarray:
        qpos = state.qpos[world].double().numpy()
        return rotation(qpos[3:7]).T @ (qpos[8:11] - qpos[:3])

    before = [seen(0), seen(1)]
    for world in range(2):
        np.testing.assert_allclose(state.sensor("f/pos")[world], seen(world), atol=1e-5)
    env.step(torch.full((2, 1), 0.6))
    for world in range(2):
        np.testing.assert_allclose((seen(world) - before[world]) / DT, state.sensor("f/linvel")[world], atol=0.08)
        turn = rotation(state.qpos[world, 3:7].double().numpy())
        world_spin = turn @ state.qvel[world, 3:6].double().numpy()
        np.testing.assert_allclose(state.sensor("w/angvel")[world], world_spin, atol=1e-5)
        np.testing.assert_allclose(state.sensor("w/quat")[world], state.qpos[world, 3:7], atol=1e-6)
        ball_turn = rotation(state.qpos[world, 11:15].double().numpy())
        relative = rotation(state.sensor("f/quat")[world].double().numpy())
        np.testing.assert_allclose(relative, turn.T @ ball_turn, atol=1e-5)


@pytest.mark.parametrize(
    ("sensor", "words"),
    [
        (t.Imu(body="bix"), "unknown body 'bix'. Did you mean 'box'?"),
        (t.Imu(body="box", site="box"), "not both"),
        (t.JointPositions(joints=("leg",)), "unknown joint 'leg'"),
        (t.JointVelocities(joints=("ball",)), "neither a hinge nor a slide"),
        (t.Touch(sites=("hand",)), "unknown site 'hand'"),
        (t.Contact(body="box", others=("wall",)), "unknown body 'wall'"),
        (t.Frame(), "names no tool"),
        (t.Rangefinder(max_range=0.0), "max_range is 0.0"),
        (t.Rangefinder(direction=(0, 0, 0)), "points nowhere"),
        (t.Lidar(rays=0), "sees nothing"),
        (t.HeightScan(spacing=0.0), "no rays"),
    ],
)
def test_a_sensor_that_cannot_be_is_refused_by_name(sensor: SensorSpec, words: str) -> None:
    with pytest.raises(PaddockError, match="boxes|pole") as caught:
        paddock.make(boxes_task({"mine": sensor}))
    assert words in str(caught.value)


def test_no_sensor_is_declared_twice() -> None:
    with pytest.raises(PaddockError, match="a sensor 'joint_pos/arm' already"):
        paddock.make(boxes_task({"joint_pos": t.JointPositions()}))
    with pytest.raises(PaddockError, match="'mine' is a str"):
        paddock.make(boxes_task({"mine": "lidar"}))  # pyright: ignore[reportArgumentType]


def test_sensors_leave_the_motion_alone_and_keep_their_order() -> None:
    sensors = {"b": t.Imu(), "a": t.Lidar(rays=3), "c": t.Contact(body="box")}
    env, plain = moving(sensors), moving({})
    assert torch.equal(env.state.qpos, plain.state.qpos)
    names = [row.name for row in task_card(env.task).sensors][plain.model.nsensor :]
    assert names == ["b/gyro", "b/accelerometer", "b/orientation", "a/000", "a/001", "a/002", "c/found", "c/force"]


def test_the_table_in_the_documents_is_the_code() -> None:
    page = (Path(__file__).parent.parent / "docs/sensors.md").read_text()
    shown = [line for line in page.splitlines() if line.startswith("| `") and line.split("`")[1] in KINDS]
    assert shown == [row_of(name) for name in KINDS]


def row_of(name: str) -> str:
    kind = getattr(catalogue, name)
    parameters = ", ".join(f.name if f.default is MISSING else f"{f.name}={f.default}" for f in fields(kind))
    return f"| `{name}` | {parameters} | {kind.unit} | {kind.stage} |"


def test_units_and_stages_are_what_the_model_says() -> None:
    every = {
        "my_pos": t.JointPositions(),
        "my_vel": t.JointVelocities(),
        "my_torque": t.JointTorques(),
        "my_imu": t.Imu(),
        "my_feel": t.Touch(sites=("under",)),
        "my_on": t.Contact(body="box"),
        "my_frame": t.Frame(site="box"),
        "my_ray": t.Rangefinder(),
        "my_ring": t.Lidar(rays=2),
        "my_scan": t.HeightScan(size=(0.1, 0.1)),
    }
    rows = task_card(boxes_task(every)).sensors
    for name, sensor in every.items():
        mine = [row for row in rows if row.name.split("/")[0] == name]
        assert {row.stage for row in mine} == set(sensor.stage.split(", "))
        assert {row.unit for row in mine if row.unit} <= set(sensor.unit.split(", "))


def test_a_task_with_sensors_exports() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    from paddock.exporting import disagreement, export_graph

    task = boxes_task({"ring": t.Lidar(rays=4, max_range=3.0)})
    env = paddock.make(replace(task, observe={**task.observe, "ring": t.Ranges(sensor="ring", miss=-1.0)}), num_worlds=2)
    env.reset()
    graph = export_graph(env, "observe")
    assert graph is not None
    assert disagreement(graph, "observe", env.task, env.state) == 0.0
