"""The record of what the cockpit started and will start: one small file beside the runs, which outlives the server."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.errors import PaddockError
from paddock.messages import from_json, to_json
from paddock.messages.cockpit import Job
from paddock.runs.atomic import write_file

FOLDER = ".cockpit"
MAX_ENDED = 100
"""Jobs that are over and still shown."""
TAIL_BYTES, MAX_LINE = 65_536, 500


@dataclass(frozen=True, kw_only=True)
class JobRecord:
    """A job, and what is needed to find its process again."""

    job: Job
    command: tuple[str, ...]
    sim: str
    """That was asked for."""
    began: int = 0
    """When its process began, in the kernel's ticks."""
    ooms: int = 0
    """What `oom_kills` counted then."""
    rung: int = 0
    """How far its stopping had come."""


@dataclass(frozen=True, kw_only=True)
class JobFile:
    """jobs.json."""

    slots: int
    records: tuple[JobRecord, ...]


class JobBook:
    """jobs.json and the logs of one folder of runs. Only one cockpit at a time may hold it."""

    def __init__(self, runs_dir: Path) -> None:
        self.folder = runs_dir / FOLDER
        self._file, self._logs = self.folder / "jobs.json", self.folder / "jobs"
        self._logs.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder / "jobs.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise PaddockError(
                f"another cockpit looks after {runs_dir.absolute()} already. Use that one, or end it first; "
                "for other runs: paddock serve --runs-dir FOLDER"
            ) from None

    def load(self, slots: int) -> JobFile:
        """What was written last; a damaged file is set aside, with what it could have told of runs that go on."""
        try:
            return from_json(JobFile, self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return JobFile(slots=slots, records=())
        except (PaddockError, ValueError, RecursionError):
            self._file.replace(self._file.with_suffix(".damaged"))
            return JobFile(slots=slots, records=())

    def save(self, slots: int, records: list[JobRecord]) -> None:
        """Keep these, but for what they printed, which is in their logs."""
        kept = tuple(replace(record, job=replace(record.job, lines=())) for record in records)
        write_file(self._file, to_json(JobFile(slots=slots, records=kept)).encode())

    def log_of(self, job: str) -> Path:
        """What a job prints."""
        return self._logs / f"{job}.log"

    def lines_of(self, job: str, count: int) -> tuple[str, ...]:
        """The last lines that a job printed; of what was overwritten in place, what stands there."""
        try:
            with self.log_of(job).open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
                text = log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ()
        lines = text.removesuffix("\n").split("\n") if text else []
        return tuple(line.removesuffix("\r").rpartition("\r")[2][:MAX_LINE] for line in lines[-count:])

    def forget(self, job: str) -> None:
        self.log_of(job).unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._lock)
