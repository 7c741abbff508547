"""What policies can stand, by real evaluations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from brief_tasks import BRIEF_CARTPOLE, CARTPOLE
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.robustness import examine
from paddock.tasks.randomize_presets import with_randomization
from paddock.trained import Run, train

TINY: dict[str, Any] = {
    "steps": 1024,
    "num_worlds": 8,
    "num_threads": 1,
    "evaluate_every": 0,
    "evaluate_episodes": 2,
    "watch_worlds": 0,
}
PPO = {"horizon": 16, "epochs": 1, "minibatches": 1, "hidden": (8,)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(BRIEF_CARTPOLE, runs_dir=tmp_path_factory.mktemp("work") / "runs", ppo=PPO, **TINY)


def test_a_cell_is_what_an_evaluation_under_that_condition_gives(run: Run) -> None:
    found = examine([run], conditions=("none", "heavy"), ablate="heavy", episodes=4)
    (row,) = found.rows
    assert row.trained_under == "own" and [cell.condition for cell in row.cells] == ["none", "heavy"]
    for cell in row.cells:
        alone = Run(run.folder, task=with_randomization(run.task, cell.condition)).evaluate(episodes=4)
        assert (cell.mean_return, cell.success) == (alone.mean_return, alone.success)
    assert {ablation.name for ablation in found.ablations} == set(with_randomization(run.task, "heavy").randomize)


def test_a_part_alone_is_that_part_of_the_condition(run: Run) -> None:
    """Mass alone does what a task with nothing but that randomiser does, and another one's numbers are drawn as in the whole."""
    found = examine([run], conditions=("none",), ablate="heavy", episodes=4)
    mass = next(ablation for ablation in found.ablations if ablation.name == "mass")
    only = replace(run.task, randomize={"mass": with_randomization(run.task, "heavy").randomize["mass"]})
    assert mass.alone.mean_return == Run(run.folder, task=only).evaluate(episodes=4).mean_return
    assert mass.alone.mean_return != found.rows[0].cells[0].mean_return


def test_the_command_writes_numbers_and_a_heat_map(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["robustness", "latest", "--under", "none", "heavy,damping=off", "--episodes", "2", "--runs-dir", str(run.path.parent)]
    assert main(args) == 0
    said = capsys.readouterr().out
    matrix, ablations = said.split("What hurts the policy")
    assert "heavy,damping=off" in matrix
    assert "\nmass " in ablations and "\ndamping " not in ablations
    words = json.loads((run.folder.evaluations / "robustness.json").read_text())
    assert words["episodes"] == 2 and len(words["rows"][0]["cells"]) == 2
    with Image.open(run.folder.evaluations / "robustness.png") as picture:
        assert picture.size[0] > 600


def test_runs_of_two_tasks_make_no_matrix(run: Run, tmp_path: Path) -> None:
    other = train(replace(CARTPOLE, name="another"), runs_dir=tmp_path, ppo=PPO, **TINY)
    with pytest.raises(PaddockError, match=r"of 2 tasks \(another, cartpole-balance\); wanted runs of one task"):
        examine([run, other])
