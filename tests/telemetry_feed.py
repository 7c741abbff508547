"""What a training would record, fed to telemetry; and what telemetry.db then holds, read by slow oracles."""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from paddock.runs import telemetry
from paddock.runs.telemetry import EpisodeBatch, Telemetry
from paddock.runs.telemetry_reader import TelemetryReader

TERMS, CAUSES, COLUMNS = ("upright", "effort"), ("fell", "truncated"), ("height", "speed", "torque")
STRIDE = 256


def batch(k: int, *, seed: int = 0) -> EpisodeBatch:
    rng = np.random.default_rng(seed)
    return EpisodeBatch(
        world=rng.integers(0, 256, k),
        episode=rng.integers(0, 99, k),
        length=rng.integers(1, 1000, k),
        total=rng.normal(size=k).astype(np.float32),
        success=rng.integers(-1, 2, k).astype(np.int8),
        cause=rng.integers(0, 2, k).astype(np.int16),
        terms=rng.normal(size=(k, 2)).astype(np.float32),
    )


def opened(path: Path, *, queue_bytes: int = telemetry.QUEUE_BYTES) -> Telemetry:
    return Telemetry(path, terms=TERMS, causes=CAUSES, step_columns=COLUMNS, worlds=(3, 7), queue_bytes=queue_bytes)


def row_of(step: int) -> np.ndarray:
    return (np.arange(6, dtype=np.float32).reshape(2, 3) + step) / np.float32(7)


def value_of(step: int, name: str) -> float:
    return float(np.sin(step * 0.01) * (1 + len(name)) / 3)


def feed(run: Telemetry, first: int, last: int) -> None:
    """Control steps `first` to `last`, as a training would record them."""
    for k in range(first, last):
        step = k * STRIDE
        run.step_row(step, row_of(step))
        run.scalars(step, {name: value_of(step, name) for name in (("loss", "reward") if k % 3 else ("loss",))})
        if k % 50 == 0:
            run.episodes(step, batch(4, seed=k))
            run.event(step, "note", {"k": k})


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def contents(path: Path) -> Mapping[str, object]:
    """Everything that does not depend on the clock or on where chunks were cut."""
    tables = {
        "scalars": "SELECT names.name, step, i, value FROM scalars JOIN names ON id = scalars.name ORDER BY 1, 2, 3",
        "rollups": "SELECT names.name, rollups.* FROM rollups JOIN names ON id = rollups.name ORDER BY 1, 3, 4",
        "episodes": "SELECT * FROM episodes ORDER BY id",
        "events": "SELECT step, kind, detail FROM events ORDER BY id",
    }
    with TelemetryReader(path) as reader:
        steps = {world: [part.tolist() for part in reader.step_rows(world, 0, 10**9)] for world in (3, 7)}
    return {"steps": steps} | {table: query(path, sql) for table, sql in tables.items()}


def buckets(values: Mapping[int, float], size: int) -> list[tuple[int, int, int, float, float, float, int]]:
    """The slow oracle: roll-ups of one scalar (step -> value), summed one by one."""
    points = list(values.items())
    rows = []
    for bucket in range(-(-len(points) // size)):
        steps, numbers = zip(*points[bucket * size : (bucket + 1) * size], strict=True)
        total = float(np.add.accumulate(numbers)[-1])
        rows.append((bucket, steps[0], steps[-1], min(numbers), max(numbers), total, len(numbers)))
    return rows


def stored_buckets(path: Path, name: str, size: int) -> list[tuple[object, ...]]:
    columns = "bucket, first_step, last_step, low, high, total, count"
    where = f"names.name = '{name}' AND size = {size}"
    return query(path, f"SELECT {columns} FROM rollups JOIN names ON id = rollups.name WHERE {where} ORDER BY bucket")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield
        db.execute("ROLLBACK")


def wait_for(run: Telemetry, what: str) -> None:
    until = time.monotonic() + 10
    while what not in run.health().last_error:
        assert time.monotonic() < until, run.health()
        time.sleep(0.02)
