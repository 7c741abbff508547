"""Somebody with the cockpit open: follows runs, looks at the worlds of one, and keeps a digest of all that was told.

python bench/load_client.py PORT TOKEN --follow RUN RUN --watch RUN     # then, as its input: how many points to wait for
"""

import argparse
import hashlib
import json
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol("paddock.v1")
POINT = struct.Struct("<qqdd")
PATIENCE_S = 60.0
"""For points that were written and have not been told yet."""


class Digests:
    """Of each curve: its points in the order in which they came, as a number, a step, a time and a value."""

    def __init__(self) -> None:
        self._found: dict[str, hashlib.blake2b] = {}

    def add(self, run: str, name: str, point: tuple[int, int, float, float]) -> None:
        key = f"{run} {name}"
        if key not in self._found:
            self._found[key] = hashlib.blake2b(digest_size=16)
        self._found[key].update(POINT.pack(*point))

    def hex(self) -> dict[str, str]:
        return {key: found.hexdigest() for key, found in sorted(self._found.items())}


class LogLane(threading.Thread):
    """Everything that runs write, as it comes."""

    def __init__(self, wire: ClientConnection, runs: Iterable[str]) -> None:
        super().__init__(daemon=True)
        self.wire, self.points, self.delays_ms, self.faults = wire, 0, list[float](), list[str]()
        self.digests, self._seqs, self._next = Digests(), dict[str, int](), dict[tuple[str, str], int]()
        wire.send(json.dumps({"do": "list"}))
        for run in runs:
            wire.send(json.dumps({"do": "follow", "run": run, "cursor": {}}))

    def run(self) -> None:
        try:
            for message in self.wire:
                push = json.loads(message)
                if push["kind"] == "log":
                    self._take(push)
                elif push["kind"] in ("trouble", "rewound"):
                    self.faults.append(str(message)[:200])
        except ConnectionClosed as over:
            self.faults.append(f"closed: {over}")

    def _take(self, push: dict[str, object]) -> None:
        run, points = str(push["run"]), push["points"]
        assert isinstance(points, list)
        if push["seq"] != self._seqs.get(run, 0):
            self.faults.append(f"{run}: push {push['seq']} came after {self._seqs.get(run, 0) - 1}")
        self._seqs[run] = self._seqs.get(run, 0) + 1
        for name, i, step, at, value in points:
            if i != self._next.get((run, name), 0):
                self.faults.append(f"{run}: {name} {i} came where {self._next.get((run, name), 0)} was due")
            self._next[run, name] = i + 1
            self.digests.add(run, name, (i, step, at, value))
        if points and push["live"]:
            self.delays_ms.append(1e3 * (time.time() - points[-1][3]))
        self.points += len(points)


class ViewLane(threading.Thread):
    """A picture that takes so long to draw, again and again."""

    def __init__(self, wire: ClientConnection, run: str, *, worlds: int, draw_s: float) -> None:
        super().__init__(daemon=True)
        self.wire, self.frames, self.dropped, self._draw_s, self._last = wire, 0, 0, draw_s, -1
        self.began = time.monotonic()
        wire.send(json.dumps({"do": "watch", "run": run, "worlds": list(range(worlds)), "hz": 30, "focus": 0}))

    def run(self) -> None:
        try:
            for message in self.wire:
                if isinstance(message, bytes):
                    self._draw(message)
        except ConnectionClosed:
            pass  # told at the end, by how many frames there were

    def _draw(self, frame: bytes) -> None:
        stream, seq = struct.unpack_from("<HI", frame, 6)
        if self.frames == 0:
            self.began = time.monotonic()
        else:
            self.dropped += max(0, seq - self._last - 1)  # it counts anew where the server had taken its line in
        self._last = seq
        self.frames += 1
        time.sleep(self._draw_s)
        self.wire.send(json.dumps({"do": "ack", "stream": stream, "seq": seq}))


@contextmanager
def line(port: int, token: str) -> Iterator[ClientConnection]:
    """A socket as a script opens it."""
    address, headers = f"ws://127.0.0.1:{port}/c/live", {"Authorization": f"Bearer {token}"}
    with connect(address, subprotocols=[PROTOCOL], additional_headers=headers, max_size=None, compression=None, proxy=None) as wire:
        yield wire


def quantile(sorted_numbers: list[float], share: float) -> float:
    return sorted_numbers[min(len(sorted_numbers) - 1, int(share * len(sorted_numbers)))] if sorted_numbers else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("--follow", nargs="+", required=True)
    parser.add_argument("--watch", required=True)
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--draw-s", type=float, default=0.0)
    asked = parser.parse_args()
    with line(asked.port, asked.token) as log_wire, line(asked.port, asked.token) as view_wire:
        log = LogLane(log_wire, asked.follow)
        view = ViewLane(view_wire, asked.watch, worlds=asked.worlds, draw_s=asked.draw_s)
        log.start()
        view.start()
        sys.stdin.readline()  # the runs are still at work
        frames, dropped, seconds = view.frames, view.dropped, time.monotonic() - view.began
        wanted, end = int(sys.stdin.readline()), time.monotonic() + PATIENCE_S
        while log.points < wanted and time.monotonic() < end:
            time.sleep(0.05)
    delays = sorted(log.delays_ms)
    told = {
        "points": log.points,
        "faults": log.faults[:5],
        "delay_ms": {"median": quantile(delays, 0.5), "p99": quantile(delays, 0.99), "most": quantile(delays, 1.0)},
        "frames_per_s": frames / seconds,
        "dropped_per_s": dropped / seconds,
        "digests": log.digests.hex(),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
