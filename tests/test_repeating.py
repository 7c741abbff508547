"""A run again, from its record."""

from pathlib import Path

import pytest

from brief_tasks import BRIEF_CARTPOLE
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.repeating import compare_weights, config_to_repeat, task_to_repeat
from paddock.trained import find, train

SMALL = """--steps 512 --num-worlds 8 --num-threads 1 --ppo.horizon 8 --ppo.epochs 1 --ppo.minibatches 1 --ppo.hidden 8
    --evaluate-every 4 --evaluate-episodes 2 --seed 3"""
TASK = """
from dataclasses import replace
import paddock
MINE = replace(paddock.find_task("cartpole-balance"), name="mine")
"""


def test_a_run_repeated_from_its_record_has_the_same_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(tmp_path)
    assert main(["train", BRIEF_CARTPOLE, *SMALL.split(), "--runs-dir", root]) == 0
    original = find("latest", runs_dir=root)
    assert main(["train", "--like", original.path.name, "--runs-dir", root]) == 0
    assert f"The same weights as {original.path.name} after 512 steps, bit for bit." in capsys.readouterr().out
    again = next(run for run in (find(path.name, runs_dir=root) for path in tmp_path.iterdir()) if run.path != original.path)
    assert again.card.setup.config == original.card.setup.config
    assert compare_weights(again.folder, original.folder).is_identical


def test_what_differs_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(tmp_path)
    assert main(["train", BRIEF_CARTPOLE, *SMALL.split(), "--runs-dir", root]) == 0
    capsys.readouterr()
    assert main(["train", "--like", "latest", "--seed", "4", "--runs-dir", root]) == 0
    said = capsys.readouterr().out
    assert "Not the weights of " in said and "- seed was 3, here it is 4" in said


def test_a_run_that_was_cut_short_is_repeated_as_far_as_it_came(tmp_path: Path) -> None:
    ppo = {"horizon": 8, "epochs": 1, "minibatches": 1, "hidden": (8,)}
    run = train(BRIEF_CARTPOLE, runs_dir=tmp_path, num_worlds=8, minutes=0.01, ppo=ppo)
    assert config_to_repeat(run.folder).steps == run.card.progress.env_steps > 0
    assert config_to_repeat(run.folder).minutes == 0.0


def test_a_task_file_is_found_where_it_was_and_refused_where_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "my_task.py"
    file.write_text(TASK)
    monkeypatch.chdir(file.parent)
    assert main(["train", "my_task.py", *SMALL.split(), "--runs-dir", str(tmp_path / "runs")]) == 0
    run = find("latest", runs_dir=tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    assert task_to_repeat(run.folder) == f"{file}:MINE"
    file.write_text(TASK + "# changed\n")
    with pytest.raises(PaddockError, match=r"has changed since .* began.*paddock train .*/task.py:MINE --config .*run.json"):
        task_to_repeat(run.folder)
