"""telemetry.db against oracles: what goes in comes out, whatever the disk, a lock or a kill does meanwhile."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from paddock.errors import PaddockError, UnknownName
from paddock.runs import faults, rollups, telemetry
from paddock.runs.telemetry import EpisodeBatch, Telemetry, rewind
from paddock.runs.telemetry_batches import Event
from paddock.runs.telemetry_queue import BatchQueue
from paddock.runs.telemetry_reader import TelemetryReader

TERMS, CAUSES, COLUMNS = ("upright", "effort"), ("fell", "truncated"), ("height", "speed", "torque")
STRIDE = 256


def batch(k: int, *, seed: int = 0) -> EpisodeBatch:
    rng = np.random.default_rng(seed)
    return EpisodeBatch(
        world=rng.integers(0, 256, k),
        episode=rng.integers(0, 99, k),
        length=rng.integers(1, 1000, k),
        total=rng.normal(size=k).astype(np.float32),
        success=rng.integers(-1, 2, k).astype(np.int8),
        cause=rng.integers(0, 2, k).astype(np.int16),
        terms=rng.normal(size=(k, 2)).astype(np.float32),
    )


def opened(path: Path, *, queue_bytes: int = telemetry.QUEUE_BYTES) -> Telemetry:
    return Telemetry(path, terms=TERMS, causes=CAUSES, step_columns=COLUMNS, worlds=(3, 7), queue_bytes=queue_bytes)


def row_of(step: int) -> np.ndarray:
    return (np.arange(6, dtype=np.float32).reshape(2, 3) + step) / np.float32(7)


def value_of(step: int, name: str) -> float:
    return float(np.sin(step * 0.01) * (1 + len(name)) / 3)


def feed(run: Telemetry, first: int, last: int) -> None:
    """Control steps `first` to `last`, as a training would record them."""
    for k in range(first, last):
        step = k * STRIDE
        run.step_row(step, row_of(step))
        run.scalars(step, {name: value_of(step, name) for name in (("loss", "reward") if k % 3 else ("loss",))})
        if k % 50 == 0:
            run.episodes(step, batch(4, seed=k))
            run.event(step, "note", {"k": k})


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def contents(path: Path) -> Mapping[str, object]:
    """Everything that does not depend on the clock or on where chunks were cut."""
    tables = {
        "scalars": "SELECT names.name, step, i, value FROM scalars JOIN names ON id = scalars.name ORDER BY 1, 2, 3",
        "rollups": "SELECT names.name, rollups.* FROM rollups JOIN names ON id = rollups.name ORDER BY 1, 3, 4",
        "episodes": "SELECT * FROM episodes ORDER BY id",
        "events": "SELECT step, kind, detail FROM events ORDER BY id",
    }
    with TelemetryReader(path) as reader:
        steps = {world: [part.tolist() for part in reader.step_rows(world, 0, 10**9)] for world in (3, 7)}
    return {"steps": steps} | {table: query(path, sql) for table, sql in tables.items()}


def buckets(values: Mapping[int, float], size: int) -> list[tuple[int, int, int, float, float, float, int]]:
    """The slow oracle: roll-ups of one scalar (step -> value), summed one by one."""
    points = list(values.items())
    rows = []
    for bucket in range(-(-len(points) // size)):
        steps, numbers = zip(*points[bucket * size : (bucket + 1) * size], strict=True)
        total = float(np.add.accumulate(numbers)[-1])
        rows.append((bucket, steps[0], steps[-1], min(numbers), max(numbers), total, len(numbers)))
    return rows


def stored_buckets(path: Path, name: str, size: int) -> list[tuple[object, ...]]:
    columns = "bucket, first_step, last_step, low, high, total, count"
    where = f"names.name = '{name}' AND size = {size}"
    return query(path, f"SELECT {columns} FROM rollups JOIN names ON id = rollups.name WHERE {where} ORDER BY bucket")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield
        db.execute("ROLLBACK")


def wait_for(run: Telemetry, what: str) -> None:
    until = time.monotonic() + 10
    while what not in run.health().last_error:
        assert time.monotonic() < until, run.health()
        time.sleep(0.02)


def child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_everything_comes_back(tmp_path: Path) -> None:
    path, began = tmp_path / "telemetry.db", time.time()
    given = batch(5)
    with opened(path) as run:
        for k in range(300):
            run.step_row(k * STRIDE, row_of(k * STRIDE))
        run.scalars(512, {"loss": 1 / 3, "reward/upright": -2.0})
        run.scalars(512, {"loss": 1e300})
        run.episodes(512, given)
        run.event(512, "status", {"status": "running", "loss": float("nan"), "list": [1, (2.5, None)]})
        run.event(513, "note", {})
    with TelemetryReader(path) as reader:
        assert reader.names() == ["loss", "reward/upright"]
        curve = reader.scalar("loss")
        assert (curve.step.tolist(), curve.mean.tolist(), curve.count.tolist()) == ([512, 512], [1 / 3, 1e300], [1, 1])
        last = reader.last("reward/upright")
        assert (last.step, last.value, last.i) == (512, -2.0, 0) and began <= last.time <= time.time()
        table = reader.episodes()
        for name, values in vars(given).items():
            np.testing.assert_array_equal(getattr(table, name), values)
        assert table.step.tolist() == [512] * 5
        assert (table.term_names, table.causes) == (TERMS, CAUSES)
        assert reader.worlds() == [3, 7] and reader.columns.steps == COLUMNS
        for place, world in enumerate((3, 7)):
            steps, rows = reader.step_rows(world, 10 * STRIDE + 1, 290 * STRIDE)
            assert steps.tolist() == [k * STRIDE for k in range(11, 291)] and rows.dtype == np.float32
            np.testing.assert_array_equal(rows, np.stack([row_of(step)[place] for step in steps.tolist()]))
        assert reader.step_rows(5, 0, 10**9)[1].shape == (0, 3)
        assert [(event.step, event.kind, event.detail) for event in reader.events()] == [
            (512, "status", {"status": "running", "loss": "nan", "list": [1, [2.5, None]]}),
            (513, "note", {}),
        ]
        assert [event.kind for event in reader.events("note")] == ["note"]


def test_a_file_that_stands_alone_holds_everything(tmp_path: Path) -> None:
    """Copied without its WAL, while a reader still has it open."""
    with opened(tmp_path / "telemetry.db") as run:
        feed(run, 0, 20)
        run.flush()
        reader = TelemetryReader(tmp_path / "telemetry.db")
    with closing(reader):
        (tmp_path / "copy.db").write_bytes((tmp_path / "telemetry.db").read_bytes())
        assert contents(tmp_path / "copy.db") == contents(tmp_path / "telemetry.db")


def test_unevenly_spaced_step_rows_keep_their_steps(tmp_path: Path) -> None:
    path, given = tmp_path / "telemetry.db", [0, 4, 8, 9, 10, 11, 400, 401, 500]
    with opened(path) as run:
        for step in given:
            run.step_row(step, row_of(step))
            assert step != 10 or run.flush()
    with TelemetryReader(path) as reader:
        for first in range(12):
            steps, rows = reader.step_rows(7, first, 450)
            assert steps.tolist() == [step for step in given if first <= step <= 450]
            np.testing.assert_array_equal(rows, [row_of(step)[1] for step in steps.tolist()])


def test_nan_is_counted_and_never_stored_as_a_scalar(tmp_path: Path) -> None:
    with opened(tmp_path / "telemetry.db") as run:
        run.scalars(1, {"loss": float("nan"), "reward": float("inf"), "fine": 1.0})
        given = batch(1)
        given.total[:], given.success[:] = np.nan, -1
        run.episodes(1, given)
        assert run.flush() and run.health().not_finite == 2
    with TelemetryReader(tmp_path / "telemetry.db") as reader:
        assert reader.names() == ["fine"]
        assert np.isnan(reader.episodes().total[0]) and reader.episodes().success[0] == -1


def test_roll_ups_equal_an_oracle_also_after_reopening(tmp_path: Path) -> None:
    path, rng = tmp_path / "telemetry.db", np.random.default_rng(1)
    given: dict[str, dict[int, float]] = {"loss": {}, "rare": {}}
    step = 0
    for session in (5000, 17, 4500):
        with Telemetry(path) as run:
            for _ in range(session):
                step += int(rng.integers(1, 9))
                values = {"loss": float(rng.normal() * 10.0 ** rng.integers(-9, 9))}
                if step % 7 == 0:
                    values["rare"] = float(step)
                run.scalars(step, values)
                for name, value in values.items():
                    given[name][step] = value
        for name, size in ((name, size) for name in given for size in rollups.SIZES):
            assert stored_buckets(path, name, size) == buckets(given[name], size)
    assert len(given["loss"]) > 2 * 4096


@pytest.mark.parametrize("k", [0, 1, 255, 256, 300, 511, 512, 599])
def test_rewound_equals_never_gone_further(tmp_path: Path, k: int) -> None:
    with opened(tmp_path / "short.db") as run:
        feed(run, 0, k + 1)
    with opened(tmp_path / "long.db") as run:
        feed(run, 0, 600)
    assert k == 599 or contents(tmp_path / "long.db") != contents(tmp_path / "short.db")
    rewind(tmp_path / "long.db", k * STRIDE + STRIDE - 1)
    assert contents(tmp_path / "long.db") == contents(tmp_path / "short.db")
    rewound = tmp_path / "long.db"
    with opened(rewound) as run:
        feed(run, k + 1, 610)
    with opened(tmp_path / "straight.db") as run:
        feed(run, 0, 610)
    assert contents(rewound) == contents(tmp_path / "straight.db")


def test_rewinding_keeps_status_events_and_needs_a_file(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with Telemetry(path) as run:
        run.event(100, "status", {"status": "failed"})
        run.event(100, "note", {})
        run.scalars(100, {"late": 1.0})
    rewind(path, 50)
    with TelemetryReader(path) as reader:
        assert [event.kind for event in reader.events()] == ["status"]
        assert reader.scalar("late").step.size == 0
        with pytest.raises(PaddockError, match="no value left"):
            reader.last("late")
    with pytest.raises(PaddockError, match="no telemetry at"):
        rewind(tmp_path / "other.db", 50)


def test_a_rewind_that_cannot_finish_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "telemetry.db"
    with opened(path) as run:
        feed(run, 0, 100)
    before = contents(path)
    monkeypatch.setattr("paddock.runs.telemetry_file.OPEN_S", 0.1)
    with locked(path), pytest.raises(PaddockError, match="cannot be rewound to step 512: database is locked"):
        rewind(path, 512)
    assert contents(path) == before


def test_a_curve_has_the_finest_resolution_that_fits(tmp_path: Path) -> None:
    path, values = tmp_path / "telemetry.db", np.random.default_rng(2).normal(size=9000)
    with Telemetry(path) as run:
        for i, value in enumerate(values):
            run.scalars(10 * i, {"x": value})
    with TelemetryReader(path) as reader:
        for max_points, size in ((9000, 1), (8999, 16), (563, 16), (562, 256), (36, 256), (35, 4096), (3, 4096)):
            curve = reader.scalar("x", max_points=max_points)
            parts = [values[k : k + size] for k in range(0, 9000, size)]
            assert curve.count.tolist() == [len(part) for part in parts]
            assert curve.step.tolist() == [10 * min(k + size - 1, 8999) for k in range(0, 9000, size)]
            np.testing.assert_array_equal(curve.min, [part.min() for part in parts])
            np.testing.assert_array_equal(curve.max, [part.max() for part in parts])
            np.testing.assert_allclose(curve.mean, [part.mean() for part in parts], rtol=1e-11)
        zoomed = reader.scalar("x", first=2001, last=4000)
        assert zoomed.step.tolist() == list(range(2010, 4001, 10))
        np.testing.assert_array_equal(zoomed.mean, values[201:401])
        assert reader.scalar("x", first=90_001).step.size == 0 and reader.scalar("x", first=3, last=2).step.size == 0
        whole = reader.scalar("x", max_points=1)
        assert (whole.step.tolist(), whole.count.tolist()) == ([89_990], [9000])
        assert (whole.min[0], whole.max[0], whole.mean[0]) == (values.min(), values.max(), pytest.approx(values.mean()))
        seen = reader.points({"x": 4321}, at_most=50)
        assert [(point.i, point.value) for point in seen] == [(i, values[i]) for i in range(4321, 4371)]
        assert reader.points({"x": 9000}) == []
        with pytest.raises(UnknownName, match="Did you mean 'x'"):
            reader.scalar("xx")


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
    assert kept.step.tolist() == [*range(dropped, 5000), 6000]
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


def test_status_events_are_synced_at_once_and_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with Telemetry(path) as run:
        run.event(0, "note", {})
        while run.health().queued:
            time.sleep(0.01)
        assert query(path, "SELECT value FROM meta WHERE key = 'synced'") == [("0",)]
        run.event(0, "status", {"status": "paused"})
        while run.health().queued:
            time.sleep(0.01)
        assert query(path, "SELECT value FROM meta WHERE key = 'synced'") != [("0",)]


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


def test_what_is_no_telemetry_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    opened(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
        db.commit()
    for open_it in (opened, TelemetryReader, lambda path: rewind(path, 0)):
        with pytest.raises(PaddockError, match="has schema version 99; this Paddock knows version 1"):
            open_it(path)
    (tmp_path / "noise.db").write_bytes(bytes(range(256)) * 32)
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = (tmp_path / "foreign.db").read_bytes()
    for name in ("noise.db", "foreign.db"):
        with pytest.raises(PaddockError, match=f"{name} (is no telemetry|cannot be written)"):
            opened(tmp_path / name)
        with pytest.raises(PaddockError, match="is no telemetry that can be read"):
            TelemetryReader(tmp_path / name)
    assert (tmp_path / "foreign.db").read_bytes() == before
    with pytest.raises(PaddockError, match="there is no folder"):
        opened(tmp_path / "nowhere" / "telemetry.db")


def test_a_run_goes_on_only_as_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with opened(path) as run:
        feed(run, 0, 10)
    with pytest.raises(PaddockError, match="begun with the term names upright, effort; asked to go on with upright"):
        Telemetry(path, terms=("upright",))
    with Telemetry(path) as run:  # whoever only adds an event need not know the names
        run.event(5000, "status", {"status": "failed"})
        run.episodes(5000, batch(1))
    with opened(path) as run:
        with pytest.raises(PaddockError, match="scalar 'loss' at step 100, but the record has reached step 2304"):
            run.scalars(100, {"loss": 1.0})
        with pytest.raises(PaddockError, match="step row at step 2304, but the record has reached step 2304"):
            run.step_row(2304, row_of(0))


def test_arguments_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="worlds must differ"):
        Telemetry(tmp_path / "telemetry.db", worlds=(1, 1))
    with pytest.raises(PaddockError, match="term names must differ"):
        Telemetry(tmp_path / "telemetry.db", terms=("a", "a"))
    with opened(tmp_path / "telemetry.db") as run:
        with pytest.raises(PaddockError, match=r"shape \(3, 2\); wanted \(2, 3\)"):
            run.step_row(0, np.zeros((3, 2), np.float32))
        wrong = batch(3)
        with pytest.raises(PaddockError, match=r"'terms' of an episode batch has the shape \(3, 1\); wanted \(3, 2\)"):
            run.episodes(0, EpisodeBatch(**(vars(wrong) | {"terms": wrong.terms[:, :1]})))
        with pytest.raises(PaddockError, match="wanted places among the causes: fell, truncated"):
            run.episodes(0, EpisodeBatch(**(vars(wrong) | {"cause": wrong.cause + 2})))
        with pytest.raises(PaddockError, match="'odd' event cannot be written as JSON"):
            run.event(0, "odd", {"what": object()})
    with pytest.raises(PaddockError, match="closed"):
        run.scalars(0, {"x": 1.0})
    run.close()


def test_arrays_are_the_callers_again_after_a_call(tmp_path: Path) -> None:
    rows, given = np.ones((2, 3), np.float32), batch(2)
    kept = {name: value.copy() for name, value in vars(given).items()}
    with opened(tmp_path / "telemetry.db") as run:
        run.step_row(0, rows)
        run.episodes(0, given)
        rows[:] = 9.0
        for value in vars(given).values():
            value[:] = 0
    with TelemetryReader(tmp_path / "telemetry.db") as reader:
        np.testing.assert_array_equal(reader.step_rows(3, 0, 0)[1], np.ones((1, 3), np.float32))
        np.testing.assert_array_equal(reader.episodes().terms, kept["terms"])
