"""Robots with motors in environments: they step, save, load, begin anew, export and show themselves."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import paddock
from models import world_of
from motor_rig import wheel_task
from paddock import terms as t
from paddock.controllers import export_controller
from paddock.deploy.controller import Controller
from paddock.errors import PaddockError
from paddock.exporting import GRAPHS, disagreement, export_graph
from paddock.inspecting import show, task_card
from paddock.learn.actor_critic import ActorCritic
from paddock.robots import HOBBY_SERVO, QUADRUPED, QUADRUPED_LEG, Gearbox, JointFriction, Motor, planetary, team
from paddock.tasks.finding import find_task

EVERYTHING = replace(
    QUADRUPED_LEG,
    torque_limit=2.0,
    delay=0.015,
    friction=JointFriction(coulomb=0.1, viscous=0.02, breakaway=0.3, presliding=0.02),
)
"""Activations of lag and bristles, and a history of commands."""
PLAYED = replace(EVERYTHING, gearbox=planetary(6))
"""And a joint of play, which needs a small timestep."""
WORLDS = 3


def legged(name: str = "quadruped-walk", motors: Any = EVERYTHING, **changes: Any) -> paddock.Task:
    task = find_task(name)
    return replace(task, robot=replace(task.robot, motors=motors), **changes)


def played() -> paddock.Task:
    task = legged(motors=PLAYED)
    assert isinstance(QUADRUPED.xml, Path)
    text = QUADRUPED.xml.read_text().replace('timestep="0.005"', 'timestep="0.0005"')
    return replace(task, robot=replace(task.robot, xml=text))


@pytest.mark.parametrize("name", ["quadruped-walk", "quadruped-stand"])
def test_an_environment_goes_on_bit_for_bit_after_a_save(name: str) -> None:
    task = legged(name)
    env, other = (paddock.make(task, num_worlds=WORLDS, seed=seed) for seed in (1, 2))
    env.reset()
    for _ in range(7):
        env.step(env.sample())
    saved = {name: value.clone() for name, value in env.save().items()}
    assert env.state.act.shape == (WORLDS, 24) and (env.state.act != 0).all()
    other.reset()
    other.load(saved)
    for _ in range(30):
        action = env.sample()
        one, two = env.step(action), other.step(action)
        assert torch.equal(one.reward, two.reward) and not one.failed.any()
        assert torch.equal(env.sim.rows, other.sim.rows)  # activations and delayed commands, too


def test_an_episode_begins_without_activations_or_commands_of_the_last() -> None:
    task = wheel_task(
        Motor(stall_torque=2.0, no_load_speed=40.0, lag=0.05, delay=0.01, rotor_inertia=1e-3, gearbox=Gearbox(backlash=0.1)),
        reset=t.NearHome(joint=0, vel=0),
    )
    env = paddock.make(task, num_worlds=1)
    env.reset()
    fresh = env.sim.rows.clone()
    ended = False
    while not ended:
        ended = bool(env.step(torch.ones(1, 1)).ended.all())
    assert torch.equal(env.sim.rows, fresh)
    env.step(torch.zeros(1, 1))
    assert (env.state.act == 0).all() and (env.state.qvel == 0).all()
    env.step(torch.ones(1, 1))
    assert (env.state.act != 0).all()  # so that the zeros above mean something


def test_play_stays_within_its_width() -> None:
    with pytest.raises(PaddockError, match=r"thrown through the stops at a timestep of 0.005 s. Use one of 0.00072 s"):
        paddock.make(legged(motors=PLAYED))
    env = paddock.make(played(), num_worlds=WORLDS)
    env.reset()
    assert (env.state.sensor("backlash") == 0).all()
    widest = torch.zeros(())
    for _ in range(30):
        env.step(env.sample())
        widest = torch.maximum(widest, env.state.sensor("backlash").abs().max())
    assert 2.5e-3 <= widest < 2e-2  # half of the play, and what a rotor at full speed overshoots


def test_home_and_feet_are_where_they_were() -> None:
    env, plain = paddock.make(played()), paddock.make("quadruped-walk")
    (model, _), (bare, _) = world_of(env, 0), world_of(plain, 0)
    for joint in QUADRUPED.joints:
        assert model.key("home").qpos[model.joint(joint).qposadr[0]] == bare.key("home").qpos[bare.joint(joint).qposadr[0]]
    assert torch.equal(env.state.layout.home_joint, plain.state.layout.home_joint)
    assert env.obs_sizes == plain.obs_sizes
    np.testing.assert_array_equal(model.body_pos, bare.body_pos)


def test_graphs_agree_and_the_controller_exports(tmp_path: Path) -> None:
    env = paddock.make(legged("quadruped-stand"), num_worlds=WORLDS, seed=3)
    env.reset()
    for _ in range(5):
        env.step(env.sample())
    for name in GRAPHS:
        model = export_graph(env, name)
        assert model is None or disagreement(model, name, env.task, env.state) < 1e-6, name
    policy = ActorCritic(env.obs_sizes, env.action_size, hidden=(16,), log_std=0.0)
    manifest = export_controller(env, policy, tmp_path / "controller")
    assert manifest.agreement.worst < 1e-5
    assert [actuator.name for actuator in manifest.actuators] == list(QUADRUPED.joints)
    Controller.open(tmp_path / "controller")


def test_inspect_lists_the_motors(capsys: pytest.CaptureFixture[str]) -> None:
    motors = {joint: HOBBY_SERVO if joint.endswith("hip") else EVERYTHING for joint in QUADRUPED.joints}
    card = task_card(legged(motors=motors))
    assert [len(row.joints) for row in card.motors] == [4, 8] and {row.runs for row in card.motors} == {"engine"}
    leg = card.motors[1]
    assert (leg.speed, leg.lag, leg.backlash) == (40.0, 0.008, 0.0)
    assert leg.torque == pytest.approx(2.0 * 6 * 0.92) and leg.inertia == pytest.approx(6.3e-5 * 36)
    assert leg.delay == pytest.approx(0.015)
    assert {row.kind for row in card.actions} == {"position"}
    show(card)
    printed = capsys.readouterr().out
    assert "behind the gearbox" in printed and "engine" in printed
    assert task_card("quadruped-walk").motors == ()
    kinds = {
        act: task_card(wheel_task(Motor(stall_torque=1.0, no_load_speed=9.0), gains=(1.0, 1.0), act=act)).actions[0]
        for act in (t.JointTorque(), t.JointVelocity(), t.JointPosition())
    }
    assert [(row.kind, row.unit) for row in kinds.values()] == [("torque", "N m"), ("velocity", "rad/s"), ("position", "rad")]


def test_a_team_keeps_its_members_motors() -> None:
    task = wheel_task(
        replace(EVERYTHING, friction=None, gearbox=Gearbox(ratio=6.0, backlash=0.1)), gains=(3.0, 1.0), act=t.JointPosition()
    )
    pair = team(
        "pair", {"left": task.robot, "right": replace(task.robot, motors=None)}, places={"left": (0, 0, 0), "right": (1, 0, 0)}
    )
    env = paddock.make(replace(task, robot=pair, observe={"qpos": lambda state: state.qpos}))
    assert [env.model.joint(i).name for i in range(env.model.njnt)] == ["left/wheel", "left/wheel/backlash", "right/wheel"]
    assert [row.joints for row in task_card(env.task).motors] == [("left/wheel",)]
    assert env.model.actuator_gaintype.tolist() == [3, 0]
