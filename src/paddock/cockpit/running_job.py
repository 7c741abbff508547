"""One training as a process: begun or found again, stopped step by step, and what became of it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from paddock.cockpit.job_endings import fallback_hint, hint_of, reason_of
from paddock.cockpit.jobs import JobBook, JobRecord
from paddock.cockpit.ladder import Ladder, Patience
from paddock.cockpit.processes import began_of, find_process, has_left_some, oom_kills, send, spawn
from paddock.errors import PaddockError
from paddock.messages import RunCard
from paddock.messages.cockpit import Job, LabelChange
from paddock.runs.folder import CARD, RunFolder
from paddock.runs.labels import change_labels

LINES, FEW_LINES = 200, 20
"""Of what it printed: while it runs or where it failed, and where all went well."""
LINES_S = 2.0
"""Between two looks at what it prints."""
WELL = ("finished", "stopped")


class RunningJob:
    """A job whose process is there, or was when we last looked."""

    def __init__(self, record: JobRecord, runs_dir: Path, book: JobBook, patience: Patience) -> None:
        self.record = record
        self._run, self._book, self._patience = RunFolder(runs_dir / record.job.run), book, patience
        self._is_child = False
        self._ladder: Ladder | None = None
        self._looked = 0.0

    @property
    def job(self) -> Job:
        return self.record.job

    @property
    def is_over(self) -> bool:
        return self.job.status == "ended"

    @property
    def has_run(self) -> bool:
        """Whether its run is there to be looked at."""
        return (self._run.path / CARD).is_file()

    def begin(self) -> None:
        """Start its process, as the leader of a session of its own: it goes on when the server ends."""
        self.record = replace(self.record, ooms=oom_kills())
        try:
            pid = spawn(self.record.command, self._book.log_of(self.job.id))
        except OSError as refusal:
            self._end(f"it could not be started: {refusal.strerror or refusal}", "")
            return
        self._is_child = True
        self.record = replace(self.record, began=began_of(pid))
        self._change(status="starting", pid=pid, started=now_text())

    def find_again(self, now: float) -> None:
        """After the server began anew: its process, if it is still the one, and how far its stopping had come."""
        is_new = not self.job.request.resume
        pid = self.job.pid or find_process(
            f"--id={self.job.run}" if is_new else str(self._run.path)
        )  # it died before it wrote that
        began = began_of(pid) if pid else 0
        if not began or (self.job.pid and began != self.record.began):
            self._finish(None)
            return
        self.record = replace(self.record, began=began)
        self._change(pid=pid)
        if self.job.status == "stopping":
            due = max(now, self.job.next_signal_at)
            self._ladder = Ladder(pid=pid, whole_group=True, patience=self._patience, rung=self.record.rung, due=due)

    def stop(self, now: float) -> None:
        """Ask it to save and to end; what follows if it does not is said in the job."""
        if self._ladder is None:
            self._ladder = Ladder(pid=self.job.pid, whole_group=True, patience=self._patience)
            self._ladder.begin(self._run.socket, now)
            self._say_next()

    def look(self, now: float) -> None:
        """See whether it is still there, what it says, and whether its stopping is due for more."""
        code = self._exit_code()
        if code is not None or not began_of(self.job.pid):
            self._finish(code)
            return
        if self._ladder is not None and self._ladder.climb(now):
            self._say_next()
        card = self._card()
        if self.job.status == "starting" and card is not None and card.progress.pid == self.job.pid:
            self._change(status="running", hint=fallback_hint(card, self.record.sim))
            self._give_title()
        if now - self._looked >= LINES_S:
            self._looked = now
            self._change(lines=self._book.lines_of(self.job.id, LINES))

    def _exit_code(self) -> int | None:
        """Of our own child, not yet reaped: until it is, nobody else can get its number."""
        if not self._is_child or os.waitid(os.P_PID, self.job.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        self._end_the_rest()
        return os.waitstatus_to_exitcode(os.waitpid(self.job.pid, 0)[1])

    def _end_the_rest(self) -> None:
        """Nothing of its group may stay behind."""
        if has_left_some(self.job.pid):
            send(self.job.pid, signal.SIGTERM if self._ladder is None else signal.SIGKILL, whole_group=True)

    def _finish(self, code: int | None) -> None:
        if not self._is_child and self.job.pid:
            self._end_the_rest()
        lines, card = self._book.lines_of(self.job.id, LINES), self._card()
        name = signal.Signals(-code).name if code is not None and code < 0 else ""
        killed = self._ladder is not None and self._ladder.was_killed
        if card is not None and not self._is_of_this_sitting(card):
            card = None
        went_well = card is not None and card.progress.status in WELL
        self.record = replace(
            self.record, job=replace(self.job, exit_code=code, signal=name, lines=lines[-FEW_LINES:] if went_well else lines)
        )
        self._end(
            reason_of(exit_code=code, signal=name, card=card, lines=lines, was_asked=self._ladder is not None, was_killed=killed),
            hint_of(
                was_seen=code is not None,
                signal=name,
                card=card,
                lines=lines,
                more_ooms=oom_kills() > self.record.ooms,
                was_killed=killed,
                sim=self.record.sim,
            ),
        )

    def _is_of_this_sitting(self, card: RunCard) -> bool:
        """A run that was to go on may have ended before it wrote anything: then its card is of the time before."""
        return card.progress.pid == self.job.pid or not self.job.request.resume

    def _end(self, reason: str, hint: str) -> None:
        self._give_title()
        self._change(status="ended", ended=now_text(), reason=reason, hint=hint, next_signal="", next_signal_at=0.0)

    def _say_next(self) -> None:
        assert self._ladder is not None
        ladder = self._ladder
        self.record = replace(self.record, rung=ladder.rung)
        self._change(status="stopping", next_signal=ladder.next_signal, next_signal_at=ladder.due if ladder.next_signal else 0.0)

    def _give_title(self) -> None:
        """What it was called when it was asked for, once there is a folder to write it into."""
        title = self.job.request.title
        if title and self._run.path.is_dir() and not (self._run.path / "labels.json").exists():
            with suppress(OSError, PaddockError):  # a title is not worth a run
                change_labels(self._run.path, LabelChange(title=title))

    def _card(self) -> RunCard | None:
        try:
            return self._run.card()
        except PaddockError:
            return None

    def _change(self, **changes: object) -> None:
        self.record = replace(self.record, job=replace(self.job, **changes))  # pyright: ignore[reportArgumentType]


def now_text() -> str:
    """ISO time, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
