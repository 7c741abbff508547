"""The folder of a run: what it is, how far it has come, and where everything of it lies."""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import PaddockError, UnknownName, unknown
from paddock.messages import RunCard, RunProgress, RunSetup, from_json, to_json
from paddock.runs.atomic import sweep, write_file

if TYPE_CHECKING:
    from paddock.runs.checkpoints import Checkpoints

CARD = "run.json"
ARCHIVE, TRASH = "archive", "trash"
PACKED = ".tar.gz"
FORMAT = 1
SILENT_S = 15.0
"""A run that says it runs and has not shown a sign of life for so long is thought dead."""
OVER = ("finished", "stopped", "failed")
CLOCK_SLACK_S = 2.0
"""Between the clock of heartbeats and that of the kernel."""
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}")
SHOWN = 5
"""Runs that an error names, out of however many there are."""


def now() -> str:
    """UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id(task: str, seed: int) -> str:
    """Sorts by time, says what it is, and is not given twice."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{task}-s{seed}-{secrets.token_hex(2)}"


def check_id(wanted: str, root: Path) -> None:
    """Refuse what no new run can be called; an empty id leaves the choice to us."""
    if wanted and (not ID.fullmatch(wanted) or wanted in (ARCHIVE, TRASH)):
        raise PaddockError(f"a run cannot be called '{wanted[:80]}': take letters, digits, - and _, and dots behind the first.")
    if wanted and (root / wanted).exists():
        raise PaddockError(f"there is a run '{wanted}' already. Give another id, or go on with that one: paddock resume {wanted}")


class RunFolder:
    """One run on disk. Whatever trains writes it; whatever looks, replays or exports reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.telemetry = path / "telemetry.db"
        self.tensorboard = path / "tensorboard"
        self.recordings = path / "recordings"
        self.evaluations = path / "evaluations"
        self.task_file = path / "task.py"
        self.log = path / "log.txt"
        self.socket = path / "live.sock"
        self.scene = path / "scene.json"
        self.scene_bin = path / "scene.bin"

    @cached_property
    def checkpoints(self) -> Checkpoints:
        from paddock.runs.checkpoints import Checkpoints  # needs PyTorch, for which a list of runs should not wait

        return Checkpoints(self.path / "checkpoints")

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
            card = from_json(RunCard, file.read_text(encoding="utf-8"))
        except (PaddockError, OSError, ValueError, RecursionError) as refusal:
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
        for folder in (self.path, self.checkpoints.folder, self.recordings, self.evaluations):
            sweep(folder)
        self.socket.unlink(missing_ok=True)

    def size_bytes(self) -> int:
        """Of all its files; those that a running run takes away meanwhile do not count."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with suppress(FileNotFoundError):
                    total += Path(folder, name).lstat().st_size
        return total


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
    heartbeat = datetime.fromisoformat(card.progress.heartbeat).timestamp()
    if card.setup.host != os.uname().nodename:
        return time.time() - heartbeat <= SILENT_S
    return _process_exists(card.progress.pid) and _began(card.progress.pid) <= heartbeat + CLOCK_SLACK_S


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _began(pid: int) -> float:
    """When a process began. One that is younger than the run's last sign of life only has its number; 0 where nobody knows."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + int(after_name[19]) / os.sysconf("SC_CLK_TCK")


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


def runs_in(root: Path) -> dict[str, Path]:
    """Folders of the runs that lie in `root`, by name, the oldest first; none that is being taken away."""
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{CARD}")) if not path.parent.name.startswith(".")}


def find_run(wanted: str | Path, root: Path) -> RunFolder:
    """A run by its folder, its id, a part of its id, or `latest`."""
    if (Path(wanted) / CARD).is_file():
        return RunFolder.open(Path(wanted))
    wanted = str(wanted)
    known = runs_in(root)
    if wanted == "latest" and known:
        return RunFolder.open(known[max(known)])
    matches = [wanted] if wanted in known else [name for name in known if wanted in name]
    if len(matches) == 1:
        return RunFolder.open(known[matches[0]])
    if matches:
        shown = ", ".join(matches[-SHOWN:]) + (", ..." if len(matches) > SHOWN else "")
        raise PaddockError(f"'{wanted}' could be any of {len(matches)} runs: {shown}. Give more of its name.")
    put_away = [name for name in (*_packed_in(root), *runs_in(root / TRASH)) if wanted in name]
    if put_away:
        raise PaddockError(f"run {put_away[0]} is put away. Bring it back: paddock runs restore {put_away[0]}")
    if not known:
        raise UnknownName(f"no run '{wanted}': {root.absolute()} has none. Start one: paddock train cartpole-balance")
    near = get_close_matches(wanted, known, n=SHOWN, cutoff=0.5) or list(known)[-SHOWN:]
    raise unknown("run", wanted, ["latest", *near])


def _packed_in(root: Path) -> list[str]:
    return [path.name.removesuffix(PACKED) for path in sorted((root / ARCHIVE).glob(f"*{PACKED}"))]
