"""Agents, scores and films."""

import math
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from paddock import terms as t
from paddock.contracts import State
from paddock.errors import PaddockError
from paddock.making import make
from paddock.marks import marks
from paddock.playing import play, view
from paddock.scoring import Rate
from paddock.tasks.finding import find_task


@dataclass(frozen=True)
class EndsAtRandomAge:
    """Ends an episode after 1 to `most` steps, drawn when it begins."""

    most: int

    def __call__(self, state: State) -> Tensor:
        return state.age > state.scoped("end").choice(self.most)[:, 0]


def short_task(most: int):
    return replace(
        find_task("cartpole-balance"),
        reward={"alive": (1.0, t.alive), "half": (0.5, t.alive)},
        done={"chance": EndsAtRandomAge(most)},
        success=EndsAtRandomAge(most),
    )


def lengths_one_world_at_a_time(most: int, num_worlds: int, episodes_each: list[int]) -> list[int]:
    """The slow way: each world alone, its first so many episodes."""
    task, lengths = short_task(most), []
    for world in range(num_worlds):
        env = make(task, num_worlds=1, first_world=world)
        env.reset()
        length = 0
        while episodes_each[world]:
            ended = bool(env.step(torch.zeros(1, 1)).ended[0])
            length += 1
            if ended:
                lengths.append(length)
                length = 0
                episodes_each[world] -= 1
    return lengths


def test_a_score_counts_a_fixed_share_of_every_world() -> None:
    score = play(short_task(20), agent="zero", episodes=11, num_worlds=4)
    lengths = lengths_one_world_at_a_time(20, 4, [3, 3, 3, 2])
    assert len(set(lengths)) > 3  # or the shares could not matter
    assert score.episodes == 11
    assert score.mean_length == sum(lengths) / 11
    assert score.terms == {"alive": sum(lengths) / 11, "half": 0.5 * sum(lengths) / 11}
    assert score.mean_return == pytest.approx(1.5 * sum(lengths) / 11)
    assert score.ends == {"chance": 11}
    assert score.success == Rate(count=11, trials=11)


def test_the_rate_does_not_favour_short_episodes() -> None:
    """Mean length of many episodes is that of the draw, 1 to 50, whatever the worlds."""
    score = play(short_task(50), agent="zero", episodes=200, num_worlds=100)
    assert abs(score.mean_length - 25.5) < 4 * 14.4 / math.sqrt(200)


def test_ends_are_counted_by_name_and_running_out_of_time_is_one() -> None:
    task = replace(find_task("cartpole-balance"), episode_s=0.6)
    score = play(task, agent="random", episodes=32, num_worlds=32)
    assert sum(score.ends.values()) == 32
    assert set(score.ends) == {"fell", "truncated"}
    assert play(replace(task, episode_s=0.1), agent="random", episodes=3).ends == {"truncated": 3}


def test_the_same_seed_scores_the_same() -> None:
    first, second, other = (play("cartpole-balance", agent="random", episodes=6, seed=seed) for seed in (1, 1, 2))
    assert (first.mean_return, first.ends) == (second.mean_return, second.ends)
    assert first.mean_return != other.mean_return


def test_the_scripted_agent_succeeds_where_chance_fails() -> None:
    scripted = play("cartpole-balance", agent="scripted", episodes=8)
    assert scripted.success is not None and scripted.success.value == 1.0
    chance = play("cartpole-balance", agent="random", episodes=8)
    assert chance.success is not None and chance.success.value == 0.0


def test_wilson_interval_against_known_values() -> None:
    """Newcombe 1998, table I: 81 of 263, 0 of 20 and 1 of 29."""
    for count, trials, low, high in ((81, 263, 0.2553, 0.3662), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)):
        assert Rate(count=count, trials=trials).interval == pytest.approx((low, high), abs=5e-5)
    assert str(Rate(count=97, trials=100)) == "0.97 [0.92, 0.99]"


def test_no_success_is_said_as_none_and_no_episodes_is_refused() -> None:
    task = replace(short_task(5), success=None)
    assert play(task, agent="zero", episodes=1).success is None
    with pytest.raises(PaddockError, match="at least 1"):
        play(task, agent="zero", episodes=0)


def test_marks_show_the_goal_and_the_command() -> None:
    env = make("quadruped-balance")
    env.reset()
    (goal,) = marks(env)
    assert goal.pos[:2] == tuple(env.state.memory["goal"][0].tolist())
    env = make("quadruped-walk")
    env.reset()
    (arrow,) = marks(env)
    assert arrow.vector is not None
    length = env.state.command["velocity"][0, :2].norm().item() * 0.5
    assert math.hypot(*arrow.vector) == pytest.approx(length, rel=0.01)


def test_a_window_needs_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(PaddockError, match="Film it instead"):
        view("cartpole-balance", agent="zero")
