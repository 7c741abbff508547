"""A training killed with SIGKILL where it hurts leaves every file readable, and resumed ends with the bits it would have had.

The whole campaign is bench/kills.py; here are a few of its kills, and runs made wrong on purpose, which must be noticed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from kill_yard import CARTPOLE, GOING_BACK, QUADRUPED, WRITING, Aim, Outcome, Subject, Yard
from kills import spread
from torch import Tensor

import paddock
from paddock.runs import atomic
from paddock.runs.folder import RunFolder
from paddock.runs.telemetry_file import connect

ROOT = Path(__file__).parent.parent


def shorter(subject: Subject) -> Subject:
    """Five updates, of which the second and the fourth are evaluated, the third is recorded, and the last is both."""
    return replace(subject, settings={**subject.settings, "steps": 5 * 8 * 6, "evaluate_every": 2, "record_every": 3})


POLE, ROBOT = shorter(CARTPOLE), shorter(QUADRUPED)
SHOTS = {
    "before there is a run": Aim(subject=POLE, shots=(("file.before_rename", 1),)),
    "as telemetry begins": Aim(subject=POLE, shots=(("telemetry.before_begun", 1),)),
    "half a checkpoint": Aim(subject=POLE, shots=(("folder.after_file", 5),)),
    "saved, not yet the best": Aim(subject=ROBOT, shots=(("folder.after_rename", 2),)),
    "before a commit": Aim(subject=POLE, shots=(("telemetry.before_commit", 6),)),
    "while the last is pruned": Aim(subject=POLE, shots=(("folder.after_doom", 2),)),
    "again, while going back": Aim(subject=POLE, shots=(("folder.before_rename", 4), ("rewind.before_commit", 1))),
}


def with_other(wrong: Callable[[str, Tensor], Tensor]) -> Callable[[Path], None]:
    """Write the newest checkpoint of a run again, each tensor as `wrong` has it."""

    def meddle(run: Path) -> None:
        checkpoints = RunFolder(run).checkpoints
        found = checkpoints.load()
        atomic.remove_folder(found.path)
        changed = {name: wrong(name, value) for name, value in found.tensors.items()}
        checkpoints.save(changed, found.card, keep=9)

    return meddle


def lose_an_episode(run: Path) -> None:
    with closing(connect(RunFolder(run).telemetry, mode="rw", timeout=1.0)) as db:
        db.execute("DELETE FROM episodes WHERE id = 1")


def flip_a_byte(run: Path) -> None:
    file = RunFolder(run).checkpoints.load().path / "state.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


WRONG: dict[str, Callable[[Path], None]] = {
    "no moments": with_other(lambda name, value: torch.zeros_like(value) if name.startswith("learner/optimizer/") else value),
    "another generator": with_other(lambda name, value: torch.Generator().get_state() if name == "learner/random" else value),
    "an episode lost": lose_an_episode,
}


DAMAGED = "the newest checkpoint is damaged besides"


def shoot_all(folder: Path) -> Iterator[tuple[str, Outcome]]:
    yard = Yard(folder)
    wholes = {subject.name: yard.whole(subject)[0] for subject in (POLE, ROBOT)}
    for name, aim in SHOTS.items():
        yield name, yard.shoot(aim, wholes[aim.subject.name])
    for name, meddle in WRONG.items():
        yield name, yard.shoot(SHOTS["half a checkpoint"], wholes[POLE.name], meddle)
    yield DAMAGED, yard.shoot(SHOTS["half a checkpoint"], wholes[POLE.name], flip_a_byte)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """In a process of its own, which forks: this one may have threads."""
    command = [sys.executable, __file__, str(tmp_path_factory.mktemp("killed"))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, env=child_env(), check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def child_env() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "bench"), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize("name", SHOTS)
def test_a_kill_costs_nothing_but_time(outcomes: dict[str, dict[str, list[str]]], name: str) -> None:
    outcome = outcomes[name]
    assert outcome["killed"] == [point for point, _ in SHOTS[name].shots]
    assert outcome["unreadable"] == []
    assert outcome["differing"] == []


@pytest.mark.parametrize("name", WRONG)
def test_a_run_that_went_on_otherwise_is_noticed(outcomes: dict[str, dict[str, list[str]]], name: str) -> None:
    wanted = "telemetry: .* episodes for" if name == "an episode lost" else "checkpoint .* tensors of .*learner"
    assert any(re.match(wanted, difference) for difference in outcomes[name]["differing"]), outcomes[name]


def test_a_damaged_checkpoint_costs_nothing_but_time(outcomes: dict[str, dict[str, list[str]]]) -> None:
    assert (outcomes[DAMAGED]["killed"], outcomes[DAMAGED]["differing"]) == (["folder.after_file"], [])


def test_every_point_is_aimed_at() -> None:
    sources = Path(paddock.__file__).parent.rglob("*.py")
    named = {name for file in sources for name in re.findall(r'\bpoint\("([\w.]+)"\)', file.read_text())}
    assert named == {*WRITING, *GOING_BACK}


def test_passings_are_spread_from_the_first_to_the_last_but_one() -> None:
    assert [spread(count, 4) for count in (1, 2, 3, 4, 13)] == [[1], [1], [1, 2], [1, 2, 3], [1, 5, 8, 12]]


if __name__ == "__main__":
    found = {name: vars(outcome) | {"aim": None} for name, outcome in shoot_all(Path(sys.argv[1]))}
    sys.stdout.write(json.dumps(found))
