"""Export refuses what would not be the same function elsewhere."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import paddock
from models import pole_task
from paddock import State
from paddock import terms as t
from paddock.exporting import GRAPHS, UnsafeGraph, disagreement, export_graph, export_task, run_graph
from paddock.tasks.finding import find_task


def noisy(state: State) -> Tensor:
    return t.alive(state) + torch.rand_like(state.qpos[:, 0])


def test_a_graph_that_draws_its_own_numbers_is_refused() -> None:
    env = paddock.make(pole_task(reward={"noisy": (1.0, noisy)}), num_worlds=3)
    with pytest.raises(UnsafeGraph, match="graph pole/reward contains RandomUniform.*state.uniform"):
        export_graph(env, "reward")


def test_a_wrong_graph_is_noticed() -> None:
    env = paddock.make(pole_task(), num_worlds=3)
    env.reset()
    model = export_graph(paddock.make(pole_task(reward={"alive": (1.1, t.alive)}), num_worlds=3), "reward")
    assert model is not None
    assert disagreement(model, "reward", env.task, env.state) == pytest.approx(0.1, abs=1e-5)


def test_history_and_every_draw_export(tmp_path: Path) -> None:
    task = replace(find_task("quadruped-balance"), history={"gyro": 3})
    env = paddock.make(task, num_worlds=3)
    env.reset()
    for _ in range(5):
        env.step(env.sample())
    files = export_task(env, tmp_path / "graphs")
    assert sorted(files) == sorted(GRAPHS)
    model = export_graph(env, "update")
    assert model is not None
    assert disagreement(model, "update", task, env.state) < 1e-6
    assert run_graph(model, env.state)["memory/history/gyro"].shape == (3, 3, 3)


def test_the_number_of_worlds_is_free() -> None:
    model = export_graph(paddock.make("quadruped-walk", num_worlds=3), "observe")
    assert model is not None
    for num_worlds in (1, 2, 64):
        env = paddock.make("quadruped-walk", num_worlds=num_worlds)
        env.reset()
        assert run_graph(model, env.state)["policy"].shape == (num_worlds, 45)
        assert disagreement(model, "observe", env.task, env.state) < 1e-6
