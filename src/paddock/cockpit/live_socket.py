"""The socket: runs and jobs as they change, what runs write, and what they look like. Text is JSON, binary is frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, get_args

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from paddock.cockpit.answers import encode
from paddock.cockpit.following import Follower, Place
from paddock.cockpit.outbox import Outbox
from paddock.cockpit.state import cockpit_of, entry_of, folder_of
from paddock.cockpit.watching import View
from paddock.errors import PaddockError, unknown
from paddock.messages import from_json
from paddock.messages.cockpit import (
    PROTOCOL,
    AckAsk,
    FollowAsk,
    JobsPush,
    ListAsk,
    PlayAsk,
    TellAsk,
    ToServer,
    TroublePush,
    UnfollowAsk,
    UnwatchAsk,
    WatchAsk,
)

SUBPROTOCOL = f"paddock.v{PROTOCOL}"
NOT_UNDERSTOOD, TOO_SLOW = 4400, 4429
STUCK_S = 30.0
"""A page that has taken nothing for so long is gone."""
LIST_S = 0.5
MAX_FOLLOWED = 200
"""Runs that one socket may follow."""
MAX_TEXT = 100_000
ASKS: dict[str, type[ToServer]] = {kind.__dataclass_fields__["do"].default: kind for kind in get_args(ToServer)}


async def live(socket: WebSocket) -> None:
    if SUBPROTOCOL not in socket.scope["subprotocols"]:
        await socket.accept()
        await socket.close(NOT_UNDERSTOOD, f"this server speaks {SUBPROTOCOL}: load the page again.")
        return
    await socket.accept(SUBPROTOCOL)
    await Session(socket).run()


class Session:
    """One page's socket, from its first word to its last."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket, self._cockpit = socket, cockpit_of(socket)
        self._outbox = Outbox()
        self._followers: dict[str, Follower] = {}
        self._view: tuple[View, asyncio.Task[None]] | None = None
        self._streams = 0
        self._lister: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Listen and tell until either side is gone."""
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._send())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for follower in self._followers.values():
                self._cockpit.following.unfollow(follower)
            await _end(*tasks, *([self._lister] if self._lister else []), *([self._view[1]] if self._view else []))
        for task in done:
            task.result()

    async def _listen(self) -> None:
        with suppress(WebSocketDisconnect):
            while True:
                await self._outbox.room()
                try:
                    asked = _read(await self._hear())
                except PaddockError as refusal:
                    await self._socket.close(NOT_UNDERSTOOD, str(refusal).encode()[:120].decode("utf-8", "ignore"))
                    return
                try:
                    await self._do(asked)
                except PaddockError as refusal:
                    self._trouble(asked.do, getattr(asked, "run", ""), str(refusal))

    async def _hear(self) -> str:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code") or 1005)
        if message.get("text") is None:
            raise PaddockError("a page sends text.")
        return message["text"]

    async def _send(self) -> None:
        async def in_time(sending: Coroutine[Any, Any, None]) -> None:
            async with asyncio.timeout(STUCK_S):
                await sending

        try:
            await self._outbox.empty(
                lambda text: in_time(self._socket.send_text(text)), lambda frame: in_time(self._socket.send_bytes(frame))
            )
        except TimeoutError:
            with suppress(TimeoutError):
                await in_time(self._socket.close(TOO_SLOW, "nothing was read for too long."))
        except WebSocketDisconnect:
            return

    async def _do(self, asked: ToServer) -> None:
        match asked:
            case ListAsk():
                self._lister = self._lister or asyncio.create_task(self._tell_lists())
            case FollowAsk():
                await self._follow(asked)
            case UnfollowAsk():
                if follower := self._followers.pop(asked.run, None):
                    self._cockpit.following.unfollow(follower)
            case WatchAsk() | PlayAsk():
                await self._watch(asked)
            case UnwatchAsk():
                await self._unwatch()
            case AckAsk():
                if self._view and self._view[0].stream == asked.stream:
                    self._view[0].ack(asked.seq)
            case TellAsk():
                self._steer(asked)

    async def _follow(self, asked: FollowAsk) -> None:
        if len(self._followers) >= MAX_FOLLOWED and asked.run not in self._followers:
            raise PaddockError(f"{MAX_FOLLOWED} runs are followed already. Unfollow one first.")
        place = None if asked.cursor is None else Place.from_json(asked.cursor)
        folder = await folder_of(self._socket, asked.run)
        if before := self._followers.pop(asked.run, None):
            self._cockpit.following.unfollow(before)
        follower = self._followers[asked.run] = Follower(run=asked.run, outbox=self._outbox, place=place)
        self._cockpit.following.follow(folder, follower)

    async def _watch(self, asked: WatchAsk | PlayAsk) -> None:
        await self._unwatch()
        self._streams = self._streams % 65_535 + 1
        view = View(self._streams, asked, self._outbox)
        if isinstance(asked, WatchAsk):
            entry = await entry_of(self._socket, asked.run)
            where = entry.path / "live.sock"
        else:
            where = await asyncio.to_thread(self._cockpit.plays.socket_of, asked.play)

        async def status() -> tuple[str, str]:
            if isinstance(asked, PlayAsk):
                return ("running", "") if where.exists() else ("finished", "The play is over.")
            await self._cockpit.catalogue.fresh()
            found = self._cockpit.catalogue.find(asked.run)
            return (found.row.status, found.row.detail) if found and found.place == "runs" else ("finished", "It was moved away.")

        async def show() -> None:
            try:
                await view.show(where, status)
            except PaddockError as refusal:
                self._trouble(asked.do, getattr(asked, "run", ""), str(refusal))

        self._view = view, asyncio.create_task(show())

    async def _unwatch(self) -> None:
        if self._view is not None:
            _, task = self._view
            self._view = None
            await _end(task)

    def _steer(self, asked: TellAsk) -> None:
        shown = self._view[0] if self._view else None
        if shown is None or not isinstance(shown.asked, PlayAsk) or shown.asked.play != asked.play:
            raise PaddockError(f"this socket does not show the play '{asked.play[:80]}'. Send play first.")
        shown.tell(asked.what)

    async def _tell_lists(self) -> None:
        """Rows that changed, and jobs where one did. A page that reads slowly gets the latest of each later."""
        catalogue, jobs = self._cockpit.catalogue, self._cockpit.jobs
        seen, seen_jobs, told = -1, None, {}
        while True:
            await catalogue.fresh()
            version = catalogue.version
            if version != seen and self._outbox.has_room:
                rows = ",".join(catalogue.texts(since=seen))
                away = json.dumps(catalogue.gone(since=seen) if seen >= 0 else [])
                whole = "true" if seen < 0 else "false"
                self._outbox.put(f'{{"kind":"runs","whole":{whole},"rows":[{rows}],"gone":{away}}}')
                seen = version
            if jobs.version != seen_jobs and self._outbox.has_room:
                is_first, seen_jobs = seen_jobs is None, jobs.version
                listed = await asyncio.to_thread(jobs.jobs)
                now = {job.id: job for job in listed.jobs}
                changed = tuple(job for job in listed.jobs if told.get(job.id) != job)
                gone = tuple(told.keys() - now.keys())
                self._outbox.put(encode(JobsPush(whole=is_first, jobs=changed, gone=gone, slots=listed.slots)))
                told = now
            await asyncio.sleep(LIST_S)

    def _trouble(self, about: str, run: str, error: str) -> None:
        self._outbox.put(encode(TroublePush(about=about, run=run, error=error)))


def _read(text: str) -> ToServer:
    """What a page says."""
    if len(text) > MAX_TEXT:
        raise PaddockError(f"a message may have {MAX_TEXT:,} letters.")
    try:
        do = json.loads(text).get("do")
        kind = ASKS.get(do) if isinstance(do, str) else None
    except (ValueError, AttributeError, RecursionError):
        raise PaddockError('a message is JSON such as {"do": "list"}.') from None
    if kind is None:
        raise unknown("message", str(do)[:40], ASKS)
    return from_json(kind, text)


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


ROUTES = [WebSocketRoute("/c/live", live)]
