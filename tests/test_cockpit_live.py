"""The socket: what changes is told, nothing that was written is missed, and a view costs nobody anything who does not look."""

import json
import os
import shutil
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import paddock
from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import Line, Visitor, served, unpack, wait
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.folder import RunFolder, now
from paddock.runs.frames import unpack as unpack_frame
from paddock.runs.live import Live
from paddock.runs.logbook import Logbook
from paddock.runs.telemetry import Telemetry, rewind
from paddock.runs.viewers import Shot
from telemetry_feed import STRIDE, feed, opened, query

A, B = "20261101-120000-cartpole-balance-s0-aaaa", "20261102-120000-cartpole-balance-s1-bbbb"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=64, num_worlds=8, num_threads=1, evaluate_episodes=1, ppo=ppo)
    return paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=tmp_path_factory.mktemp("trained")).path


@pytest.fixture
def root(trained: Path, tmp_path: Path) -> Path:
    """A folder with one run that this process pretends to write: it has no record yet."""
    shutil.copytree(trained, tmp_path / "runs" / A)
    run = RunFolder(tmp_path / "runs" / A)
    for file in (run.telemetry, run.log):
        file.unlink()
    beat(run)
    return tmp_path / "runs"


def beat(run: RunFolder, *, status: str = "running", pid: int | None = None, env_steps: int = 0) -> None:
    card = run.card()
    progress = replace(card.progress, status=status, heartbeat=now(), pid=pid or os.getpid(), env_steps=env_steps)
    run.write(replace(card, progress=progress))


@pytest.fixture
def visitor(root: Path) -> Iterator[Visitor]:
    with served(root) as visitor:
        yield visitor


def rows_of(message: Any) -> dict[str, Any]:
    return {row["id"]: row for row in message["rows"]}


def of_run(run: str, what: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def wanted(message: Any) -> bool:
        return message["kind"] == "runs" and run in rows_of(message) and what(rows_of(message)[run])

    return wanted


def test_what_changes_in_the_folder_is_told_within_a_second(root: Path, visitor: Visitor, trained: Path) -> None:
    with visitor.socket() as line:
        line.say(do="list")
        first = line.kind("runs")
        assert first["whole"] and list(rows_of(first)) == [A] and rows_of(first)[A]["alive"]
        shutil.copytree(trained, root / B)  # as if somebody trained in a shell
        line.until(of_run(B, lambda row: row["status"] == "finished"), 2.0)
        beat(RunFolder(root / A), env_steps=4711)
        message = line.until(of_run(A, lambda row: row["env_steps"] == 4711), 2.0)
        assert not message["whole"] and list(rows_of(message)) == [A]
        assert visitor.ask("PATCH", f"/c/runs/{B}", {"title": "mine", "tags": ["x"]}).status == 200
        line.until(of_run(B, lambda row: row["title"] == "mine" and row["tags"] == ["x"]), 2.0)
        shutil.rmtree(root / B)
        assert line.until(lambda message: message["kind"] == "runs" and message["gone"], 2.0)["gone"] == [B]


def test_a_run_whose_process_is_gone_has_crashed(root: Path, visitor: Visitor) -> None:
    with visitor.socket() as line:
        line.say(do="list")
        child = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
        beat(RunFolder(root / A), pid=child)
        line.until(of_run(A, lambda row: row["pid"] == child and row["status"] == "running"))
        os.kill(child, 9)
        os.waitpid(child, 0)
        line.until(of_run(A, lambda row: row["status"] == "crashed" and not row["alive"]), 2.0)


def stored(run: RunFolder) -> set[tuple[object, ...]]:
    return set(query(run.telemetry, "SELECT names.name, i, step, time, value FROM scalars JOIN names ON id = scalars.name"))


def gather(line: Line, run: str, until: Callable[[list[Any]], bool], timeout: float = 20.0) -> list[Any]:
    """Log pushes of a run, until they are enough."""
    found: list[Any] = []
    end = time.monotonic() + timeout
    while not until(found):
        message = line.hear(max(0.0, end - time.monotonic()))
        if message["kind"] == "log" and message["run"] == run:
            found.append(message)
    return found


def points_of(pushes: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(point) for push in pushes for point in push["points"]]


def has(count: int) -> Callable[[list[Any]], bool]:
    return lambda pushes: len(points_of(pushes)) >= count


@contextmanager
def written(run: RunFolder) -> Iterator[Telemetry]:
    telemetry = opened(run.telemetry)
    try:
        yield telemetry
    finally:
        telemetry.close()


def test_everything_a_run_writes_arrives_once_and_in_order_for_everybody(root: Path, visitor: Visitor) -> None:
    run, log = RunFolder(root / A), Logbook(root / A / "log.txt")
    with visitor.socket() as early, visitor.socket() as late:
        early.say(do="follow", run=A)
        assert gather(early, A, bool)[0]["live"]
        with written(run) as telemetry:
            for k in range(0, 3000, 100):
                feed(telemetry, k, k + 100)
                log.write("fed", k=k)
            late.say(do="follow", run=A, cursor={})
            feed(telemetry, 3000, 6000)
        wanted = stored(run)
        assert len(wanted) == 10_000
        for line in (early, late):
            pushes = gather(line, A, has(len(wanted)))
            points = points_of(pushes)
            assert set(points) == wanted and len(points) == len(wanted)
            for name in ("loss", "reward"):
                numbers = [i for which, i, *_ in points if which == name]
                assert numbers == sorted(numbers)
            seqs = [push["seq"] for push in pushes]
            assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
            lines = [text for push in pushes for text in push["lines"]]
            assert [text.partition(" ")[2] for text in lines] == [f"info fed k={k}" for k in range(0, 3000, 100)]
            events = [event["detail"]["k"] for push in pushes for event in push["events"]]
            assert events == list(range(0, 6000, 50))
            assert sum(len(push["episodes"]) + push["skipped"] for push in pushes) == 480


def test_a_curve_and_the_log_meet_without_a_gap_or_a_double(root: Path, visitor: Visitor) -> None:
    """The order a page keeps: follow from now on, then fetch, then drop what the fetched part has already."""
    run, is_fetched, fed = RunFolder(root / A), threading.Event(), [0]
    with written(run) as telemetry, visitor.socket() as line:

        def write() -> None:
            while not is_fetched.is_set():
                feed(telemetry, fed[0], fed[0] + 20)
                fed[0] += 20
                time.sleep(0.02)
            feed(telemetry, fed[0], fed[0] + 100)
            fed[0] += 100

        feeder = threading.Thread(target=write)
        feeder.start()
        try:
            wait(lambda: run.telemetry.exists() and query(run.telemetry, "SELECT count(*) FROM scalars")[0][0])
            line.say(do="follow", run=A)
            pushes = gather(line, A, bool)
            ((head, columns),) = unpack(visitor.get(f"/c/runs/{A}/series?names=loss&points=100000").body)
        finally:
            is_fetched.set()
            feeder.join()
        telemetry.flush()
        last = fed[0] - 1
        pushes += gather(line, A, lambda more: any(p[0] == "loss" and p[1] == last for p in points_of(more)))
    assert head.whole and 0 < head.n <= last
    fetched = list(columns["mean"])
    together = fetched + [value for name, i, _, _, value in points_of(pushes) if name == "loss" and i >= head.total]
    key = "(SELECT id FROM names WHERE name = 'loss')"
    assert together == [row[0] for row in query(run.telemetry, f"SELECT value FROM scalars WHERE name = {key} ORDER BY i")]


def test_after_a_restart_of_the_server_nothing_is_missing(root: Path) -> None:
    run = RunFolder(root / A)
    with written(run) as telemetry:
        with served(root) as visitor, visitor.socket() as line:
            line.say(do="follow", run=A, cursor={})
            feed(telemetry, 0, 500)
            before = gather(line, A, has(500))
        feed(telemetry, 500, 900)  # while there is no server
        with served(root, port=visitor.port) as again, again.socket() as line:
            assert again.token == visitor.token
            line.say(do="follow", run=A, cursor=before[-1]["cursor"])
            feed(telemetry, 900, 1000)
            telemetry.flush()
            wanted = stored(run)
            after = gather(line, A, lambda more: len(points_of(before + more)) >= len(wanted))
    points = points_of(before + after)
    assert set(points) == wanted and len(points) == len(wanted)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_resumed_run_that_took_rows_back_is_said_to_be_rewound(root: Path, visitor: Visitor, is_there: bool) -> None:
    """Whoever was following hears it at once, and whoever comes back with an old cursor hears it, too."""
    run = RunFolder(root / A)
    with written(run) as telemetry:
        feed(telemetry, 0, 300)
    with visitor.socket() as line:
        line.say(do="follow", run=A, cursor={})
        pushes = gather(line, A, lambda found: has(500)(found) and found[-1]["live"])
        if not is_there:
            line.say(do="unfollow", run=A)
            wait(lambda: visitor.json("/c/hello"))
            time.sleep(0.5)
        rewind(run.telemetry, 100 * STRIDE)
        with written(run) as telemetry:
            feed(telemetry, 101, 700)
        if not is_there:
            line.say(do="follow", run=A, cursor=pushes[-1]["cursor"])
        assert line.kind("rewound")["run"] == A
        fresh = gather(line, A, bool)[0]
        assert fresh["live"] and fresh["cursor"]["scalars"]["loss"] == 700


def test_a_reader_who_sleeps_gets_everything_later_and_delays_nobody(root: Path, visitor: Visitor) -> None:
    run = RunFolder(root / A)
    with written(run) as telemetry, visitor.socket() as slow, visitor.socket() as quick:
        for line in (slow, quick):
            line.say(do="follow", run=A, cursor={})
        many = {f"a/rather/long/name/of/a/scalar/{i}": 0.1 * i for i in range(400)}
        for step in range(250):
            telemetry.scalars(step, many)
            if step % 50 == 0:
                telemetry.flush()
        telemetry.flush()
        count = 400 * 250
        assert len(set(points_of(gather(quick, A, has(count), 60)))) == count
        points = points_of(gather(slow, A, has(count), 60))
        assert len(points) == len(set(points)) == count


def test_following_what_is_not_there_is_refused_and_the_socket_stays(visitor: Visitor) -> None:
    with visitor.socket() as line:
        line.say(do="follow", run="nothing")
        assert "there is no run 'nothing'" in line.kind("trouble")["error"]
        for cursor in ({"scalars": 1}, {"marks": {"scalar": [1]}}, {"marks": {"x": [1]}}, {"scalars": {"a": -1}}, {"episode": "1"}):
            line.say(do="follow", run=A, cursor=cursor)
            assert "the cursor is none that this server gave" in line.kind("trouble")["error"]
        line.say(do="tell", play="nothing", what={"do": "pause"})
        assert "does not show the play 'nothing'" in line.kind("trouble")["error"]
        line.say(do="list")
        assert line.kind("runs")["whole"]


def test_a_run_that_is_moved_away_ends_its_followers_and_nothing_else(root: Path, visitor: Visitor) -> None:
    run = RunFolder(root / A)
    with written(run) as telemetry:
        feed(telemetry, 0, 10)
    beat(run, status="finished")
    with visitor.socket() as line:
        line.say(do="follow", run=A)
        gather(line, A, bool)
        wait(lambda: visitor.rows()[A]["status"] == "finished")
        assert visitor.ask("POST", f"/c/runs/{A}/delete").status == 200
        assert "no longer here" in line.kind("trouble")["error"]
        line.say(do="list")
        assert rows_of(line.kind("runs"))[A]["place"] == "trash"


# The view lane. `Live` is what a training has; frames are offered as it does.


@pytest.fixture
def live(root: Path) -> Iterator[Live]:
    with Live(root / A / "live.sock", num_worlds=8) as live:
        yield live


@contextmanager
def stepping(live: Live) -> Iterator[None]:
    """Somebody who steps eight worlds five hundred times a second, and offers each."""
    over = threading.Event()

    def step() -> None:
        steps, age = 0, torch.zeros(8, dtype=torch.int64)
        while not over.wait(0.002):
            steps += 8
            age += 1
            if live.wanted:
                live.frame(Shot(env_steps=steps, qpos=torch.full((8, 2), float(steps)), age=age))

    thread = threading.Thread(target=step)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def frame(line: Line, timeout: float = 5.0) -> tuple[bytes, int, int]:
    """The next frame, its stream and its number."""
    message = line.until(lambda heard: isinstance(heard, bytes), timeout)
    stream, seq = struct.unpack_from("<HI", message, 6)
    return message, stream, seq


def test_a_view_gets_the_newest_frame_and_no_second_one_until_it_was_drawn(visitor: Visitor, live: Live) -> None:
    with stepping(live), visitor.socket() as line:
        line.say(do="watch", run=A, worlds=[1, 5], hz=60, focus=5)
        told = line.kind("watching")
        assert (told["run"], told["worlds"], told["focus"]) == (A, [1, 5], 5)
        first, stream, seq = frame(line)
        assert stream == told["stream"]
        seen = unpack_frame(first)
        assert seen.worlds == (1, 5) and seen.qpos[0][0] == seen.env_steps
        time.sleep(0.5)  # drawing
        line.say(do="ack", stream=stream, seq=seq)
        second, _, later = frame(line)
        assert later - seq > 10  # those between were dropped, which the numbers tell
        assert unpack_frame(second).env_steps > seen.env_steps
        with pytest.raises(TimeoutError):
            frame(line, 0.4)


def test_nobody_looking_costs_nothing(visitor: Visitor, live: Live) -> None:
    with stepping(live):
        with visitor.socket() as line:
            line.say(do="list")
            line.say(do="follow", run=A)
            line.kind("runs")
            assert live.is_alone
            line.say(do="watch", run=A)
            frame(line)
            assert live.wanted
            line.say(do="unwatch")
            wait(lambda: live.is_alone and not live.wanted, 2.0)
            line.say(do="watch", run=A)
            frame(line)
        wait(lambda: live.is_alone and not live.wanted, 2.0)


def test_a_page_that_draws_nothing_any_more_is_sent_nothing(visitor: Visitor, live: Live) -> None:
    with stepping(live), visitor.socket() as line:
        line.say(do="watch", run=A)
        _, stream, seq = frame(line)
        wait(lambda: live.is_alone, 6.0)  # a tab in the background draws no frame
        line.say(do="ack", stream=stream, seq=seq)
        frame(line)
        assert live.wanted


def test_one_view_replaces_the_other_and_two_pages_have_their_own(visitor: Visitor, live: Live) -> None:
    with stepping(live), visitor.socket() as one, visitor.socket() as other:
        one.say(do="watch", run=A, worlds=[0])
        other.say(do="watch", run=A, worlds=[7])
        assert unpack_frame(frame(one)[0]).worlds == (0,)
        assert unpack_frame(frame(other)[0]).worlds == (7,)
        one.say(do="watch", run=A, worlds=[3, 4])
        stream = one.kind("watching")["stream"]
        message = one.until(lambda heard: isinstance(heard, bytes) and struct.unpack_from("<H", heard, 6)[0] == stream)
        assert unpack_frame(message).worlds == (3, 4)


def test_a_view_of_worlds_that_are_none_says_what_there_is(visitor: Visitor, live: Live) -> None:
    with visitor.socket() as line:
        line.say(do="watch", run=A, worlds=[8])
        assert "from 0 to 7" in line.kind("trouble")["error"]


def test_a_view_waits_for_a_run_that_begins_and_says_when_it_is_over(root: Path, visitor: Visitor) -> None:
    with visitor.socket() as line:
        line.say(do="watch", run=A)
        assert line.kind("watching")["state"] == "waiting"
        with Live(root / A / "live.sock", num_worlds=8) as live, stepping(live):
            frame(line)
            assert line.kind("watching")["state"] == "running"
        beat(RunFolder(root / A), status="finished")
        assert line.kind("watching")["state"] == "over"


def test_json_of_a_push_is_what_the_message_says(root: Path, visitor: Visitor) -> None:
    """The push is put together by hand, so that what many are told is encoded once."""
    from paddock.messages.cockpit import JobsPush, LogPush, RunsPush

    with written(RunFolder(root / A)) as telemetry, visitor.socket() as line:
        line.say(do="list")
        line.say(do="follow", run=A, cursor={})
        feed(telemetry, 0, 60)
        for kind, message in (("runs", RunsPush), ("jobs", JobsPush), ("log", LogPush)):
            assert set(line.kind(kind)) == set(message.__dataclass_fields__)
        assert json.dumps(line.heard)
