"""Several robots in one scene: each keeps its names, its home and its physics, and its terms see it alone."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

import paddock
from models import POLE
from paddock import Environment, Robot, State, Task
from paddock import terms as t
from paddock.contracts import Term
from paddock.controller_graph import controller_graph
from paddock.errors import BadTerm, PaddockError, UnknownName
from paddock.exporting import disagreement, export_graph
from paddock.learn.actor_critic import ActorCritic
from paddock.robots import CARTPOLE, CREATURE, QUADRUPED, team
from paddock.tasks.gait import Trot
from paddock.tasks.pole_control import BalancePole, height, pole_cos, pole_vector
from paddock.tasks.scoping import alone

DOGS = team("dogs", {"a": QUADRUPED, "b": QUADRUPED}, places={"a": (0.0, 1.0, 0.0), "b": (0.5, -1.0, 90.0)})
CARTS = team("carts", {"left": CARTPOLE, "right": CARTPOLE}, places={"left": (0.0, 0.5, 0.0), "right": (0.0, -0.5, 0.0)})


def both(term: Term) -> t.Beside:
    return t.Beside((t.Of("a", term), t.Of("b", term)))


def dogs(**changes: Any) -> Environment:
    """Two walking quadrupeds, each with a command of its own."""
    command = t.UniformCommand(low=(-1.0, -0.5, -1.0), high=(1.0, 0.5, 1.0), every_s=0.1)
    parts: dict[str, Any] = {
        "name": "dogs",
        "robot": DOGS,
        "control_dt": 0.02,
        "episode_s": 5.0,
        "act": t.JointPosition(scale=0.5),
        "command": {f"{dog}/velocity": t.MemoryOf(dog, command) for dog in ("a", "b")},
        "memory": {f"{dog}/goal": t.MemoryOf(dog, t.GoalOnRing(near=1, far=2)) for dog in ("a", "b")}
        | {"a/error": t.MemoryOf("a", t.Total(t.velocity_error))},
        "observe": {"joints": both(t.joint_offset), "gyro": both(t.gyro), "command": both(t.Command("velocity"))},
        "reward": {"a": (1.0, t.Of("a", t.Near(t.velocity_error, 0.35))), "b": (1.0, t.Of("b", t.upright))},
        "done": {"a_fell": t.Of("a", t.Fell())},
        "reset": t.NearHome(turn=False),
    }
    env = paddock.make(Task(**(parts | changes)), num_worlds=3, seed=4)
    env.reset()
    return env


def walked(env: Environment, steps: int) -> Environment:
    for _ in range(steps):
        env.step(env.sample())
    return env


def test_names_begin_with_the_members_name() -> None:
    model = CARTS.spec().compile()
    assert CARTS.joints == ("left/cart", "right/cart") == tuple(model.actuator(i).name for i in range(model.nu))
    sensors = [model.sensor(i).name for i in range(model.nsensor)]
    assert sensors[:2] == ["left/joint_pos/cart", "left/joint_pos/pole"] and sensors[5] == "right/joint_pos/cart"
    layout = paddock.make("cartpole-pair").state.layout
    assert layout.sensors["right/joint_vel"] == slice(7, 9)
    assert DOGS.base == "a/trunk" and DOGS.camera == "a/track"
    assert DOGS.feet == tuple(f"{dog}/{leg}" for dog in ("a", "b") for leg in QUADRUPED.feet)
    assert DOGS.gains_of("b/fl_hip") == QUADRUPED.gains


def test_home_is_the_members_homes_moved_to_their_places() -> None:
    model = DOGS.spec().compile()
    one = QUADRUPED.spec().compile().key("home").qpos
    (home,) = (model.key(i) for i in range(model.nkey))
    assert home.name == "home"
    a, b = np.split(home.qpos, 2)
    np.testing.assert_allclose(a[:7], [0.0, 1.0, one[2], 1, 0, 0, 0])
    np.testing.assert_allclose(b[:7], [0.5, -1.0, one[2], np.sqrt(0.5), 0, 0, np.sqrt(0.5)], atol=1e-6)
    np.testing.assert_array_equal(a[7:], one[7:])
    np.testing.assert_array_equal(b[7:], one[7:])
    # the engine's own way of placing b's trunk and feet agrees
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    foot = data.geom("b/fl_foot").xpos - data.body("b/trunk").xpos
    ahead = data.geom("a/fl_foot").xpos - data.body("a/trunk").xpos
    np.testing.assert_allclose(foot, [-ahead[1], ahead[0], ahead[2]], atol=1e-6)


def test_a_member_moves_as_it_would_alone() -> None:
    """Two cart-poles that do not touch: each must follow the very path of one in a scene of its own."""
    task = paddock.make("cartpole-balance").task
    loose = {"done": {}, "success": None, "reset": t.NearHome(joint=0, vel=0), "expert": None}
    single = paddock.make(replace(task, **loose))
    pair = paddock.make(replace(task, **loose, robot=CARTS, observe={"q": lambda state: state.qpos}, reward={"a": (1.0, t.alive)}))
    single.reset()
    pair.reset()
    for i in range(100):
        push = torch.tensor([[0.3 if i % 7 else -1.0]])
        single.step(push)
        pair.step(torch.cat([push * 0.5, push], dim=1))
    torch.testing.assert_close(pair.state.qpos[:, 2:], single.state.qpos, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(pair.state.qpos[:, :2], single.state.qpos, atol=0.1)


VOCABULARY: dict[str, Term] = {
    "joint_pos": t.joint_pos,
    "joint_offset": t.joint_offset,
    "joint_vel": t.joint_vel,
    "last_action": t.last_action,
    "gravity": t.gravity,
    "gyro": t.gyro,
    "base_vel": t.base_vel,
    "height": t.height,
    "contact": t.FootContact(),
    "goal": t.GoalVector(),
    "upright": t.upright,
    "power": t.power,
    "torque": t.torque,
    "action_size": t.action_size,
    "action_rate": t.action_rate,
    "velocity_error": t.velocity_error,
    "fell": t.Fell(),
    "qpos": lambda state: state.joint_pos("root"),
    "qvel": lambda state: state.joint_vel("fl_knee"),
    "ctrl": lambda state: state.ctrl / state.layout.ctrl_high,
    "home": lambda state: (state.qpos - state.layout.home_qpos)[:, 7:],
    "trot": Trot(),
}


def test_every_term_of_a_member_is_that_of_the_robot_alone() -> None:
    """The same dog in the same state, once as `b` of a team and once alone."""
    env = walked(dogs(), 20)
    state, single = env.state, paddock.make("quadruped-walk", num_worlds=3)
    names = [single.model.sensor(i).name for i in range(single.model.nsensor)]
    alone_there = single.state.replaced(
        qpos=state.qpos[:, 19:],
        qvel=state.qvel[:, 18:],
        ctrl=state.ctrl[:, 12:],
        sensordata=torch.cat([state.sensordata[:, state.layout.sensors[f"b/{name}"]] for name in names], dim=1),
        action=state.action[:, 12:],
        last_action=state.last_action[:, 12:],
        age=state.age,
        command={"velocity": state.command["b/velocity"]},
        memory={"goal": state.memory["b/goal"]},
    )
    for name, term in VOCABULARY.items():
        ours, theirs = t.Of("b", term)(state), term(alone_there)
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}")
        if name not in ("fell", "contact"):  # true or false, and both dogs stand
            assert not torch.equal(ours, t.Of("a", term)(state)), name


def test_a_tipped_dog_is_seen_to_be_tipped_and_the_other_is_not() -> None:
    @dataclass(frozen=True)
    class BOnItsSide:
        def __call__(self, state: State) -> tuple[Tensor, Tensor]:
            qpos = state.layout.home_qpos.expand(state.num_worlds, -1)
            side = state.constant((0.5**0.5, 0.5**0.5, 0.0, 0.0)).expand(state.num_worlds, 4)
            return torch.cat([qpos[:, :22], side, qpos[:, 26:]], dim=1), torch.zeros(state.num_worlds, state.layout.nv)

    env = dogs(reset=BOnItsSide(), done={"b_fell": t.Of("b", t.Fell())})
    assert t.Of("a", t.upright)(env.state).tolist() == pytest.approx([1.0] * 3)
    assert t.Of("b", t.upright)(env.state).tolist() == pytest.approx([0.0] * 3, abs=1e-6)
    assert t.Of("b", t.Fell())(env.state).all() and not t.Of("a", t.Fell())(env.state).any()
    assert env.step(torch.zeros(3, 24)).ends["b_fell"].all()


def test_commands_and_memories_of_a_member_are_its_own() -> None:
    env = dogs()
    a, b = env.state.command["a/velocity"].clone(), env.state.command["b/velocity"].clone()
    assert not torch.equal(a, b)
    assert torch.equal(t.Of("a", t.Command("velocity"))(env.state), a)
    assert torch.equal(t.Of("b", t.Command("velocity"))(env.state), b)
    total = torch.zeros(3)
    for _ in range(6):
        env.step(torch.zeros(3, 24))
        total += t.Of("a", t.velocity_error)(env.state)
    assert torch.equal(env.state.memory["a/error"], total)
    assert not torch.equal(env.state.command["a/velocity"], a)  # drawn anew after 0.1 s
    # a goal on a ring around b, not around a
    start = env.state.layout.home_qpos[19:21]
    distance = (env.state.memory["b/goal"] - start).norm(dim=1)
    assert distance.min() > 0.99 and distance.max() < 2.01
    assert alone(env.state, "b").memory["goal"] is env.state.memory["b/goal"]


def test_memories_of_members_export() -> None:
    env = walked(dogs(), 10)
    model = export_graph(env, "update")
    assert model is not None and disagreement(model, "update", env.task, env.state) < 1e-6


def test_a_controller_asks_only_for_the_sensors_its_terms_read() -> None:
    env = paddock.make("cartpole-pair", num_worlds=2, seed=3)
    actor = ActorCritic(env.obs_sizes, env.action_size, hidden=(8,), log_std=-0.5)
    readings = [f"sensor/{side}/{kind}" for side in ("left", "right") for kind in ("joint_pos", "joint_vel")]
    assert controller_graph(env, actor).inputs == [*readings, "command/meeting"]


def test_terms_of_the_pair_are_those_of_each_cartpole() -> None:
    env = paddock.make("cartpole-pair", num_worlds=5, seed=2)
    env.reset()
    walked(env, 10)
    pos = env.state.sensordata[:, env.state.layout.sensors["right/joint_pos"]]
    assert torch.equal(t.Of("right", pole_cos)(env.state), pos[:, 1].cos())
    assert torch.equal(t.Of("right", height)(env.state), (pos[:, 1].cos() + 1) * 0.5)
    assert t.Beside((t.Of("left", pole_vector), t.Of("right", height)))(env.state).shape == (5, 3)
    push = t.Of("right", BalancePole())(env.state)
    assert push.shape == (5, 1) and not torch.equal(push, t.Of("left", BalancePole())(env.state))


def test_members_of_different_kinds_share_a_scene() -> None:
    kin = replace(CREATURE, xml=_with_option(CREATURE, timestep=0.005, integrator="implicitfast"))
    mixed = team("mixed", {"cart": CARTPOLE, "pet": kin}, places={"cart": (0.0, 0.0, 0.0), "pet": (2.0, 1.0, 0.0)})
    assert mixed.joints == ("cart/cart", "pet/x", "pet/y", "pet/z") and mixed.base == "pet/creature" and mixed.gains is None
    model = mixed.spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.body("pet/creature").xpos, [2.0, 1.0, 0.3])


def _with_option(robot: Robot, *, timestep: float, integrator: str) -> str:
    assert isinstance(robot.xml, Path)
    text = robot.xml.read_text()
    return text.replace('timestep="0.01" integrator="Euler"', f'timestep="{timestep}" integrator="{integrator}"').replace(
        ' cone="pyramidal" iterations="10" ls_iterations="10"', ""
    )


def test_what_cannot_be_one_scene_is_refused() -> None:
    at = (0.0, 0.0, 0.0)
    with pytest.raises(PaddockError, match="disagree on the option timestep: 'a' has 0.005, 'b' has 0.01"):
        team("two", {"a": CARTPOLE, "b": CREATURE}, places={"a": at, "b": at})
    with pytest.raises(PaddockError, match="has no place for 'b'"):
        team("two", {"a": CARTPOLE, "b": CARTPOLE}, places={"a": at})
    with pytest.raises(UnknownName, match="unknown member of team two: 'c'"):
        team("two", {"a": CARTPOLE}, places={"a": at, "c": at})
    with pytest.raises(PaddockError, match="called 'a/b'"):
        team("two", {"a/b": CARTPOLE}, places={"a/b": at})
    with pytest.raises(PaddockError, match="has no members"):
        team("none", {}, places={})
    pole = Robot(name="pole", xml=POLE, joints=("hinge",))
    with pytest.raises(PaddockError, match="b/hinge have none"):
        team("two", {"a": replace(pole, gains=(1.0, 0.1)), "b": pole}, places={"a": at, "b": at})


def test_a_misspelt_member_or_name_is_said() -> None:
    with pytest.raises(BadTerm, match="unknown robot of the team 'lefd'. Did you mean 'left'\\? Known: left, right"):
        paddock.make(replace(paddock.make("cartpole-pair").task, measure={"x": t.Of("lefd", height)}))
    state = paddock.make("cartpole-pair").state
    with pytest.raises(UnknownName, match="unknown sensor 'joint_poz'. Did you mean 'joint_pos'"):
        t.Of("left", t.Sensor("joint_poz"))(state)
