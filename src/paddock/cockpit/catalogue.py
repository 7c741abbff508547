"""What runs there are, kept up to date by looking at little: the times of each run.json, and who is alive of those that run.

It reads the folder and nothing else, so runs of a shell, of another process or of a machine that shares the disk appear by
themselves, and one whose process is gone is called crashed by the next look.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from paddock.cockpit.rows import row_of, unreadable_row
from paddock.errors import PaddockError
from paddock.messages import RunCard, to_json
from paddock.messages.cockpit import Labels, Place, RunRow
from paddock.runs.folder import ARCHIVE, CARD, OVER, PACKED, TRASH, RunFolder, is_alive, status_of
from paddock.runs.labels import LABELS, NONE, read_labels
from paddock.runs.shelf import packed_run

LOOK_S = 0.4
"""A look is not older than this when it is asked for."""
RATE_S = 30.0
"""Steps per second are counted over so long."""
SIZE_S, SIZE_RUNNING_S = 120.0, 10.0
"""How old the measured size of a run may be."""
SIZING_S = 0.1
"""Spent on sizes in one look."""
MAX_GONE = 10_000
Signature = tuple[int, ...]


@dataclass(kw_only=True)
class Entry:
    """A run as the last look found it."""

    id: str
    place: Place
    path: Path
    """Its folder, or its archive."""
    signature: Signature
    card: RunCard | None
    why: str
    """Why there is no card."""
    labels: Labels
    size_bytes: int = 0
    sized_at: float = -1e9
    rates: list[tuple[float, int]] = field(default_factory=list)
    """Training seconds and env steps at its last signs of life."""
    row: RunRow
    text: str = ""
    """The row as JSON."""
    version: int = 0
    """Of the catalogue when the row last changed."""


class Catalogue:
    """All runs of a folder. `look` is for a worker thread, the rest for the server's loop."""

    def __init__(self, root: Path, *, started_here: Callable[[], Collection[str]] = tuple) -> None:
        self.root = root
        self.version = 0
        self._started_here = started_here
        self._entries: dict[str, Entry] = {}
        self._gone: dict[str, int] = {}
        self._looked_at = -1e9
        self._looking = asyncio.Lock()

    async def fresh(self, *, at_most_s: float = LOOK_S) -> None:
        """Look, unless somebody has just done so."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= at_most_s:
                await asyncio.to_thread(self.look)
                self._looked_at = time.monotonic()

    def rows(self) -> list[RunRow]:
        """All runs, the oldest first."""
        return [entry.row for entry in self._sorted()]

    def texts(self, *, since: int = -1) -> list[str]:
        """Rows that changed after a version, as JSON, the oldest run first."""
        return [entry.text for entry in self._sorted() if entry.version > since]

    def gone(self, *, since: int) -> list[str]:
        """Runs that went away after a version."""
        return [run for run, version in self._gone.items() if version > since]

    def find(self, run: str) -> Entry | None:
        """The run of an id. An id that is none is no path either: it is looked up, never joined to one."""
        return self._entries.get(run)

    def _sorted(self) -> list[Entry]:
        return sorted(self._entries.values(), key=lambda entry: entry.id)

    def look(self) -> None:
        """See what has changed on disk."""
        found: dict[str, tuple[Place, Path, Signature]] = {}
        for run, place, path, signature in self._found():
            found[run] = (place, path, signature)
        now, here = time.monotonic(), self._started_here()
        version = self.version + 1
        is_changed = False
        for run in self._entries.keys() - found.keys():
            self._gone[run] = version
            is_changed = True
        entries: dict[str, Entry] = {}
        for run, (place, path, signature) in found.items():
            entry = self._entries.get(run)
            if entry is None or (entry.place, entry.signature) != (place, signature):
                entry = _read(run, place, path, signature, before=entry)
                self._gone.pop(run, None)
            is_changed |= self._refresh(entry, version, "cockpit" if run in here else "shell")
            entries[run] = entry
        self._entries = entries  # in one move: the server's loop reads it meanwhile
        until = time.monotonic() + SIZING_S
        for entry in self._unmeasured(now):
            entry.size_bytes, entry.sized_at = _size(entry), now
            is_changed |= self._refresh(entry, version, entry.row.origin)
            if time.monotonic() > until:
                break
        while len(self._gone) > MAX_GONE:
            del self._gone[next(iter(self._gone))]
        if is_changed:
            self.version = version

    def _found(self) -> Iterator[tuple[str, Place, Path, Signature]]:
        """Every run there is. One that lies in two places is found last where it is nearest to being here."""
        places: tuple[tuple[Place, Path], ...] = (("trash", self.root / TRASH), ("runs", self.root))
        for item in _items(self.root / ARCHIVE):
            if item.name.endswith(PACKED):
                yield item.name.removesuffix(PACKED), "archive", Path(item.path), _times(item.path)
        for place, folder in places:
            for item in _items(folder):
                if card := _times(f"{item.path}/{CARD}"):
                    yield item.name, place, Path(item.path), (*card, *_times(f"{item.path}/{LABELS}"))

    def _refresh(self, entry: Entry, version: int, origin: Literal["cockpit", "shell"]) -> bool:
        """Make the row again where it may have changed by itself; returns whether it has."""
        try:
            row = _row(entry, origin)
            if entry.text and row == entry.row:
                return False
            text = to_json(row)
        except (ValueError, ArithmeticError) as refusal:  # in a run.json that Paddock did not write
            entry.card, entry.why = None, f"{CARD} says what cannot be: {refusal}"
            row = _row(entry, origin)
            text = to_json(row)
        entry.row, entry.text = row, text
        entry.version = version
        return True

    def _unmeasured(self, now: float) -> list[Entry]:
        """Runs whose size is to be measured, those first that were not for the longest time."""
        due = [e for e in self._entries.values() if now - e.sized_at > (SIZE_RUNNING_S if e.row.alive else SIZE_S)]
        return sorted(due, key=lambda entry: entry.sized_at)


def _items(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return [item for item in items if not item.name.startswith(".")]
    except OSError:  # not there, or not any more
        return []


def _times(path: str) -> Signature:
    """What changes when a file is replaced or written to; empty where there is none."""
    try:
        seen = os.stat(path)  # noqa: PTH116  a thousand of them, twice a second
    except OSError:
        return ()
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino)


def _read(run: str, place: Place, path: Path, signature: Signature, *, before: Entry | None) -> Entry:
    """A run whose files are new or have changed."""
    card, why, labels = None, "", NONE
    try:
        if place == "archive":
            card, labels = packed_run(path, run)
        else:
            labels = read_labels(path)
            card = RunFolder(path).card()
    except PaddockError as refusal:
        why = str(refusal)
    entry = Entry(
        id=run,
        place=place,
        path=path,
        signature=signature,
        card=card,
        why=why,
        labels=labels,
        row=unreadable_row(run, why, place=place, size_bytes=0),
    )
    if before is not None and before.place == place:
        entry.size_bytes, entry.sized_at, entry.rates = before.size_bytes, before.sized_at, before.rates
    if card is not None:
        at = card.progress
        kept = [(seconds, steps) for seconds, steps in entry.rates if at.seconds - RATE_S <= seconds < at.seconds]
        entry.rates = [*kept, (at.seconds, at.env_steps)]
    return entry


def _row(entry: Entry, origin: Literal["cockpit", "shell"]) -> RunRow:
    card = entry.card
    if card is None:
        return unreadable_row(entry.id, entry.why, place=entry.place, size_bytes=entry.size_bytes, labels=entry.labels)
    is_here = entry.place == "runs"
    alive = is_here and is_alive(card)
    status = card.progress.status if card.progress.status in OVER else status_of(card) if is_here else "crashed"
    return row_of(
        entry.id,
        card,
        place=entry.place,
        status=status,
        alive=alive,
        watchable=alive and (entry.path / "live.sock").exists(),
        steps_per_s=_rate(entry.rates, card) if status in ("running", *OVER) else None,
        size_bytes=entry.size_bytes,
        labels=entry.labels,
        origin=origin,
    )


def _rate(rates: list[tuple[float, int]], card: RunCard) -> float | None:
    """Of the last half minute while it runs; over the whole run otherwise, and where there is nothing to compare with."""
    (then, before), (at, steps) = (
        (rates[0], rates[-1]) if card.progress.status not in OVER and len(rates) > 1 else ((0.0, 0), rates[-1])
    )
    return (steps - before) / (at - then) if at > then else None


def _size(entry: Entry) -> int:
    try:
        return entry.path.stat().st_size if entry.place == "archive" else RunFolder(entry.path).size_bytes()
    except OSError:
        return entry.size_bytes
