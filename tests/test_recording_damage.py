"""Recordings that were killed, cut, bent or forged: what was written survives, and no damage goes unseen."""

import os
import random
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import paddock
from models import pole_task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.recording import Recorder
from paddock.runs.portable_model import check_contained
from paddock.runs.recording_reader import BrokenRecording, open_recording
from paddock.runs.recordings import FORMAT, HEADER_TOPIC, keyframes_topic, steps_topic
from recording_samples import (
    chunks,
    is_prefix,
    rewritten,
    shaken,
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file of many chunks."""
    path = tmp_path_factory.mktemp("small") / "pole.mcap"
    task = pole_task(randomize={"mass": t.Mass((0.5, 2.0), "pole")}, done={})
    env = paddock.make(task, num_worlds=2, seed=4)
    env.reset()
    with Recorder(env, path, worlds=(0, 1), keyframe_every=7) as recorder:
        for step in range(70):
            env.step(env.sample())
            if step % 9 == 0:
                recorder.flush()
    return path


CHILD = """
import sys, paddock
from pathlib import Path
from recording_samples import shaken
from paddock.recording import Recorder
env = paddock.make(shaken(), num_worlds=2, num_threads=1)
with Recorder(env, Path(sys.argv[1]), worlds=(0, 1)) as recorder:
    env.reset()
    said = 0
    while True:
        env.step(env.sample())
        if recorder.steps % 50 == 0:
            recorder.flush()
        if recorder.written != said:
            said = recorder.written
            print(said, flush=True)
"""


def killed_after(path: Path, lines: int) -> int:
    """Kill a recording process, and return the steps it had said were written."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
    return int([line for line in said if line.endswith("\n")][-1])


def test_a_kill_loses_nothing_that_was_said_to_be_written(tmp_path: Path) -> None:
    said = killed_after(tmp_path / "killed.mcap", 11)
    found = open_recording(tmp_path / "killed.mcap")
    assert found.condition == "cut" and "steps could be read" in found.missing
    assert found.steps >= said >= 200
    env = paddock.make(shaken(), num_worlds=2)
    with Recorder(env, tmp_path / "whole.mcap", worlds=(0, 1)):
        env.reset()
        for _ in range(found.steps):
            env.step(env.sample())
    assert is_prefix(found, open_recording(tmp_path / "whole.mcap"))


def test_a_file_cut_anywhere_keeps_what_came_before(small: Path, tmp_path: Path) -> None:
    whole, content = open_recording(small), small.read_bytes()
    kept: list[int] = []
    cut = tmp_path / "cut.mcap"
    for size in (*range(1, len(content), 61), len(content) - 1):
        cut.write_bytes(content[:size])
        try:
            found = open_recording(cut)
        except BrokenRecording:
            assert not kept
            continue
        assert found.condition == "cut"
        assert is_prefix(found, whole)
        kept.append(found.steps)
    assert kept == sorted(kept) and kept[0] == 0 and kept[-1] == 70 and len(set(kept)) > 6


def test_no_flipped_bit_goes_unseen(small: Path, tmp_path: Path) -> None:
    whole, content = open_recording(small), small.read_bytes()
    draw = random.Random(0)
    flipped = tmp_path / "flipped.mcap"
    lengths = set()
    for bit in draw.sample(range(8 * len(content)), 300):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        flipped.write_bytes(damaged)
        try:
            found = open_recording(flipped)
        except BrokenRecording:
            continue
        assert found.condition != "complete" and found.missing, f"bit {bit}"
        assert is_prefix(found, whole), f"bit {bit}"
        lengths.add(found.steps)
    assert len(lengths) > 5


def test_a_chunk_left_out_is_missed(small: Path, tmp_path: Path) -> None:
    """As a flipped bit in a chunk's kind does: MCAP's readers pass over what they do not know."""
    content = bytearray(small.read_bytes())
    content[chunks(content)[3]] |= 0x40
    (tmp_path / "hole.mcap").write_bytes(content)
    found = open_recording(tmp_path / "hole.mcap")
    assert found.condition == "damaged" and "missing" in found.missing
    assert 0 < found.steps < 70 and is_prefix(found, open_recording(small))


def test_files_that_are_no_recording_are_refused(small: Path, tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="there is no recording"):
        open_recording(tmp_path / "absent.mcap")
    (tmp_path / "empty.mcap").touch()
    with pytest.raises(BrokenRecording, match="is empty"):
        open_recording(tmp_path / "empty.mcap")
    (tmp_path / "text.mcap").write_text("not at all MCAP, and long enough to look")
    with pytest.raises(BrokenRecording, match="is no recording"):
        open_recording(tmp_path / "text.mcap")

    def newer(topic: str, data: bytes) -> bytes:
        return data.replace(b'"format": 1', b'"format": 9') if topic == HEADER_TOPIC else data

    with pytest.raises(BrokenRecording, match=f"format 9; this Paddock reads format {FORMAT}"):
        open_recording(rewritten(small, tmp_path / "newer.mcap", newer))

    def other(topic: str, data: bytes) -> bytes:
        return data.replace(b'"row_size": ', b'"row_size": -') if topic == HEADER_TOPIC else data

    with pytest.raises(BrokenRecording, match="contradicts itself"):
        open_recording(rewritten(small, tmp_path / "other.mcap", other))


@pytest.mark.parametrize("topic", [keyframes_topic(0), steps_topic(1)])
@pytest.mark.parametrize("grow", [-1, 1])
def test_messages_of_the_wrong_size_are_damage(small: Path, tmp_path: Path, topic: str, grow: int) -> None:
    def resized(name: str, data: bytes) -> bytes:
        return data if name != topic else data + b"\0" if grow > 0 else data[:-1]

    found = open_recording(rewritten(small, tmp_path / "resized.mcap", resized))
    assert found.condition == "damaged" and found.steps == 0


def test_a_rewritten_copy_is_the_same_recording(small: Path, tmp_path: Path) -> None:
    """The oracle of the tests that change one thing: changing nothing is no damage."""
    copy = open_recording(rewritten(small, tmp_path / "copy.mcap", lambda name, data: data))
    assert copy.condition == "complete" and copy.steps == 70 and is_prefix(copy, open_recording(small))


def test_models_that_reach_out_of_the_file_are_refused() -> None:
    refused = partial(pytest.raises, PaddockError)
    check_contained('<mujoco><asset><mesh file="a.obj"/></asset></mujoco>', {"a.obj"})
    for text in (
        '<mujoco><asset><mesh file="/etc/passwd"/></asset></mujoco>',
        '<mujoco><compiler meshdir="/etc"/><asset><mesh file="a.obj"/></asset></mujoco>',
        '<mujoco><include file="a.obj"/></mujoco>',
        '<mujoco><asset><texture fileup="b.png"/></asset></mujoco>',
    ):
        with refused(match="not in the file"):
            check_contained(text, {"a.obj"})
    with refused(match="entities"):
        check_contained('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', ())
    with refused(match="not XML"):
        check_contained("<mujoco>", ())
