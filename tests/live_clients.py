"""Somebody at the other end of a live.sock."""

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

from paddock.runs.frames import Frame, unpack
from paddock.runs.sockets import address_of


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for what another thread or process will do."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)


class Client:
    """Reads and writes lines, and frames."""

    def __init__(self, path: Path) -> None:
        self.wire = socket.socket(socket.AF_UNIX)
        self.wire.settimeout(20.0)
        with address_of(path) as address:
            self.wire.connect(address)
        self.lines = self.wire.makefile("rb")

    def send(self, line: bytes) -> None:
        self.wire.sendall(line + b"\n")

    def read(self) -> dict[str, dict[str, object]]:
        return json.loads(self.lines.readline())

    def ask(self, **words: object) -> dict[str, dict[str, object]]:
        self.send(json.dumps(words).encode())
        return self.read()

    def watch(self, worlds: list[int], **words: object) -> None:
        """From now on, be sent binary frames."""
        assert self.ask(do="subscribe", worlds=worlds, format="binary", **words) == {"ok": "subscribe"}

    def bytes(self) -> bytes:
        """The next frame as it came."""
        head = self.read()
        assert list(head) == ["bytes"], head
        return self.lines.read(int(str(head["bytes"])))

    def frame(self) -> Frame:
        return unpack(self.bytes())

    def close(self) -> None:
        self.lines.close()
        self.wire.close()
