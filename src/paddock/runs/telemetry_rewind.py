"""Back to a checkpoint: what a run recorded after it never happened."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from paddock.errors import PaddockError
from paddock.runs import rollups
from paddock.runs.faults import point
from paddock.runs.telemetry_file import open_existing, read_columns


def rewind(path: Path, step: int) -> None:
    """Remove what is later than env step `step`, in one transaction. Status events stay: they tell what became of the run.

    No `Telemetry` may have the file open. TensorBoard's files are purged by the sink that goes on with them.
    """
    if step < 0:
        raise PaddockError(f"cannot rewind {path} to step {step}: steps begin at 0.")
    try:
        with closing(open_existing(path, mode="rw")) as db:
            db.execute("PRAGMA synchronous=FULL")
            db.execute("BEGIN IMMEDIATE")
            for (name,) in db.execute("SELECT id FROM names").fetchall():
                _rewind_scalar(db, name, step)
            db.execute("DELETE FROM episodes WHERE step > ?", (step,))
            db.execute("DELETE FROM events WHERE step > ? AND kind != 'status'", (step,))
            db.execute("DELETE FROM step_chunks WHERE t0 > ?", (step,))
            _shorten_chunks(db, step)
            point("rewind.before_commit")
            db.execute("COMMIT")
            point("rewind.after_commit")
    except sqlite3.Error as error:
        raise PaddockError(f"{path} cannot be rewound to step {step}: {error}. Nothing was changed; try again.") from None


def _rewind_scalar(db: sqlite3.Connection, name: int, step: int) -> None:
    if db.execute("DELETE FROM scalars WHERE name = ? AND step > ?", (name, step)).rowcount:
        last = db.execute("SELECT i FROM scalars WHERE name = ? ORDER BY step DESC, i DESC LIMIT 1", (name,)).fetchone()
        rollups.rebuild(db, name, last[0] + 1 if last else 0)


def _shorten_chunks(db: sqlite3.Connection, step: int) -> None:
    """Cut the chunks that begin before `step` and end after it."""
    width = len(read_columns(db).steps) * np.dtype(np.float32).itemsize
    over = "SELECT world, t0, stride FROM step_chunks WHERE t0 + stride * (n - 1) > ?"
    for world, t0, stride in db.execute(over, (step,)).fetchall():
        kept = (step - t0) // stride + 1
        shorten = "UPDATE step_chunks SET n = ?, block = substr(block, 1, ?) WHERE world = ? AND t0 = ?"
        db.execute(shorten, (kept, kept * width, world, t0))
