"""The log lane: what runs write, to everybody who follows them, in order and without a gap.

A run that is followed is read once, however many follow it. Whoever is behind, after a lost connection or because it reads
slowly, is brought up out of the database, piece by piece, and joins the others where they are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from paddock.cockpit.answers import encode
from paddock.cockpit.outbox import Outbox
from paddock.errors import PaddockError
from paddock.messages.cockpit import LogPush, RewoundPush, TroublePush
from paddock.runs.folder import RunFolder
from paddock.runs.telemetry_tail import Cursor, News, TelemetryTail

T = TypeVar("T")
LOOK_S = 0.2
"""A run writes as often."""
MAX_LINES = 64_000
"""Bytes of its log in one push."""
NOTHING = News(cursor=Cursor(), points=[], episodes=[], skipped=0, events=[], is_full=False)


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far one has read: in the telemetry, and in the log."""

    cursor: Cursor = field(default_factory=Cursor)
    log: int = 0
    """Bytes."""

    def to_json(self) -> dict[str, Any]:
        return self.cursor.to_json() | {"log": self.log}

    @staticmethod
    def from_json(told: dict[str, Any]) -> Place:
        log = told.get("log", 0)
        return Place(cursor=Cursor.from_json(told), log=log if type(log) is int and log >= 0 else 0)


@dataclass(kw_only=True, eq=False)
class Follower:
    """One socket's interest in one run."""

    run: str
    outbox: Outbox
    place: Place | None
    """How far it has been told; None until it is known where the run is."""
    is_live: bool = False
    """Whether that is as far as everybody else."""
    seq: int = 0


class Following:
    """All runs that anybody follows. Reading is done by one thread, so that runs which write much do not take all cores."""

    def __init__(self) -> None:
        self._tails: dict[Path, _Tail] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="following")

    def follow(self, run: RunFolder, follower: Follower) -> None:
        """Begin telling."""
        tail = self._tails.get(run.path)
        if tail is None:
            tail = self._tails[run.path] = _Tail(run, self._thread)
            tail.task = asyncio.create_task(self._keep(run.path, tail))
        tail.followers.append(follower)

    def unfollow(self, follower: Follower) -> None:
        """Tell no more."""
        for tail in self._tails.values():
            if follower in tail.followers:
                tail.followers.remove(follower)

    async def close(self) -> None:
        """Let go of every file."""
        for tail in self._tails.values():
            tail.followers.clear()
        await asyncio.gather(*(tail.task for tail in list(self._tails.values()) if tail.task))
        self._thread.shutdown()

    async def _keep(self, path: Path, tail: _Tail) -> None:
        try:
            while tail.followers:
                await tail.tell()
                await asyncio.sleep(0.0 if tail.is_behind else LOOK_S)
        finally:
            del self._tails[path]
            await asyncio.get_running_loop().run_in_executor(self._thread, tail.close)


class _Tail:
    """The end of one run's record."""

    def __init__(self, run: RunFolder, thread: ThreadPoolExecutor) -> None:
        self.followers: list[Follower] = []
        self.task: asyncio.Task[None] | None = None
        self.is_behind = False
        self._run, self._thread = run, thread
        self._telemetry: TelemetryTail | None = None
        self._head = Place()
        """How far those have been told who are up to date."""
        self._is_placed = self._is_full = False

    def close(self) -> None:
        if self._telemetry is not None:
            self._telemetry.close()

    async def tell(self) -> None:
        """One round: what is new to those who are up to date, then a piece to each who is behind."""
        try:
            await self._tell_all()
        except Exception as refusal:  # every kind, moved away or damaged: if this ended silently, a page would wait for ever
            why = str(refusal) if isinstance(refusal, PaddockError) else f"its record cannot be read: {refusal}"
            for follower in self.followers:
                follower.outbox.put(encode(TroublePush(about="follow", run=follower.run, error=why)))
            self.followers.clear()

    async def _tell_all(self) -> None:
        behind = [follower for follower in self.followers if not follower.is_live and follower.outbox.has_room]
        before, news, lines = await self._in_thread(self._read_head)
        if news is None:
            self._rewound()
            return
        if not news.is_empty or lines:
            body = _body(news, lines, self._head, live=True)
            for follower in self.followers:
                if follower.is_live and follower.outbox.has_room:
                    _push(follower, body)
                    follower.place = self._head
                elif follower.is_live:  # it reads too slowly: it is brought up once it has read what waits
                    follower.is_live, follower.place = False, before
        for follower in behind:
            await self._bring_up(follower)
        self.is_behind = news.is_full or any(not one.is_live and one.outbox.has_room for one in self.followers)

    async def _bring_up(self, follower: Follower) -> None:
        if follower.place is None:
            follower.place, follower.is_live = self._head, True
            _push(follower, _body(NOTHING, [], self._head, live=True))
            return
        read = await self._in_thread(lambda: self._read_between(follower.place or self._head, self._head))
        if follower not in self.followers:  # it has left meanwhile, and may have come back as another
            return
        if read is None:
            follower.outbox.put(encode(RewoundPush(run=follower.run)))
            follower.place = None
            return
        news, lines, place = read
        has_reached_head = not news.is_full and place.log >= self._head.log
        follower.is_live = has_reached_head or (news.is_empty and not lines)
        follower.place = self._head if follower.is_live else place
        _push(follower, _body(news, lines, follower.place, live=follower.is_live))

    def _rewound(self) -> None:
        """What everybody was told of a run is no longer so."""
        for follower in self.followers:
            if follower.place is not None:
                follower.outbox.put(encode(RewoundPush(run=follower.run)))
                follower.place, follower.is_live = None, False
        self.is_behind = True

    async def _in_thread(self, read: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    # What follows runs in the thread.

    def _read_head(self) -> tuple[Place, News | None, list[str]]:
        """What is new since the last time, and where that began."""
        if not self._run.path.is_dir():
            raise PaddockError(f"{self._run.path.name} is no longer here.")
        if self._telemetry is None and self._run.telemetry.is_file():
            self._telemetry = TelemetryTail(self._run.telemetry)
        if not self._is_placed:
            self._head, self._is_placed = self._end(), True
        before, news = self._head, NOTHING
        if self._telemetry is not None and (self._telemetry.has_changed() or self._is_full):
            news = self._telemetry.news(before.cursor)
            if news is None:
                self._head = self._end()
                return before, None, []
        self._is_full = news.is_full
        lines, log = _lines(self._run.log, before.log, None)
        self._head = Place(cursor=before.cursor if news is NOTHING else news.cursor, log=log)
        return before, news, lines

    def _end(self) -> Place:
        cursor = self._telemetry.end() if self._telemetry else Cursor()
        return Place(cursor=cursor, log=_size(self._run.log))

    def _read_between(self, place: Place, head: Place) -> tuple[News, list[str], Place] | None:
        news = NOTHING
        if self._telemetry is not None:
            found = self._telemetry.news(place.cursor, until=head.cursor)
            if found is None:
                return None
            news = found
        lines, log = _lines(self._run.log, place.log, head.log)
        return news, lines, Place(cursor=place.cursor if news is NOTHING else news.cursor, log=log)


def _body(news: News, lines: list[str], place: Place, *, live: bool) -> str:
    """A push without its beginning, which is another for each follower."""
    push = LogPush(
        run="",
        seq=0,
        points=tuple(news.points),
        episodes=tuple(news.episodes),
        skipped=news.skipped,
        events=tuple(news.events),
        lines=tuple(lines),
        live=live,
        cursor=place.to_json(),
    )
    return encode(push).partition('"seq":0,')[2]


def _push(follower: Follower, body: str) -> None:
    run = json.dumps(follower.run)
    follower.outbox.put(f'{{"kind":"log","run":{run},"seq":{follower.seq},{body}')
    follower.seq += 1


def _size(file: Path) -> int:
    """Of a log, whose lines are written whole."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _lines(file: Path, begin: int, end: int | None) -> tuple[list[str], int]:
    """Whole lines of a log from a byte on, and the byte behind them."""
    try:
        size = _size(file)
        if size <= begin:
            return [], min(begin, size)
        with file.open("rb") as opened:
            opened.seek(begin)
            content = opened.read(min(MAX_LINES, (size if end is None else min(end, size)) - begin))
    except OSError:
        return [], begin
    whole = content.rfind(b"\n") + 1 or (len(content) if len(content) >= MAX_LINES else 0)
    return content[:whole].decode("utf-8", "replace").splitlines(), begin + whole
