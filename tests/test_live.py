"""live.sock: watching worlds and telling a run what to do, over real sockets and a real training."""

import json
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import paddock
from live_clients import Client, until
from paddock.cli import main
from paddock.configuring import TrainConfig
from paddock.errors import PaddockError
from paddock.learn.ppo_config import PpoConfig
from paddock.making import make
from paddock.monitoring import Monitor, causes_of, step_columns
from paddock.runs.folder import find_run, status_of
from paddock.runs.live import MAX_LINE, Live
from paddock.runs.sockets import ask
from paddock.runs.telemetry import Telemetry
from paddock.runs.viewers import MAX_WATCHED, Shot

NUM_WORLDS = 70
AGE = torch.arange(NUM_WORLDS)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with Live(tmp_path / "live.sock", num_worlds=NUM_WORLDS) as live:
        yield live


@pytest.fixture
def client(live: Live, tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "live.sock")
    yield client
    client.close()


class Untouchable:
    """Stands for tensors that nobody may look at."""

    def __getitem__(self, world: int) -> object:
        raise AssertionError(f"world {world} was looked at, for nobody")


def untouchable(env_steps: int) -> Shot:
    return Shot(env_steps=env_steps, qpos=Untouchable(), age=Untouchable())  # pyright: ignore[reportArgumentType]


def test_a_subscriber_gets_the_worlds_it_asked_for(live: Live, client: Client) -> None:
    qpos = torch.randn(NUM_WORLDS, 3)
    assert client.ask(do="subscribe", worlds=[5, 2], hz=60) == {"ok": "subscribe"}
    assert live.wanted
    live.frame(Shot(env_steps=1200, qpos=qpos, age=AGE))
    for world in (5, 2):
        assert client.read()["frame"] == {"env_steps": 1200, "world": world, "age": world, "qpos": qpos[world].tolist()}


def test_nobody_watching_costs_nothing(live: Live, client: Client) -> None:
    assert not live.wanted
    client.ask(do="status")
    live.frame(untouchable(1))
    client.ask(do="subscribe", worlds=[0], hz=1)
    assert live.wanted
    with pytest.raises(AssertionError, match="world 0 was looked at"):  # so the lines above can fail
        live.frame(untouchable(2))
    live.frame(untouchable(3))  # its next is due in a second
    client.ask(do="unsubscribe")
    assert not live.wanted


def test_a_monitor_offers_frames_only_where_they_are_wanted(live: Live, client: Client, tmp_path: Path) -> None:
    env = make("cartpole-balance", num_worlds=4)
    columns, terms = step_columns(env), tuple(env.task.reward)
    with Telemetry(tmp_path / "t.db", terms=terms, causes=causes_of(env), step_columns=columns, worlds=range(1)) as telemetry:
        monitor = Monitor(env, telemetry, watched=1, live=live)
        monitor.reset()
        for _ in range(3):
            monitor.step(env.sample())
        client.ask(do="subscribe", worlds=[3], hz=60)
        step = monitor.step(env.sample())
        assert not step.ended.any()
        frame = client.read()["frame"]
    assert frame == {"env_steps": 16, "world": 3, "age": int(env.state.age[3]), "qpos": env.state.qpos[3].tolist()}


def test_a_subscription_ends_with_its_subscriber(live: Live, tmp_path: Path) -> None:
    staying, leaving = Client(tmp_path / "live.sock"), Client(tmp_path / "live.sock")
    for client in (staying, leaving):
        client.ask(do="subscribe", worlds=[0, 1], hz=60)
    live.frame(
        Shot(env_steps=1, qpos=torch.zeros(NUM_WORLDS, 20_000), age=AGE)
        # more than the kernel takes at once: it leaves in the middle of a frame
    )
    leaving.wire.recv(100)
    leaving.close()
    assert [staying.read()["frame"]["world"] for _ in range(2)] == [0, 1]
    assert live.wanted
    staying.close()
    until(lambda: not live.wanted)
    live.frame(untouchable(2))


def test_a_slow_reader_loses_frames_and_nothing_else(live: Live, client: Client) -> None:
    worlds, offered = list(range(MAX_WATCHED["json"])), 40
    client.ask(do="subscribe", worlds=worlds, hz=60)
    qpos = torch.randn(NUM_WORLDS, 60)
    longest = 0.0
    for number in range(offered):
        began = time.perf_counter()
        live.frame(Shot(env_steps=number, qpos=qpos, age=AGE))
        longest = max(longest, time.perf_counter() - began)
        time.sleep(1 / 60)
    client.send(b'{"do": "status"}')
    frames: list[dict[str, object]] = []
    while "frame" in (line := client.read()):
        frames.append(line["frame"])
    assert line == {"ok": "status", "status": {}}
    numbers = [int(str(frame["env_steps"])) for frame in frames]
    assert 0 < len(set(numbers)) < offered  # some were lost,
    assert len(frames) % MAX_WATCHED["json"] == 0 and numbers == sorted(numbers)
    assert all(frame["qpos"] == qpos[int(str(frame["world"]))].tolist() for frame in frames)  # and none was cut
    assert longest < 1.0  # whoever trains was not held up


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"pause", "that is no JSON"),
        (b"", "that is no JSON"),
        (b"\xff\xfe", "that is no JSON"),
        (b"[" * 50_000, "that is no JSON"),
        (b'{"do": "puase"}', "unknown command 'puase'. Did you mean 'pause'?"),
        (b'{"do": ["pause"]}', "unknown command"),
        (b'"pause now"', "unknown command 'pause now'"),
        (b"[]", "unknown command"),
        (b"{}", "unknown command 'None'"),
        (b'{"do": "subscribe", "worlds": 3}', "worlds is 3; wanted a list"),
        (b'{"do": "subscribe", "worlds": [70]}', "numbers from 0 to 69"),
        (b'{"do": "subscribe", "worlds": [-1]}', "worlds is [-1]"),
        (b'{"do": "subscribe", "worlds": [true]}', "worlds is [True]"),
        (b'{"do": "subscribe", "worlds": [1, 1]}', "different numbers"),
        (b'{"do": "subscribe", "worlds": %s}' % json.dumps(list(range(65))).encode(), "at most 64"),
        (b'{"do": "subscribe", "hz": 0}', "hz is 0"),
        (b'{"do": "subscribe", "hz": NaN}', "hz is nan"),
        (b'{"do": "subscribe", "hz": 61}', "at most 60"),
        (b'{"do": "subscribe", "format": "bmp"}', "unknown format 'bmp'"),
        (b'{"do": "subscribe", "format": ["json"]}', "unknown format"),
        (b'{"do": "subscribe", "focus": 70}', "focus is 70; wanted a number from 0 to 69"),
        (b'{"do": "subscribe", "focus": true}', "focus is True"),
        (b'{"do": "tell", "what": {"do": "pause"}}', "unknown command 'tell'"),
    ],
)
def test_nonsense_is_answered_and_the_next_line_heard(line: bytes, said: str, live: Live, client: Client) -> None:
    client.send(line)
    answer = client.read()
    assert list(answer) == ["error"] and said in str(answer["error"])
    assert client.ask(do="save") == {"ok": "save"}
    assert live.commands() == ["save"] and not live.wanted


def test_many_lines_at_once_are_all_heard(live: Live, client: Client) -> None:
    count = 2 * MAX_LINE // len(b'{"do": "save"}\n')
    threading.Thread(target=client.send, args=(b"\n".join([b'{"do": "save"}'] * count),)).start()
    assert all(client.read() == {"ok": "save"} for _ in range(count))
    assert live.commands() == ["save"] * count


def test_a_line_without_end_is_hung_up_on(live: Live, client: Client, tmp_path: Path) -> None:
    with pytest.raises(OSError):
        for _ in range(100):
            client.wire.sendall(b"x" * MAX_LINE)
    assert ask(tmp_path / "live.sock", "status") == {"ok": "status", "status": {}}


def test_commands_keep_their_order_and_are_heard_once(live: Live, tmp_path: Path) -> None:
    for command in ("pause", "save", "resume", "stop"):
        ask(tmp_path / "live.sock", command)
    assert live.commands() == ["pause", "save", "resume", "stop"]
    assert live.commands() == []


def test_only_its_owner_may_speak_and_it_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "live.sock"
    path.write_text("left by a crash")
    with Live(path, num_worlds=1) as live:
        live.report({"status": "running"})
        assert stat.S_ISSOCK(path.stat().st_mode) and stat.S_IMODE(path.stat().st_mode) == 0o600
        assert ask(path, "status")["status"] == {"status": "running"}
    assert not path.exists()
    with pytest.raises(PaddockError, match="does not answer: No such file or directory. Is the run running?"):
        ask(path, "status")


def test_a_path_longer_than_a_socket_may_have_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.chdir("/")
    with Live(deep / "live.sock", num_worlds=1) as live:
        assert live.trouble == "" and (deep / "live.sock").is_socket()
        assert ask(deep / "live.sock", "pause") == {"ok": "pause"}
        assert live.commands() == ["pause"]
    assert list(deep.iterdir()) == []


def test_no_socket_is_a_trouble_not_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Live(tmp_path / "nowhere" / "live.sock", num_worlds=1) as live:
        assert live.trouble == "no live.sock: No such file or directory"
        assert live.commands() == [] and not live.wanted
        live.report({"status": "running"})
        live.frame(untouchable(1))
    monkeypatch.setattr("paddock.runs.sockets.HANDLES", tmp_path / "no proc")  # as on a Mac
    monkeypatch.chdir("/")
    long = tmp_path / ("d" * 100) / "live.sock"
    with Live(long, num_worlds=1) as live:
        assert "longer than a socket's may be" in live.trouble
    with pytest.raises(PaddockError, match="longer than a socket's may be"):
        ask(long, "status")


@pytest.fixture
def training(tmp_path: Path) -> Iterator[threading.Thread]:
    """A training that goes on until it is told to stop."""
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=0, minutes=5, num_worlds=8, num_threads=1, evaluate_every=0, save_every_s=1e6, ppo=ppo)
    thread = threading.Thread(target=lambda: paddock.train("cartpole-balance", config=config, runs_dir=tmp_path))
    thread.start()
    until(lambda: list(tmp_path.glob("*/live.sock")))
    yield thread
    if thread.is_alive():
        ask(find_run("latest", tmp_path).socket, "stop")
        thread.join(30.0)


def test_a_run_is_watched_paused_saved_and_stopped(
    training: threading.Thread, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def say(what: str) -> str:
        assert main(["tell", "latest", what, "--runs-dir", str(tmp_path)]) == 0
        return capsys.readouterr().out

    run = find_run("latest", tmp_path)
    until(lambda: run.card().progress.env_steps > 0)
    assert status_of(run.card()) == "running" and "running, " in say("status")

    watching = Client(run.socket)
    watching.ask(do="subscribe", worlds=[0, 7], hz=60)
    frames = [watching.read()["frame"] for _ in range(20)]
    watching.close()
    assert [frame["world"] for frame in frames] == [0, 7] * 10
    assert len({str(frame["env_steps"]) for frame in frames}) == 10
    assert all(isinstance(frame["qpos"], list) and len(frame["qpos"]) == 2 for frame in frames)

    assert "pauses after its present update" in say("pause")
    until(lambda: run.card().progress.status == "paused")
    steps = run.card().progress.env_steps
    assert run.checkpoints.steps() == []
    say("save")
    until(lambda: run.checkpoints.steps() == [steps])
    assert run.card().progress.env_steps == steps and "paused, " in say("status")
    say("resume")
    until(lambda: run.card().progress.status == "running" and run.card().progress.env_steps > steps)
    assert main(["runs", "archive", "latest", "--runs-dir", str(tmp_path)]) == 2
    assert "is running. Stop it first" in capsys.readouterr().err
    assert "writes a checkpoint and stops" in say("stop")
    training.join(30.0)

    progress = run.card().progress
    assert (progress.status, progress.detail) == ("stopped", "asked to stop over live.sock")
    assert run.checkpoints.steps()[-1] == progress.env_steps > steps and not run.socket.exists()
    assert main(["tell", "latest", "pause", "--runs-dir", str(tmp_path)]) == 2
    assert "is not running: its status is stopped" in capsys.readouterr().err
