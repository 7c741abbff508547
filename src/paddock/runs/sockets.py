"""Unix sockets: reached however deep their folder lies, and asked one thing."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from paddock.errors import PaddockError

UNIX_PATH_BYTES = 100
"""A socket's path may not be longer; the kernel's own limit is 108."""
HANDLES = Path("/proc/self/fd")
"""Where Linux has the folders that this process holds open."""


@contextlib.contextmanager
def address_of(path: Path) -> Iterator[str]:
    """What to bind or connect to: a socket's name has room for few folders, so a deep one is reached by its folder's handle."""
    whole = str(path.absolute())
    shortest = min(whole, os.path.relpath(whole), key=len)
    if len(shortest.encode()) <= UNIX_PATH_BYTES:
        yield shortest
        return
    if not HANDLES.exists():
        raise OSError(0, f"the path {shortest} is longer than a socket's may be")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"{HANDLES}/{folder}/{path.name}"
    finally:
        os.close(folder)


def ask(path: Path, do: str, *, timeout_s: float = 5.0) -> dict[str, object]:
    """Send one command to a run's live.sock and return the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        wire.settimeout(timeout_s)
        try:
            with address_of(path) as address:
                wire.connect(address)
            wire.sendall(line_of({"do": do}))
            heard = b""
            while not heard.endswith(b"\n") and (more := wire.recv(4096)):
                heard += more
        except OSError as refusal:
            raise PaddockError(f"{path} does not answer: {refusal.strerror or refusal}. Is the run running?") from None
    if not heard:
        raise PaddockError(f"{path} hung up without an answer: the run is just ending.")
    answer = json.loads(heard)
    if "error" in answer:
        raise PaddockError(answer["error"])
    return answer


def line_of(message: dict[str, object]) -> bytes:
    """A message as a line of JSON."""
    return json.dumps(message).encode() + b"\n"
