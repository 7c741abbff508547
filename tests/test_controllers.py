"""Exported controllers: one graph drives a robot as PyTorch would, and whatever is wrong with it is refused."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

import paddock
from models import OWN_TASKS, POLE, pole_task
from paddock import Environment
from paddock.controller_graph import ControllerGraph, controller_graph, readings_of
from paddock.controllers import Disagreement, check_agreement, export_controller
from paddock.deploy.controller import BadReading, Controller
from paddock.deploy.graph_checks import MAX_BYTES, RefusedController, check_graph
from paddock.errors import PaddockError
from paddock.learn.actor_critic import ActorCritic
from paddock.learn.nets.mlp import Mlp
from paddock.messages import ControllerManifest, from_json, to_json
from paddock.tasks.finding import find_task

LEGGED = ["joint_pos", "joint_vel", "gyro", "up"]
REQUIRED = {
    "cartpole-balance": ["joint_pos", "joint_vel"],
    "cartpole-swingup": ["joint_pos", "joint_vel"],
    "quadruped-stand": [*LEGGED, "touch"],
    "quadruped-balance": [*LEGGED, "base_pos", "base_quat", "touch"],
    "quadruped-walk": LEGGED,
    "quadruped-walk-rough": LEGGED,
    **{f"gym-{name}": ["qpos", "qvel"] for name in ("half-cheetah", "ant", "hopper", "walker2d")},
    "gym-humanoid": ["qpos", "qvel", "fields/cinert", "fields/cvel", "fields/qfrc_actuator"],
    "cartpole-pair": ["left/joint_pos", "left/joint_vel", "right/joint_pos", "right/joint_vel"],
    "creature-goal": ["joint_pos"],
    "ant-walk": LEGGED,
    "humanoid-stand": [*LEGGED, "touch"],
    "humanoid-walk": LEGGED,
    "arm-reach-joint": ["joint_pos", "joint_vel", "tool_pos"],
    "arm-reach": ["joint_pos", "joint_vel", "tool_pos"],
    "arm-push": ["joint_pos", "joint_vel", "tool_pos", "cube_pos", "cube_quat", "cube_vel"],
    "arm-pick-place": ["joint_pos", "joint_vel", "gripper_pos", "tool_pos", "cube_pos", "cube_quat", "cube_vel"],
    "slewed": ["joint_pos/hinge", "joint_vel"],
}
CARRIED = {"quadruped-stand": ["action"], "quadruped-balance": ["memory/goal"], "quadruped-walk": ["action"]} | {
    "quadruped-walk-rough": ["action", "memory/clock"],
    "creature-goal": ["ctrl", "age", "memory/goal", "memory/goal_height", "memory/stamina"],
    "ant-walk": ["action"],
    "humanoid-stand": ["action"],
    "humanoid-walk": ["action", "memory/clock"],
    "arm-reach-joint": ["action", "memory/target"],
    "arm-reach": ["action", "memory/target", "memory/act/target"],
    "arm-push": ["action", "memory/goal", "memory/act/target"],
    "arm-pick-place": ["action", "memory/goal", "memory/act/target"],
    "slewed": ["action", "last_action", "ctrl", "age", "memory/drift", "memory/history/joint_pos"],
}

SLEWED = '''
"""A task of a user's own: it remembers, draws, looks back, and limits how fast ctrl may change."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from paddock import Robot, State, Task, terms as t


@dataclass(frozen=True, kw_only=True)
class Slewed(t.JointPosition):
    def __call__(self, state: State) -> Tensor:
        wanted = super().__call__(state)
        return torch.clamp(wanted + 0.1 * state.last_action, state.ctrl - 0.05, state.ctrl + 0.05)


@dataclass(frozen=True)
class Drift:
    """A bias that wanders at random."""

    def start(self, state: State) -> Tensor:
        return 0.1 * state.normal(1)

    def next(self, state: State) -> Tensor:
        return state.memory["drift"] + 0.01 * state.normal(1, index=state.age)


def jerk(state: State) -> Tensor:
    return state.action - state.last_action


TASK = Task(
    name="slewed",
    robot=Robot(name="pole", xml=Path(__file__).with_name("pole.xml"), joints=("hinge",), gains=(10 / 3, 0.1)),
    control_dt=0.02,
    episode_s=1.0,
    act=Slewed(scale=0.7),
    command={"unread": t.UniformCommand(low=(-1.0,), high=(1.0,), every_s=0.1)},
    memory={"drift": Drift(), "effort": t.Total(t.action_size)},
    observe={"joint_pos": t.Sensor("joint_pos/hinge"), "joint_vel": t.joint_vel, "drift": t.Remembered("drift"), "jerk": jerk},
    history={"joint_pos": 3},
    reward={"alive": (1.0, t.alive)},
    done={"far": t.OutOfBounds(t.joint_pos, -1.0, 1.0)},
    reset=t.NearHome(),
)
'''


class Exported:
    """A policy that does something, the environment it was made for, and its export."""

    def __init__(self, task: str, folder: Path) -> None:
        self.env = paddock.make(task, num_worlds=8, seed=5)
        self.policy = lively(self.env)
        self.folder, self.before = folder, self.env.save()
        self.manifest = export_controller(self.env, self.policy, folder)

    def worlds(self) -> Environment:
        """Others of the same task, to drive."""
        return paddock.make(self.env.task, num_worlds=3, seed=6)

    def graph(self) -> ControllerGraph:
        """A copy of the graph, to break."""
        state = self.env.state
        asked = {reading.name for reading in self.manifest.required}
        sensors = readings_of(state.layout, asked=asked, columns=state.sensordata.shape[1])
        return ControllerGraph(onnx.load_model_from_string((self.folder / "controller.onnx").read_bytes()), sensors)


def lively(env: Environment) -> ActorCritic:
    """An untrained policy with actions all over the range, and a normaliser that has seen something."""
    torch.manual_seed(3)
    policy = ActorCritic(env.obs_sizes, env.action_size, hidden=(64, 64), log_std=0.0)
    assert isinstance(policy.actor, Mlp)
    last = policy.actor[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(60.0)
    step = env.reset()
    for _ in range(20):
        policy.policy_norm.observe(step.obs["policy"])
        step = env.step(env.sample())
    policy.policy_norm.var.clamp_(min=1e-4)  # what rested for so few steps would be magnified ten thousand times
    return policy


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Exported]:
    """Each export is made once: it takes seconds."""
    root, made = tmp_path_factory.mktemp("controllers"), dict[str, Exported]()
    (root / "pole.xml").write_text(POLE)
    (root / "slewed.py").write_text(SLEWED)

    def export(name: str) -> Exported:
        if name not in made:
            made[name] = Exported(str(root / "slewed.py") if name == "slewed" else name, root / "out" / name)
        return made[name]

    return export


def readings(env: Environment, manifest: ControllerManifest) -> dict[str, np.ndarray]:
    """What world 0 would measure."""
    state = env.state
    flat = {name: value[0].numpy() for name, value in state.tensors().items()}
    return {r.name: state.sensor(r.name)[0].numpy() if r.measurable else flat[r.name] for r in manifest.required}


@pytest.mark.parametrize("name", [*(name for name in OWN_TASKS if not find_task(name).cameras), "slewed"])
def test_it_drives_one_robot_as_the_policy_would(name: str, exported: Callable[[str], Exported]) -> None:
    made = exported(name)
    manifest, policy = made.manifest, made.policy
    assert manifest.agreement.steps == 1000 and manifest.agreement.episodes > 4
    assert 0.0 < manifest.agreement.worst <= 1e-5
    assert [reading.name for reading in manifest.required] == REQUIRED[name]
    assert [i.name.removeprefix("carried/") for i in manifest.inputs if i.source == "carried"] == CARRIED.get(name, [])
    assert manifest.unmeasurable == (tuple(REQUIRED[name]) if name.startswith("gym-") else ())

    env, controller = paddock.make(made.env.task, seed=77), Controller.open(made.folder)
    obs, ctrls = env.reset().obs, []
    controller.reset(key=int(env.state.key))
    for _ in range(120):
        command = {key: value[0].numpy() for key, value in env.state.command.items()}
        ctrl = controller.act(readings(env, manifest), command)
        step = env.step(policy.act(obs))
        obs = step.obs
        if step.ended:
            controller.reset(key=int(env.state.key))
        else:
            scale = env.state.layout.ctrl_half.clamp(min=1.0).numpy()
            np.testing.assert_allclose(ctrl / scale, env.state.ctrl[0].numpy() / scale, rtol=0, atol=1e-5)
            ctrls.append(ctrl)
    moved = np.std(ctrls, axis=0) > 0.01 * np.abs(ctrls).max(axis=0)
    assert moved.mean() > 0.5  # a controller that does nothing agrees too easily


def test_the_manifest_survives_the_disk_to_the_last_bit(exported: Callable[[str], Exported]) -> None:
    made = exported("slewed")
    text = (made.folder / "manifest.json").read_text()
    assert from_json(ControllerManifest, text) == made.manifest
    (hinge,) = made.manifest.actuators
    assert (hinge.name, hinge.joint, hinge.kind, hinge.unit) == ("hinge", "hinge", "position", "rad")
    assert (hinge.kp, hinge.gain, hinge.kd) == (10 / 3, 10 / 3, 0.1)
    assert (hinge.low, hinge.force_low, hinge.force_high) == (None, -2.0, 2.0)
    spans = [(span.term, span.offset, span.size) for span in made.manifest.observations]
    assert spans == [("joint_pos", 0, 3), ("joint_vel", 3, 1), ("drift", 4, 1), ("jerk", 5, 1)]


def test_motors_sensors_and_the_home_pose_are_named_in_order(exported: Callable[[str], Exported]) -> None:
    manifest = exported("quadruped-balance").manifest
    assert tuple(row.joint for row in manifest.actuators) == manifest.joints
    assert [(row.kind, row.unit, row.high, row.home) for row in manifest.actuators[:3]] == [
        ("torque", "N m", 24.0, 0.0),
        ("torque", "N m", 24.0, 0.8),
        ("torque", "N m", 36.0, -1.6),
    ]
    required = {reading.name: reading for reading in manifest.required}
    assert required["joint_pos"].columns == tuple(f"joint_pos/{joint}" for joint in manifest.joints)
    assert required["base_quat"].columns == ("base_quat.w", "base_quat.x", "base_quat.y", "base_quat.z")
    assert (required["gyro"].unit, required["touch"].unit) == ("rad/s", "N")


def test_neither_the_environment_nor_the_policy_is_changed(exported: Callable[[str], Exported]) -> None:
    made = exported("slewed")
    assert made.policy.training
    assert all(torch.equal(value, made.before[name]) for name, value in made.env.save().items())
    assert sorted(entry.name for entry in made.folder.iterdir()) == ["controller.onnx", "manifest.json"]
    assert not [entry for entry in made.folder.parent.iterdir() if entry.name.startswith(".")]


def test_an_export_repeats_and_tells_nothing_of_its_machine(exported: Callable[[str], Exported]) -> None:
    made = exported("slewed")
    data = controller_graph(made.env, made.policy).model.SerializeToString()
    assert sha256(data).hexdigest() == made.manifest.controller_sha256
    assert str(Path.cwd()).encode() not in data and b"test_controllers" not in data and b"critic" not in data


def test_one_wrong_weight_is_noticed(exported: Callable[[str], Exported]) -> None:
    made = exported("quadruped-walk")
    env, graph = made.worlds(), made.graph()
    check_agreement(env, made.policy, graph, steps=30)
    (weight,) = (tensor for tensor in graph.model.graph.initializer if tensor.name == "actor.actor.2.weight")
    values = np.frombuffer(weight.raw_data, np.float32).copy()
    values[100] += 0.01
    weight.raw_data = values.tobytes()
    with pytest.raises(Disagreement, match=r"'quadruped-walk' returns another (ctrl|action) .*: step \d+, worst difference \d"):
        check_agreement(env, made.policy, graph, steps=30)


@pytest.mark.parametrize("forgotten", ["carried/action", "first"])
def test_forgetting_what_must_be_carried_is_noticed(forgotten: str, exported: Callable[[str], Exported]) -> None:
    made = exported("quadruped-walk")
    graph = made.graph()
    nodes = graph.model.graph.node
    for node in nodes:
        node.input[:] = ["nothing" if name == forgotten else name for name in node.input]
    operator = "Xor" if forgotten == "first" else "Sub"  # of a thing and itself: false, or zero
    nodes.insert(0, helper.make_node(operator, [forgotten, forgotten], ["nothing"]))
    with pytest.raises(Disagreement, match="worst difference"):
        check_agreement(made.worlds(), made.policy, graph, steps=30)


class TwoFaced(nn.Module):
    """A policy that is another function when it is exported."""

    def mean(self, policy_obs: Tensor) -> Tensor:
        return policy_obs[:, :1] * (0.5 if torch.compiler.is_exporting() else 0.6)


def test_a_failed_export_leaves_the_old_one_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "pole"
    folder.mkdir(parents=True)
    (folder / "controller.onnx").write_text("an older graph")
    env = paddock.make(pole_task(), num_worlds=2)
    with pytest.raises(Disagreement, match="'pole' returns another ctrl .*: step 0, worst difference"):
        export_controller(env, TwoFaced(), folder)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == [
        "deep",
        "deep/pole",
        "deep/pole/controller.onnx",
    ]
    assert (folder / "controller.onnx").read_text() == "an older graph"
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(PaddockError, match="also holds notes.txt, which an export would throw away"):
        export_controller(env, TwoFaced(), folder)
    with pytest.raises(PaddockError, match=r"a Tanh has no method mean\(policy_obs\)"):
        export_controller(env, nn.Tanh(), tmp_path / "other")


def test_bad_readings_are_refused_by_name_and_change_nothing(exported: Callable[[str], Exported]) -> None:
    made = exported("quadruped-walk")
    controller, twin = Controller.open(made.folder), Controller.open(made.folder)
    good = readings(made.env, made.manifest)
    command = {"velocity": np.array([0.5, 0.0, 0.0])}
    bad = good["gyro"].copy()
    bad[1] = np.nan
    np.testing.assert_array_equal(controller.act(good, command), twin.act(good, command))
    mistakes: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
        (good | {"gyro": bad}, command, r"sensor 'gyro' is nan at \(1,\)"),
        (good | {"gyro": [0, 0, 1e39]}, command, r"sensor 'gyro' is inf at \(2,\)"),
        (good | {"gyro": good["gyro"][None]}, command, r"sensor 'gyro' has shape \(1, 3\), wanted \(3,\)"),
        (good | {"gyro": "still"}, command, "sensor 'gyro' is 'still', wanted float32 numbers"),
        ({name: value for name, value in good.items() if name != "up"}, command, "sensor 'up' is missing; given: joint_pos"),
        (good, {}, "command 'velocity' is missing; given: none"),
        (good, {"velocity": np.full(3, np.inf)}, "command 'velocity' is inf"),
    )
    for sensors, asked, message in mistakes:
        with pytest.raises(BadReading, match=message):
            controller.act(sensors, asked)
    np.testing.assert_array_equal(controller.act(good, command), twin.act(good, command))
    started = Controller.open(made.folder).act(good, command)
    assert not np.array_equal(controller.act(good, command), started)
    controller.reset()
    np.testing.assert_array_equal(controller.act(good, command), started)


def test_a_damaged_or_swapped_export_is_refused(exported: Callable[[str], Exported], tmp_path: Path) -> None:
    made = exported("quadruped-walk")
    graph, manifest = (made.folder / "controller.onnx").read_bytes(), made.manifest

    def refused(message: str, graph: bytes, manifest: ControllerManifest | str) -> None:
        (tmp_path / "controller.onnx").write_bytes(graph)
        (tmp_path / "manifest.json").write_text(manifest if isinstance(manifest, str) else to_json(manifest))
        with pytest.raises(PaddockError, match=message):
            Controller.open(tmp_path)

    with pytest.raises(RefusedController, match="there is no .*manifest.json"):
        Controller.open(tmp_path)
    flipped = bytearray(graph)
    flipped[len(graph) // 2] ^= 1
    refused("not the file its manifest was written for", bytes(flipped), manifest)
    refused("has format 2; this paddock reads 1", graph, replace(manifest, format_version=2))
    refused("a ControllerManifest cannot be read", graph, "{")
    refused("is not the text of a manifest", graph, "[" * 100_000)
    unlike = tuple(replace(i, shape=(4,)) if i.name == "sensor/gyro" else i for i in manifest.inputs)
    refused("the manifest speaks of inputs .* but the graph has", graph, replace(manifest, inputs=unlike))
    refused("nothing feeds sensor/up", graph, replace(manifest, required=manifest.required[:-1]))
    lost = json.loads(to_json(manifest))
    del lost["home_qpos"]
    refused("wanted exactly", graph, json.dumps(lost))


def graph_of(*nodes: onnx.NodeProto, weights: tuple[TensorProto, ...] = ()) -> bytes:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 1]) for name in ("x", "y")]
    graph = helper.make_graph(list(nodes), "g", value[:1], value[1:], list(weights))
    return helper.make_model(graph).SerializeToString()


def test_graphs_from_elsewhere_may_only_compute() -> None:
    check_graph(graph_of(helper.make_node("Neg", ["x"], ["y"])))
    outside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="/etc/passwd")
    inner = helper.make_graph([], "body", [], [])
    for data, message in (
        (graph_of(helper.make_node("Loop", ["", "", "x"], ["y"], body=inner)), "contains Loop"),
        (graph_of(helper.make_node("Neg", ["x"], ["y"], body=inner)), "contains Neg"),
        (graph_of(helper.make_node("RandomNormalLike", ["x"], ["y"])), "contains RandomNormalLike"),
        (graph_of(helper.make_node("Neg", ["x"], ["y"], domain="their.own")), "contains their.own.Neg"),
        (graph_of(helper.make_node("Add", ["x", "w"], ["y"]), weights=(outside,)), "refers to w"),
        (b"\xff\xffno graph", "is no ONNX model"),
        (bytes(MAX_BYTES + 1), "at most"),
    ):
        with pytest.raises(RefusedController, match=message):
            check_graph(data)


def test_readings_cover_every_column_once() -> None:
    layout = paddock.make("quadruped-walk").state.layout
    total = layout.home_sensordata.shape[0]
    found = readings_of(layout, asked={"joint_pos", "joint_pos/fl_hip", "joint_vel/fl_thigh"}, columns=total)
    assert list(found)[:4] == ["joint_pos", "joint_vel/fl_hip", "joint_vel/fl_thigh", "joint_vel/fl_knee"]
    covered = [column for where in found.values() for column in range(where.start, where.stop)]
    assert covered == list(range(total))
    nameless = replace(layout, sensors={name: where for name, where in layout.sensors.items() if name != "gyro"})
    assert "column 36" in readings_of(nameless, asked=set(), columns=total)


def test_a_robot_needs_neither_simulator_nor_learning_library() -> None:
    code = "import sys, paddock.deploy.controller; print(sorted({'torch', 'mujoco', 'onnx'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
