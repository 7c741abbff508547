"""Starts trainings and stops them: a queue, so many at a time, and a record that outlives the server. Trainings do, too.

One thread looks after all of them a few times a second; whoever calls a method never waits for a training.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from paddock.cockpit.answers import Conflict, NotFound
from paddock.cockpit.job_commands import resume_command, train_command
from paddock.cockpit.jobs import MAX_ENDED, JobBook, JobRecord
from paddock.cockpit.ladder import Ladder, Patience
from paddock.cockpit.processes import began_of
from paddock.cockpit.running_job import LINES, RunningJob, now_text
from paddock.errors import PaddockError
from paddock.messages.cockpit import Done, Form, Job, JobList, JobRequest
from paddock.runs.folder import RunFolder, is_alive, new_id

PADDOCK = (sys.executable, "-u", "-m", "paddock")
LOOK_S = 0.2
MAX_QUEUED = 1000
NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_-]+")


class Supervisor:
    """The jobs of one folder of runs."""

    version = 0
    """Another one whenever `jobs` would tell something else."""

    def __init__(self, runs_dir: Path, slots: int, *, patience: Patience | None = None, program: tuple[str, ...] = PADDOCK) -> None:
        self._runs_dir, self._patience = runs_dir.absolute(), patience or Patience()
        self._program = program
        self._book = JobBook(self._runs_dir)
        kept = self._book.load(slots)
        self._slots = kept.slots
        self._lock = threading.RLock()
        self._jobs = {record.job.id: self._held(record) for record in kept.records}
        self._strangers: dict[str, tuple[Ladder, int]] = {}  # runs of a shell that are being stopped, and when they began
        self._told: tuple[Job, ...] = ()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._look_after, name="supervisor", daemon=True)

    def start(self) -> None:
        """Find again what an earlier server started, and begin what waits."""
        with self._lock:
            for held in self._jobs.values():
                if not held.is_over and held.job.status != "queued":
                    held.find_again(time.time())
                lines = () if held.job.status == "queued" else self._book.lines_of(held.job.id, LINES)
                held.record = replace(held.record, job=replace(held.job, lines=lines))
            self._settle()
        self._thread.start()

    def close(self) -> None:
        """Look no more; trainings go on."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._book.save(self._slots, self._records())
            self._book.close()

    def jobs(self) -> JobList:
        with self._lock:
            return JobList(jobs=self._numbered(), slots=self._slots)

    def submit(self, request: JobRequest, form: Form | None = None, /) -> Job:
        """Train what the request asks for when there is room: anew, as its form allows, or from where a run ended."""
        if not math.isfinite(request.minutes):
            raise PaddockError(f"minutes is {request.minutes}; wanted a number.")
        with self._lock:
            if sum(held.job.status == "queued" for held in self._jobs.values()) >= MAX_QUEUED:
                raise Conflict(f"{MAX_QUEUED} trainings wait already.")
            if request.resume:
                run, sim = self._run_to_resume(request.resume).path.name, ""
                command = resume_command(request, runs_dir=self._runs_dir)
            else:
                assert form is not None
                name = NOT_IN_AN_ID.sub("-", Path(request.task).name.replace(".py", "")).strip("-")
                run, sim = new_id(name, request.seed), form.sim
                command = train_command(request, form, run=run, runs_dir=self._runs_dir)
            job = _queued(request, run)
            self._jobs[job.id] = self._held(JobRecord(job=job, command=(*self._program, *command), sim=sim))
            self._settle()
            return self._shown(job.id)

    def cancel(self, job: str, /) -> Job:
        """Take it out of the queue, or stop it."""
        with self._lock:
            if job not in self._jobs:
                raise NotFound(f"there is no job '{job[:80]}'.")
            held = self._jobs[job]
            if held.job.status == "queued":
                held.record = replace(held.record, job=replace(held.job, status="ended", ended=now_text(), reason="cancelled"))
            elif not held.is_over:
                held.stop(time.time())
            self._settle()
            return self._shown(job)

    def set_slots(self, slots: int, /) -> JobList:
        """How many may run side by side from now on."""
        with self._lock:
            self._slots = slots
            self._settle(is_new=True)
            return self.jobs()

    def stop_run(self, run: str, /) -> Done:
        """Let a run save and end, whoever started it, and see to it that it does."""
        with self._lock:
            for held in self._jobs.values():
                if held.job.run == run and held.job.status not in ("queued", "ended"):
                    held.stop(time.time())
                    self._settle()
                    return Done(ok=f"{run} saves and stops.")
            return self._stop_stranger(run)

    def runs_started(self) -> set[str]:
        """Ids of the runs that were begun from here."""
        with self._lock:
            return {held.job.run for held in self._jobs.values() if not held.job.request.resume}

    def _stop_stranger(self, run: str) -> Done:
        """A run that a shell started: its process alone is told, for its group may be somebody's script."""
        folder = RunFolder(self._runs_dir / run)
        card = folder.card()
        if not is_alive(card):
            raise Conflict(f"{run} does not run any more.")
        if card.setup.host != os.uname().nodename:
            raise Conflict(f"{run} runs on {card.setup.host}. Stop it there: paddock tell {run} stop")
        if run not in self._strangers:
            pid = card.progress.pid
            ladder = Ladder(pid=pid, whole_group=False, patience=self._patience)
            self._strangers[run] = ladder, began_of(pid)
            ladder.begin(folder.socket, time.time())
        return Done(ok=f"{run} saves and stops.")

    def _run_to_resume(self, run: str) -> RunFolder:
        folder = RunFolder(self._runs_dir / run)
        if Path(run).name != run or not folder.path.is_dir():
            raise NotFound(f"there is no run '{run[:80]}' to go on with.")
        is_ours = any(held.job.run == run and not held.is_over for held in self._jobs.values())
        if is_ours or is_alive(folder.card()):
            raise Conflict(f"{run} runs already, or waits to.")
        return folder

    def _held(self, record: JobRecord) -> RunningJob:
        return RunningJob(record, self._runs_dir, self._book, self._patience)

    def _look_after(self) -> None:
        while not self._closing.wait(LOOK_S):
            with self._lock:
                now = time.time()
                for held in self._jobs.values():
                    if not held.is_over and held.job.status != "queued":
                        held.look(now)
                self._look_at_strangers(now)
                self._settle()

    def _look_at_strangers(self, now: float) -> None:
        for run, (ladder, began) in list(self._strangers.items()):
            if began_of(ladder.pid) != began:
                del self._strangers[run]
            else:
                ladder.climb(now)

    def _settle(self, *, is_new: bool = False) -> None:
        """Begin what there is room for, and write down what changed."""
        busy = sum(held.job.status in ("starting", "running", "stopping") for held in self._jobs.values())
        for held in self._jobs.values():
            if held.job.status == "queued" and busy < self._slots:
                self._book.save(self._slots, self._records(starting=held))  # a server that dies now finds it again
                held.begin()
                busy += not held.is_over
        self._forget_oldest()
        shown = self._numbered()
        if shown != self._told or is_new:
            if is_new or _durable(shown) != _durable(self._told):
                self._save()
            self._told = shown
            self.version += 1

    def _save(self) -> None:
        with suppress(OSError):  # a full disk is no reason to lose sight of what runs; the next change tries again
            self._book.save(self._slots, self._records())

    def _records(self, starting: RunningJob | None = None) -> list[JobRecord]:
        records = [held.record for held in self._jobs.values()]
        if starting is None:
            return records
        begun = replace(starting.record, job=replace(starting.job, status="starting"))
        return [begun if record is starting.record else record for record in records]

    def _forget_oldest(self) -> None:
        ended = [held.job.id for held in self._jobs.values() if held.is_over]
        for job in ended[:-MAX_ENDED]:
            del self._jobs[job]
            self._book.forget(job)

    def _numbered(self) -> tuple[Job, ...]:
        """All jobs, those that wait with their place in the queue."""
        waiting = [held.job.id for held in self._jobs.values() if held.job.status == "queued"]
        places = {job: place for place, job in enumerate(waiting, start=1)}
        return tuple(
            replace(held.job, place=places.get(held.job.id, 0), run=held.job.run if held.has_run else "")
            for held in self._jobs.values()
        )

    def _shown(self, job: str) -> Job:
        return next(shown for shown in self._numbered() if shown.id == job)


def _durable(jobs: tuple[Job, ...]) -> list[Job]:
    """Without what need not be written down."""
    return [replace(job, lines=()) for job in jobs]


def _queued(request: JobRequest, run: str) -> Job:
    return Job(
        id=secrets.token_hex(6),
        status="queued",
        place=0,
        request=request,
        run=run,
        pid=0,
        queued=now_text(),
        started="",
        ended="",
        exit_code=None,
        signal="",
        reason="",
        hint="",
        next_signal="",
        next_signal_at=0.0,
        lines=(),
    )
