"""The folder of a run: what it is, how far it has come, and where everything of it lies."""

from __future__ import annotations

import os
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path

from paddock.errors import PaddockError, unknown
from paddock.messages import RunCard, RunProgress, RunSetup, from_json, to_json
from paddock.runs.atomic import sweep, write_file
from paddock.runs.checkpoints import Checkpoints

CARD = "run.json"
FORMAT = 1
SILENT_S = 15.0
"""A run that says it runs and has not shown a sign of life for so long is thought dead."""
OVER = ("finished", "stopped", "failed")


def now() -> str:
    """UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id(task: str, seed: int) -> str:
    """Sorts by time, says what it is, and is not given twice."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{task}-s{seed}-{secrets.token_hex(2)}"


class RunFolder:
    """One run on disk. Whatever trains writes it; whatever looks, replays or exports reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path / "checkpoints")
        self.telemetry = path / "telemetry.db"
        self.tensorboard = path / "tensorboard"
        self.recordings = path / "recordings"
        self.evaluations = path / "evaluations"
        self.task_file = path / "task.py"
        self.log = path / "log.txt"
        self.socket = path / "live.sock"

    @staticmethod
    def create(root: Path, setup: RunSetup, *, task_source: bytes | None) -> RunFolder:
        """A new folder whose run.json says what will run, before anything does."""
        run = RunFolder(root / setup.id)
        try:
            run.path.mkdir(parents=True)
            for folder in (run.checkpoints.folder, run.recordings):
                folder.mkdir()
            if task_source is not None:
                write_file(run.task_file, task_source)
            run.write(RunCard(setup=setup, progress=_unbegun()))
        except OSError as refusal:
            raise PaddockError(
                f"the run cannot be written to {run.path}: {refusal.strerror}. Choose another place: --runs-dir FOLDER"
            ) from None
        return run

    @staticmethod
    def open(path: Path) -> RunFolder:
        """An existing run; refuses what is none."""
        run = RunFolder(path)
        run.card()
        return run

    def card(self) -> RunCard:
        """run.json as it is now."""
        file = self.path / CARD
        if not file.is_file():
            raise PaddockError(f"{self.path} is no run: it has no {CARD}. List the runs: paddock runs")
        try:
            card = from_json(RunCard, file.read_text())
        except PaddockError as refusal:
            raise PaddockError(f"{file} cannot be used: {refusal}") from None
        if card.setup.format != FORMAT:
            raise PaddockError(f"{file} has format {card.setup.format}; this Paddock reads format {FORMAT}.")
        return card

    def write(self, card: RunCard) -> None:
        """Replace run.json, durably where its status changes."""
        write_file(self.path / CARD, to_json(card).encode())

    def beat(self, card: RunCard) -> None:
        """Replace run.json with a fresh sign of life; a power cut may lose it."""
        write_file(self.path / CARD, to_json(card).encode(), durable=False)

    def clean(self) -> None:
        """Delete what a crash left half-written."""
        sweep(self.path)
        sweep(self.checkpoints.folder)
        self.socket.unlink(missing_ok=True)

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def status_of(card: RunCard) -> str:
    """What the run says, or `crashed` where it says it runs and nobody is there."""
    progress = card.progress
    if progress.status in OVER or is_alive(card):
        return progress.status
    return "crashed"


def is_alive(card: RunCard) -> bool:
    """Whether the process that writes the run still does. One on another machine is judged by its heartbeat alone."""
    if card.progress.status in OVER:
        return False
    silent = time.time() - datetime.fromisoformat(card.progress.heartbeat).timestamp() > SILENT_S
    if card.setup.host != os.uname().nodename:
        return not silent
    return _process_exists(card.progress.pid)


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _unbegun() -> RunProgress:
    return RunProgress(
        status="starting",
        detail="",
        heartbeat=now(),
        pid=os.getpid(),
        env_steps=0,
        updates=0,
        seconds=0.0,
        mean_return=None,
        success=None,
        best_success=None,
        resumed=0,
        dropped_rows=0,
        troubles=(),
    )


def find_run(wanted: str | Path, root: Path) -> RunFolder:
    """A run by its folder, its id, the beginning of its id, or `latest`."""
    if (Path(wanted) / CARD).is_file():
        return RunFolder.open(Path(wanted))
    known = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{CARD}"))}
    if not known:
        raise PaddockError(f"no run '{wanted}': {root.absolute()} has none. Start one: paddock train cartpole-balance")
    if str(wanted) == "latest":
        return RunFolder.open(known[max(known)])
    matches = [name for name in known if str(wanted) in name]
    if str(wanted) in known:
        matches = [str(wanted)]
    if len(matches) == 1:
        return RunFolder.open(known[matches[0]])
    if matches:
        raise PaddockError(f"'{wanted}' could be any of {len(matches)} runs: {', '.join(matches)}. Give more of its name.")
    raise unknown("run", str(wanted), ["latest", *known])
