"""Following telemetry.db while a run writes it: what is new since a cursor, in order, without a gap; and whether it was rewound.

A cursor is plain JSON, so that whoever follows can keep it over a lost connection: the number of the next value of each
scalar, the last episode, the last event, and the newest row of each kind as a mark. A resumed run takes back what is later
than its checkpoint; a mark that is no longer in the file tells.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from paddock.errors import PaddockError
from paddock.messages.cockpit import EpisodeRow, RunEvent, ScalarPoint
from paddock.runs.telemetry_file import read_columns
from paddock.runs.telemetry_reader import TelemetryReader

POINTS = 4_000
"""Scalar values in one piece of news, about."""
EPISODES = 500
"""Episodes in one piece of news; older ones are counted and left out."""
EVENTS = 500

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """How far one has read."""

    scalars: dict[str, int] = field(default_factory=dict)
    """The number of the next value of each."""
    episode: int = 0
    event: int = 0
    marks: dict[str, list[Any]] = field(default_factory=dict)
    """The newest row that was read: of scalars name, number, step and time; of episodes and events their numbers."""

    def to_json(self) -> Json:
        return {"scalars": self.scalars, "episode": self.episode, "event": self.event, "marks": self.marks}

    @staticmethod
    def from_json(told: Json) -> Cursor:
        """Check what a client kept."""
        scalars, marks = told.get("scalars", {}), told.get("marks", {})
        episode, event = told.get("episode", 0), told.get("event", 0)
        fits = (
            isinstance(scalars, dict)
            and all(type(i) is int and i >= 0 for i in scalars.values())
            and type(episode) is int
            and type(event) is int
            and isinstance(marks, dict)
            and all(isinstance(mark, list) and len(mark) == WIDTHS.get(kind) for kind, mark in marks.items())
            and all(isinstance(value, int | float | str) for mark in marks.values() for value in mark)
        )
        if not fits:
            raise PaddockError("the cursor is none that this server gave. Follow with the last one, or with null.")
        return Cursor(scalars=dict(scalars), episode=episode, event=event, marks=dict(marks))


WIDTHS = {"scalar": 4, "episode": 4, "event": 2}
"""Numbers in each kind of mark."""


@dataclass(frozen=True, kw_only=True)
class News:
    """What came between two cursors."""

    cursor: Cursor
    """To go on from."""
    points: list[ScalarPoint]
    episodes: list[EpisodeRow]
    skipped: int
    """Episodes before those, left out."""
    events: list[RunEvent]
    is_full: bool
    """Whether there may be more already."""

    @property
    def is_empty(self) -> bool:
        return not (self.points or self.episodes or self.events)


class TelemetryTail:
    """A read-only connection that follows. It belongs to the thread that opened it."""

    def __init__(self, path: Path) -> None:
        self._reader = TelemetryReader(path)
        self._version = -1

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> TelemetryTail:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def has_changed(self) -> bool:
        """Whether anything was committed since the last call."""
        (version,) = self._reader.database.execute("PRAGMA data_version").fetchone()
        changed, self._version = version != self._version, version
        if changed and not self._reader.columns.causes:  # opened before the run had named its columns
            self._reader.columns = read_columns(self._reader.database)
        return changed

    def end(self) -> Cursor:
        """The cursor of one who has read everything there is."""
        db = self._reader.database
        with self._reader.one_moment():
            scalars: dict[str, int] = {}
            newest: list[Any] | None = None
            for name, key in db.execute("SELECT name, id FROM names").fetchall():
                query = "SELECT i, step, time FROM scalars WHERE name = ? ORDER BY step DESC, i DESC LIMIT 1"
                if row := db.execute(query, (key,)).fetchone():
                    scalars[name] = row[0] + 1
                    if newest is None or row[1] >= newest[2]:
                        newest = [name, *row]
            episode = db.execute("SELECT id, step, world, episode FROM episodes ORDER BY id DESC LIMIT 1").fetchone()
            event = db.execute("SELECT id, time FROM events ORDER BY id DESC LIMIT 1").fetchone()
        marks = {"scalar": newest, "episode": episode and list(episode), "event": event and list(event)}
        return Cursor(
            scalars=scalars,
            episode=episode[0] if episode else 0,
            event=event[0] if event else 0,
            marks={kind: mark for kind, mark in marks.items() if mark},
        )

    def news(self, cursor: Cursor, *, until: Cursor | None = None) -> News | None:
        """What is new, the oldest first, at most a message full; None where the file was rewound.

        `until` is where somebody else has read to.
        """
        at_most = max(8, POINTS // max(1, len(self._reader.names())))
        found = self._reader.points(cursor.scalars, at_most=at_most)
        is_full = max(Counter(point.name for point in found).values(), default=0) >= at_most
        points: list[ScalarPoint] = [(p.name, p.i, p.step, p.time, p.value) for p in found]
        if until is not None:
            points = [point for point in points if point[1] < until.scalars.get(point[0], 0)]
        last_episode = until.episode if until else 2**62
        last_event = until.event if until else 2**62
        episodes, skipped = self._episodes(cursor.episode, last_episode)
        events = self._events(cursor.event, last_event)
        if self._is_rewound(cursor):  # asked last: what was read above may be of after the rewind
            return None
        moved, is_full = _moved(cursor, points, episodes, events), is_full or len(events) >= EVENTS
        return News(cursor=moved, points=points, episodes=episodes, skipped=skipped, events=events, is_full=is_full)

    def _is_rewound(self, cursor: Cursor) -> bool:
        """Whether what the cursor has read last is no longer there."""
        db, marks = self._reader.database, cursor.marks
        key = "(SELECT id FROM names WHERE name = ?)"
        queries = {
            "scalar": f"SELECT 1 FROM scalars WHERE name = {key} AND i = ? AND step = ? AND time = ?",
            "episode": "SELECT 1 FROM episodes WHERE id = ? AND step = ? AND world = ? AND episode = ?",
            "event": "SELECT 1 FROM events WHERE id = ? AND time = ?",
        }
        return any(db.execute(queries[kind], mark).fetchone() is None for kind, mark in marks.items())

    def _episodes(self, after: int, until: int) -> tuple[list[EpisodeRow], int]:
        rows = episode_rows(self._reader, last=EPISODES, after=after, until=until)
        return rows, rows[0][0] - after - 1 if rows else 0

    def _events(self, after: int, until: int) -> list[RunEvent]:
        query = "SELECT id, step, time, kind, detail FROM events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        return [_event(row) for row in self._reader.database.execute(query, (after, until, EVENTS))]


def episode_rows(reader: TelemetryReader, *, last: int, after: int = 0, until: int = 2**62) -> list[EpisodeRow]:
    """The newest episodes with an id above `after` and at most `until`, the oldest of them first."""
    query = """
        SELECT id, step, world, episode, length, total, success, cause, terms FROM episodes
        WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT ?
    """
    causes = reader.columns.causes
    return [
        (i, step, world, episode, length, _finite(total), None if success is None else bool(success), causes[cause], _plain(terms))
        for i, step, world, episode, length, total, success, cause, terms in reader.database.execute(query, (after, until, last))
    ][::-1]


def newest_events(reader: TelemetryReader, last: int) -> list[RunEvent]:
    """The newest events, the oldest of them first."""
    query = "SELECT id, step, time, kind, detail FROM events ORDER BY id DESC LIMIT ?"
    return [_event(row) for row in reader.database.execute(query, (last,))][::-1]


def _event(row: tuple[int, int, float, str, str]) -> RunEvent:
    i, step, when, kind, detail = row
    return RunEvent(id=i, step=step, time=when, kind=kind, detail=json.loads(detail))


def _plain(terms: bytes) -> tuple[float | None, ...]:
    """Sums of the reward terms; JSON has no word for what is no number."""
    return tuple(map(_finite, np.frombuffer(terms, np.float32).tolist()))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _moved(cursor: Cursor, points: list[ScalarPoint], episodes: list[EpisodeRow], events: list[RunEvent]) -> Cursor:
    marks, scalars = dict(cursor.marks), dict(cursor.scalars)
    if points:
        if "scalar" not in marks or points[-1][2] >= marks["scalar"][2]:
            marks["scalar"] = list(points[-1][:4])
        scalars |= {name: i + 1 for name, i, *_ in points}
    if episodes:
        marks["episode"] = list(episodes[-1][:4])
    if events:
        marks["event"] = [events[-1].id, events[-1].time]
    return Cursor(
        scalars=scalars,
        episode=episodes[-1][0] if episodes else cursor.episode,
        event=events[-1].id if events else cursor.event,
        marks=marks,
    )
