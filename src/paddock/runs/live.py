"""live.sock: while a run runs, watch chosen worlds and tell it to pause, go on, save or stop.

A client sends lines of JSON, such as {"do": "subscribe", "worlds": [0, 3], "hz": 30}, and is answered by lines of JSON.
Frames are lines too: {"frame": {"env_steps": ..., "world": ..., "age": ..., "qpos": [...]}}. A client that reads too slowly
misses frames and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from reprlib import repr as short
from types import TracebackType
from typing import TYPE_CHECKING

from paddock.errors import PaddockError, unknown

if TYPE_CHECKING:  # telling a run something should not wait for PyTorch
    from torch import Tensor

COMMANDS = ("pause", "resume", "save", "stop", "status", "subscribe", "unsubscribe")
MAX_LINE = 65_536
MAX_UNREAD = 2**20
"""Bytes of answers that a client may leave unread before it is sent away."""
MAX_WATCHED = 64
"""Worlds that a client may watch."""
MAX_HZ = 60.0
UNIX_PATH_BYTES = 100
"""A socket's path may not be longer; the kernel's own limit is 108."""
HANDLES = Path("/proc/self/fd")
"""Where Linux has the folders that this process holds open."""


@dataclass(eq=False)
class _Client:
    wire: socket.socket
    heard: bytes = b""
    worlds: tuple[int, ...] = ()
    period_s: float = 1 / 30
    due: float = 0.0
    pending: bytearray = field(default_factory=bytearray)


class Live:
    """The run's end of the socket: one thread that sleeps until somebody speaks. Nobody watching costs nothing."""

    def __init__(self, path: Path, *, num_worlds: int) -> None:
        self.wanted = False
        """Whether anybody subscribed to worlds."""
        self.trouble = ""
        """Why there is no socket, where there is none."""
        self._path, self._num_worlds = path.absolute(), num_worlds
        self._commands: SimpleQueue[str] = SimpleQueue()
        self._status: dict[str, object] = {}
        self._clients: dict[int, _Client] = {}
        self._lock = threading.Lock()
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)  # whoever trains never waits for whoever looks
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        self._door = self._open()
        self._thread = threading.Thread(target=self._serve, name="live", daemon=True)
        self._thread.start()

    def _open(self) -> socket.socket | None:
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path.unlink(missing_ok=True)
            with address_of(self._path) as address:
                door.bind(address)
            self._path.chmod(0o600)  # whoever may write the run may steer it
            door.listen()
        except OSError as refusal:
            self.trouble = f"no live.sock: {refusal.strerror or refusal}"
            door.close()
            return None
        door.setblocking(False)
        self._selector.register(door, selectors.EVENT_READ)
        return door

    def commands(self) -> list[str]:
        """What was asked for since the last call, in order: pause, resume, save, stop."""
        asked: list[str] = []
        with contextlib.suppress(Empty):
            while True:
                asked.append(self._commands.get_nowait())
        return asked

    def report(self, status: dict[str, object]) -> None:
        """What `status` answers."""
        self._status = status

    def frame(self, env_steps: int, qpos: Tensor, age: Tensor) -> None:
        """Offer the present state; taken only where a client's next frame is due."""
        now = time.monotonic()
        with self._lock:
            due = [client for client in self._clients.values() if client.worlds and client.due <= now]
            for client in due:
                client.due = now + client.period_s
                if len(client.pending) > MAX_LINE:
                    continue  # it has not read the last ones yet
                for world in client.worlds:
                    told = {"env_steps": env_steps, "world": world, "age": int(age[world]), "qpos": qpos[world].tolist()}
                    client.pending += _line({"frame": told})
        if due:
            self._wake()

    def close(self) -> None:
        self._closing = True
        self._wake()
        self._thread.join()
        for wire in (self._door, self._wake_in, self._wake_out):
            if wire is not None:
                wire.close()
        self._selector.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_in.send(b"!")

    def _serve(self) -> None:
        while not self._closing:
            for key, events in self._selector.select():
                if key.fileobj is self._door:
                    self._admit()
                elif key.fileobj is self._wake_out:
                    self._wake_out.recv(4096)
                else:
                    self._talk(key.data, events)
            with self._lock:
                clients = list(self._clients.values())
            for client in clients:
                self._send(client)
        for client in list(self._clients.values()):
            self._dismiss(client)

    def _admit(self) -> None:
        assert self._door is not None
        try:
            wire, _ = self._door.accept()
        except OSError:  # it has left again, or this process has too many files open
            time.sleep(0.1)
            return
        wire.setblocking(False)
        client = _Client(wire)
        with self._lock:
            self._clients[wire.fileno()] = client
        self._selector.register(wire, selectors.EVENT_READ, client)

    def _talk(self, client: _Client, events: int) -> None:
        if events & selectors.EVENT_READ:
            try:
                heard = client.wire.recv(MAX_LINE)
            except OSError:
                heard = b""
            *lines, client.heard = (client.heard + heard).split(b"\n")
            for line in lines:
                answer = self._answer(client, line)
                with self._lock:
                    client.pending += _line(answer)
            if not heard or len(client.heard) > MAX_LINE or len(client.pending) > MAX_UNREAD:
                self._dismiss(client)

    def _send(self, client: _Client) -> None:
        with self._lock:
            try:
                sent = client.wire.send(client.pending) if client.pending else 0
            except BlockingIOError:
                sent = 0
            except OSError:
                sent = -1
            del client.pending[: max(sent, 0)]
            wait_to_write = bool(client.pending)
        if sent < 0:
            self._dismiss(client)
        elif client.wire.fileno() >= 0:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wait_to_write else 0)
            self._selector.modify(client.wire, events, client)

    def _dismiss(self, client: _Client) -> None:
        with self._lock:
            self._clients.pop(client.wire.fileno(), None)
            self.wanted = any(other.worlds for other in self._clients.values())
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.wire)
        client.wire.close()

    def _answer(self, client: _Client, line: bytes) -> dict[str, object]:
        try:
            asked = json.loads(line)
        except (ValueError, RecursionError) as refusal:
            return {"error": f'that is no JSON ({refusal}). Send a line such as {{"do": "status"}}'}
        try:
            do = asked.get("do") if isinstance(asked, dict) else asked
            if do not in COMMANDS:
                raise unknown("command", str(do)[:40], COMMANDS)
            if do == "status":
                return {"ok": do, "status": self._status}
            if do in ("subscribe", "unsubscribe"):
                self._subscribe(client, asked if do == "subscribe" else {"worlds": []})
            else:
                self._commands.put(do)
        except PaddockError as refusal:
            return {"error": str(refusal)}
        return {"ok": do}

    def _subscribe(self, client: _Client, asked: dict[str, object]) -> None:
        worlds, hz = asked.get("worlds", [0]), asked.get("hz", 30)
        if (
            not isinstance(worlds, list)
            or not all(type(world) is int and 0 <= world < self._num_worlds for world in worlds)
            or len(set(worlds)) != len(worlds)
            or len(worlds) > MAX_WATCHED
        ):
            known = f"different numbers from 0 to {self._num_worlds - 1}"
            raise PaddockError(f"worlds is {short(worlds)}; wanted a list of at most {MAX_WATCHED} {known}.")
        if not isinstance(hz, int | float) or not 0 < hz <= MAX_HZ:
            raise PaddockError(f"hz is {short(hz)}; wanted a rate above 0 and at most {MAX_HZ:.0f}.")
        with self._lock:
            client.worlds, client.period_s = tuple(worlds), 1 / hz
            self.wanted = any(other.worlds for other in self._clients.values())


def _line(message: dict[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"


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
            wire.sendall(_line({"do": do}))
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
