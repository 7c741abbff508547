"""live.sock: while a run runs, watch chosen worlds and tell it to pause, go on, save or stop.

A client sends lines of JSON, such as {"do": "subscribe", "worlds": [0, 3], "hz": 30}, and is answered by lines of JSON.
Frames are lines too: {"frame": {"env_steps": ..., "world": ..., "age": ..., "qpos": [...]}}. With "format": "binary", and as
"focus" the world that one wants to know more of, a frame is a line {"bytes": N} and N bytes, which `frames` describes. A client
that reads too slowly misses frames and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType

from paddock.errors import PaddockError, unknown
from paddock.runs.sockets import address_of, line_of
from paddock.runs.viewers import Shot, Viewer, wish_of

COMMANDS = ("pause", "resume", "save", "stop", "status", "subscribe", "unsubscribe")
MAX_LINE = 65_536
MAX_UNREAD = 2**20
"""Bytes of answers that a client may leave unread before it is sent away."""
RATE_S = 0.25
"""Between two looks at how fast the run is."""


@dataclass(eq=False)
class _Client:
    wire: socket.socket
    heard: bytes = b""
    viewer: Viewer = field(default_factory=Viewer)
    pending: bytearray = field(default_factory=bytearray)


class Live:
    """The run's end of the socket: one thread that sleeps until somebody speaks. Nobody watching costs nothing."""

    def __init__(self, path: Path, *, num_worlds: int, hear: Callable[[object], dict[str, object]] | None = None) -> None:
        """`hear` answers, in a thread of its own, what comes as {"do": "tell", "what": ...}; without it nobody is told."""
        self.wanted = False
        """Whether anybody subscribed to worlds."""
        self.focused: frozenset[int] = frozenset()
        """Worlds of which somebody wants to know more."""
        self.trouble = ""
        """Why there is no socket, where there is none."""
        self._path, self._num_worlds, self._hear = path.absolute(), num_worlds, hear
        self._greeting = b""
        self._rates: list[tuple[float, int]] = []
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

    def greet(self, message: dict[str, object]) -> None:
        """Tell this to everybody who is here, and to everybody who comes."""
        with self._lock:
            self._greeting = line_of(message)
            for client in self._clients.values():
                client.pending += self._greeting
        self._wake()

    @property
    def is_alone(self) -> bool:
        """Whether no client is here."""
        return not self._clients

    def frame(self, shot: Shot) -> None:
        """Offer a state; taken only where a client's next frame is due."""
        now = time.monotonic()
        rate = self._rate(now, shot.env_steps)
        with self._lock:
            due = [client for client in self._clients.values() if client.viewer.is_due(now)]
            for client in due:
                unread = len(client.pending)
                client.pending += client.viewer.frame(shot, steps_per_s=rate, unread=unread, patience=MAX_LINE)
        if due:
            self._wake()

    def _rate(self, now: float, env_steps: int) -> float:
        """Env steps in a second, over the last two or so."""
        if not self._rates or now - self._rates[-1][0] >= RATE_S:
            self._rates = [*self._rates[-8:], (now, env_steps)]
        then, before = self._rates[0]
        return round(max(0, env_steps - before) / (now - then), 1) if now > then else 0.0

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
            client.pending += self._greeting
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
                    client.pending += line_of(answer)
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
            self._look_around()
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
            if do == "tell" and self._hear is not None:
                return self._hear(asked.get("what"))
            if do not in COMMANDS:
                raise unknown("command", str(do)[:40], COMMANDS)
            if do == "status":
                return {"ok": do, "status": self._status}
            if do in ("subscribe", "unsubscribe"):
                wish = wish_of(asked if do == "subscribe" else {"worlds": []}, self._num_worlds)
                with self._lock:
                    client.viewer.begin(wish)
                    self._look_around()
            else:
                self._commands.put(do)
        except PaddockError as refusal:
            return {"error": str(refusal)}
        return {"ok": do}

    def _look_around(self) -> None:
        """Who is here, and what they want."""
        wishes = [client.viewer.wish for client in self._clients.values() if client.viewer.wish.worlds]
        self.wanted = bool(wishes)
        self.focused = frozenset(wish.focus for wish in wishes if wish.is_binary)
