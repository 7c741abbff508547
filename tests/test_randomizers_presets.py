"""none, light, default and heavy fit every robot, and a run says what was drawn from."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import paddock
from models import pole_task
from paddock import terms as t
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.inspecting import task_card, written
from paddock.sources import task_of
from paddock.tasks.finding import find_task
from paddock.tasks.randomize_presets import PRESETS, preset_of, with_randomization

DOC = Path(__file__).parent.parent / "docs" / "senses.md"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["quadruped-walk", "quadruped-balance", "arm-reach-joint", "cartpole-pair", "gym-ant"])
def test_every_preset_fits_every_robot(name: str, preset: str) -> None:
    env = paddock.make(with_randomization(find_task(name), preset), num_worlds=2)
    env.reset()
    for _ in range(3):
        env.step(env.sample())
    assert {"mass", "friction"} <= env.state.params.keys()
    assert not any(torch.equal(value[0], value[1]) for value in env.state.params.values())


def test_heavier_presets_reach_further() -> None:
    task = find_task("quadruped-walk")
    light, heavy = preset_of(task, "light"), preset_of(task, "heavy")
    assert light.keys() == heavy.keys() >= {"mass", "friction", "strength", "gains", "centre", "push"}
    for name, one in PRESETS["light"].__dict__.items():
        assert one < getattr(PRESETS["default"], name) < getattr(PRESETS["heavy"], name)


def test_none_is_nominal_and_own_is_the_tasks() -> None:
    task = find_task("quadruped-walk")
    assert with_randomization(task, "none").randomize == {}
    assert with_randomization(task, "own").randomize == task.randomize
    assert with_randomization(task, "") is task


def test_single_entries_are_overridden() -> None:
    task = with_randomization(find_task("quadruped-walk"), "heavy,friction=0.5:1.5,push=10:20,mass=off")
    assert task.randomize["friction"] == t.Friction((0.5, 1.5))
    assert written(task.randomize["push"]).startswith("Push(body='trunk', newtons=(10, 20)")
    assert "mass" not in task.randomize
    for words, said in {
        "hevy": "unknown randomisation 'hevy'. Did you mean 'heavy'",
        "heavy,frction=1": "Did you mean 'friction'",
        "heavy,friction=much": "wanted name=LOW:HIGH",
        "heavy,friction=2:1": "from 2.0 to 1.0 ends before it begins",
    }.items():
        with pytest.raises(PaddockError, match=said):
            with_randomization(find_task("quadruped-walk"), words)


def test_noise_is_scaled_where_there_is_some() -> None:
    noisy = pole_task(noise={"joint_pos": t.Gaussian(0.1)})
    assert "noise" in preset_of(noisy, "light") and "noise" not in preset_of(pole_task(), "light")


def test_a_run_says_and_remembers_what_it_was_trained_under(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--steps 2000 --num-worlds 16 --evaluate-every 0 --evaluate-episodes 2 --watch-worlds 0"
    words = ["train", "quadruped-stand", "--randomize", "light,push=off", *flags.split(), "--runs-dir", str(tmp_path)]
    assert main(words) == 0
    (path,) = (folder for folder in tmp_path.iterdir() if (folder / "run.json").exists())
    run = paddock.Run(paddock.trained.find(str(path), runs_dir=tmp_path).folder)  # type: ignore[attr-defined]
    said: dict[str, Any] = run.card.setup.randomize
    assert said["mass"] == "Mass(Around(0.1), None, True)" and "push" not in said
    assert task_of(run.folder).randomize.keys() == said.keys()
    capsys.readouterr()
    assert main(["inspect", "quadruped-walk", "--randomize", "heavy"]) == 0
    assert "Around(0.6)" in capsys.readouterr().out
    rows = task_card(with_randomization(find_task("quadruped-walk"), "heavy")).randomization
    assert {row.name for row in rows} >= {"mass", "friction", "push"}


def test_the_tables_in_the_documents_are_those_of_the_code() -> None:
    from randomizer_tables import fields_table, presets_table

    page = DOC.read_text()
    for name, table in (("randomisers", fields_table()), ("presets", presets_table())):
        found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, re.DOTALL)
        assert found is not None and found[1] == table, f"docs/senses.md: the table of {name} should be\n{table}"
