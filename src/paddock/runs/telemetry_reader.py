"""The reading end of telemetry.db: for the cockpit, mirrors and notebooks, also while a run writes it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from paddock.errors import PaddockError, unknown
from paddock.runs import rollups
from paddock.runs.telemetry_file import open_existing, read_columns

LAST_STEP = 2**63 - 1
CurveRow = tuple[int, float, float, float, float, int]
"""Of a point: step, time, total, low, high, count."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """A scalar over time; k points, each of them one value or a bucket of values."""

    step: np.ndarray
    """The last step that a point covers; (k,) int64."""
    time: np.ndarray
    """Unix time of that step's value."""
    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray
    count: np.ndarray
    """Values behind a point; (k,) int64."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One value of a scalar."""

    name: str
    i: int
    """Its number among the values of this scalar, from 0."""
    step: int
    time: float
    value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class EpisodeTable:
    """Episodes in the order in which they ended; k of them."""

    step: np.ndarray
    """Env step when it ended; (k,) int64."""
    world: np.ndarray
    episode: np.ndarray
    length: np.ndarray
    """Control steps; (k,) int64."""
    total: np.ndarray
    """Return; (k,) float64."""
    success: np.ndarray
    """1, 0, or -1 where the task has no success; (k,) int8."""
    cause: np.ndarray
    """A place in `causes`; (k,) int16."""
    terms: np.ndarray
    """Sum of each reward term; (k, terms) float32."""
    causes: tuple[str, ...]
    term_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EventRow:
    """Something that happened."""

    step: int
    time: float
    kind: str
    detail: dict[str, Any]


class TelemetryReader:
    """A read-only connection. It belongs to the thread that opened it; opening another takes a millisecond."""

    def __init__(self, path: Path) -> None:
        self.database = open_existing(path, mode="ro")
        """For whoever asks what is not asked here."""
        self.columns = read_columns(self.database)

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    def __enter__(self) -> "TelemetryReader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def names(self) -> list[str]:
        """Every scalar, sorted."""
        return [name for (name,) in self.database.execute("SELECT name FROM names ORDER BY name")]

    def scalar(self, name: str, *, first: int | None = None, last: int | None = None, max_points: int = 2000) -> Curve:
        """A scalar from step `first` to `last` at the finest resolution of at most `max_points` points.

        Every value itself where they fit; otherwise whole buckets, so that the two at the ends may reach over them.
        """
        if max_points < 1:
            raise PaddockError(f"max_points is {max_points}; a curve needs at least 1.")
        with self.one_moment():
            key = self._key(name)
            ends = self._numbers(key, 0 if first is None else first, LAST_STEP if last is None else last)
            if ends is None:
                return _curve([])
            size = next((s for s in (1, *rollups.SIZES) if ends[1] // s - ends[0] // s < max_points), rollups.SIZES[-1])
            rows = self._values(key, *ends) if size == 1 else self._buckets(key, size, *ends)
        return _thinned(_curve(rows), max_points)

    def last(self, name: str) -> Point:
        """The newest value of a scalar."""
        with self.one_moment():
            query = "SELECT i, step, time, value FROM scalars WHERE name = ? ORDER BY step DESC, i DESC LIMIT 1"
            row = self.database.execute(query, (self._key(name),)).fetchone()
        if row is None:
            raise PaddockError(f"the scalar '{name}' has no value left: the run was rewound to before the first one.")
        i, step, wall_time, value = row
        return Point(name=name, i=i, step=step, time=wall_time, value=value)

    def span(self, name: str) -> tuple[int, float]:
        """How many values a scalar has, and the Unix time of the first; 0 where it has none."""
        with self.one_moment():
            key = self._key(name)
            first = self.database.execute("SELECT time FROM scalars WHERE name = ? ORDER BY step, i LIMIT 1", (key,)).fetchone()
            last = "SELECT i FROM scalars WHERE name = ? ORDER BY step DESC, i DESC LIMIT 1"
            return (self.database.execute(last, (key,)).fetchone()[0] + 1, first[0]) if first else (0, 0.0)

    def points(self, seen: Mapping[str, int], *, at_most: int = 2000) -> list[Point]:
        """Values of every scalar from number `seen[name]` on, `at_most` of each, by step: for one who follows the run."""
        found: list[Point] = []
        with self.one_moment():
            for name, key in self.database.execute("SELECT name, id FROM names").fetchall():
                for row in self._from_number(key, seen.get(name, 0), at_most):
                    found.append(Point(name=name, i=row[0], step=row[1], time=row[2], value=row[3]))
        return sorted(found, key=lambda point: (point.step, point.i))

    def episodes(self, last: int = 1000) -> EpisodeTable:
        """The newest episodes."""
        query = "SELECT step, world, episode, length, total, success, cause, terms FROM episodes ORDER BY id DESC LIMIT ?"
        rows = self.database.execute(query, (last,)).fetchall()[::-1]
        step, world, episode, length, total, success, cause, blobs = zip(*rows, strict=True) if rows else [()] * 8
        return EpisodeTable(
            step=np.array(step, dtype=np.int64),
            world=np.array(world, dtype=np.int64),
            episode=np.array(episode, dtype=np.int64),
            length=np.array(length, dtype=np.int64),
            total=np.array(total, dtype=np.float64),  # NULL becomes NaN
            success=np.array([-1 if value is None else value for value in success], dtype=np.int8),
            cause=np.array(cause, dtype=np.int16),
            terms=np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(rows), len(self.columns.terms)),
            causes=self.columns.causes,
            term_names=self.columns.terms,
        )

    def step_rows(self, world: int, first: int, last: int, *, at_most: int = LAST_STEP) -> tuple[np.ndarray, np.ndarray]:
        """Step rows of a chosen world from step `first` to `last`: the steps (k,) int64, the rows (k, columns) float32."""
        query = """
            SELECT t0, stride, n, block FROM step_chunks WHERE world = :world AND t0 <= :last
            AND t0 >= ifnull((SELECT max(t0) FROM step_chunks WHERE world = :world AND t0 <= :first), :first) ORDER BY t0
        """
        steps, blocks = [np.empty(0, np.int64)], [np.empty((0, len(self.columns.steps)), np.float32)]
        for t0, stride, n, block in self.database.execute(query, {"world": world, "first": first, "last": last}):
            of_chunk = t0 + stride * np.arange(n, dtype=np.int64)
            kept = (of_chunk >= first) & (of_chunk <= last)
            steps.append(of_chunk[kept])
            blocks.append(np.frombuffer(block, dtype=np.float32).reshape(n, -1)[kept])
            if (at_most := at_most - int(kept.sum())) <= 0:
                break
        end = None if at_most >= 0 else at_most
        return np.concatenate(steps)[:end], np.concatenate(blocks)[:end]

    def worlds(self) -> list[int]:
        """The worlds that have step rows."""
        found: list[int] = []
        following = "SELECT min(world) FROM step_chunks WHERE world > ?"  # DISTINCT would pass by every block
        while (world := self.database.execute(following, (found[-1] if found else -1,)).fetchone()[0]) is not None:
            found.append(world)
        return found

    def events(self, kind: str | None = None) -> list[EventRow]:
        """What happened, of one kind or of all, in the order in which it was written."""
        query = "SELECT step, time, kind, detail FROM events WHERE ?1 IS NULL OR kind = ?1 ORDER BY id"
        rows = self.database.execute(query, (kind,)).fetchall()
        return [EventRow(step=step, time=when, kind=what, detail=json.loads(text)) for step, when, what, text in rows]

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Several queries that see the same commits."""
        self.database.execute("BEGIN")
        try:
            yield
        finally:
            self.database.execute("ROLLBACK")

    def _key(self, name: str) -> int:
        row = self.database.execute("SELECT id FROM names WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise unknown("scalar", name, self.names())
        return row[0]

    def _numbers(self, key: int, first: int, last: int) -> tuple[int, int] | None:
        """Numbers of the first and the last value between two steps."""
        between = "SELECT i FROM scalars WHERE name = ? AND step BETWEEN ? AND ?"
        low = self.database.execute(f"{between} ORDER BY step, i LIMIT 1", (key, first, last)).fetchone()
        high = self.database.execute(f"{between} ORDER BY step DESC, i DESC LIMIT 1", (key, first, last)).fetchone()
        return (low[0], high[0]) if low and high else None

    def _values(self, key: int, low: int, high: int) -> list[CurveRow]:
        rows = self._from_number(key, low, high - low + 1)
        return [(step, time, value, value, value, 1) for _, step, time, value in rows]

    def _buckets(self, key: int, size: int, low: int, high: int) -> list[CurveRow]:
        query = """
            SELECT last_step, (SELECT time FROM scalars WHERE name = rollups.name AND step = last_step ORDER BY i DESC LIMIT 1),
            total, low, high, count FROM rollups WHERE name = ? AND size = ? AND bucket BETWEEN ? AND ?
        """
        return self.database.execute(query, (key, size, low // size, high // size)).fetchall()

    def _from_number(self, key: int, i: int, at_most: int) -> list[tuple[int, int, float, float]]:
        """(number, step, time, value) from a number on. Values are filed by step, so a bucket tells where to begin."""
        size = rollups.SIZES[0]
        query = """
            SELECT i, step, time, value FROM scalars WHERE name = :key AND i >= :i AND step >=
            (SELECT first_step FROM rollups WHERE name = :key AND size = :size AND bucket = :bucket)
            ORDER BY step, i LIMIT :at_most
        """
        asked = {"key": key, "i": i, "size": size, "bucket": i // size, "at_most": at_most}
        return self.database.execute(query, asked).fetchall()


def _curve(rows: list[CurveRow]) -> Curve:
    step, time, total, low, high, count = zip(*rows, strict=True) if rows else [()] * 6
    counts = np.array(count, dtype=np.int64)
    return Curve(
        step=np.array(step, dtype=np.int64),
        time=np.array(time, dtype=np.float64),
        mean=np.array(total, dtype=np.float64) / counts,
        min=np.array(low, dtype=np.float64),
        max=np.array(high, dtype=np.float64),
        count=counts,
    )


def _thinned(curve: Curve, max_points: int) -> Curve:
    """Neighbouring points joined, where even the coarsest roll-up has too many."""
    joined = -(-len(curve.step) // max_points)
    if joined <= 1:
        return curve
    starts = np.arange(0, len(curve.step), joined)
    count = np.add.reduceat(curve.count, starts)
    return Curve(
        step=np.maximum.reduceat(curve.step, starts),
        time=np.maximum.reduceat(curve.time, starts),
        mean=np.add.reduceat(curve.mean * curve.count, starts) / count,
        min=np.minimum.reduceat(curve.min, starts),
        max=np.maximum.reduceat(curve.max, starts),
        count=count,
    )
