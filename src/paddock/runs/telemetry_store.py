"""The writing end of telemetry.db: batches in, one transaction out."""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paddock.runs import rollups
from paddock.runs.faults import point
from paddock.runs.telemetry_batches import Batch, Chunk, EpisodeBatch, Episodes, Event, Scalars
from paddock.runs.telemetry_file import connect

BUSY_S = 0.5
"""How long a transaction waits for somebody else's; the writer thread then says so and tries again."""


class Store:
    """One open connection. After an error it no longer knows what the file holds: close it and open another."""

    def __init__(self, path: Path) -> None:
        self._db = connect(path, mode="rw", timeout=BUSY_S)
        self._syncs = ""
        self._series: dict[str, tuple[int, int]] = {}
        """Of each scalar written to: its id, and how many points it has."""

    def write(self, batches: Sequence[Batch], *, sync: bool) -> None:
        """All batches in one transaction; with `sync` it, and every one before it, survives a power cut."""
        point("telemetry.before_begin")
        self._choose_sync("FULL" if sync else "NORMAL")
        self._db.execute("BEGIN IMMEDIATE")
        for batch in batches:
            self._insert(batch)
            point("telemetry.after_insert")
        if sync:  # something must be written for the log to reach the disk
            self._db.execute("UPDATE meta SET value = ? WHERE key = 'synced'", (repr(time.time()),))
        point("telemetry.before_commit")
        self._db.execute("COMMIT")

    def tidy(self) -> None:
        """Move what was committed into the file itself, so that it can be copied alone even while somebody reads it."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Undo what was not committed, and let go of the file."""
        self._db.close()

    def _choose_sync(self, how: str) -> None:
        if how != self._syncs:
            self._db.execute(f"PRAGMA synchronous={how}")
            self._syncs = how

    def _insert(self, batch: Batch) -> None:
        match batch:
            case Scalars():
                self._insert_scalars(batch)
            case Episodes():
                self._db.executemany("INSERT INTO episodes VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", _rows(batch.step, batch.batch))
            case Chunk():
                self._db.executemany("INSERT INTO step_chunks VALUES (?, ?, ?, ?, ?)", _chunk_rows(batch))
            case Event():
                row = (batch.step, batch.time, batch.kind, batch.detail)
                self._db.execute("INSERT INTO events VALUES (NULL, ?, ?, ?, ?)", row)

    def _insert_scalars(self, batch: Scalars) -> None:
        rows: list[tuple[int, int, int, float, float]] = []
        for name, value in batch.values.items():
            key, i = self._series.get(name) or _find_series(self._db, name)
            self._series[name] = (key, i + 1)
            rows.append((key, batch.step, i, batch.time, value))
        self._db.executemany("INSERT INTO scalars VALUES (?, ?, ?, ?, ?)", rows)
        rollups.add(self._db, ((key, i, step, value) for key, step, i, _, value in rows))


def _find_series(db: sqlite3.Connection, name: str) -> tuple[int, int]:
    """A scalar's id and the number of its points; new ones get an id."""
    db.execute("INSERT INTO names VALUES (NULL, ?) ON CONFLICT DO NOTHING", (name,))
    (key,) = db.execute("SELECT id FROM names WHERE name = ?", (name,)).fetchone()
    last = db.execute("SELECT i FROM scalars WHERE name = ? ORDER BY step DESC, i DESC LIMIT 1", (key,)).fetchone()
    return key, last[0] + 1 if last else 0


def _rows(step: int, batch: EpisodeBatch) -> list[tuple[object, ...]]:
    """SQLite has no NaN: such a return is stored as NULL, as is a success that nothing defines."""
    success = [None if value < 0 else value for value in batch.success.tolist()]
    plain = (batch.world.tolist(), batch.episode.tolist(), batch.length.tolist(), batch.total.tolist(), success)
    blobs = [row.tobytes() for row in batch.terms]
    return [(step, *row) for row in zip(*plain, batch.cause.tolist(), blobs, strict=True)]


def _chunk_rows(chunk: Chunk) -> list[tuple[int, int, int, int, np.ndarray]]:
    n = chunk.block.shape[1]
    return [(world, chunk.t0, chunk.stride, n, block) for world, block in zip(chunk.worlds, chunk.block, strict=True)]
