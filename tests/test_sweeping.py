"""Sweeps: real trials, cut short, killed, gone on with, and shown."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from optuna.trial import create_trial

from brief_tasks import BRIEF_CARTPOLE
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.messages import SweepCard
from paddock.sweep_plot import plot_sweep
from paddock.sweep_space import axis, nested, setting
from paddock.sweeping import TELLING, Sweep, importance

QUICK = {"steps": 6000, "num_worlds": 16, "evaluate_every": 2, "evaluate_episodes": 4, "num_threads": 1, "watch_worlds": 0}


def card_of(folder: Path, **changes: object) -> SweepCard:
    told: dict[str, object] = {
        "name": "poles",
        "task": BRIEF_CARTPOLE,
        "preset": "debug",
        "settings": QUICK,
        "vary": {"ppo.learning_rate": "1e-9:1e-2:log", "ppo.hidden": "16,16|32,32"},
        "objective": "evaluation/return",
        "minimize": False,
        "trials": 5,
        "prune": True,
        "seed": 0,
        "runs_dir": str(folder / "runs"),
        "created": "now",
    }
    return SweepCard(**(told | changes))  # pyright: ignore[reportArgumentType]


def test_trials_are_runs_and_those_that_fall_behind_are_cut_short(tmp_path: Path) -> None:
    sweep = Sweep.create(tmp_path / "sweeps", card_of(tmp_path))
    for rate in (1e-2, 9e-3, 8e-3, 7e-3, 1e-9):
        sweep.study.enqueue_trial({"ppo.learning_rate": rate, "ppo.hidden": "16,16"})
    assert sweep.work() == 5
    rows = sweep.rows()
    assert [row.state for row in rows] == ["complete"] * 4 + ["pruned"]
    assert rows[4].env_steps < rows[0].env_steps
    assert rows[0].settings == {"ppo.learning_rate": 1e-2, "ppo.hidden": [16, 16]}
    assert {row.run for row in rows} == {path.name for path in (tmp_path / "runs").iterdir()}
    best = sweep.best()
    assert best is not None
    assert best.value == max(row.value for row in rows if row.state == "complete" and row.value is not None)
    assert importance(sweep) == {}  # so few trials explain nothing
    done = sweep.study.get_trials()[0]
    for i in range(TELLING):
        params = {"ppo.learning_rate": 10.0 ** (-2 - i / 2), "ppo.hidden": ("16,16", "32,32")[i % 2]}
        sweep.study.add_trial(create_trial(params=params, distributions=done.distributions, value=-float(i)))
    weights = importance(sweep)
    assert sum(weights.values()) == pytest.approx(1.0) and weights["ppo.learning_rate"] > 0.7
    assert plot_sweep(sweep, tmp_path / "sweep.png").stat().st_size > 10_000
    assert sweep.work() == 0  # there are as many as were asked for


def test_a_killed_workers_trial_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    longer = QUICK | {"steps": 20_000, "evaluate_every": 0, "save_every_s": 0.0}
    sweep = Sweep.create(tmp_path / "sweeps", card_of(tmp_path, trials=1, settings=longer))
    worker = subprocess.Popen([sys.executable, "-m", "paddock", "sweeps", "work", str(sweep.path)])
    deadline = time.monotonic() + 120
    while not list((tmp_path / "runs").glob("*/checkpoints/*/*.json")):
        assert worker.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert [row.state for row in sweep.rows()] == ["running"]
    assert sweep.work() == 1
    (row,) = sweep.rows()
    assert row.state == "complete"
    assert row.env_steps >= 20_000
    (run,) = (tmp_path / "runs").iterdir()
    assert row.run == run.name
    assert '"resumed": 1' in (run / "run.json").read_text()


def test_the_command_searches_shows_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["sweep", "cartpole-balance", "--preset", "debug", "--vary", "ppo.horizon=8,16", "--name", "short"]
    words += ["--steps", "2e3", "--num-worlds", "8", "--set", "evaluate-every=0", "evaluate-episodes=2", "--workers", "2"]
    assert main([*words, "--trials", "2"]) == 0
    assert main([*words, "--trials", "3"]) == 0
    told = capsys.readouterr().out
    assert "2 of 3 trials done" in told
    best = "paddock train cartpole-balance --preset debug --steps 2000 --num-worlds 8 --evaluate-every 0 --evaluate-episodes 2"
    assert f"Train with the best  {best} --ppo.horizon " in told
    assert (tmp_path / "sweeps" / "short" / "sweep.png").exists()
    assert main(["sweeps"]) == 0
    assert "3/3" in capsys.readouterr().out
    assert main([*words, "--trials", "3", "--objective", "episode/length"]) == 2
    assert "Choose another --name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ({"ppo.learning_rat": "1:2"}, "Did you mean 'ppo.learning_rate'"),
        ({"ppo.horizon": "8:x"}, "ppo.horizon is a number, not 'x'"),
        ({"ppo.horizon": "16:8"}, "16 is not below 8"),
        ({"ppo.learning_rate": "0:1:log"}, "0 has no logarithm"),
        ({"ppo.hidden": "64:128"}, "no range of it"),
        ({"ppo.horizon": "8"}, "nothing to search"),
        ({"ppo.horizon": "0:8"}, "ppo.horizon is 0; wanted 1 or more"),
        ({"steps": "5,6"}, "cannot be both searched and set"),
        ({}, "nothing to search"),
    ],
)
def test_a_search_that_cannot_be_is_refused_before_it_begins(tmp_path: Path, vary: dict[str, str], said: str) -> None:
    with pytest.raises(PaddockError, match=said):
        Sweep.create(tmp_path / "sweeps", card_of(tmp_path, vary=vary))
    assert not (tmp_path / "sweeps").exists()


def test_values_have_the_type_of_their_setting() -> None:
    assert axis("ppo.horizon", "8:64").extremes() == (8, 64)
    assert axis("ppo.compiled", "true,false").extremes() == (True, False)
    assert axis("ppo.hidden", "64|64,64").extremes() == ([64], [64, 64])
    assert axis("ppo.learning-rate", "1e-4,1e-3").extremes() == (1e-4, 1e-3)
    assert setting("num-worlds", "5e2") == ("num_worlds", 500)
    assert nested({"ppo.horizon": 8, "seed": 1}) == {"ppo": {"horizon": 8}, "seed": 1}
