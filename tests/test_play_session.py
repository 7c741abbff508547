"""Playing with a policy: it runs in real time, is steered and pulled at, and its recording repeats bit for bit."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

import paddock
from live_clients import Client, until
from paddock.cockpit.answers import NotFound
from paddock.cockpit.plays import Plays
from paddock.configuring import TrainConfig
from paddock.dragging import Drag, Hand, check_drag
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.learn.ppo_config import PpoConfig
from paddock.making import make
from paddock.messages.cockpit import PlayRequest
from paddock.play_session import SEED, PlaySession, main
from paddock.replaying import open_recording, replay
from paddock.runs.frames import Frame, unpack
from paddock.steering import order_of, ranges_of, steerable
from paddock.tasks.finding import find_task
from paddock.trained import Run

RANGES = {"velocity": [(0.0, 1.0), (-0.5, 0.5), (-1.0, 1.0)]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A quadruped that has learned next to nothing."""
    settings: dict = {"steps": 128, "num_worlds": 16, "evaluate_every": 0, "evaluate_episodes": 1, "randomize": "light"}
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    return paddock.train("quadruped-walk", config=TrainConfig(ppo=ppo, **settings), runs_dir=tmp_path_factory.mktemp("runs"))


class Player:
    """Somebody at a page."""

    def __init__(self, path: Path) -> None:
        self.client = Client(path)
        self.pushes: list[dict] = []

    def tell(self, **what: object) -> None:
        self.client.send(json.dumps({"do": "tell", "what": what}).encode())

    def push(self, kind: str) -> dict:
        """The next message of a kind; frames and answers are passed over."""
        while True:
            head = self.client.read()
            if "bytes" in head:
                self.client.lines.read(int(str(head["bytes"])))
            elif head.get("kind") == kind:
                return head

    def frame(self) -> Frame:
        """The next frame; messages are kept."""
        while True:
            head = self.client.read()
            if "bytes" in head:
                return unpack(self.client.lines.read(int(str(head["bytes"]))))
            self.pushes.append(head)

    def until(self, is_right: Callable[[Frame], bool]) -> Frame:
        deadline = time.monotonic() + 20
        while not is_right(frame := self.frame()):
            assert time.monotonic() < deadline
        return frame


@pytest.fixture
def session(run: Run, tmp_path: Path) -> Iterator[tuple[PlaySession, Path, threading.Thread]]:
    """One in a thread of this process; it ends when its only viewer has left."""
    session = PlaySession(run, run.load("latest"), name=tmp_path.name, checkpoint="latest", worlds=2)
    socket = tmp_path / "play.sock"
    thread = threading.Thread(target=session.play, args=(socket,), kwargs={"alone_s": 1.0})
    thread.start()
    until(socket.exists)
    yield session, socket, thread
    thread.join(20.0)
    assert not thread.is_alive()


def test_it_is_played_with_and_all_of_it_repeats(session: tuple[PlaySession, Path, threading.Thread]) -> None:
    playing, socket, thread = session
    player = Player(socket)
    hello = player.push("play")
    assert hello["policy"] == "latest at 128 steps" and hello["checkpoints"] == ["latest", "best"]
    (velocity,) = hello["commands"]
    assert [part["name"] for part in velocity["parts"]] == ["ahead", "left", "turn"] and velocity["parts"][0]["unit"] == "m/s"
    player.client.send(b'{"do": "subscribe", "worlds": [0, 1], "format": "binary", "hz": 60}')
    began, first = time.monotonic(), player.frame()
    later = player.until(lambda frame: frame.env_steps >= first.env_steps + 2 * 40)
    dt = playing.env.task.control_dt
    assert time.monotonic() - began > 0.9 * (later.env_steps - first.env_steps) / 2 * dt  # not faster than real time

    player.tell(do="pause")
    still = player.until(lambda frame: frame.tail["paused"] is True)
    assert player.frame().qpos == still.qpos
    player.tell(do="step")
    stepped = player.until(lambda frame: frame.env_steps == still.env_steps + 2)
    assert stepped.tail["paused"] and stepped.qpos != still.qpos

    high = [part["high"] for part in velocity["parts"]]
    player.tell(do="command", values={"velocity": high})
    player.tell(do="step")
    told = player.until(lambda frame: frame.env_steps == still.env_steps + 4)
    assert told.tail["command"] == {"velocity": pytest.approx(high, abs=1e-5)}
    assert told.tail["obs"] is not None
    player.tell(do="speed", value=8.0)
    base = playing.env.model.body(playing.env.task.robot.base).id
    player.tell(do="drag", world=1, body=base, point=[0.0, 0.0, 0.0], target=[0.0, 3.0, 0.6])
    player.tell(do="resume")
    player.until(lambda frame: frame.env_steps >= told.env_steps + 2 * 60)
    player.tell(do="release")
    player.tell(do="drag", world=9, body=1, point=[0, 0, 0], target=[0, 0, 0])
    refused = player.push("refused")
    assert refused["why"] == "there is no world 9; there are 2." and refused["what"]["world"] == 9
    player.tell(do="reset")
    player.until(lambda frame: max(frame.ages) < 5)
    player.client.close()
    thread.join(20.0)  # it leaves when nobody is there
    report = replay(playing.recording)
    recording = open_recording(playing.recording)
    assert (report.verdict, report.verified) == ("identical", 2 * playing.steps)
    dos = [str(event["do"]) for event in recording.events]
    assert dos == ["command", "drag", "release", "reset"]
    forces = recording.tracks[1].change_values
    assert len(forces) > 100 and np.abs(forces).max() > 10.0  # what the hand did is in the file


def pulled(env: Environment, drag: Drag | None, steps: int) -> torch.Tensor:
    """Where a world's base goes, pulled or not."""
    hand = env.tap = Hand(env)
    env.reset(seed=3)
    if drag is not None:
        hand.take(drag)
    for _ in range(steps):
        env.step(torch.zeros(env.num_worlds, env.action_size))
    assert env.failures == 0
    path = env.state.qpos[:, :3].clone()
    hand.let_go()
    env.step(torch.zeros(env.num_worlds, env.action_size))
    env.tap = None
    return path


def test_a_drag_pulls_its_world_and_no_other() -> None:
    env = make("quadruped-walk", num_worlds=2)
    base = env.model.body(env.task.robot.base).id
    alone = pulled(env, None, 6)
    dragged = pulled(env, Drag(world=1, body=base, point=(0.0, 0.0, 0.0), target=(0.0, 2.0, 0.3)), 6)
    assert torch.equal(alone[0], dragged[0])
    assert dragged[1, 1] - alone[1, 1] > 0.05  # metres, in a tenth of a second
    assert torch.equal(pulled(env, None, 6), alone)  # and nothing of it stays


def test_a_light_foot_pulled_far_does_not_explode() -> None:
    env = make("quadruped-walk", num_worlds=1)
    foot = env.model.nbody - 1
    pulled(env, Drag(world=0, body=foot, point=(0.0, 0.0, 0.0), target=(5.0, 5.0, 5.0)), 100)
    assert env.state.qvel.abs().max() < 200


def test_the_spring_is_a_spring() -> None:
    """A ball in the void: the force is toward the hand, less what the ball's speed takes away."""
    env = make("quadruped-walk", num_worlds=1)
    env.reset()
    base = env.model.body(env.task.robot.base).id
    hand = Hand(env)
    stiffness, damping, most = hand._spring(base)
    data = mujoco.MjData(env.model)
    data.qpos[:], data.qvel[:] = env.state.qpos[0].numpy(), env.state.qvel[0].numpy()
    mujoco.mj_forward(env.model, data)
    at = data.xpos[base].copy()
    ahead = at + np.array([0.01, 0.0, 0.0])
    drag = Drag(world=0, body=base, point=(0.0, 0.0, 0.0), target=tuple(ahead))
    jac = np.zeros((3, env.model.nv))
    mujoco.mj_jac(env.model, data, jac, None, at, base)
    wanted = stiffness * (ahead - at) - damping * (jac @ data.qvel)
    np.testing.assert_allclose(hand._wrench(drag)[:3], wanted, atol=1e-4)
    np.testing.assert_allclose(hand._wrench(drag)[3:], np.cross(at - data.xipos[base], wanted), atol=1e-4)
    far = replace(drag, target=(100.0, 0.0, 0.0))
    assert np.linalg.norm(hand._wrench(far)[:3]) == pytest.approx(most)


def test_what_is_fixed_cannot_be_pulled() -> None:
    env = make("arm-reach")
    fixed = int(np.flatnonzero(env.model.body_weldid == 0)[-1])
    with pytest.raises(PaddockError, match="is fixed to the world|there is no body"):
        check_drag(env, Drag(world=0, body=fixed, point=(0, 0, 0), target=(0, 0, 0)))


def test_a_told_command_stays_until_it_is_given_back() -> None:
    task = find_task("quadruped-walk")
    assert list(ranges_of(task)) == ["velocity"]
    steered, told = steerable(task)
    plain, env = make(task, num_worlds=2, seed=SEED), make(steered, num_worlds=2, seed=SEED)
    for each in (plain, env):
        each.reset()
    zeros = torch.zeros(2, env.action_size)
    for own, value in ((None, None), ((0.1, 0.0, 0.2), (0.1, 0.0, 0.2))):
        if own:
            told["velocity"] = own
        for each in (plain, env):
            each.step(zeros)
        if value is None:
            assert torch.equal(env.state.command["velocity"], plain.state.command["velocity"])
        else:
            np.testing.assert_allclose(env.state.command["velocity"], [value, value], atol=1e-6)
    span = [i for i in range(env.obs["policy"].shape[1]) if not torch.equal(env.obs["policy"][:, i], plain.obs["policy"][:, i])]
    assert span  # the policy sees it


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (None, "unknown order 'None'"),
        ({"do": "explode"}, "unknown order 'explode'"),
        ({"do": "speed", "value": 100}, "the speed is 100; wanted 0.05 to 8."),
        ({"do": "speed", "value": "fast"}, "the speed is ['fast']; wanted 1 number"),
        ({"do": "speed", "value": float("nan")}, "wanted 1 number"),
        ({"do": "command"}, "a command is told as"),
        ({"do": "command", "values": {"velocity": [0, 0]}}, "wanted 3 numbers"),
        ({"do": "command", "values": {"velocity": [2, 0, 0]}}, "command 'velocity' is 2; wanted 0 to 1."),
        ({"do": "command", "values": {"speed": [2]}}, "unknown command 'speed'"),
        ({"do": "drag", "world": 0, "body": True, "point": [0, 0, 0], "target": [0, 0, 0]}, "numbers of a world and of a body"),
        ({"do": "drag", "world": 0, "body": 1, "point": [0, 0], "target": [0, 0, 0]}, "the point is [0, 0]; wanted 3 numbers"),
        ({"do": "drag", "world": 0, "body": 1, "point": [0, 0, 0], "target": [0, 0, 1e9]}, "each at most 1000"),
    ],
)
def test_what_is_no_order_is_refused(what: object, said: str) -> None:
    with pytest.raises(PaddockError) as refusal:
        order_of(what, RANGES)
    assert said in str(refusal.value)


def test_a_play_is_a_process_that_leaves_with_its_player(run: Run) -> None:
    plays = Plays(run.path.parent)
    with pytest.raises(PaddockError, match="cannot be played: .*no checkpoint"):
        plays.start(PlayRequest(run=run.path.name, checkpoint="999"))
    play = plays.start(PlayRequest(run=run.path.name, checkpoint="latest", worlds=1))
    player = Player(plays.socket_of(play.play))
    assert player.push("play")["play"] == play.play
    player.client.close()
    plays.end(play.play)
    (file,) = (run.path / "recordings").glob(f"play-*-{play.play}.mcap")
    assert replay(file).verdict == "identical"  # it was closed in order
    for wanted in ("../x", "nowhere"):
        with pytest.raises(NotFound):
            plays.start(PlayRequest(run=wanted))
    for request in (PlayRequest(run=run.path.name, checkpoint="--x"), PlayRequest(run=run.path.name, worlds=17)):
        with pytest.raises(PaddockError, match="wanted"):
            plays.start(request)
    with pytest.raises(NotFound):
        plays.socket_of(play.play)
    assert main([str(run.path), "--socket=/nowhere/x", "--worlds=99"]) == 2
