"""What waits to be sent on a socket: a little text, in order, and at most one frame."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

MAX_BYTES = 4_000_000
"""Of text that a client has not read yet. Beyond it, whoever can read it again later does, and nobody else is slow for it."""


class Outbox:
    """Filled by whatever has news, emptied by one sender."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque()
        self._bytes = 0
        self._frame: bytes | None = None
        self._filled, self._roomy = asyncio.Event(), asyncio.Event()
        self._roomy.set()

    @property
    def has_room(self) -> bool:
        """Whether more text may wait."""
        return self._bytes < MAX_BYTES

    async def room(self) -> None:
        """Wait until more text may wait: who does not read is not listened to either."""
        await self._roomy.wait()

    def put(self, text: str) -> None:
        """A text that must arrive."""
        self._texts.append(text)
        self._count(len(text))
        self._filled.set()

    def show(self, frame: bytes | None) -> None:
        """A frame to be sent next, in place of one that still waits."""
        self._frame = frame
        if frame is not None:
            self._filled.set()

    async def empty(self, send_text: Callable[[str], Awaitable[None]], send_bytes: Callable[[bytes], Awaitable[None]]) -> None:
        """Send for ever, text first."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._texts or self._frame is not None:
                if self._texts:
                    await send_text(self._texts[0])
                    self._count(-len(self._texts.popleft()))
                elif self._frame is not None:
                    frame, self._frame = self._frame, None
                    await send_bytes(frame)

    def _count(self, change: int) -> None:
        self._bytes += change
        if self.has_room:
            self._roomy.set()
        else:
            self._roomy.clear()
