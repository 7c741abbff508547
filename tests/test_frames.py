"""What somebody who watches is sent: bytes as they are promised, and what is true of the world in focus."""

import base64
import json
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

import paddock
from live_clients import Client, until
from paddock.configuring import TrainConfig
from paddock.contracts import Step
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.learn.ppo_config import PpoConfig
from paddock.making import make
from paddock.messages.cockpit import FRAME_HEAD_BYTES
from paddock.monitoring import Monitor, causes_of, step_columns
from paddock.runs.folder import find_run
from paddock.runs.frames import HEAD, Frame, unpack
from paddock.runs.live import Live
from paddock.runs.sockets import ask
from paddock.runs.telemetry import Telemetry
from paddock.runs.viewers import MAX_WATCHED, Shot
from paddock.showing import Earned, Showing
from paddock.tasks.cameras import Camera
from paddock.tasks.finding import find_task

NUM_WORLDS = 300
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


def test_the_bytes_are_those_that_a_page_reads(live: Live, client: Client) -> None:
    qpos = torch.randn(NUM_WORLDS, 3)
    client.watch([5, 2], hz=60, focus=2)
    live.frame(Shot(env_steps=1200, qpos=qpos, age=AGE, tell=lambda world, pictures: {"told": [world, pictures]}))
    data = client.bytes()
    assert HEAD.size == FRAME_HEAD_BYTES == 32
    assert data[:6] == b"PDKF\x01\x01" and struct.unpack_from("<HIII", data, 6) == (0, 1, 2, 3)
    (tail,) = struct.unpack_from("<I", data, 20)
    assert struct.unpack_from("<d", data, 24) == (1200.0,)
    assert struct.unpack_from("<4I", data, 32) == (5, 2, 5, 2)  # ages, then worlds
    np.testing.assert_array_equal(np.frombuffer(data, "<f4", 6, 48).reshape(2, 3), qpos[[5, 2]].numpy())
    known = {"dropped": 0, "steps_per_s": 0.0, "world": 2, "ended": None, "told": [2, True]}
    assert len(data) == 32 + 2 * (8 + 12) + tail and json.loads(data[-tail:]) == known


def test_256_robots_fit_into_20_kb(live: Live, client: Client) -> None:
    worlds = list(range(MAX_WATCHED["binary"]))
    client.watch(worlds, hz=60)
    live.frame(Shot(env_steps=1, qpos=torch.randn(NUM_WORLDS, 19), age=AGE))
    data = client.bytes()
    assert unpack(data).worlds == tuple(worlds) and len(data) < 21_700


def test_a_slow_reader_misses_frames_and_can_count_them(live: Live, client: Client) -> None:
    client.watch(list(range(256)), hz=60)
    qpos = torch.randn(NUM_WORLDS, 2000)  # two megabytes a frame: more than a socket holds
    for env_steps in range(1, 4):
        live.frame(Shot(env_steps=env_steps, qpos=qpos, age=AGE))
        client_is_due_again(live)
    first = client.frame()
    until(lambda: not any(client.pending for client in live._clients.values()))
    live.frame(Shot(env_steps=4, qpos=qpos, age=AGE))
    after = client.frame()
    assert (first.seq, first.env_steps, after.seq, after.env_steps) == (1, 1, 4, 4)
    assert (first.tail["dropped"], after.tail["dropped"]) == (0, 2)


def client_is_due_again(live: Live) -> None:
    for client in live._clients.values():
        client.viewer.due = 0.0


def test_two_who_look_at_one_world_cost_one_look(live: Live, client: Client, tmp_path: Path) -> None:
    looked: list[int] = []

    def tell(world: int, pictures: bool) -> dict[str, object]:
        looked.append(world)
        return {"obs": world}

    other = Client(tmp_path / "live.sock")
    for viewer, worlds in ((client, [1, 3]), (other, [3])):
        viewer.watch(worlds, focus=3)
    live.frame(Shot(env_steps=1, qpos=torch.zeros(NUM_WORLDS, 2), age=AGE, tell=tell))
    assert client.frame().tail["obs"] == other.frame().tail["obs"] == 3 and looked == [3]
    assert live.focused == {3}
    other.close()


def test_no_number_stops_nobody(live: Live, client: Client) -> None:
    client.watch([0])
    live.frame(Shot(env_steps=1, qpos=torch.zeros(NUM_WORLDS, 2), age=AGE, tell=lambda world, pictures: {"obs": float("nan")}))
    assert client.frame().tail == {"dropped": 0, "steps_per_s": 0.0, "world": 0, "ended": None}


def test_an_end_is_told_once(live: Live, client: Client) -> None:
    client.watch([4])
    shot = Shot(env_steps=10, qpos=torch.zeros(NUM_WORLDS, 2), age=AGE, ends={4: (8, "fell"), 5: (9, "other")})
    live.frame(shot)
    client_is_due_again(live)
    assert client.frame().tail["ended"] == "fell"
    live.frame(replace(shot, env_steps=20))
    assert client.frame().tail["ended"] is None


@pytest.mark.parametrize(
    "data", [b"", b"PDKF", HEAD.pack(b"PDKX", 1, 1, 0, 0, 0, 0, 0, 0.0), HEAD.pack(b"PDKF", 1, 1, 0, 0, 9, 9, 9, 0.0)]
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(PaddockError, match="frame"):
        unpack(data)


def told(env: Environment, world: int) -> dict:
    """What is shown of a world after one more step."""
    step = env.step(env.sample())
    terms = torch.stack(list(step.terms.values()), dim=1)
    shot = Showing(env).shot(7, Earned(terms=terms, success=step.success), terms)
    found = shot.tell(world, True)
    json.dumps(found, allow_nan=False)
    assert found["reward"] == {name: pytest.approx(float(value[world]), abs=1e-5) for name, value in step.terms.items()}
    assert found["total"] == pytest.approx(float(step.reward[world]), abs=1e-4)
    return found


def test_what_is_told_of_a_world_is_true() -> None:
    env = make("quadruped-walk", num_worlds=3, seed=1)
    env.reset()
    for _ in range(20):
        env.step(torch.zeros(3, env.action_size))
    found = told(env, 2)
    observed = env.task.observed(env.state)
    assert [*found["obs"]][: len(observed)] == [*observed]
    for name, value in observed.items():
        np.testing.assert_allclose(found["obs"][name], value[2].numpy(), atol=1e-5)
    np.testing.assert_allclose(found["action"], env.state.action[2].numpy(), atol=1e-5)
    np.testing.assert_allclose(found["command"]["velocity"], env.state.command["velocity"][2].numpy(), atol=1e-5)
    (arrow,) = found["markers"]
    assert arrow["kind"] == "arrow" and len(arrow["to"]) == 3
    contacts = np.array(found["contacts"])
    weight = env.model.body_mass.sum() * 9.81
    assert contacts.shape[1] == 7 and 0.3 * weight < contacts[:, 6].sum() < 3 * weight  # it stands, and bears its weight
    np.testing.assert_allclose(np.abs(contacts[:, 5]), 1.0, atol=0.05)  # on flat ground


def test_contacts_follow_the_worlds_own_model() -> None:
    env = make("quadruped-walk", num_worlds=2, seed=1)
    env.reset()
    before = env.sim.rows.clone()
    showing = Showing(env)
    for field in ("geom_friction",):
        assert field in env.sim.model_fields
    showing._contacts.of(1)
    np.testing.assert_allclose(showing._contacts._model.geom_friction, env.sim.model_fields["geom_friction"][1].numpy())
    assert torch.equal(env.sim.rows, before)  # the sim is left alone


def test_pictures_are_small() -> None:
    task = find_task("cartpole-balance").unseeing
    camera = mujoco.MjModel.from_xml_string(make(task).model_text).camera(0).name
    env = make(replace(task, cameras={"side": Camera(name=camera, width=200, height=100, kinds=("rgb", "depth"))}))
    env.reset()
    found = told(env, 0)["cameras"]
    picture = found["side"]
    assert (picture["width"], picture["height"], picture["channels"]) == (67, 34, 3)
    pixels = np.frombuffer(base64.b64decode(picture["data"]), np.uint8).reshape(34, 67, 3)
    np.testing.assert_array_equal(pixels, env.obs["camera/side/rgb"][0, ::3, ::3].numpy())
    assert (found["side/depth"]["channels"], found["side/depth"]["width"]) == (1, 67)


@contextmanager
def monitored(env: Environment, live: Live, folder: Path) -> Iterator[Monitor]:
    columns, terms = step_columns(env), tuple(env.task.reward)
    with Telemetry(folder / "t.db", terms=terms, causes=causes_of(env), step_columns=columns, worlds=range(1)) as telemetry:
        monitor = Monitor(env, telemetry, watched=1, live=live)
        monitor.reset()
        yield monitor


def test_a_monitor_shows_what_it_counts(live: Live, client: Client, tmp_path: Path) -> None:
    env = make("cartpole-balance", num_worlds=4)
    with monitored(env, live, tmp_path) as monitor:
        monitor.step(env.sample())
        client.watch([3, 1], hz=60, focus=1)
        frames: list[Frame] = []
        is_over = False
        while not is_over:
            is_over = bool(monitor.step(torch.ones(4, 1)).ended[1])
            frames.append(client.frame())
            client_is_due_again(live)
    *_, last = frames
    ends = [frame.tail["ended"] for frame in frames]
    assert ends[-1] in causes_of(env) and set(ends[:-1]) == {None}
    assert last.env_steps == monitor.env_steps and last.worlds == (3, 1) and last.tail["paused"] is False
    np.testing.assert_allclose(last.qpos, env.state.qpos[[3, 1]].numpy())


def test_a_frame_of_16_robots_takes_less_than_3_percent_of_its_time(live: Live, client: Client, tmp_path: Path) -> None:
    env = make("quadruped-walk", num_worlds=16)
    costs: list[float] = []
    with monitored(env, live, tmp_path) as monitor:
        monitor.step(env.sample())
        client.watch(list(range(16)), hz=30)
        for _ in range(20):
            client_is_due_again(live)
            began = time.thread_time()
            monitor.show()
            costs.append(time.thread_time() - began)
            assert len(client.frame().qpos) == 16
    assert min(costs) < 0.03 / 30  # of what others on this machine make of it, bench/cockpit_cost.py tells


def test_a_captured_rollout_is_shown_where_it_ends(live: Live, client: Client, tmp_path: Path) -> None:
    env = make("cartpole-balance", num_worlds=4, sim="warp-cpu")
    with monitored(env, live, tmp_path) as monitor:
        steps: list[Step] = []

        def rollout() -> None:
            steps.clear()
            for _ in range(3):
                steps.append(monitor.step(torch.ones(4, 1)))

        again = monitor.repeated(rollout)
        client.watch([3, 1], hz=60, focus=1)
        again()
        first = client.frame()
        client_is_due_again(live)
        again()
        second = client.frame()
    assert (first.env_steps, second.env_steps) == (12, 24) and second.ages == tuple(env.state.age[[3, 1]].tolist())
    np.testing.assert_allclose(second.qpos, env.state.qpos[[3, 1]].numpy())
    reward = {name: pytest.approx(float(value[1]), abs=1e-5) for name, value in steps[-1].terms.items()}
    assert second.tail["reward"] == reward


def test_a_training_is_watched_while_it_runs_and_while_it_is_paused(tmp_path: Path) -> None:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=0, minutes=5, num_worlds=8, num_threads=1, evaluate_every=0, save_every_s=1e6, ppo=ppo)
    thread = threading.Thread(target=lambda: paddock.train("cartpole-balance", config=config, runs_dir=tmp_path))
    thread.start()
    until(lambda: list(tmp_path.glob("*/live.sock")))
    run = find_run("latest", tmp_path)
    try:
        client = Client(run.socket)
        client.watch([0, 7], hz=60, focus=7)
        frames = [client.frame() for _ in range(12)]
        assert len({frame.env_steps for frame in frames}) > 10 and all(frame.seq == i + 1 for i, frame in enumerate(frames))
        assert float(str(frames[-1].tail["steps_per_s"])) > 0
        ask(run.socket, "pause")
        until(lambda: client.frame().tail["paused"])
        still = [client.frame() for _ in range(2)]
        assert still[0].qpos == still[1].qpos and still[0].env_steps == still[1].env_steps
        client.close()
    finally:
        ask(run.socket, "stop")
        thread.join(30.0)
