"""Kill trainings with SIGKILL at every named point of their writing: all files stay readable, and they end with the same bits.

    python bench/kills.py            # over a hundred kills, some minutes; writes bench/results/kills.json
    python bench/kills.py --quick    # a dozen, within a minute; writes nothing

Kills at random times hit almost nothing, so a process is armed to kill itself the k-th time it passes a point; a few are killed
at any moment all the same. What is left behind is read, all of it; then the run is resumed, perhaps killed again, until it is
finished; then it is compared with a run that nobody killed: weights, optimiser, worlds, telemetry and recordings, bit for bit.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import platform
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from tensorboardX.record_writer import masked_crc32c

from paddock import __version__
from paddock.benchmarking import machine
from paddock.configuring import configure
from paddock.errors import PaddockError
from paddock.runs import faults
from paddock.runs.checkpoints import read
from paddock.runs.folder import RunFolder, status_of
from paddock.runs.recording_reader import open_recording
from paddock.runs.telemetry_reader import TelemetryReader
from paddock.tasks.finding import find_task
from paddock.trained import find, train

RESULT = Path(__file__).parent / "results" / "kills.json"
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
FIRST = ("folder.before_rename", 7)
"""Where a training is killed in order to be killed again while it is resumed: a checkpoint is half-written by then."""
MAX_SITTINGS = 8
SITTING_S = 300
"""After which a child is given up; they take a second."""
CLOCK = ("steps_per_s",)
"""Scalars that depend on the time of day."""


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
            faults.arm("end", lambda: _write_json(counts, passed))

        status = self.begin(subject, name, count)
        run = self.run(name)
        if status or run is None:
            raise RuntimeError(f"the training that nobody kills ended with {status}: {self.output(name)}")
        return run, Counter(json.loads(counts.read_text()))

    def check_forks(self, subject: Subject, whole: Path) -> None:
        """See that a forked child trains as the command does that a user types."""
        folder, task = self._place(subject, f"typed-{subject.name}")
        settings = folder / "settings.json"
        _write_json(settings, subject.settings)
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


def _write_json(file: Path, value: object) -> None:
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


def unreadable(run: Path) -> list[str]:
    """Every file of a run, none of whose processes lives, that cannot be read. TensorBoard's may end early; none may be wrong."""
    folder, found = RunFolder(run), []

    def attempt(file: Path, reading: Callable[[], object]) -> None:
        try:
            reading()
        except (PaddockError, sqlite3.Error, ValueError, OSError) as refusal:
            found.append(f"{file.relative_to(run.parent)}: {refusal}")

    attempt(run / "run.json", lambda: _is_over(folder))
    attempt(folder.task_file, lambda: _task_is_intact(folder))
    if folder.telemetry.exists():
        attempt(folder.telemetry, lambda: _read_telemetry(folder.telemetry))
    for step in folder.checkpoints.steps():
        attempt(folder.checkpoints.path(step), partial(read, folder.checkpoints.path(step)))
    if (best := folder.checkpoints.folder / "best.json").exists():
        attempt(best, lambda: folder.checkpoints.load("best"))
    for file in folder.recordings.glob("*.mcap"):
        attempt(file, partial(_read_recording, file))
    for file in folder.tensorboard.glob("*"):
        attempt(file, partial(_read_events, file))
    return found


def _is_over(folder: RunFolder) -> None:
    if (status := status_of(folder.card())) not in ("finished", "crashed"):
        raise ValueError(f"says {status}, and nobody is there")


def _task_is_intact(folder: RunFolder) -> None:
    if hashlib.sha256(folder.task_file.read_bytes()).hexdigest() != folder.card().setup.source.sha256:
        raise ValueError("another hash than run.json says")


def _read_telemetry(path: Path) -> None:
    with TelemetryReader(path) as reader:
        for name in reader.names():
            reader.scalar(name)
        reader.episodes()
        reader.events()
        for world in reader.worlds():
            reader.step_rows(world, 0, 10**9)
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        (verdict,) = db.execute("PRAGMA integrity_check").fetchone()
    if verdict != "ok":
        raise ValueError(verdict)


def _read_recording(path: Path) -> None:
    recording = open_recording(path)
    if recording.condition != "complete":
        raise ValueError(recording.missing)


def _read_events(path: Path) -> None:
    """TensorBoard's records: length, its checksum, content, its checksum. The last may be cut."""
    content = path.read_bytes()
    at = 0
    while at < len(content):
        head = content[at : at + 12]
        size = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else 0
        record = content[at + 12 : at + 12 + size + 4]
        if len(head) < 12 or len(record) < size + 4:
            return
        sums = struct.unpack("<I", head[8:])[0], struct.unpack("<I", record[-4:])[0]
        if sums != (masked_crc32c(head[:8]), masked_crc32c(record[:-4])):
            raise ValueError(f"a wrong checksum at byte {at}")
        at += 12 + size + 4


def differing(whole: Path, run: Path) -> list[str]:
    """What of a finished run is other than in the one that nobody killed."""
    ours, theirs = RunFolder(run), RunFolder(whole)
    if ours.card().progress.status != "finished":
        return [f"its status is {ours.card().progress.status}"]
    found: list[str] = []
    if ours.checkpoints.steps() != theirs.checkpoints.steps():
        return [f"checkpoints {ours.checkpoints.steps()}, not {theirs.checkpoints.steps()}"]
    for step in ours.checkpoints.steps():
        mine, other = (read(folder.checkpoints.path(step)) for folder in (ours, theirs))
        names = sorted(mine.tensors.keys() | other.tensors.keys())
        wrong = [name for name in names if not _equal(mine.tensors.get(name), other.tensors.get(name))]
        parts = ", ".join(sorted({name.partition("/")[0] for name in wrong}))
        found += [f"checkpoint {step}: {len(wrong)} tensors of {parts}, {wrong[0]} among them"] if wrong else []
    if ours.checkpoints.best() != theirs.checkpoints.best():
        found.append(f"best {ours.checkpoints.best()}, not {theirs.checkpoints.best()}")
    mine, other = contents(ours.telemetry), contents(theirs.telemetry)
    found += [f"telemetry: {_first_difference(part, mine[part], other[part])}" for part in mine if mine[part] != other[part]]
    recordings = [{file.name: _physics(file) for file in folder.recordings.glob("*.mcap")} for folder in (ours, theirs)]
    if recordings[0] != recordings[1]:
        found.append(f"recordings {sorted(recordings[0])}, not {sorted(recordings[1])}, or other physics in them")
    left = [str(path.relative_to(run)) for path in run.rglob(".*")]
    return found + ([f"left behind: {', '.join(left)}"] if left else [])


def _equal(mine: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    return mine is not None and other is not None and mine.dtype == other.dtype and torch.equal(mine, other)


def contents(telemetry: Path) -> Mapping[str, Sequence[tuple[object, ...]]]:
    """All that a run recorded, but what depends on the clock, on where chunks were cut, and how often it was resumed."""
    untimed = "names.name NOT IN (" + ", ".join(f"'{name}'" for name in CLOCK) + ")"
    queries = {
        "scalars": "SELECT names.name, step, i, value "
        f"FROM scalars JOIN names ON id = scalars.name WHERE {untimed} ORDER BY 1, 2, 3",
        "rollups": "SELECT names.name, size, bucket, first_step, last_step, low, high, total, count "
        f"FROM rollups JOIN names ON id = rollups.name WHERE {untimed} ORDER BY 1, 2, 3",
        "episodes": "SELECT step, world, episode, length, total, success, cause, terms FROM episodes ORDER BY id",
        "events": "SELECT step, kind, detail FROM events WHERE kind != 'status' ORDER BY id",
    }
    with closing(sqlite3.connect(telemetry)) as db:
        found = {part: db.execute(query).fetchall() for part, query in queries.items()}
    with TelemetryReader(telemetry) as reader:
        rows = {world: reader.step_rows(world, 0, 10**9) for world in reader.worlds()}
    return found | {
        "step rows": [
            (world, step, row.tobytes())
            for world, (steps, values) in rows.items()
            for step, row in zip(steps.tolist(), values, strict=True)
        ]
    }


def _first_difference(part: str, mine: Sequence[tuple[object, ...]], other: Sequence[tuple[object, ...]]) -> str:
    pair = next(((a, b) for a, b in zip(mine, other, strict=False) if a != b), ("", ""))
    first = "; first {!s:.200} for {!s:.200}".format(*pair) if pair[0] else ""
    return f"{len(mine)} {part} for {len(other)}{first}"


def _physics(recording: Path) -> dict[int, tuple[bytes, bytes]]:
    """What entered the engine in each world, and checksums of what came of it."""
    return {world: (track.ctrl.tobytes(), track.crc.tobytes()) for world, track in open_recording(recording).tracks.items()}


def spread(count: int, shots: int) -> list[int]:
    """Which passings of so many to kill at: the first, the last but one, and others evenly between."""
    last = max(1, count - 1)
    return sorted({1 + round(i * (last - 1) / max(1, shots - 1)) for i in range(shots)})


def middle(count: int) -> int:
    return max(1, count // 2)


def campaign(passed: Mapping[str, Counter[str]], *, quick: bool) -> list[Aim]:
    """All aims. Where a training is killed twice, the second process is killed at the point itself, or while it goes back."""
    aims: list[Aim] = []
    for i, point in enumerate(WRITING):
        if quick:
            aims += [Aim(subject=CARTPOLE, shots=((point, middle(passed[CARTPOLE.name][point])),))] if i % 2 else []
            continue
        for passing in spread(passed[CARTPOLE.name][point], 4):
            aims.append(Aim(subject=CARTPOLE, shots=((point, passing),)))
        aims.append(Aim(subject=QUADRUPED, shots=((point, middle(passed[QUADRUPED.name][point])), (point, 1))))
    for i in range(1 if quick else 10):
        aims.append(Aim(subject=CARTPOLE, shots=((ANY_MOMENT, 120 + 45 * i), (ANY_MOMENT, 100 + 40 * i))))
    for point in GOING_BACK[:: 2 if quick else 1]:
        for subject in SUBJECTS[: 1 if quick else 2]:
            aims.append(Aim(subject=subject, shots=(FIRST, (point, 1))))
    return aims


def run_campaign(yard: Yard, *, quick: bool, tell: Callable[[str], None]) -> list[Outcome]:
    wholes: dict[str, Path] = {}
    passed: dict[str, Counter[str]] = {}
    for subject in SUBJECTS:
        wholes[subject.name], passed[subject.name] = yard.whole(subject)
        yard.check_forks(subject, wholes[subject.name])
    aims = campaign(passed, quick=quick)
    outcomes: list[Outcome] = []
    for i, aim in enumerate(aims):
        outcomes.append(yard.shoot(aim, wholes[aim.subject.name]))
        shots = ", ".join(f"{point} #{passing}" for point, passing in aim.shots)
        found = "; ".join([*outcomes[-1].unreadable, *outcomes[-1].differing]) or "equal"
        missed = "" if len(outcomes[-1].killed) == len(aim.shots) else " (missed)"
        tell(f"{i + 1}/{len(aims)} {aim.subject.name}: {shots}{missed}: {found}")
    return outcomes


def by_point(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """For each point: kills, files that were unreadable after them, and runs that ended otherwise."""
    rows = {point: {"kills": 0, "unreadable": 0, "differing": 0} for point in (*WRITING, *GOING_BACK, ANY_MOMENT)}
    for outcome in outcomes:
        for point in outcome.killed:
            rows[point]["kills"] += 1
        point = outcome.aim.shots[-1][0]
        rows[point]["unreadable"] += len(outcome.unreadable)
        rows[point]["differing"] += bool(outcome.differing)
    return rows


def table(rows: Mapping[str, Mapping[str, int]]) -> str:
    lines = [f"{'point':<26}{'kills':>7}{'unreadable':>12}{'differing':>11}"]
    lines += [f"{point:<26}{row['kills']:>7}{row['unreadable']:>12}{row['differing']:>11}" for point, row in rows.items()]
    sums = {name: sum(row[name] for row in rows.values()) for name in ("kills", "unreadable", "differing")}
    return "\n".join([*lines, f"{'all':<26}{sums['kills']:>7}{sums['unreadable']:>12}{sums['differing']:>11}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about a dozen kills")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_campaign(Yard(Path(folder)), quick=asked.quick, tell=lambda line: print(line, flush=True))
    rows = by_point(outcomes)
    print(table(rows))
    found = {
        "paddock": __version__,
        "machine": machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "subjects": {subject.name: dict(subject.settings) for subject in SUBJECTS},
        "minutes": round((time.monotonic() - began) / 60, 1),
        "trainings": len(outcomes),
        "sittings": sum(outcome.sittings for outcome in outcomes),
        "kills": sum(len(outcome.killed) for outcome in outcomes),
        "unreadable_files": sum(len(outcome.unreadable) for outcome in outcomes),
        "differing_runs": sum(bool(outcome.differing) for outcome in outcomes),
        "points": rows,
    }
    if not asked.quick:
        _write_json(RESULT, found)
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
