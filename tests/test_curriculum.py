"""Curricula: worlds go up by what they achieve, each on its own, and go on from a save."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import paddock
from models import pole_task
from paddock import Task
from paddock import terms as t
from paddock.contracts import State
from paddock.errors import BadTerm, PaddockError
from paddock.tasks.curriculum import CURRICULUM


def even_worlds_succeed(state: State) -> torch.Tensor:
    """A success that depends on the command's sign, which is drawn for each episode."""
    return state.command["wanted"][:, 0] > 0.0


def always(state: State) -> torch.Tensor:
    return state.age >= 0


def schooled(**changes: object) -> Task:
    task = pole_task(
        episode_s=0.1,
        done={},
        success=always,
        command={"wanted": t.UniformCommand(low=(-1.0,), high=(1.0,), every_s=1.0, easy=0.1)},
        observe={"wanted": t.Command("wanted")},
        curriculum=t.Curriculum(levels=4, window=1.0),
    )
    return replace(task, **changes)


def levels(env: paddock.Environment) -> torch.Tensor:
    return env.state.params[CURRICULUM][:, 0]


def played(env: paddock.Environment, episodes: int) -> torch.Tensor:
    """The largest command of all worlds in each episode."""
    found = []
    for _ in range(episodes):
        found.append(env.state.command["wanted"].abs().max())
        for _ in range(env.task.episode_steps):
            env.step(torch.zeros(env.num_worlds, 1))
    return torch.stack(found)


def test_success_opens_the_range_and_failure_closes_it() -> None:
    env = paddock.make(schooled(), num_worlds=256, curriculum=True)
    env.reset()
    largest = played(env, 6)
    opened = [0.1 + 0.9 * level for level in (0.0, 0.25, 0.5, 0.75, 1.0, 1.0)]
    assert largest.tolist() == pytest.approx(opened, rel=0.03)
    assert all(bound >= value for value, bound in zip(largest.tolist(), opened, strict=True))
    worse = paddock.make(schooled(success=lambda state: state.age < 0), num_worlds=4, curriculum=True)
    worse.reset()
    levels(worse).fill_(0.5)
    played(worse, 1)
    assert levels(worse).tolist() == [0.25] * 4


def test_each_world_goes_at_its_own_pace_whatever_the_batch() -> None:
    task = schooled(success=even_worlds_succeed)
    many, few = (paddock.make(task, num_worlds=n, curriculum=True, seed=4) for n in (32, 5))
    for env in (many, few):
        env.reset()
        played(env, 7)
    assert len(set(levels(many).tolist())) > 2
    assert torch.equal(levels(many)[:5], levels(few))
    assert torch.equal(many.state.command["wanted"][:5], few.state.command["wanted"])


def test_outside_training_a_task_is_the_whole_task() -> None:
    env = paddock.make(schooled(), num_worlds=256)
    env.reset()
    assert (levels(env) == 1.0).all()
    assert float(played(env, 1)[0]) > 0.95
    assert (levels(env) == 1.0).all()


def test_a_rolling_score_looks_back_on_several_episodes() -> None:
    rule = t.Curriculum(levels=10, window=3.0, up=0.8, down=0.4)
    kept = torch.tensor([rule.fresh(0.5)])
    seen = []
    for score in (1.0, 1.0, 0.0, 0.0):
        kept = rule.next(kept, torch.tensor([score]))
        seen.append(round(float(kept[0, 0]), 3))
    # 0.6 -> 0.73 -> 0.82, up and 0.6 again -> 0.4 -> 0.27, down
    assert seen == [0.5, 0.6, 0.6, 0.5]


def test_levels_go_on_from_a_save_and_begin_anew_with_a_seed() -> None:
    task = schooled(success=even_worlds_succeed)
    env = paddock.make(task, num_worlds=16, curriculum=True)
    env.reset()
    played(env, 3)
    saved, reached = env.save(), levels(env).clone()
    expected = played(env, 3)
    other = paddock.make(task, num_worlds=16, curriculum=True, seed=9)
    other.reset()
    other.load(saved)
    assert torch.equal(levels(other), reached) and reached.max() > 0
    assert torch.equal(played(other, 3), expected)
    env.reset(seed=0)
    assert (levels(env) == 0.0).all()


def test_a_score_of_ones_own() -> None:
    env = paddock.make(schooled(success=None, curriculum=t.Curriculum(score=lambda s: s.time * 100, window=1)), curriculum=True)
    env.reset()
    played(env, 1)
    assert float(levels(env)[0]) == pytest.approx(0.1)


def test_a_resumed_training_keeps_its_levels(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK_FILE)
    settings = {"num_worlds": 64, "seed": 0, "runs_dir": tmp_path / "runs", "evaluate_every": 0, "record_every": 0}
    run = paddock.train(tmp_path / "task.py", steps=2 * 64 * 24, **settings)
    before = run.curve("curriculum/level").mean
    after = run.resume(steps=2 * 64 * 24).curve("curriculum/level").mean
    assert 0 < before[0] < before[-1] < after[-1] < 1
    assert len(after) == 2 * len(before) and (after[: len(before)] == before).all() and after[len(before)] > before[-1]


TASK_FILE = """
from dataclasses import replace
import paddock
from paddock import terms as t

SCHOOL = replace(
    paddock.find_task("cartpole-balance"),
    name="school",
    episode_s=0.1,
    done={},
    success=lambda s: s.age >= 0,
    curriculum=t.Curriculum(levels=40, window=1.0),
)
"""


def test_mistakes_have_names() -> None:
    for wrong in (lambda: t.Curriculum(up=0.3, down=0.4), lambda: t.Curriculum(levels=0), lambda: t.Curriculum(begin=2.0)):
        with pytest.raises(PaddockError, match="wanted 0 <= down < up"):
            wrong()
    with pytest.raises(BadTerm, match="'curriculum', a name that is taken"):
        paddock.make(schooled(randomize={"curriculum": t.NoiseScale((1.0, 1.0))}))
