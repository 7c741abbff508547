"""Where trainings are killed and resumed: the points a process can be killed at, and the children that train."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from run_evidence import differing, unreadable

from paddock.configuring import configure
from paddock.runs import faults
from paddock.tasks.finding import find_task
from paddock.trained import find, train

WRITING = (
    *("file.after_write", "file.after_fsync", "file.before_rename", "file.after_rename"),
    *("folder.after_mkdir", "folder.after_file", "folder.before_rename", "folder.after_rename", "folder.after_sync"),
    *("folder.after_doom", "folder.after_removal", "checkpoint.before_best", "checkpoint.after_best", "checkpoint.before_prune"),
    *("telemetry.after_open", "telemetry.before_begun", "telemetry.before_begin", "telemetry.after_insert"),
    *("telemetry.before_commit", "telemetry.after_commit"),
)
"""Points that every training passes."""
GOING_BACK = ("sweep.before_each", "rewind.before_commit", "rewind.after_commit", "checkpoint.before_drop")
"""Points that only a resumed training passes."""
ANY_MOMENT = "any moment"
"""Instead of a point: so many milliseconds after the beginning."""
MAX_SITTINGS = 8
SITTING_S = 300
"""After which a child is given up; they take a second."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A training small enough to be done a hundred times."""

    name: str
    source: str
    """Of its task, made shorter."""
    settings: Mapping[str, object]


def _subject(name: str, episode_s: float, **settings: object) -> Subject:
    constant = name.replace("-", "_").upper()
    source = (
        f"from dataclasses import replace\n\nfrom paddock.tasks.{constant.lower()} import {constant}\n\n"
        f"SHORT = replace({constant}, episode_s={episode_s})\n"
    )
    ppo = {"horizon": 8, "epochs": 2, "minibatches": 2, "hidden": [16, 16], "learn_threads": 1}
    small = {"num_worlds": 6, "num_threads": 1, "steps": 12 * 8 * 6, "keep": 2, "save_every_s": 0.0, "watch_worlds": 2}
    often = {"evaluate_every": 3, "evaluate_episodes": 4, "record_every": 5}
    return Subject(name=name, source=source, settings=small | often | settings | {"ppo": ppo})


CARTPOLE = _subject("cartpole-balance", 0.5)
QUADRUPED = _subject("quadruped-balance", 0.5, seed=3)
"""Pushes, contacts, and observations that only the critic sees."""
SUBJECTS = (CARTPOLE, QUADRUPED)


@dataclass(frozen=True, kw_only=True)
class Aim:
    """A training that is killed, once by each shot: the first hits the process that begins it, the next those that resume it."""

    subject: Subject
    shots: tuple[tuple[str, int], ...]
    """The point, and the number of its passing that kills; or ANY_MOMENT and milliseconds."""


@dataclass(eq=False)
class Outcome:
    """What became of it."""

    aim: Aim
    killed: list[str] = field(default_factory=list)
    """Points at which a process was killed."""
    unreadable: list[str] = field(default_factory=list)
    """What could not be read after a kill."""
    differing: list[str] = field(default_factory=list)
    """What is other than in the run that nobody killed."""
    sittings: int = 0

    @property
    def is_good(self) -> bool:
        return not self.unreadable and not self.differing


class Yard:
    """A folder with runs, and the children that train in it. They are forked from this process, which imported torch once."""

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)  # no pool of threads exists when a child is forked, so none is missing in the child
        torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # imports a thousand modules, which no child has to import again
        self.folder = folder
        self._count = 0

    def begin(self, subject: Subject, name: str, arm: Callable[[], None] = lambda: None) -> int:
        """Train anew in the folder `name`; returns the exit status, negative for a signal."""
        folder, task = self._place(subject, name)
        config = configure(find_task(task), flags=subject.settings)
        return _forked(lambda: (arm(), train(task, config=config, runs_dir=folder)), folder / "output.txt")

    def resume(self, name: str, arm: Callable[[], None] = lambda: None) -> int:
        run = self.run(name)
        assert run is not None
        return _forked(lambda: (arm(), find(run).resume()), self.folder / name / "output.txt")

    def run(self, name: str) -> Path | None:
        """The run in a folder; None where it was killed before it could say what it is."""
        found = [path.parent for path in (self.folder / name).glob("*/run.json")]
        return found[0] if found else None

    def whole(self, subject: Subject) -> tuple[Path, Counter[str]]:
        """A run that nobody kills, and how often it passes each point."""
        name = f"whole-{subject.name}"
        counts = self.folder / f"{name}.json"

        def count() -> None:
            passed: Counter[str] = Counter()
            for point in WRITING:
                faults.arm(point, partial(passed.update, [point]))
            faults.arm("end", lambda: write_json(counts, passed))

        status = self.begin(subject, name, count)
        run = self.run(name)
        if status or run is None:
            raise RuntimeError(f"the training that nobody kills ended with {status}: {self.output(name)}")
        return run, Counter(json.loads(counts.read_text()))

    def check_forks(self, subject: Subject, whole: Path) -> None:
        """See that a forked child trains as the command does that a user types."""
        folder, task = self._place(subject, f"typed-{subject.name}")
        settings = folder / "settings.json"
        write_json(settings, subject.settings)
        words = ["train", task, "--config", settings, "--runs-dir", folder]
        subprocess.run([sys.executable, "-m", "paddock", *words], check=True, capture_output=True, timeout=SITTING_S)
        run = self.run(folder.name)
        assert run is not None
        if found := differing(whole, run):
            raise RuntimeError(f"a forked child trains otherwise than the command: {found}")

    def _place(self, subject: Subject, name: str) -> tuple[Path, str]:
        """A folder for a run, and its task."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "short.py").write_text(subject.source)
        return folder, f"{folder / 'short.py'}:SHORT"

    def output(self, name: str) -> str:
        return (self.folder / name / "output.txt").read_text()[-2000:]

    def shoot(self, aim: Aim, whole: Path, meddle: Callable[[Path], None] = lambda run: None) -> Outcome:
        """Kill, read what is left, resume, and so on until it is finished; then compare. `meddle` may change a killed run."""
        self._count += 1
        name, outcome = f"killed-{self._count}", Outcome(aim)
        for sitting in range(MAX_SITTINGS):
            shot = aim.shots[sitting] if sitting < len(aim.shots) else None
            arm = partial(kill_at, *shot) if shot is not None else lambda: None
            status = self.resume(name, arm) if self.run(name) else self.begin(aim.subject, name, arm)
            outcome.sittings += 1
            run = self.run(name)
            if status == -signal.SIGKILL and shot is not None:
                outcome.killed.append(shot[0])
                if run is not None:
                    outcome.unreadable += unreadable(run)
                    meddle(run)
            elif status:
                outcome.differing.append(f"it ended with {status}: {self.output(name)}")
                return outcome
            elif sitting >= len(aim.shots) - 1:
                assert run is not None
                outcome.unreadable += unreadable(run)
                outcome.differing += differing(whole, run)
                return outcome
        raise AssertionError("more shots than sittings")


def write_json(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=2) + "\n")


def _forked(work: Callable[[], object], output: Path) -> int:
    """Do it in a child and wait; the child's exit status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(SITTING_S)
            with output.open("a") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            work()
            faults.point("end")
            status = 0
        except BaseException:  # the child must not go on as a second parent, whatever happened
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(point: str, passing: int) -> None:
    """Let this process kill itself the `passing`-th time it comes by."""
    die = partial(os.kill, os.getpid(), signal.SIGKILL)
    if point == ANY_MOMENT:
        threading.Timer(passing / 1000, die).start()
        return
    passed = itertools.count(1)
    faults.arm(point, lambda: die() if next(passed) == passing else None)
