"""A real cockpit on a free port, and somebody who visits it: plain HTTP, plain sockets, nothing tidied up on the way."""

import json
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from paddock.cockpit.guard import door_for
from paddock.messages import from_json
from paddock.messages.cockpit import SeriesBlock, SeriesHead
from paddock.serving import CLIENT, config_of, make_cockpit, token_in

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body)

    @property
    def error(self) -> str:
        assert self.status >= 400, self
        return self.json["error"]


@dataclass(kw_only=True)
class Visitor:
    """Knows the token, and says so in a header, as a script does."""

    port: int
    token: str
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        """One request, its path sent as it is. A header named `host_` is Host; None leaves one out."""
        sent = {"authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-").strip("-"): text for name, text in headers.items()
        }
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        wire = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            wire.request(method, path, body=content, headers={name: text for name, text in sent.items() if text})
            reply = wire.getresponse()
            return Reply(status=reply.status, headers={k.lower(): v for k, v in reply.getheaders()}, body=reply.read())
        finally:
            wire.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def json(self, path: str) -> Any:
        reply = self.get(path)
        assert reply.status == 200, reply
        return reply.json

    def rows(self) -> dict[str, Any]:
        return {row["id"]: row for row in self.json("/c/runs")["runs"]}

    @contextmanager
    def socket(
        self, *, headers: dict[str, str] | None = None, protocol: str = "paddock.v1", path: str = "/c/live"
    ) -> Iterator["Line"]:
        told = {"Authorization": f"Bearer {self.token}"} if headers is None else headers
        address = f"ws://127.0.0.1:{self.port}{path}"
        with connect(address, subprotocols=[protocol], additional_headers=told, max_size=None, proxy=None) as wire:  # pyright: ignore[reportArgumentType]
            yield Line(wire)


class Line:
    """The page's end of a socket."""

    def __init__(self, wire: ClientConnection) -> None:
        self.wire = wire
        self.heard: list[Any] = []

    def say(self, **message: object) -> None:
        self.wire.send(json.dumps(message))

    def hear(self, timeout: float = 10.0) -> Any:
        """The next message: a dict, or the bytes of a frame."""
        message = self.wire.recv(timeout)
        self.heard.append(json.loads(message) if isinstance(message, str) else message)
        return self.heard[-1]

    def until(self, wanted: Callable[[Any], bool], timeout: float = 10.0) -> Any:
        """The next message that is wanted; the others are in `heard`."""
        end = time.monotonic() + timeout
        while not wanted(message := self.hear(max(0.0, end - time.monotonic()))):
            pass
        return message

    def kind(self, kind: str, timeout: float = 10.0) -> Any:
        return self.until(lambda message: isinstance(message, dict) and message["kind"] == kind, timeout)

    def closed(self) -> tuple[int, str]:
        """Why the other side hangs up."""
        try:
            while True:
                self.hear(5)
        except ConnectionClosed as over:
            assert over.rcvd is not None
            return over.rcvd.code, over.rcvd.reason


def served(runs_dir: Path, *, port: int = 0, client: Path = CLIENT, tasks: tuple[str, ...] = ()) -> AbstractContextManager[Visitor]:
    """A cockpit over a folder, in a thread of this process."""
    return mounted(runs_dir, lambda app: app, port=port, client=client, tasks=tasks)


@contextmanager
def mounted(
    runs_dir: Path, wrap: Callable[[Any], Any], *, port: int = 0, client: Path = CLIENT, tasks: tuple[str, ...] = ()
) -> Iterator[Visitor]:
    """The same, inside of another application."""
    wire = socket.create_server(("127.0.0.1", port))
    port = wire.getsockname()[1]
    runs_dir.mkdir(exist_ok=True)
    token = token_in(runs_dir)
    config = config_of(replace(make_cockpit(runs_dir, slots=1, tasks=tasks), client=client), door_for(port, token=token))
    config.app = wrap(config.app)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [wire]})
    thread.start()
    try:
        wait(lambda: server.started)
        yield Visitor(port=port, token=token)
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()
        wire.close()


@contextmanager
def serving(root: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], Visitor]]:
    """`paddock serve` in a process of its own, as a person starts it."""
    words = ["serve", "--runs-dir", str(root), "--no-browser", *(more or ("--port", "0"))]
    process = subprocess.Popen(
        [sys.executable, "-m", "paddock", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", said)):
            text = process.stdout.readline()
            assert text, f"it ended: {said}"
            said += text
        visitor = Visitor(port=int(found[1]), token=found[2])
        wait(lambda: _answers(visitor))
        yield process, visitor
    finally:
        process.kill()
        process.communicate()


def _answers(visitor: Visitor) -> bool:
    try:
        return visitor.get("/c/hello").status == 200
    except OSError:
        return False


def wait(is_so: Callable[[], T], timeout: float = 10.0) -> T:
    """Until something is so; returns what it said."""
    end = time.monotonic() + timeout
    while not (said := is_so()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)
    return said


def unpack(body: bytes) -> list[tuple[SeriesBlock, dict[str, np.ndarray]]]:
    """A PDKS answer, read as the page reads it."""
    assert body[:4] == b"PDKS"
    (length,) = struct.unpack_from("<I", body, 4)
    at, found = 8 + length, []
    assert at % 8 == 0
    for head in from_json(SeriesHead, body[8:at].decode()).series:
        columns = {}
        for name in head.columns:
            columns[name] = np.frombuffer(body, "<f8", head.n, at)
            at += 8 * head.n
        found.append((head, columns))
    assert at == len(body)
    return found
