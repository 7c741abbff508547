"""The server as a whole: light to start, quick over a thousand runs, the same after it was killed, and hard to open by mistake."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import paddock
from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import served, serving, wait
from paddock.cockpit.catalogue import Catalogue
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig
from paddock.messages import RunCard, to_json
from paddock.messages.cockpit import LabelChange
from paddock.runs.folder import RunFolder, now
from paddock.runs.labels import change_labels
from paddock.runs.telemetry import Telemetry
from paddock.serving import token_in

MANY = 1000


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=64, num_worlds=8, num_threads=1, evaluate_episodes=1, ppo=ppo)
    return paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=tmp_path_factory.mktemp("trained")).path


def test_the_server_loads_no_training_code() -> None:
    code = "import sys, paddock.serving; print([m for m in ('torch', 'mujoco', 'matplotlib', 'tyro') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_help_does_not_load_the_server() -> None:
    code = "import sys, paddock.cli; print([m for m in ('starlette', 'uvicorn', 'numpy', 'asyncio') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_address_that_is_printed_opens_it_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with serving(tmp_path / "runs") as (process, visitor):
        cookie = visitor.get(f"/?token={visitor.token}", authorization="").headers["set-cookie"].partition(";")[0]
        assert visitor.get("/c/runs", authorization="", cookie=cookie).json == {"runs": []}
        hello = visitor.json("/c/hello")
        assert hello["runs_dir"] == str(tmp_path / "runs") and "cpu" in hello["sims"]
        with visitor.socket() as line:  # an open page does not hold it up
            line.say(do="list")
            line.kind("runs")
            process.send_signal(signal.SIGINT)
            process.wait(10)
        assert process.stdout is not None
        assert "Traceback" not in process.stdout.read()


def test_the_token_is_the_owners_alone_and_stays_the_same(tmp_path: Path) -> None:
    token = token_in(tmp_path)
    file = tmp_path / ".cockpit" / "token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert len(token) >= 43 and token_in(tmp_path) == token  # 256 bits
    file.chmod(0o644)
    assert token_in(tmp_path) != token  # somebody else may have read it


def test_what_came_along_with_somebodys_runs_opens_nothing_and_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    token = token_in(tmp_path / "theirs")
    (tmp_path / "theirs" / ".cockpit" / "jobs.json").write_text("anything")
    shutil.copytree(tmp_path / "theirs", tmp_path / "ours")
    assert token_in(tmp_path / "ours") != token
    assert not (tmp_path / "ours" / ".cockpit" / "jobs.json").exists()
    assert token_in(tmp_path / "theirs") == token and (tmp_path / "theirs" / ".cockpit" / "jobs.json").exists()


def test_after_kill_9_of_the_server_and_of_a_run_the_truth_is_told(tmp_path: Path, trained: Path) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    run = RunFolder(root / "20261101-120000-a-s0-aaaa")
    trained_copy(trained, run.path)
    worker = subprocess.Popen(["sleep", "60"])
    card = run.card()
    run.write(replace(card, progress=replace(card.progress, status="running", pid=worker.pid, heartbeat=now())))
    with serving(root) as (process, visitor):
        assert visitor.rows()[run.path.name]["status"] == "running"
        assert visitor.ask("PATCH", f"/c/runs/{run.path.name}", {"title": "kept"}).status == 200
        process.kill()
        process.wait()
    worker.kill()
    worker.wait()
    with serving(root, "--port", str(visitor.port)) as (_, again):
        assert again.token == visitor.token
        row = again.rows()[run.path.name]
        assert (row["status"], row["alive"], row["title"]) == ("crashed", False, "kept")


def trained_copy(trained: Path, to: Path) -> None:
    to.mkdir()
    for name in ("run.json", "telemetry.db", "log.txt"):
        (to / name).write_bytes((trained / name).read_bytes())


def test_mistakes_at_the_command_line_are_said_in_a_sentence(tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        command = [sys.executable, "-m", "paddock", "serve", "--no-browser", "--runs-dir", str(tmp_path), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
        return done.stderr

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"Take another port: paddock serve --port {port + 1}" in refused("--port", str(port))
    assert "--allow-host NAME" in refused("--host", "0.0.0.0")


def test_the_page_is_served_as_browsers_want_it_and_where_it_is_not_built_it_says_how(tmp_path: Path) -> None:
    client = tmp_path / "client"
    with served(tmp_path / "runs", client=client) as visitor:
        reply = visitor.get("/", authorization="")
        assert reply.status == 503 and b"make web" in reply.body
        (client / "assets").mkdir(parents=True)
        for name in ("index.html", "assets/a-1.js", "assets/a-1.wasm"):
            (client / name).write_text(name)
        assert visitor.get("/").body == visitor.get("/index.html").body == b"index.html"
        assert visitor.get("/").headers["cache-control"] == "no-cache"
        script = visitor.get("/assets/a-1.js", authorization="")
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert visitor.get("/assets/a-1.wasm").headers["content-type"] == "application/wasm"


@pytest.fixture(scope="module")
def many(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand runs with fifty scalars each, of which one file lies on disk once."""
    root = tmp_path_factory.mktemp("many") / "runs"
    database = root.parent / "telemetry.db"
    telemetry = Telemetry(database, terms=("a",), causes=("b",), step_columns=("c",), worlds=(0,))
    for step in range(20):
        telemetry.scalars(step, {f"tag/{i}": float(step) for i in range(50)})
    telemetry.close()
    card = RunFolder(trained).card()
    for i in range(MANY):
        run = root / f"20261101-{i:06d}-cartpole-balance-s{i}-aaaa"
        run.mkdir(parents=True)
        setup = replace(card.setup, id=run.name, seed=i)
        (run / "run.json").write_text(to_json(RunCard(setup=setup, progress=card.progress)))
        os.link(database, run / "telemetry.db")
        change_labels(run, LabelChange(title=f"run {i}", tags=tuple(f"tag {k}" for k in range(i % 5))))
    return root


def test_a_thousand_runs_are_listed_at_once_and_cost_little_afterwards(many: Path) -> None:
    with served(many) as visitor, visitor.socket() as line:
        began = time.process_time()  # of the server, too, which is a thread here; others may have the cores
        line.say(do="list")
        rows = line.kind("runs", 60)["rows"]
        first_s = time.process_time() - began
        assert len(rows) == MANY and rows[7]["title"] == "run 7"
        began = time.process_time()
        listed = visitor.json("/c/runs")["runs"]
        again_s = time.process_time() - began
        assert len(listed) == MANY
        assert first_s < 2.0 and again_s < 0.5, (first_s, again_s)
        wait(lambda: all(row["size_bytes"] for row in visitor.rows().values()), 60)  # measured a few at a time
        names = visitor.json(f"/c/runs/{rows[0]['id']}")["scalars"]
        assert len(names) == 50
        change_labels(many / rows[3]["id"], LabelChange(title="changed"))
        wanted = lambda m: m["kind"] == "runs" and any(row["title"] == "changed" for row in m["rows"])  # noqa: E731
        assert len(line.until(wanted, 2.0)["rows"]) < MANY / 2  # what changed, not everything again


def test_a_look_at_a_thousand_runs_costs_milliseconds(many: Path) -> None:
    catalogue = Catalogue(many)
    while not all(row.size_bytes for row in catalogue.rows()) or not catalogue.rows():
        catalogue.look()
    version, began = catalogue.version, time.thread_time()
    for _ in range(5):
        catalogue.look()
    spent = (time.thread_time() - began) / 5
    assert catalogue.version == version
    assert spent < 0.1, f"{spent * 1000:.0f} ms of a core"


def test_the_table_holds_what_the_rows_hold(many: Path) -> None:
    catalogue = Catalogue(many)
    catalogue.look()
    names = sorted(path.name for path in many.glob("2026*"))
    assert [json.loads(text)["id"] for text in catalogue.texts()] == [row.id for row in catalogue.rows()] == names
