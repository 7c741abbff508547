"""Numbers in bulk: PDKS, a JSON head and float64 columns behind it, which a browser reads without parsing.

b"PDKS", the length of the head as a little-endian uint32, the head padded with blanks so that the numbers begin at a multiple
of 8, then block after block, column after column.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paddock.cockpit.answers import encode
from paddock.errors import PaddockError, UnknownName
from paddock.messages.cockpit import SeriesBlock, SeriesHead
from paddock.runs.telemetry_reader import TelemetryReader

MAGIC = b"PDKS"
COLUMNS = ("step", "time", "mean", "min", "max", "count")
MAX_POINTS = 1_000_000
"""Points in one answer, over all its series."""
MAX_NUMBERS = 2_000_000
"""Numbers of recorded steps in one answer."""

Block = tuple[SeriesBlock, list[np.ndarray]]


def pack(blocks: Sequence[Block]) -> bytes:
    """Blocks as one answer."""
    head = encode(SeriesHead(series=tuple(head for head, _ in blocks))).encode()
    head += b" " * (-len(head) % 8)
    columns = [np.ascontiguousarray(column, dtype="<f8").tobytes() for _, columns in blocks for column in columns]
    return b"".join([MAGIC, struct.pack("<I", len(head)), head, *columns])


def series_of(run: str, file: Path, names: Sequence[str], *, points: int, first: int | None, last: int | None) -> list[Block]:
    """Scalars of one run. One that it has not is a block that says so: runs that are compared need not have the same."""
    try:
        with TelemetryReader(file) as reader:
            return [_scalar(reader, run, name, points=points, first=first, last=last) for name in names]
    except (PaddockError, sqlite3.Error) as refusal:
        return [_without(run, name, str(refusal)) for name in names]


def _scalar(reader: TelemetryReader, run: str, name: str, *, points: int, first: int | None, last: int | None) -> Block:
    try:
        curve = reader.scalar(name, first=first, last=last, max_points=points)
        total, first_time = reader.span(name)
    except UnknownName as refusal:
        return _without(run, name, str(refusal))
    columns = [curve.step, curve.time, curve.mean, curve.min, curve.max, curve.count]
    head = SeriesBlock(
        run=run,
        name=name,
        columns=COLUMNS,
        n=len(curve.step),
        total=total,
        whole=bool((curve.count == 1).all()),
        first_time=first_time,
        error="",
    )
    return head, columns


def _without(run: str, name: str, error: str) -> Block:
    head = SeriesBlock(run=run, name=name, columns=COLUMNS, n=0, total=0, whole=True, first_time=0.0, error=error)
    return head, [np.empty(0)] * len(COLUMNS)


def steps_of(run: str, file: Path, *, world: int, first: int, last: int) -> Block:
    """Recorded steps of a world, as they are. Of a stretch that is too long for one answer come the first, and it is not whole."""
    with TelemetryReader(file) as reader:
        names = reader.columns.steps
        known, at_most = reader.worlds(), MAX_NUMBERS // (1 + len(names))
        if world not in known:
            raise PaddockError(f"world {world} is not recorded. Recorded worlds: {', '.join(map(str, known)) or 'none'}.")
        steps, rows = reader.step_rows(world, first, last, at_most=at_most)
    head = SeriesBlock(
        run=run,
        name="steps",
        columns=("step", *names),
        n=len(steps),
        total=len(steps),
        whole=len(steps) < at_most,
        first_time=0.0,
        error="",
    )
    return head, [steps, *rows.T]
