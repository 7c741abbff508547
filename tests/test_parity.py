"""Two sims compared: equal ones agree, slightly wrong ones are caught, and the GPU sim's engine agrees with the CPU's."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from paddock import terms as t
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.messages import ParityReport, from_json
from paddock.parity import Effort, examine, examine_sides, sims_here
from paddock.parity_episodes import statistics
from paddock.parity_errors import agreement
from paddock.parity_sides import Played, Reached
from paddock.parity_sim import SimSide
from paddock.parity_states import acting_agents, sample_states
from paddock.tasks.finding import find_task
from paddock.tasks.pole_control import pole_cos
from paddock.tasks.randomize_presets import with_randomization
from paddock.tasks.task import Task
from paddock.trained import train

SIM = "gpu" if torch.cuda.is_available() else "warp-cpu"
SMALL = Effort(states=60, episodes=4, horizon=3)
NOMINAL = replace(find_task("quadruped-walk"), randomize={}, episode_s=0.5)
BALANCE = replace(find_task("cartpole-balance"), episode_s=1.0)


def altered(task: Task, change: Callable[[mujoco.MjSpec], None]) -> Task:
    def scene(robot: object) -> mujoco.MjSpec:
        spec = task.scene(robot)  # pyright: ignore[reportArgumentType]
        change(spec)
        return spec

    return replace(task, scene=scene)


def light(spec: mujoco.MjSpec) -> None:
    spec.option.gravity = [0.0, 0.0, -9.81 * 0.998]


def slippery(spec: mujoco.MjSpec) -> None:
    for geom in spec.geoms:
        geom.friction = [0.95 * geom.friction[0], *geom.friction[1:]]


def hasty(spec: mujoco.MjSpec) -> None:
    spec.option.iterations = 1


def against(task: Task, wrong: Task) -> ParityReport:
    return examine_sides(SimSide(task, "cpu", num_worlds=60), SimSide(wrong, "cpu", num_worlds=25, name="wrong"), effort=SMALL)


def test_a_sim_agrees_with_itself_from_any_state_in_any_batch() -> None:
    """Everything a step depends on is in the states: noise, randomised fields, commands, what late sensors remember."""
    task = replace(
        find_task("quadruped-walk"),
        episode_s=0.6,
        noise={"gyro": t.Gaussian(0.1)},
        timing={"joint_pos": t.Timing(delay_s=0.03)},
        randomize={
            "friction": t.Friction((0.6, 1.2)),
            "mass": t.Mass(t.Around(0.2)),
            "push": t.Push(body="trunk", newtons=20.0, every_s=0.2),
        },
    )
    found = examine_sides(SimSide(task, "cpu", num_worlds=60), SimSide(task, "cpu", num_worlds=25), effort=SMALL)
    assert found.passed and {field.max for field in found.fields} == {0.0}
    assert 15 < found.states_in_contact < 60 and found.outliers == ()
    assert {point.max for point in found.divergence} == {0.0}
    assert [flag.boundary + flag.disagreeing for flag in found.flags] == [0] * len(found.flags)


def test_what_the_task_says_of_numbers_is_what_it_says_when_it_steps() -> None:
    side = SimSide(BALANCE, "cpu", num_worlds=20)
    states = sample_states(BALANCE, acting_agents(BALANCE), count=50, seed=3)
    stepped = side.reach(states)
    judged = side.judge(states, stepped.raw)
    assert stepped.flags["ends/fell"].any() and not stepped.flags["ends/fell"].all()
    for group in ("numbers", "flags"):
        for name, value in getattr(stepped, group).items():
            assert torch.equal(value, getattr(judged, group)[name]), name


@pytest.mark.parametrize("change", [light, slippery])
def test_slightly_wrong_physics_is_caught(change: Callable[[mujoco.MjSpec], None]) -> None:
    found = against(NOMINAL, altered(NOMINAL, change))
    assert not found.passed
    failed = {field.name for field in found.fields if not field.passed}
    assert "qpos" in failed and "obs/last_action" not in failed
    worst = found.outliers[0]
    assert worst.error > worst.tolerance and worst.worst in worst.beyond
    if change is slippery:  # only what touches can tell
        assert all(own.contacts or own.contacts_after for own in found.outliers)
        assert any("floor" in (contact.first, contact.second) for contact in worst.contacts + worst.contacts_after)
    assert not any(own.is_unfinished for own in found.outliers)


def test_a_reference_whose_solver_was_cut_short_is_told_apart() -> None:
    found = against(altered(NOMINAL, hasty), NOMINAL)
    assert not found.passed and all(own.is_unfinished for own in found.outliers)


def test_an_end_that_is_judged_otherwise_is_no_boundary_case() -> None:
    found = against(BALANCE, replace(BALANCE, done={**BALANCE.done, "fell": t.Below(pole_cos, math.cos(0.2))}))
    flags = {flag.name: flag for flag in found.flags}
    assert all(field.passed for field in found.fields) and not found.passed
    assert flags["ends/fell"].disagreeing > 0 and flags["ends/fell"].boundary == 0 and flags["ends/off_rail"].passed


def test_a_threshold_between_equal_numbers_is_a_boundary_case() -> None:
    def reached(*fell: bool) -> Reached:
        return Reached(raw={}, numbers={}, flags={"ends/fell": torch.tensor(fell)})

    here, there = reached(*[False] * 200), reached(True, *[False] * 199)
    near = torch.ones(200, dtype=torch.bool)
    for name, by_numbers, is_near, wanted in (
        ("ends/fell", there, near, (1, 0, 0)),  # the task gives both flags, from two numbers that are as good as equal
        ("ends/fell", there, ~near, (0, 1, 0)),
        ("ends/fell", here, near, (0, 0, 1)),
        ("failed", there, ~near, (0, 0, 1)),
    ):
        sides = [Reached(raw={}, numbers={}, flags={name: side.flags["ends/fell"]}) for side in (here, there, by_numbers)]
        (row,), wrong = agreement(sides[0], sides[1], by_numbers=sides[2], is_near=is_near)
        assert (row.boundary, row.beyond, row.disagreeing) == wanted
        assert row.passed is not bool(wanted[2]) and int(wrong.sum()) == wanted[2]


def test_episodes_must_be_of_one_distribution() -> None:
    rng = np.random.default_rng(0)

    def played(shift: float, fell: int) -> Played:
        returns = tuple(rng.normal(shift, 1.0, 80).tolist())
        return Played(returns=returns, lengths=(50.0,) * 80, successes=(), ends={"fell": fell, "truncated": 80 - fell})

    assert all(row.passed for row in statistics({"random": (played(0.0, 40), played(0.0, 42))}))
    rows = {row.name: row for row in statistics({"random": (played(0.0, 40), played(1.0, 65))})}
    assert {name for name, row in rows.items() if not row.passed} == {"return", "ends/fell", "ends/truncated"}
    assert "a difference" in rows["return"].said
    two = Played(returns=(0.0, 1.0), lengths=(50.0, 50.0), successes=(), ends={"fell": 2})
    assert {row.said for row in statistics({"random": (two, two)})} == {"so few episodes can show nothing"}


@pytest.mark.parametrize(("name", "late"), [("cartpole-balance", "joint_vel"), ("quadruped-walk", "gyro")])
def test_the_gpu_sims_engine_agrees_with_the_cpu_sim(name: str, late: str) -> None:
    """From states with masses, inertias and gains of their own, where a sensor reports late, and in mid-push."""
    task = replace(find_task(name), episode_s=0.4, timing={late: t.Timing(every_s=0.03, delay_s=0.01)})
    found = examine(with_randomization(task, "heavy"), sims=("cpu", SIM), effort=SMALL)
    assert found.passed, [field for field in found.fields if not field.passed]
    assert found.outliers == () and max(field.max for field in found.fields) > 0.0


def test_the_command_writes_a_page_and_fails_where_sims_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ppo = {"horizon": 16, "epochs": 1, "minibatches": 1, "hidden": (8,)}
    run = train(
        "cartpole-balance", runs_dir=tmp_path, steps=1024, num_worlds=8, num_threads=1, ppo=ppo, evaluate_every=0, watch_worlds=0
    )
    args = ["parity", "cartpole-balance", "--sims", "cpu", "cpu", "--run", str(run.path), "--out", str(tmp_path / "page")]
    assert main([*args, "--states", "40", "--episodes", "3", "--horizon", "4"]) == 0
    said = capsys.readouterr().out
    assert "cpu agrees with cpu in cartpole-balance" in said and "policy: return" in said
    report = from_json(ParityReport, (tmp_path / "page" / "parity.json").read_text())
    assert report.agents == ("zero", "random", "scripted", "extreme", "policy") and report.run == run.path.name
    page = (tmp_path / "page" / "parity.html").read_text()
    assert page.count("data:image/png;base64,") == 2 and "sensor/joint_pos/pole" in page
    assert "src=" not in page.replace('src="data:', "") and "href" not in page


def test_which_sims_are_compared() -> None:
    if not torch.cuda.is_available():
        reference, other, note = sims_here()
        assert (reference, other) == ("cpu", "warp-cpu") and "No NVIDIA GPU" in note
    assert sims_here(("cpu", "gpu")) == ("cpu", "gpu", "")
    with pytest.raises(PaddockError, match="first of them cpu"):
        sims_here(("gpu", "cpu"))
