"""The view lane: frames of a run or a play, the latest only, one on its way to the page at a time.

The bridge is open while somebody looks, and no longer: a run that nobody watches is not even asked.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

from paddock.cockpit.answers import encode
from paddock.cockpit.outbox import Outbox
from paddock.errors import PaddockError
from paddock.messages.cockpit import FRAME_HEAD_BYTES, PlayAsk, WatchAsk, WatchingPush
from paddock.runs.folder import OVER
from paddock.runs.sockets import address_of

MAX_FRAME = 16_000_000
"""Bytes; 256 robots and a few camera pictures are far less."""
MAX_LINE = 1_000_000
RETRY_S = 0.25
STATE_S = 0.5
HELD_S = 3.0
"""A page that has not drawn a frame for so long is not looking; the bridge is taken in until it has."""
STREAM_AT, SEQ_AT = 6, 8
"""Bytes of a frame's head."""


class View:
    """What one socket shows."""

    def __init__(self, stream: int, asked: WatchAsk | PlayAsk, outbox: Outbox) -> None:
        self.stream, self.asked, self._outbox = stream, asked, outbox
        self._latest: bytes | None = None
        self._on_its_way: int | None = None
        """Number of the frame that the page has not drawn yet."""
        self._sent_at = 0.0
        self._drawn = asyncio.Event()
        self._shown = ""
        self._has_frames = False
        self._writer: asyncio.StreamWriter | None = None

    def ack(self, seq: int) -> None:
        """The page has drawn a frame; the newest one may follow."""
        if seq == self._on_its_way:
            self._on_its_way = None
            self._drawn.set()
            if self._latest is not None:
                self._send(self._latest)

    def tell(self, what: dict[str, object]) -> None:
        """Steer the play that is shown."""
        if self._writer is None:
            raise PaddockError("the play does not listen yet, or no longer.")
        self._writer.write(json.dumps({"do": "tell", "what": what}).encode() + b"\n")

    async def show(self, where: Path, state: Callable[[], Awaitable[tuple[str, str]]]) -> None:
        """Frames until nobody sends any more. `state` tells what a run is doing, and why it is over."""
        watcher = asyncio.create_task(self._tell_state(state))
        try:
            while not watcher.done():
                if where.exists():
                    bridge = asyncio.create_task(self._bridge(where))
                    try:
                        await asyncio.wait((bridge, watcher), return_when=asyncio.FIRST_COMPLETED)
                        if bridge.done():
                            bridge.result()
                    finally:
                        bridge.cancel()
                await asyncio.sleep(RETRY_S)
        finally:
            watcher.cancel()
            self._outbox.show(None)

    async def _bridge(self, where: Path) -> None:
        """One connection to whoever makes the frames."""
        try:
            with address_of(where) as address:
                reader, writer = await asyncio.open_unix_connection(address, limit=MAX_LINE)
        except OSError:  # just ending, or just beginning
            return
        try:
            self._writer = writer
            writer.write(json.dumps(self._subscription()).encode() + b"\n")
            while True:
                await self._one(reader)
                if self._is_held():
                    break
        except (OSError, asyncio.IncompleteReadError, ValueError):
            return
        finally:
            self._writer = None
            writer.close()
        self._latest = None  # which will be old by then
        self._drawn.clear()
        await self._drawn.wait()

    def _subscription(self) -> dict[str, object]:
        asked = self.asked
        told: dict[str, object] = {"do": "subscribe", "hz": asked.hz, "focus": asked.focus, "format": "binary"}
        return told | ({"worlds": list(asked.worlds)} if isinstance(asked, WatchAsk) else {})

    async def _one(self, reader: asyncio.StreamReader) -> None:
        """A line: a frame follows it, or it is for the page, or it refuses."""
        line = await reader.readline()
        if not line.endswith(b"\n"):
            raise asyncio.IncompleteReadError(line, None)
        told = json.loads(line)
        if "bytes" in told:
            size = told["bytes"]
            if not FRAME_HEAD_BYTES <= size <= MAX_FRAME:
                raise PaddockError(f"a frame has {size} bytes; the run is not of this Paddock.")
            frame = bytearray(await reader.readexactly(size))
            struct.pack_into("<H", frame, STREAM_AT, self.stream)
            self._has_frames = True
            self._latest = bytes(frame)
            if self._on_its_way is None:
                self._send(self._latest)
        elif "error" in told:
            raise PaddockError(str(told["error"]))
        elif "kind" in told:
            self._outbox.put(line.decode().rstrip("\n"))

    def _send(self, frame: bytes) -> None:
        (self._on_its_way,) = struct.unpack_from("<I", frame, SEQ_AT)
        self._latest, self._sent_at = None, asyncio.get_running_loop().time()
        self._outbox.show(frame)

    def _is_held(self) -> bool:
        return self._on_its_way is not None and asyncio.get_running_loop().time() - self._sent_at > HELD_S

    async def _tell_state(self, state: Callable[[], Awaitable[tuple[str, str]]]) -> None:
        """Say what is shown, and what becomes of it."""
        while True:
            status, reason = await state()
            is_over = status in (*OVER, "crashed")
            told = "over" if is_over else "paused" if status == "paused" else "running" if self._has_frames else "waiting"
            asked = self.asked
            push = encode(
                WatchingPush(
                    stream=self.stream,
                    run=asked.run if isinstance(asked, WatchAsk) else "",
                    play=asked.play if isinstance(asked, PlayAsk) else "",
                    worlds=asked.worlds if isinstance(asked, WatchAsk) else (),
                    hz=asked.hz,
                    focus=asked.focus,
                    state=told,
                    reason=reason or (status if is_over else ""),
                )
            )
            if push != self._shown:
                self._shown = push
                self._outbox.put(push)
            if is_over:
                return
            await asyncio.sleep(STATE_S)
