"""Curves at three coarser resolutions, so that a plot of any zoom reads few rows.

Points of a scalar are numbered from 0; bucket k of size s covers the points k * s to k * s + s - 1. Points are added one by
one and in order, so that a total has the same bits however the points were batched.
"""

import sqlite3
from collections.abc import Iterable

SIZES = (16, 256, 4096)
"""Points in a bucket."""

_ADD = """
INSERT INTO rollups VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?5, ?5, 1)
ON CONFLICT (name, size, bucket) DO UPDATE SET
    last_step = excluded.last_step, low = min(low, excluded.low), high = max(high, excluded.high),
    total = total + excluded.total, count = count + 1
"""


def add(db: sqlite3.Connection, points: Iterable[tuple[int, int, int, float]], sizes: tuple[int, ...] = SIZES) -> None:
    """Add points (name id, number, step, value) to the buckets they fall into."""
    db.executemany(_ADD, ((name, size, i // size, step, value) for name, i, step, value in points for size in sizes))


def rebuild(db: sqlite3.Connection, name: int, points: int) -> None:
    """Make the buckets of a scalar right again after its points from number `points` on were deleted."""
    for size in SIZES:
        whole = points // size  # buckets that lost nothing
        opened = (name, size, whole)
        begins = db.execute("SELECT first_step FROM rollups WHERE name = ? AND size = ? AND bucket = ?", opened).fetchone()
        db.execute("DELETE FROM rollups WHERE name = ? AND size = ? AND bucket >= ?", opened)
        if begins:
            left = "SELECT name, i, step, value FROM scalars WHERE name = ? AND step >= ? AND i >= ? ORDER BY step, i"
            add(db, db.execute(left, (name, begins[0], whole * size)).fetchall(), (size,))
