"""Telemetry under a lock, a full disk, a full queue, a kill and a sink that raises: nothing that was committed is lost."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from paddock.errors import PaddockError
from paddock.runs import faults, telemetry
from paddock.runs.telemetry import Telemetry, rewind
from paddock.runs.telemetry_batches import Event
from paddock.runs.telemetry_queue import BatchQueue
from paddock.runs.telemetry_reader import TelemetryReader
from telemetry_feed import (
    buckets,
    contents,
    feed,
    locked,
    opened,
    query,
    stored_buckets,
    wait_for,
)


def child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_rewind_that_cannot_finish_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "telemetry.db"
    with opened(path) as run:
        feed(run, 0, 100)
    before = contents(path)
    monkeypatch.setattr("paddock.runs.telemetry_file.OPEN_S", 0.1)
    with locked(path), pytest.raises(PaddockError, match="cannot be rewound to step 512: database is locked"):
        rewind(path, 512)
    assert contents(path) == before


def test_a_reader_sees_whole_moments_while_a_run_writes(tmp_path: Path) -> None:
    path, stop, seen = tmp_path / "telemetry.db", threading.Event(), [0]
    wrong: list[object] = []

    def read() -> None:
        with TelemetryReader(path) as reader:
            while not stop.is_set():
                for max_points in (10**6, 100, 2) if "x" in reader.names() else ():
                    curve = reader.scalar("x", max_points=max_points)
                    if not curve.count.sum() == curve.step[-1] >= seen[-1]:  # steps are numbered from 1
                        wrong.append((curve, seen[-1]))
                    seen.append(int(curve.step[-1]))
                counts = Counter(point.name for point in reader.points({}))
                if counts["x"] != counts["y"]:
                    wrong.append(counts)

    with Telemetry(path) as run:
        thread = threading.Thread(target=read)
        thread.start()
        for step in range(1, 1500):
            run.scalars(step, {"x": 1.0, "y": 2.0})
            assert step % 20 or run.flush()  # many commits
        stop.set()
        thread.join()
        health = run.health()
    assert not wrong and len(set(seen)) >= 4
    assert health.errors == 0 and health.dropped == 0


def test_a_locked_database_loses_nothing_and_stops_nobody(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with opened(path) as run:
        with locked(path):
            began = time.perf_counter()
            feed(run, 0, 300)
            calls = time.perf_counter() - began
            wait_for(run, "locked")
            assert not run.flush(timeout=0.2)
            held = run.health()
        assert run.flush()
        after = run.health()
    assert calls < 0.5  # a single call that waited for the lock would take longer
    assert held.queued == 500 + 600 + 24 + 6  # scalars, step rows, episodes, events
    assert held.errors > 0 and held.lag_s > 0.4 and held.since_commit_s > 0.4
    assert (after.queued, after.dropped, after.lag_s) == (0, 0, 0.0) and after.since_commit_s < held.since_commit_s
    with opened(tmp_path / "free.db") as run:
        feed(run, 0, 300)
    assert contents(path) == contents(tmp_path / "free.db")


def test_a_full_queue_drops_the_oldest_and_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with opened(path, queue_bytes=100_000) as run:
        with locked(path):
            for step in range(5000):
                run.scalars(step, {"x": float(step)})
            wait_for(run, "locked")
            full = run.health()
            assert full.queued_bytes <= 100_000 and full.dropped > 0
            assert not run.flush(timeout=0.1)
        assert run.flush()
        run.scalars(6000, {"x": 0.0})
        assert run.flush()
        dropped = run.health().dropped
    with TelemetryReader(path) as reader:
        kept = reader.scalar("x", max_points=10_000)
    steps = kept.step.tolist()
    assert len(steps) == 5000 - dropped + 1 and steps[0] > 0 and steps[-2:] == [4999, 6000]
    gaps = [(a, b) for a, b in pairwise(steps[:-1]) if b != a + 1]
    assert len(gaps) <= 1  # the newest are kept, and what the writer had in hand when the lock went
    assert stored_buckets(path, "x", 16) == buckets({int(s): v for s, v in zip(kept.step, kept.mean.tolist(), strict=True)}, 16)


@pytest.mark.parametrize("is_written", [True, False])
def test_flushing_tells_whether_everything_was_written(is_written: bool) -> None:
    queue = BatchQueue(max_bytes=1000, prompt_rows=10)
    queue.put(Event(0, 0.0, "note", "{}"))

    def write() -> None:
        taken = queue.take(max_rows=10, wait_s=10.0)
        (queue.done if is_written else queue.refuse)(taken)
        if not is_written:
            queue.done(queue.take(max_rows=10, wait_s=10.0))

    thread = threading.Thread(target=write)
    thread.start()
    assert queue.sync(timeout=10.0) == is_written
    thread.join()
    assert queue.dropped == (not is_written) and queue.lag()[:2] == (0, 0)


def test_closing_gives_up_on_a_disk_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "CLOSE_S", 0.3)
    run = opened(tmp_path / "telemetry.db")
    with locked(tmp_path / "telemetry.db"):
        run.scalars(0, {"x": 1.0, "y": 2.0})
        began = time.monotonic()
        run.close()
        assert time.monotonic() - began < 3.0
        assert run.health().dropped == 2 and "locked" in run.health().last_error


def test_a_row_that_sqlite_cannot_hold_is_dropped_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "telemetry.db") as run:
        run.scalars(1, {"before": 1.0})
        run.scalars(2, {"\ud800": 1.0})  # no UTF-8 has this
        run.scalars(3, {"after": 1.0})
        run.flush()
        assert run.health().dropped == 1 and "surrogates" in run.health().last_error
        run.scalars(4, {"later": 1.0})
        assert run.flush() and run.health().dropped == 1
    with TelemetryReader(tmp_path / "telemetry.db") as reader:
        assert reader.names() == ["after", "before", "later"]


FULL_DISK = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
from paddock.runs.telemetry import Telemetry

path = Path(sys.argv[1])
run = Telemetry(path, step_columns=[f"c{i}" for i in range(60)], worlds=(0, 1), queue_bytes=2_000_000)
rows, longest, step = np.ones((2, 60), np.float32), 0.0, 0

def feed(count):
    global longest, step
    for _ in range(count):
        began = time.perf_counter()
        run.step_row(step, rows * step)
        run.scalars(step, {"x": float(step)})
        longest, step = max(longest, time.perf_counter() - began), step + 1

feed(300)
assert run.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 300_000, resource.RLIM_INFINITY))
feed(int(sys.argv[2]))
until = time.monotonic() + 20
while not run.health().errors:
    assert time.monotonic() < until, run.health()
    time.sleep(0.01)
full, flushed_full = run.health(), run.flush(timeout=0.5)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
flushed = run.flush()
feed(300)
run.close()
print(json.dumps({"full": vars(full), "flushed_full": flushed_full, "flushed": flushed, "after": vars(run.health()),
                  "longest": longest, "steps": step}))
"""


@pytest.mark.parametrize("steps", [1024, 6000])
def test_a_full_disk_is_waited_out(tmp_path: Path, steps: int) -> None:
    """Real write errors, from the limit on the size of a file: within the queue's bound nothing is lost, beyond it is counted."""
    path = tmp_path / "telemetry.db"
    ended = child(FULL_DISK, path, steps)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["full"]["errors"] > 0 and "OperationalError" in told["full"]["last_error"] and not told["flushed_full"]
    assert told["flushed"] and told["after"]["queued"] == 0
    assert told["longest"] < 0.2
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    with TelemetryReader(path) as reader:
        kept = reader.scalar("x", max_points=10_000).step
        in_chunks = [reader.step_rows(world, 0, 10_000) for world in (0, 1)]
    for recorded, rows in in_chunks:
        np.testing.assert_array_equal(rows, np.repeat(recorded.astype(np.float32)[:, None], 60, axis=1))
    assert set(range(told["steps"] - 300, told["steps"])) <= set(kept.tolist()) & set(in_chunks[0][0].tolist())
    stored = len(kept) + sum(len(recorded) for recorded, _ in in_chunks)
    assert stored + told["after"]["dropped"] == 3 * told["steps"]
    assert (told["after"]["dropped"] > 0) == (steps == 6000)


KILLED = """
import os, signal, sys
from pathlib import Path
from paddock.runs import faults
from paddock.runs.telemetry import Telemetry

run = Telemetry(Path(sys.argv[1]))
for step in range(100):
    run.scalars(step, {"x": float(step), "y": -float(step)})
    if step % 10 == 9:
        assert run.flush()
print(step + 1, flush=True)
faults.arm(sys.argv[2], lambda: os.kill(os.getpid(), signal.SIGKILL))
run.scalars(100, {"x": 100.0, "y": -100.0})
run.flush()
"""


@pytest.mark.parametrize("where", ["before_begin", "after_insert", "before_commit", "after_commit"])
def test_a_kill_loses_nothing_that_was_committed(tmp_path: Path, where: str) -> None:
    path = tmp_path / "telemetry.db"
    ended = child(KILLED, path, f"telemetry.{where}")
    assert ended.returncode == -signal.SIGKILL and ended.stdout == "100\n", ended.stderr
    steps = range(101 if where == "after_commit" else 100)
    with TelemetryReader(path) as reader:
        assert reader.scalar("x").step.tolist() == list(steps) == reader.scalar("y").step.tolist()
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    with Telemetry(path) as run:
        run.scalars(200, {"x": 200.0, "y": 200.0})
    given = {step: float(step) for step in steps} | {200: 200.0}
    assert stored_buckets(path, "x", 16) == buckets(given, 16)


def test_fault_points_do_nothing_unless_armed() -> None:
    passed: list[str] = []
    faults.arm("here", lambda: passed.append("here"))
    faults.point("here")
    faults.point("there")
    faults.disarm("here")
    faults.point("here")
    assert passed == ["here"]


class Listener:
    """A stranger's sink."""

    def __init__(self, *, fails_at: int = -1) -> None:
        self.heard: list[tuple[int, dict[str, float]]] = []
        self.fails_at, self.closed = fails_at, False

    def scalars(self, step: int, wall_time: float, values: Mapping[str, float]) -> None:
        if step == self.fails_at:
            raise OSError("no more")
        self.heard.append((step, dict(values)))

    def close(self) -> None:
        self.closed = True


def test_a_sink_that_raises_is_named_and_stops_nobody(tmp_path: Path) -> None:
    good, bad = Listener(), Listener(fails_at=2)
    with Telemetry(tmp_path / "telemetry.db", sinks=[bad, good]) as run:
        for step in range(5):
            run.scalars(step, {"x": float(step), "nan": float("nan")})
    assert run.health().lost_sinks == ("Listener: OSError: no more",)
    assert good.heard == [(step, {"x": float(step)}) for step in range(5)] and good.closed
    assert [step for step, _ in bad.heard] == [0, 1] and not bad.closed
    with TelemetryReader(tmp_path / "telemetry.db") as reader:
        assert reader.scalar("x").step.tolist() == [0, 1, 2, 3, 4]
