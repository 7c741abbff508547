"""What a run's folder proves: which of its files cannot be read, and what differs from a run that nobody disturbed."""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import torch
from tensorboardX.record_writer import masked_crc32c

from paddock.errors import PaddockError
from paddock.runs.checkpoints import read
from paddock.runs.folder import RunFolder, status_of
from paddock.runs.recording_reader import open_recording
from paddock.runs.telemetry_reader import TelemetryReader

CLOCK = ("steps_per_s",)
"""Scalars that depend on the time of day."""


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
        found.append(f"checkpoints {ours.checkpoints.steps()}, not {theirs.checkpoints.steps()}")
    for step in sorted({*ours.checkpoints.steps()} & {*theirs.checkpoints.steps()}):
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
