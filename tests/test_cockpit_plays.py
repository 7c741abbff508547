"""A policy played with from the page: frames, orders, refusals, a recording that stays, and nobody left behind."""

import shutil
import struct
from collections.abc import Iterator
from typing import Any

import pytest

import paddock
from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import Line, Visitor, served, wait
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.frames import Frame
from paddock.runs.frames import unpack as unpack_frame

A = "20261101-120000-cartpole-balance-s0-aaaa"


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    root = tmp_path_factory.mktemp("work") / "runs"
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=64, num_worlds=8, num_threads=1, evaluate_episodes=1, ppo=ppo)
    shutil.move(paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=root).path, root / A)
    with served(root) as visitor:
        yield visitor


def drawn(line: Line, until: Any, timeout: float = 20.0) -> Frame:
    """Draw frame after frame, until one is as wanted."""
    while True:
        message = line.until(lambda heard: isinstance(heard, bytes), timeout)
        stream, seq = struct.unpack_from("<HI", message, 6)
        line.say(do="ack", stream=stream, seq=seq)
        if until(frame := unpack_frame(message)):
            return frame


def test_a_policy_is_played_steered_refused_and_ended(visitor: Visitor) -> None:
    reply = visitor.ask("POST", "/c/plays", {"run": A, "checkpoint": "latest", "worlds": 2})
    assert reply.status == 201, reply
    play = reply.json["play"]
    with visitor.socket() as line:
        line.say(do="play", play=play)
        told = line.kind("play", 20)
        assert told["play"] == play and told["policy"].startswith("latest at ")
        first = drawn(line, lambda frame: frame.env_steps > 0)
        assert set(first.worlds) == {0, 1}
        later = drawn(line, lambda frame: frame.env_steps > first.env_steps)
        assert later.qpos != first.qpos
        line.say(do="tell", play=play, what={"do": "pause"})
        paused = drawn(line, lambda frame: frame.tail["paused"])
        line.say(do="tell", play=play, what={"do": "step"})
        assert drawn(line, lambda frame: frame.env_steps > paused.env_steps).env_steps == paused.env_steps + 2
        line.say(do="tell", play=play, what={"do": "explode"})
        assert line.kind("refused")["why"]
        line.say(do="tell", play="another", what={"do": "pause"})
        assert "does not show the play" in line.kind("trouble")["error"]
        assert visitor.ask("DELETE", f"/c/plays/{play}").status == 200
        assert line.until(lambda m: isinstance(m, dict) and m["kind"] == "watching" and m["state"] == "over")["play"] == play
    names = wait(lambda: [file["name"] for file in visitor.json(f"/c/runs/{A}")["recordings"] if "play-" in file["name"]])
    assert names == [told["recording"]] or names[0].endswith(told["recording"])


def test_what_cannot_be_played_says_why(visitor: Visitor) -> None:
    for asked, status in (
        ({"run": "nothing"}, 404),
        ({"run": "../" + A}, 404),
        ({"run": A, "checkpoint": "../../x"}, 400),
        ({"run": A, "checkpoint": "7"}, 400),
        ({"run": A, "worlds": 10_000}, 400),
    ):
        reply = visitor.ask("POST", "/c/plays", asked)
        assert reply.status == status and reply.error, asked
    with visitor.socket() as line:
        line.say(do="play", play="nothing")
        assert line.kind("trouble")["error"] == "this play is over. Begin another."
