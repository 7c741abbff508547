"""What the cockpit does to runs: labels, archive, trash and back; and a training that is told what to do and killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import paddock
from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import Visitor, served, wait
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.folder import RunFolder, status_of
from paddock.runs.shelf import Shelf

A, B = "20261101-120000-cartpole-balance-s0-aaaa", "20261102-120000-cartpole-balance-s1-bbbb"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=64, num_worlds=8, num_threads=1, evaluate_episodes=1, ppo=ppo)
    return paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=tmp_path_factory.mktemp("trained")).path


@pytest.fixture
def root(trained: Path, tmp_path: Path) -> Path:
    for name in (A, B):
        shutil.copytree(trained, tmp_path / "runs" / name)
    return tmp_path / "runs"


@pytest.fixture
def visitor(root: Path) -> Iterator[Visitor]:
    with served(root) as visitor:
        yield visitor


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def post(visitor: Visitor, run: str, verb: str, body: object = None) -> None:
    reply = visitor.ask("POST", f"/c/runs/{run}/{verb}", body)
    assert reply.status == 200, reply


def test_labels_are_kept_beside_the_run_and_change_nothing_in_it(root: Path, visitor: Visitor) -> None:
    before = contents(root / A)
    change = {"title": " Walks! ", "tags": ["good", "good", "  ", "ünïcödé ✓"], "note": "a\nb"}
    reply = visitor.ask("PATCH", f"/c/runs/{A}", change)
    assert reply.json == {"title": "Walks!", "tags": ["good", "ünïcödé ✓"], "note": "a\nb"}
    assert visitor.ask("PATCH", f"/c/runs/{A}", {"note": ""}).json["title"] == "Walks!"
    after = contents(root / A)
    del after["labels.json"]
    assert after == before
    assert visitor.ask("PATCH", f"/c/runs/{A}", {"tags": ["x" * 61]}).status == 400
    assert visitor.ask("PATCH", f"/c/runs/{A}", {"tags": ["x"] * 2 + [str(i) for i in range(60)]}).status == 400


def test_an_archived_run_comes_back_byte_for_byte_with_its_labels_shown_meanwhile(root: Path, visitor: Visitor) -> None:
    assert visitor.ask("PATCH", f"/c/runs/{A}", {"title": "mine", "tags": ["keep"]}).status == 200
    before = contents(root / A)
    post(visitor, A, "archive")
    row = visitor.rows()[A]
    assert (row["place"], row["title"], row["tags"], row["status"]) == ("archive", "mine", ["keep"], "finished")
    assert not (root / A).exists()
    assert visitor.json(f"/c/runs/{A}")["card"]["setup"]["id"]
    refusal = visitor.get(f"/c/runs/{A}/series?names=a")
    assert refusal.status == 409 and "Restore it" in refusal.error
    assert visitor.ask("PATCH", f"/c/runs/{A}", {"title": "no"}).status == 409
    post(visitor, A, "restore")
    assert contents(root / A) == before
    assert visitor.rows()[A]["place"] == "runs"


def test_a_deleted_run_comes_back_until_the_trash_is_emptied(root: Path, visitor: Visitor) -> None:
    before = contents(root / A)
    post(visitor, A, "delete")
    assert visitor.rows()[A]["place"] == "trash"
    assert visitor.json(f"/c/runs/{A}/log")["lines"]  # one can still look before deciding
    post(visitor, A, "restore")
    assert contents(root / A) == before
    post(visitor, A, "delete")
    assert visitor.ask("POST", "/c/trash/empty").json == {"ok": "1 run deleted for good."}
    assert set(visitor.rows()) == {B}
    assert visitor.ask("POST", f"/c/runs/{A}/restore").status == 404


def test_what_cannot_be_done_now_is_a_conflict_with_a_reason(root: Path, visitor: Visitor) -> None:
    for verb, body in (("tell", {"do": "save"}), ("stop", None)):
        reply = visitor.ask("POST", f"/c/runs/{A}/{verb}", body)
        assert reply.status == 409 and reply.error == f"{A} is not running: its status is finished."
    assert visitor.ask("POST", f"/c/runs/{A}/tell", {"do": "explode"}).status == 400
    post(visitor, A, "archive")
    assert visitor.ask("POST", f"/c/runs/{A}/archive").status == 409
    assert visitor.ask("POST", f"/c/runs/{B}/restore").status == 409
    shutil.copytree(root / B, root / A)
    wait(lambda: visitor.rows()[A]["place"] == "runs")
    assert visitor.ask("POST", f"/c/runs/{A}/archive").status == 409  # nothing is ever written over
    assert {run.id for run in Shelf(root).runs()} == {A, B}


def test_two_visitors_who_archive_at_once_do_it_once(root: Path, visitor: Visitor) -> None:
    from concurrent.futures import ThreadPoolExecutor

    (root / A / "recordings" / "big.mcap").write_bytes(os.urandom(30_000_000))
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: visitor.ask("POST", f"/c/runs/{A}/archive"), range(4)))
    assert sorted(reply.status for reply in replies) == [200, 409, 409, 409]
    post(visitor, A, "restore")
    assert (root / A / "recordings" / "big.mcap").stat().st_size == 30_000_000


def test_a_training_of_a_shell_is_watched_paused_saved_and_killed(root: Path, visitor: Visitor) -> None:
    """Start to end, as a person sees it: it appears, its first point comes, it obeys, and when it is killed it says so."""
    words = (
        f"train {BRIEF_CARTPOLE} --minutes 5 --num-worlds 16 --num-threads 1 --evaluate-every 0 --ppo.horizon 16 --runs-dir {root}"
    )
    with visitor.socket() as line:
        line.say(do="list")
        line.kind("runs")
        training = subprocess.Popen([sys.executable, "-m", "paddock", *words.split()], stdout=subprocess.DEVNULL)
        try:
            seen = lambda m: m["kind"] == "runs" and any(row["id"] not in (A, B) for row in m["rows"])  # noqa: E731
            run = line.until(seen, 60)["rows"][-1]["id"]
            made = time.time() - (root / run / "task.py").stat().st_mtime
            assert made < 2.0, f"it appeared after {made:.1f} s"
            line.say(do="follow", run=run, cursor={})
            first = line.until(lambda m: m["kind"] == "log" and m["points"], 30)
            late = time.time() - first["points"][0][3]
            assert late < 2.0, f"its first point came {late:.1f} s after it was written"
            wait(lambda: visitor.rows()[run]["watchable"])
            for verb in ("delete", "archive"):
                refusal = visitor.ask("POST", f"/c/runs/{run}/{verb}")
                assert refusal.status == 409 and "is running. Stop it first" in refusal.error
            post(visitor, run, "tell", {"do": "pause"})
            wait(lambda: visitor.rows()[run]["status"] == "paused")
            post(visitor, run, "tell", {"do": "save"})
            wait(lambda: len(visitor.json(f"/c/runs/{run}")["checkpoints"]) > 0)
            post(visitor, run, "tell", {"do": "resume"})
            wait(lambda: visitor.rows()[run]["status"] == "running")
            training.send_signal(signal.SIGKILL)
            training.wait()
            wait(lambda: visitor.rows()[run]["status"] == "crashed", 2.0)
            assert not visitor.rows()[run]["alive"]
            assert status_of(RunFolder(root / run).card()) == "crashed"
            post(visitor, run, "delete")
        finally:
            training.kill()
            training.wait()
