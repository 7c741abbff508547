"""What the cockpit tells of runs is what is on disk: every number, every name, and nothing else."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import paddock
from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import Visitor, served, unpack, wait
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.folder import RunFolder
from paddock.runs.telemetry_reader import TelemetryReader
from telemetry_feed import COLUMNS, STRIDE, feed, opened, row_of, value_of

A, B = "20261101-120000-cartpole-balance-s0-aaaa", "20261102-120000-cartpole-balance-s1-bbbb"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trained runs, the second with a long record."""
    root = tmp_path_factory.mktemp("work") / "runs"
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=256, num_worlds=8, num_threads=1, evaluate_episodes=2, watch_worlds=2, ppo=ppo)
    path = paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=root).path
    path.rename(root / A)
    shutil.copytree(root / A, root / B)
    run = RunFolder(root / B)
    card = run.card()
    run.write(replace(card, setup=replace(card.setup, seed=1, config=card.setup.config | {"seed": 1})))
    run.telemetry.unlink()
    telemetry = opened(run.telemetry)
    feed(telemetry, 0, 6000)
    telemetry.close()
    return root


@pytest.fixture(scope="module")
def visitor(root: Path) -> Iterator[Visitor]:
    with served(root) as visitor:
        yield visitor


def test_a_run_is_told_as_its_folder_has_it(root: Path, visitor: Visitor) -> None:
    row = visitor.rows()[A]
    progress = RunFolder(root / A).card().progress
    assert (row["status"], row["alive"], row["place"]) == ("finished", False, "runs")
    assert (row["env_steps"], row["best_success"], row["share"]) == (progress.env_steps, progress.best_success, 1.0)
    assert row["steps_per_s"] == pytest.approx(progress.env_steps / progress.seconds)
    assert row["size_bytes"] == RunFolder(root / A).size_bytes()
    detail = visitor.json(f"/c/runs/{A}")
    assert detail["row"] == row
    assert detail["card"] == json.loads((root / A / "run.json").read_text())
    assert [checkpoint["is_latest"] for checkpoint in detail["checkpoints"]][-1]
    assert detail["can_play"]
    with TelemetryReader(root / A / "telemetry.db") as reader:
        assert detail["scalars"] == reader.names()
        assert detail["worlds"] == reader.worlds() == [0, 1]
        assert detail["causes"] == list(reader.columns.causes)


def test_a_short_series_has_every_value_exactly(root: Path, visitor: Visitor) -> None:
    ((head, columns),) = unpack(visitor.get(f"/c/runs/{A}/series?names=steps_per_s").body)
    with TelemetryReader(root / A / "telemetry.db") as reader:
        curve = reader.scalar("steps_per_s")
        total, first_time = reader.span("steps_per_s")
    assert head.whole and head.n == head.total == total == len(curve.step) > 1
    assert head.first_time == first_time == columns["time"][0]
    for name in ("mean", "min", "max"):
        np.testing.assert_array_equal(columns[name], curve.mean)
    np.testing.assert_array_equal(columns["step"], curve.step)
    assert (np.diff(columns["time"]) >= 0).all()


def test_a_long_series_is_an_envelope_that_hides_no_peak_and_exact_when_zoomed(visitor: Visitor) -> None:
    values = np.array([value_of(k * STRIDE, "loss") for k in range(6000)])
    ((head, columns),) = unpack(visitor.get(f"/c/runs/{B}/series?names=loss&points=500").body)
    assert not head.whole and head.n <= 500 and head.total == 6000
    assert columns["count"].sum() == 6000
    assert columns["min"].min() == values.min() and columns["max"].max() == values.max()
    zoom = f"/c/runs/{B}/series?names=loss&points=500&first={1000 * STRIDE}&last={1400 * STRIDE}"
    ((head, columns),) = unpack(visitor.get(zoom).body)
    assert head.whole
    np.testing.assert_array_equal(columns["mean"], values[1000:1401])
    again = visitor.get(zoom).body
    assert again == visitor.get(zoom).body  # nothing is sampled at random


def test_runs_are_compared_in_one_answer(visitor: Visitor) -> None:
    blocks = unpack(visitor.get(f"/c/series?runs={A},{B}&names=loss,steps_per_s").body)
    told = {(head.run, head.name): (head.n, head.error) for head, _ in blocks}
    assert told[B, "loss"][0] == 1500 or told[B, "loss"][0] <= 2000
    assert told[A, "loss"][0] == 0 and "unknown scalar 'loss'" in told[A, "loss"][1]
    assert told[A, "steps_per_s"][0] > 0


def test_episodes_come_page_by_page(root: Path, visitor: Visitor) -> None:
    whole = visitor.json(f"/c/runs/{B}/episodes?last=5000")
    assert whole["total"] == len(whole["rows"]) == 480
    newest = visitor.json(f"/c/runs/{B}/episodes?last=100")["rows"]
    older = visitor.json(f"/c/runs/{B}/episodes?last=100&before={newest[0][0]}")["rows"]
    assert older + newest == whole["rows"][-200:]
    with TelemetryReader(root / B / "telemetry.db") as reader:
        table = reader.episodes(last=1)
    row = newest[-1]
    assert row[1:5] == [int(x[0]) for x in (table.step, table.world, table.episode, table.length)]
    assert row[5] == table.total[0] and row[7] == table.causes[table.cause[0]]
    assert row[6] == {-1: None, 0: False, 1: True}[int(table.success[0])]
    np.testing.assert_array_equal(np.array(row[8], np.float32), table.terms[0])


def test_recorded_steps_are_the_ones_that_were_recorded(visitor: Visitor) -> None:
    body = visitor.get(f"/c/runs/{B}/steps?world=7&first={100 * STRIDE}&last={199 * STRIDE}").body
    ((head, columns),) = unpack(body)
    assert head.columns == ("step", *COLUMNS) and head.n == 100 and head.whole
    wanted = np.stack([row_of(k * STRIDE)[1] for k in range(100, 200)])
    np.testing.assert_array_equal(np.stack([columns[name] for name in COLUMNS], axis=1).astype(np.float32), wanted)
    refusal = visitor.get(f"/c/runs/{B}/steps?world=5")
    assert refusal.status == 400 and refusal.error == "world 5 is not recorded. Recorded worlds: 3, 7."


def test_events_log_and_source(root: Path, visitor: Visitor) -> None:
    events = visitor.json(f"/c/runs/{A}/events")["events"]
    assert events[0]["detail"]["event"] == "started" and events[-1]["detail"]["event"] == "finished"
    assert len(visitor.json(f"/c/runs/{B}/events?last=10")["events"]) == 10
    lines = visitor.json(f"/c/runs/{A}/log?lines=2")["lines"]
    assert lines == (root / A / "log.txt").read_text().splitlines()[-2:]
    assert visitor.json(f"/c/runs/{A}/source")["text"] == (root / A / "task.py").read_text()


def test_files_are_listed_and_fetched_whole(root: Path, visitor: Visitor) -> None:
    (root / A / "link.txt").symlink_to("/etc/hostname")
    (root / A / "page.html").write_text("<script>alert(1)</script>")
    listed = {file["name"]: file["size_bytes"] for file in visitor.json(f"/c/runs/{A}")["files"]}
    on_disk = {path.relative_to(root / A).as_posix(): path for path in (root / A).rglob("*") if path.is_file()}
    assert set(listed) == set(on_disk) - {"link.txt"}
    for name in listed:
        reply = visitor.get(f"/c/runs/{A}/file/{name}")
        assert reply.body == on_disk[name].read_bytes()
        assert reply.headers["content-disposition"].startswith("attachment")
        assert reply.headers["x-content-type-options"] == "nosniff"
    assert visitor.get(f"/c/runs/{A}/file/page.html").headers["content-type"] == "application/octet-stream"
    assert visitor.get(f"/c/runs/{A}/file/link.txt").status == 404


def test_a_difference_of_configs_names_what_differs_and_nothing_else(visitor: Visitor) -> None:
    diff = visitor.json(f"/c/diff?a={A}&b={B}")
    assert diff["rows"] == [{"name": "seed", "a": 0, "b": 1}]
    assert diff["same"] > 40


def test_a_scene_is_drawn_when_somebody_looks(root: Path, visitor: Visitor) -> None:
    (root / A / "scene.json").unlink(missing_ok=True)
    (root / A / "scene.bin").unlink(missing_ok=True)
    scene = visitor.json(f"/c/runs/{A}/scene")
    assert scene["nq"] == 2 and len(scene["home"]) == 2
    assert visitor.get(f"/c/runs/{A}/scene.bin").body == (root / A / "scene.bin").read_bytes()


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/c/runs/nothing", 404, "there is no run 'nothing' here"),
        (f"/c/runs/{A}/file/nothing", 404, "the run has no file 'nothing'"),
        (f"/c/runs/{A}/series", 400, "say which names: ?names=a,b"),
        (f"/c/runs/{A}/series?names=a&points=none", 400, "points is 'none'; wanted a whole number"),
        (f"/c/runs/{A}/series?names=a&points=9999999", 400, "points is '9999999'"),
        (f"/c/runs/{A}/episodes?last=0", 400, "last is '0'"),
        ("/c/form", 400, "say which task, such as"),
        ("/c/nothing", 404, "nothing is at this address"),
        ("/nothing.js", 404, "nothing is at this address"),
    ],
)
def test_every_refusal_is_a_sentence(visitor: Visitor, path: str, status: int, said: str) -> None:
    reply = visitor.get(path)
    assert (reply.status, reply.error[: len(said)]) == (status, said)


def test_a_method_that_is_none_is_refused(visitor: Visitor) -> None:
    assert visitor.ask("PUT", "/c/runs").status == 405


def test_the_script_in_the_documents_does_what_they_say(root: Path, visitor: Visitor, tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "cockpit.md").read_text()
    script = tmp_path / "script.py"
    script.write_text(page.split("```python\n")[1].split("```")[0])
    address = f"http://127.0.0.1:{visitor.port}/?token={visitor.token}"
    said = subprocess.run([sys.executable, str(script), address], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["cartpole-balance finished 256", "10000 values so far; then they come as they are written"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seconds", "NaN"),
        ("seconds", "1e999"),
        ("heartbeat", '"yesterday"'),
        ("pid", "1" + "0" * 40),
        ("env_steps", "1" + "0" * 400),
        ("status", "7"),
        ("troubles", '"none"'),
    ],
)
def test_a_damaged_run_is_listed_and_says_so(root: Path, visitor: Visitor, field: str, value: str) -> None:
    card = json.loads((root / A / "run.json").read_text())
    card["progress"] |= {"status": "running", field: "HERE"}
    run = root / f"damaged-{field}-{value[:4].strip(chr(34))}"
    run.mkdir()
    (run / "run.json").write_text(json.dumps(card).replace('"HERE"', value))
    row = wait(lambda: visitor.rows().get(run.name))
    assert row is not None and row["status"] == "unreadable" and row["detail"]
    assert visitor.json(f"/c/runs/{run.name}")["card"] is None
    assert visitor.rows()[A]["status"] == "finished"
    shutil.rmtree(run)


def test_a_damaged_record_is_said_and_harms_no_other(root: Path, visitor: Visitor) -> None:
    run = root / "20261103-120000-damaged-s0-cccc"
    shutil.copytree(root / B, run)
    content = bytearray((run / "telemetry.db").read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    (run / "telemetry.db").write_bytes(content)
    wait(lambda: run.name in visitor.rows())
    for path in ("series?names=loss", "episodes", "events", "steps?world=3"):
        reply = visitor.get(f"/c/runs/{run.name}/{path}")
        assert reply.status in (200, 400, 404, 409), (path, reply)
        assert reply.status == 200 or "cannot be read" in reply.error or "unknown" in reply.error or "not recorded" in reply.error
    assert visitor.json(f"/c/runs/{run.name}")["card"]
    with visitor.socket() as line:
        line.say(do="follow", run=run.name, cursor={})
        line.say(do="follow", run=B)
        line.until(lambda message: message["kind"] == "log" and message["run"] == B)
    shutil.rmtree(run)
