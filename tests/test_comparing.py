"""Runs beside one another, from their records."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from brief_tasks import BRIEF_CARTPOLE, CARTPOLE
from paddock.cli import main
from paddock.comparing import compare, label, select
from paddock.errors import PaddockError
from paddock.trained import Run, train

TINY: dict[str, Any] = {
    "steps": 1024,
    "num_worlds": 8,
    "num_threads": 1,
    "evaluate_every": 4,
    "evaluate_episodes": 2,
    "watch_worlds": 0,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs: two seeds of two settings."""
    root = tmp_path_factory.mktemp("work") / "runs"
    for epochs in (1, 2):
        for seed in (0, 1):
            ppo = {"horizon": 16, "epochs": epochs, "minibatches": 1, "hidden": (8,)}
            train(BRIEF_CARTPOLE, runs_dir=root, seed=seed, ppo=ppo, **TINY)
    return root


def test_seeds_are_taken_together_and_settings_named_by_what_differs(root: Path) -> None:
    runs = select(["cartpole-balance"], runs_dir=root)
    assert len(runs) == 4
    found = compare(runs)
    assert {(group.label, len(group.runs)) for group in found.groups} == {("ppo.epochs=1", 2), ("ppo.epochs=2", 2)}
    first, second = found.groups
    assert first.reached["evaluation/return"].middle >= second.reached["evaluation/return"].middle
    ((better, worse, difference),) = found.differences
    assert (better, worse) == (first.label, second.label) and not difference.is_sure


def test_values_are_those_of_the_record_at_the_end_and_at_a_step(root: Path) -> None:
    runs = select(["cartpole-balance"], runs_dir=root)
    for at in (0, 512):
        for group in compare(runs, at=at).groups:
            for name, value in zip(group.runs, group.values["evaluation/return"], strict=True):
                (run,) = (run for run in runs if run.path.name == name)
                curve = run.curve("evaluation/return")
                last = at or 1024
                wanted = [v for s, v in zip(curve.step, curve.mean, strict=True) if 0.9 * last <= s <= last]
                assert value == pytest.approx(sum(wanted) / len(wanted))


def test_groups_by_what_is_asked(root: Path) -> None:
    runs = select(["cartpole-balance"], runs_dir=root)
    assert set(label(runs, ["seed"])) == {"seed=0", "seed=1"}
    assert set(label(runs, ["task"])) == {"cartpole-balance"}
    with pytest.raises(PaddockError, match="unknown setting 'ppo.epoch'.*ppo.epochs"):
        label(runs, ["ppo.epoch"])


def test_the_command_prints_a_table_words_and_a_picture(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "picture.png"
    assert main(["compare", "cartpole-balance", "--runs-dir", str(root), "--out", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "ppo.epochs=1" in said and "so few seeds can show nothing" in said
    with Image.open(picture) as image:
        assert image.size[0] > 800
    assert main(["compare", "cartpole-balance", "--runs-dir", str(root), "--json"]) == 0
    words = json.loads(capsys.readouterr().out)
    assert len(words["groups"]) == 2 and len(words["groups"][0]["curves"]["evaluation/return"]["step"]) == 200


def test_a_repetition_is_no_other_seed(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "runs"))
    (first, *_) = sorted(copy.iterdir())
    shutil.copytree(first, first.with_name(f"{first.name}-again"))
    found = compare(select(["cartpole-balance"], runs_dir=copy))
    assert [len(group.runs) for group in found.groups] == [2, 2] and len(found.left_out) == 1
    with pytest.raises(PaddockError, match="these 2 runs are one training with one seed"):
        compare(select([first.name], runs_dir=copy))
    assert main(["compare", "cartpole-balance", "--runs-dir", str(copy), "--out", str(tmp_path / "again.png")]) == 0
    assert "1 run left out: the same training with the same seed" in capsys.readouterr().out


def test_returns_of_two_tasks_are_not_compared_by_accident(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ppo = {"horizon": 16, "epochs": 1, "minibatches": 1, "hidden": (8,)}
    other = train(replace(CARTPOLE, name="another"), runs_dir=tmp_path, ppo=ppo, **TINY)
    both = [*select(["cartpole-balance"], runs_dir=root), other]
    with pytest.raises(PaddockError, match=r"of 2 tasks \(another, cartpole-balance\), whose returns .* --by task"):
        compare(both)
    groups = {group.label: len(group.runs) for group in compare(both, by=["task"]).groups}
    assert groups == {"cartpole-balance": 4, "another": 1}
    lone = f"{other.path} {both[0].path}".split()
    assert main(["compare", *lone, "--by", "task", "--json", "--runs-dir", str(tmp_path)]) == 0
    words = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert words["groups"][0]["reached"]["evaluation/return"]["low"] is None


def test_one_run_and_an_unknown_scalar_are_refused(root: Path) -> None:
    runs: list[Run] = select(["latest"], runs_dir=root)
    with pytest.raises(PaddockError, match="two runs or more"):
        compare(runs)
    with pytest.raises(PaddockError, match=r"unknown scalar of these runs: 'evaluation/retrun'.*evaluation/return"):
        compare(select(["cartpole-balance"], runs_dir=root), metrics=["evaluation/retrun"])
