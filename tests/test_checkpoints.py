"""Checkpoints come back bit for bit or not at all: whatever was cut, flipped, moved, or refused by the disk."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import paddock
from brief_tasks import BRIEF_CARTPOLE
from paddock.configuring import TrainConfig, as_words
from paddock.errors import PaddockError
from paddock.learn.ppo_config import PpoConfig
from paddock.messages import BestCheckpoint, CheckpointCard
from paddock.runs import atomic
from paddock.runs.checkpoints import BadCheckpoint, Checkpoints, read
from paddock.runs.folder import RunFolder
from paddock.trained import Run

CARD = CheckpointCard(
    format=1, run="r", task="cartpole-balance", source_sha256="0" * 64, algorithm="ppo", env_steps=0, updates=3, seconds=1.25
)
SMALL = TrainConfig(
    steps=4 * 8 * 8,
    num_worlds=8,
    num_threads=1,
    evaluate_every=2,
    evaluate_episodes=2,
    save_every_s=0.0,
    ppo=PpoConfig(horizon=8, epochs=1, minibatches=2, hidden=(8,)),
)


def tensors(seed: int = 0) -> dict[str, Tensor]:
    """Of every kind that a learner or an environment saves, in no order that sorting would give."""
    random = torch.Generator().manual_seed(seed)
    return {
        "learner/weights": torch.randn(5, 7, generator=random),
        "env/rows": torch.randn(3, 4, generator=random, dtype=torch.float64),
        "learner/turned": torch.randn(4, 6, generator=random).T,
        "env/failed": torch.tensor([True, False]),
        "learner/random": random.get_state(),
        "learner/env_steps": torch.tensor(2**40 + seed),
        "env/nothing": torch.zeros(2, 0),
        "learner/odd": torch.tensor([float("nan"), -0.0, float("inf")]),
    }


def save(checkpoints: Checkpoints, step: int, *, keep: int = 9, best: float | None = None) -> Path:
    score = BestCheckpoint(env_steps=step, success=None, mean_return=best) if best is not None else None
    return checkpoints.save(tensors(step), replace(CARD, env_steps=step), keep=keep, best=score)


def contents(folder: Path) -> dict[str, str]:
    """Every file below, by its hash."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return paddock.train(BRIEF_CARTPOLE, runs_dir=tmp_path_factory.mktemp("runs"), config=SMALL)


def test_everything_comes_back_and_in_its_order(checkpoints: Checkpoints) -> None:
    found = read(save(checkpoints, 480))
    given = tensors(480)
    assert list(found.tensors) == list(given)
    for name, value in given.items():
        assert found.tensors[name].dtype == value.dtype and found.tensors[name].shape == value.shape
        assert found.tensors[name].numpy().tobytes() == value.contiguous().numpy().tobytes()
    size = (found.path / "state.safetensors").stat().st_size
    assert found.card == replace(CARD, env_steps=480, sha256=found.card.sha256, size_bytes=size)
    assert list(found.under("env/")) == ["rows", "failed", "nothing"]


def test_the_last_and_the_best_are_kept(checkpoints: Checkpoints) -> None:
    for step in range(1, 6):
        save(checkpoints, step, keep=2, best={2: 0.5}.get(step))
    assert checkpoints.steps() == [2, 4, 5]
    assert checkpoints.load("best").card.env_steps == 2
    save(checkpoints, 6, keep=2, best=0.75)
    save(checkpoints, 7, keep=2)
    save(checkpoints, 8, keep=2)
    assert checkpoints.steps() == [6, 7, 8] and checkpoints.best() == BestCheckpoint(env_steps=6, success=None, mean_return=0.75)


def test_names_that_do_not_exist_are_answered_with_those_that_do(checkpoints: Checkpoints) -> None:
    with pytest.raises(BadCheckpoint, match="no checkpoint yet"):
        checkpoints.load()
    save(checkpoints, 10)
    with pytest.raises(BadCheckpoint, match="no best checkpoint yet"):
        checkpoints.load("best")
    with pytest.raises(BadCheckpoint, match="no checkpoint of step 11.* latest, best and 10"):
        checkpoints.load(11)
    assert checkpoints.load(10).card.env_steps == 10


def test_latest_is_the_newest_that_is_whole(checkpoints: Checkpoints) -> None:
    for step in (1, 2, 3):
        save(checkpoints, step)
    (checkpoints.path(3) / "state.safetensors").write_bytes(b"")
    assert checkpoints.load().card.env_steps == 2
    (checkpoints.path(2) / "checkpoint.json").unlink()
    assert checkpoints.load("latest").card.env_steps == 1
    (checkpoints.path(1) / "checkpoint.json").write_text("{}")
    with pytest.raises(BadCheckpoint, match=r"no checkpoint of this run can be read:\n.*\n.*\n"):
        checkpoints.load()


@pytest.mark.parametrize("name", ["state.safetensors", "checkpoint.json"])
def test_a_cut_file_is_refused_by_name(checkpoints: Checkpoints, name: str) -> None:
    file = save(checkpoints, 5) / name
    whole = file.read_bytes()
    for size in [0, 1, 7, 8, 9, *range(10, len(whole), max(1, len(whole) // 60)), len(whole) - 1]:
        file.write_bytes(whole[:size])
        with pytest.raises(BadCheckpoint, match=name):
            read(file.parent)
    for more in (b"\0", b" ", whole):
        file.write_bytes(whole + more)
        with pytest.raises(BadCheckpoint, match=name):
            read(file.parent)
    file.write_bytes(whole)
    read(file.parent)


@pytest.mark.parametrize("name", ["state.safetensors", "checkpoint.json"])
def test_a_flipped_bit_is_refused_by_name(checkpoints: Checkpoints, name: str) -> None:
    file = save(checkpoints, 5) / name
    whole = file.read_bytes()
    for place in range(0, len(whole), 1 if name == "checkpoint.json" else 19):
        for bit in {place % 8, 5}:  # the fifth makes of a letter the same one in capitals, which JSON may take for equal
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            file.write_bytes(flipped)
            with pytest.raises(BadCheckpoint, match=name):
                read(file.parent)


def test_a_card_of_another_checkpoint_is_refused(checkpoints: Checkpoints) -> None:
    """The tensors vouch for their card too: a resumed run counts on from what it says."""
    path = save(checkpoints, 5)
    card = json.loads((path / "checkpoint.json").read_text())
    (path / "checkpoint.json").write_text(json.dumps(card | {"updates": 4}))
    with pytest.raises(BadCheckpoint, match=r"checkpoint.json is damaged: state.safetensors was saved with another"):
        read(path)


def test_the_best_is_what_the_checkpoints_know(checkpoints: Checkpoints) -> None:
    """Whatever became of best.json: never written because of a kill, of a future that was undone, or unreadable."""
    best = checkpoints.folder / "best.json"
    save(checkpoints, 1, best=0.1)
    first = best.read_bytes()
    save(checkpoints, 2, best=0.2)
    second = best.read_bytes()
    save(checkpoints, 3)
    for damage in (first, None, b"\xff", b"{}"):
        best.unlink() if damage is None else best.write_bytes(damage)
        checkpoints.drop_after(3)
        assert best.read_bytes() == second
    checkpoints.drop_after(1)
    assert best.read_bytes() == first and checkpoints.steps() == [1]
    checkpoints.drop_after(0)
    assert not best.exists() and checkpoints.steps() == []


def test_an_unreadable_best_is_said_by_name(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1, best=0.1)
    (checkpoints.folder / "best.json").write_bytes(b"\xff\xfe")
    with pytest.raises(BadCheckpoint, match="best.json cannot be read"):
        checkpoints.load("best")


def test_a_mark_without_a_note_counts_too(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    save(checkpoints, 2)
    checkpoints.mark_best(BestCheckpoint(env_steps=1, success=0.5, mean_return=1.0))
    checkpoints.drop_after(2, keep=1)
    assert checkpoints.steps() == [1, 2] and checkpoints.load("best").card.env_steps == 1


def test_what_a_kill_left_is_swept(trained: Run, tmp_path: Path) -> None:
    run = RunFolder(Path(shutil.copytree(trained.path, tmp_path / trained.path.name)))
    before = contents(run.path)
    (run.path / ".run.json.partial").write_text('{"setup')
    for name in (".000000000999.partial", ".000000000001.doomed.partial"):
        (run.checkpoints.folder / name).mkdir()
        (run.checkpoints.folder / name / "state.safetensors").write_bytes(b"half")
    (run.recordings / ".000000000999.mcap.partial").write_bytes(b"half")
    assert run.checkpoints.load().card == trained.folder.checkpoints.load().card
    run.clean()
    assert contents(run.path) == before and not list(run.path.rglob(".*"))


def test_a_file_is_replaced_whole_or_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    atomic.write_file(file, b"first")
    atomic.write_file(file, b"second", durable=False)
    assert file.read_bytes() == b"second"
    with pytest.raises(RuntimeError), atomic.beside(file) as partial:
        partial.write_bytes(b"thi")
        raise RuntimeError
    assert contents(tmp_path) == {"card.json": hashlib.sha256(b"second").hexdigest()}


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    atomic.write_folder(tmp_path / "1", {"a": b"first"})
    with pytest.raises(OSError):
        atomic.write_folder(tmp_path / "1", {"a": b"second"})
    assert contents(tmp_path) == {"1/a": hashlib.sha256(b"first").hexdigest()}


def test_a_checkpoint_of_another_task_is_refused_and_costs_nothing(trained: Run, tmp_path: Path) -> None:
    run = Run(RunFolder(Path(shutil.copytree(trained.path, tmp_path / trained.path.name))))
    swingup = paddock.train("cartpole-swingup", runs_dir=tmp_path, config=SMALL)
    shutil.rmtree(run.folder.checkpoints.path(256))
    shutil.copytree(swingup.folder.checkpoints.path(256), run.folder.checkpoints.path(256))
    before = contents(run.path)
    for refused in (lambda: run.load("latest"), run.resume, lambda: run.resume(steps=64)):
        with pytest.raises(BadCheckpoint, match="000000000256 is of task 'cartpole-swingup', .* 'cartpole-balance'"):
            refused()
    assert contents(run.path) == before


def test_a_finished_run_may_be_resumed_for_nothing(trained: Run, tmp_path: Path) -> None:
    run = Run(RunFolder(Path(shutil.copytree(trained.path, tmp_path / trained.path.name)))).resume()
    assert run.status == "finished" and run.card.progress.troubles == ()
    assert contents(run.folder.checkpoints.folder) == contents(trained.folder.checkpoints.folder)
    assert run.curve("evaluation/return").step.tolist() == trained.curve("evaluation/return").step.tolist()


@pytest.mark.parametrize("place", ["file/runs", "/proc/runs"])
def test_a_place_that_cannot_be_written_is_said_before_training(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(PaddockError, match=r"the run cannot be written to .*runs.* --runs-dir"):
        paddock.train("cartpole-balance", runs_dir=tmp_path / place, config=SMALL)


FULL = """
import json, resource, sys
from pathlib import Path
from paddock.runs.checkpoints import Checkpoints, read
from paddock.trained import train
from paddock.training_view import Nobody

root, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
NONE = resource.getrlimit(resource.RLIMIT_FSIZE)
seen = {}

class Disk(Nobody):
    \"\"\"Full from the third update to the fifth: no file may grow beyond a size that checkpoints have and others do not.\"\"\"
    def show(self, glance):
        folder = next(root.glob("*/checkpoints"))
        if glance.updates == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, NONE[1]))
        if glance.updates == 6:
            seen["steps"] = [read(Checkpoints(folder).path(step)).card.updates for step in Checkpoints(folder).steps()]
            seen["left"] = [path.name for path in folder.iterdir() if path.name.startswith(".")]
            seen["shown"] = list(glance.troubles)
            resource.setrlimit(resource.RLIMIT_FSIZE, NONE)

run = train(sys.argv[3], runs_dir=root, view=Disk(), **settings)
saved = [read(run.folder.checkpoints.path(step)).card.updates for step in run.folder.checkpoints.steps()]
progress = run.card.progress
print(json.dumps(seen | {"saved": saved, "troubles": progress.troubles, "status": progress.status, "updates": progress.updates}))
"""


def test_a_full_disk_stops_saving_not_training(tmp_path: Path) -> None:
    config = replace(SMALL, steps=8 * 8 * 8, evaluate_every=4, watch_worlds=0, ppo=replace(SMALL.ppo, hidden=(256, 256)))
    command = [sys.executable, "-c", FULL, str(tmp_path), json.dumps(as_words(config)), BRIEF_CARTPOLE]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    refused = [f"no checkpoint at {64 * update} steps: File too large" for update in (3, 4, 5)]
    assert (told["steps"], told["left"], told["shown"]) == ([1, 2], [], refused)
    assert (told["status"], told["updates"], told["troubles"]) == ("finished", 8, refused)
    assert told["saved"] == [6, 7, 8]
