"""Recordings: what is in them, what survives a kill, and that no damage goes unseen."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Attachment, Channel, Message, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer
from mcap_ros2.decoder import DecoderFactory
from rosbags.typesys import Stores, get_typestore

import paddock
from models import pole_task
from paddock import Robot, Task, recording
from paddock import terms as t
from paddock.contracts import Worlds
from paddock.errors import PaddockError
from paddock.playing import random as random_agent
from paddock.recording import Recorder, record_episodes
from paddock.runs.portable_model import check_contained
from paddock.runs.recording_reader import BrokenRecording, Recording, open_recording
from paddock.runs.recordings import FORMAT, HEADER_TOPIC, Reason, keyframes_topic, steps_topic
from paddock.tasks.finding import find_task


def shaken(**changes: object) -> Task:
    """A quadruped that thrashes, is pushed, and is another machine in every episode."""
    parts: dict[str, object] = {
        "episode_s": 0.9,
        "randomize": {
            "friction": t.Friction(0.4, 1.4),
            "mass": t.Mass(0.7, 1.6, "trunk"),
            "push": t.Push(body="trunk", newtons=(10.0, 60.0), every_s=0.3, duration_s=0.1),
        },
    }
    return replace(find_task("quadruped-walk"), **(parts | changes))


def recorded(path: Path, task: Task | None = None, *, steps: int = 120, **options: object) -> Recording:
    """A recording of random actions, read back."""
    task = task or shaken()
    record_episodes(task, random_agent, path, seconds=steps * task.control_dt, **options)  # pyright: ignore[reportArgumentType]
    return open_recording(path)


def messages(path: Path) -> list[tuple[str, int, bytes]]:
    """Topic, time and content of everything in a file."""
    topics: dict[int, str] = {}
    found: list[tuple[str, int, bytes]] = []
    with path.open("rb") as file:
        for record in StreamReader(file, validate_crcs=True).records:
            if isinstance(record, Channel):
                topics[record.id] = record.topic
            elif isinstance(record, Message):
                found.append((topics[record.channel_id], record.log_time, record.data))
    return found


def chunks(content: bytearray) -> list[int]:
    """Where each chunk of a file begins."""
    found, place = [], 8
    while content[place] != Opcode.DATA_END:
        found += [place] * (content[place] == Opcode.CHUNK)
        place += 9 + int.from_bytes(content[place + 1 : place + 9], "little")
    return found


def rewritten(path: Path, out: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """A copy with some messages or files exchanged, every checksum right."""
    with path.open("rb") as file, out.open("wb") as target:
        writer = Writer(target, chunk_size=4096, compression=CompressionType.LZ4, enable_data_crcs=True)
        writer.start()
        schemas: set[int] = set()
        topics: dict[int, str] = {}
        for record in StreamReader(file).records:
            if isinstance(record, Attachment):
                writer.add_attachment(0, 0, record.name, record.media_type, change(record.name, record.data))
            elif isinstance(record, Schema) and record.id not in schemas:
                schemas.add(record.id)
                writer.register_schema(record.name, record.encoding, record.data)
            elif isinstance(record, Channel) and record.id not in topics:
                topics[record.id] = record.topic
                writer.register_channel(record.topic, record.message_encoding, record.schema_id)
            elif isinstance(record, Message):
                data = change(topics[record.channel_id], record.data)
                writer.add_message(record.channel_id, record.log_time, data, record.publish_time, record.sequence)
        writer.finish()
    return out


def is_prefix(part: Recording, whole: Recording) -> bool:
    """Whether everything in `part` is, bit for bit, how `whole` begins."""
    for world, own in part.tracks.items():
        full, n, m = whole.tracks[world], own.steps, len(own.change_steps)
        same = own.ctrl.tobytes() == full.ctrl[:n].tobytes() and own.crc.tobytes() == full.crc[:n].tobytes()
        same &= not (full.change_steps[m:] < n).any()
        for name in ("change_steps", "change_columns", "change_values"):
            same &= getattr(own, name).tobytes() == getattr(full, name)[:m].tobytes()
        keyframes = [keyframe for keyframe in full.keyframes if keyframe.step < n]
        same &= [k.step for k in own.keyframes] == [k.step for k in keyframes]
        same &= all(a.row.tobytes() == b.row.tobytes() for a, b in zip(own.keyframes, keyframes, strict=True))
        if not same:
            return False
    return part.header == whole.header


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file of many chunks."""
    path = tmp_path_factory.mktemp("small") / "pole.mcap"
    task = pole_task(randomize={"mass": t.Mass(0.5, 2.0, "pole")}, done={})
    env = paddock.make(task, num_worlds=2, seed=4)
    env.reset()
    with Recorder(env, path, worlds=(0, 1), keyframe_every=7) as recorder:
        for step in range(70):
            env.step(env.sample())
            if step % 9 == 0:
                recorder.flush()
    return path


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        recorded(tmp_path / f"{name}.mcap", worlds=(0, 2))
    assert messages(tmp_path / "a.mcap") == messages(tmp_path / "b.mcap")
    recorded(tmp_path / "c.mcap", worlds=(0, 2), seed=1)
    assert messages(tmp_path / "a.mcap") != messages(tmp_path / "c.mcap")


def test_a_world_is_recorded_alike_in_any_batch(tmp_path: Path) -> None:
    one = recorded(tmp_path / "3.mcap", worlds=(2,))
    env = paddock.make(shaken(), num_worlds=7, num_threads=1)
    record_episodes(env, random_agent, tmp_path / "7.mcap", seconds=2.4, worlds=(5, 2))
    other = open_recording(tmp_path / "7.mcap")
    assert other.tracks[2].crc.tobytes() == one.tracks[2].crc.tobytes()
    assert [k.row.tobytes() for k in other.tracks[2].keyframes] == [k.row.tobytes() for k in one.tracks[2].keyframes]
    assert other.tracks[5].crc.tobytes() != one.tracks[2].crc.tobytes()


def test_recording_changes_nothing(tmp_path: Path) -> None:
    envs = [paddock.make(shaken(), num_worlds=3, seed=2) for _ in range(2)]
    with Recorder(envs[0], tmp_path / "a.mcap", worlds=(1,)):
        for env in envs:
            env.reset()
            for _ in range(60):
                env.step(env.sample())
    assert torch.equal(envs[0].sim.rows, envs[1].sim.rows)
    assert envs[0].tap is None


def test_what_is_in_a_recording(tmp_path: Path) -> None:
    env = paddock.make(shaken(), num_worlds=4, seed=3, first_world=10)
    rows, episodes = [], []
    env.reset()
    with Recorder(env, tmp_path / "a.mcap", worlds=(1, 3), keyframe_every=10) as recorder:
        for _ in range(100):
            rows.append(env.sim.rows[[1, 3]].clone())
            episodes.append(env.episode[[1, 3]].clone())
            env.step(env.sample())
    found = open_recording(tmp_path / "a.mcap")
    header = found.header
    assert (found.condition, found.missing, found.steps, recorder.written) == ("complete", "", 100, 100)
    assert (header.task, header.seed, header.first_world, header.worlds) == ("quadruped-walk", 3, 10, (1, 3))
    assert (header.ctrl_dtype, header.substeps, header.control_dt) == ("<f4", env.substeps, 0.02)
    assert [field.name for field in header.model_fields] == ["geom_friction", "body_mass", "body_inertia"]
    last = header.row[-1]
    assert header.row_size == last.start + last.size == mujoco.mj_stateSize(env.model, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    forces = next(field.start for field in header.row if field.name == "xfrc_applied")  # written after these rows were looked at
    for place, world in enumerate((1, 3)):
        keyframes = found.tracks[world].keyframes
        for keyframe in keyframes:
            assert keyframe.episode == int(episodes[keyframe.step][place])
            assert keyframe.row[:forces].tobytes() == rows[keyframe.step][place, :forces].numpy().tobytes()
        gaps = np.diff([keyframe.step for keyframe in keyframes])
        assert gaps.max() == 10
        begun = [k.step for k in keyframes if k.reason == Reason.BEGUN]
        assert begun == [s for s in range(1, 100) if int(episodes[s][place]) != int(episodes[s - 1][place])]
        assert keyframes[0].reason == Reason.WRITTEN  # the recorder came when the episode had begun
    assert len(found.tracks[1].change_steps) > 0


def test_writes_from_outside_become_keyframes(tmp_path: Path) -> None:
    env = paddock.make(pole_task(done={}, episode_s=9.0, randomize={"mass": t.Mass(1.0, 1.0, "pole")}), num_worlds=2)
    env.reset()
    with Recorder(env, tmp_path / "a.mcap", worlds=(0, 1)):
        for step in range(40):
            if step == 5:
                env.sim.write("qvel", torch.tensor([[1.0]]), some(env, 1))
            if step == 20:
                env.sim.write_model("body_mass", torch.tensor([[0.0, 3.0]], dtype=torch.float64), some(env, 0))
            env.step(env.sample())
    tracks = open_recording(tmp_path / "a.mcap").tracks
    assert [(k.step, k.reason) for k in tracks[0].keyframes] == [(0, Reason.WRITTEN), (20, Reason.WRITTEN)]
    assert [(k.step, k.reason) for k in tracks[1].keyframes] == [(0, Reason.WRITTEN), (5, Reason.WRITTEN)]
    assert tracks[0].keyframes[1].fields[0][1] == 3.0


def some(env: paddock.Environment, world: int) -> Worlds:
    return Worlds.where(torch.arange(env.num_worlds) == world, by_rows=True)


def test_loading_a_save_becomes_a_keyframe(tmp_path: Path) -> None:
    env = paddock.make(shaken(), num_worlds=1)
    env.reset()
    saved = env.save()
    with Recorder(env, tmp_path / "a.mcap"):
        for _ in range(2):
            for _ in range(10):
                env.step(env.sample())
            env.load(saved)
    track = open_recording(tmp_path / "a.mcap").tracks[0]
    assert [k.step for k in track.keyframes] == [0, 10]
    assert track.crc[:10].tobytes() == track.crc[10:].tobytes()


def test_viewers_find_joint_states_and_poses(tmp_path: Path) -> None:
    env = paddock.make(shaken(), num_worlds=2)
    seen: dict[int, np.ndarray] = {}
    with Recorder(env, tmp_path / "a.mcap", worlds=(0, 1)) as recorder:
        env.reset()
        for _ in range(50):
            limit = env.state.age.max() + 1 >= env.task.episode_steps
            env.step(torch.zeros(2, 12))
            if not limit:
                seen[round(recorder.steps * 0.02e9)] = env.sim.rows.numpy().copy()
    with (tmp_path / "a.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        joints = [(m.log_time, d) for _, _, m, d in reader.iter_decoded_messages(topics="/world_1/joint_states")]
        poses = [(m.log_time, d) for _, _, m, d in reader.iter_decoded_messages(topics="/tf")]
    assert [time for time, _ in joints] == [time for time, _ in poses] == [80_000_000 * i for i in range(1, 13)]
    for time, joint in joints:
        assert joint.name == list(env.task.robot.joints)
        assert joint.header.stamp.sec * 10**9 + joint.header.stamp.nanosec == time
        if time in seen:
            np.testing.assert_array_equal(joint.position, seen[time][1, 8:20])
            np.testing.assert_array_equal(joint.velocity, seen[time][1, 26:38])
    frames = poses[0][1].transforms
    assert [(f.header.frame_id, f.child_frame_id) for f in frames] == [("world", "world_0/trunk"), ("world", "world_1/trunk")]
    turn, place, row = frames[1].transform.rotation, frames[1].transform.translation, seen[poses[0][0]][1]
    assert [place.x, place.y, place.z, turn.w, turn.x, turn.y, turn.z] == row[1:8].tolist()
    times = [time for _, time, _ in messages(tmp_path / "a.mcap")]
    assert times == sorted(times)
    types = get_typestore(Stores.ROS2_JAZZY)
    data = next(data for topic, _, data in messages(tmp_path / "a.mcap") if topic == "/tf")
    decoded = types.deserialize_cdr(data, "tf2_msgs/msg/TFMessage")
    assert bytes(types.serialize_cdr(decoded, "tf2_msgs/msg/TFMessage")) == data


def test_written_follows_chunks_and_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = paddock.make(pole_task(), num_worlds=1)
    env.reset()
    with Recorder(env, tmp_path / "a.mcap") as recorder:
        for _ in range(5):
            env.step(env.sample())
        assert (recorder.steps, recorder.written) == (5, 0)
        recorder.flush()
        assert recorder.written == 5 == open_recording(tmp_path / "a.mcap").steps
        monkeypatch.setattr(recording, "PATIENCE_S", 0.0)
        env.step(env.sample())
        assert recorder.written == 6 == open_recording(tmp_path / "a.mcap").steps
        assert open_recording(tmp_path / "a.mcap").condition == "cut"


CHILD = """
import sys, paddock
from pathlib import Path
from test_recording import shaken
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


def test_mistakes_are_said(tmp_path: Path) -> None:
    env = paddock.make(pole_task(), num_worlds=2)
    for worlds in ((), (2,), (0, 0), (-1,)):
        with pytest.raises(PaddockError, match="2 worlds from 0 on"):
            Recorder(env, tmp_path / "a.mcap", worlds=worlds)
    with pytest.raises(PaddockError, match="at least 1"):
        Recorder(env, tmp_path / "a.mcap", keyframe_every=0)
    with Recorder(env, tmp_path / "a.mcap"), pytest.raises(PaddockError, match="one recorder at a time"):
        Recorder(env, tmp_path / "b.mcap")
    with pytest.raises(PaddockError, match="not written over"):
        Recorder(env, tmp_path / "a.mcap")
    with Recorder(env, tmp_path / "late.mcap"):
        env.sim.expand("body_mass")
        env.reset()
        with pytest.raises(PaddockError, match="expanded while"):
            env.step(env.sample())
    for seconds, episodes in ((None, None), (1.0, 2), (0.0, None), (None, -1)):
        with pytest.raises(PaddockError, match="give one of them"):
            record_episodes(env, random_agent, tmp_path / "c.mcap", seconds=seconds, episodes=episodes)
    sleepy = find_task("quadruped-walk").robot.spec()
    sleepy.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    robot = replace(find_task("quadruped-walk").robot, xml=sleepy.to_xml())
    with pytest.raises(PaddockError, match="fall asleep"):
        Recorder(paddock.make(shaken(robot=robot)), tmp_path / "d.mcap")


def test_episodes_are_counted_in_the_recorded_worlds(tmp_path: Path) -> None:
    steps = record_episodes(pole_task(done={}), random_agent, tmp_path / "a.mcap", episodes=3, worlds=(0, 1))
    assert steps == 30
    assert {k.episode for k in open_recording(tmp_path / "a.mcap").tracks[1].keyframes} == {0, 1, 2}


def test_a_robot_of_many_files_fits_into_one(tmp_path: Path) -> None:
    task = pole_task(robot=Robot(name="wedge", xml=wedge(tmp_path), joints=("hinge",)))
    found = recorded(tmp_path / "a.mcap", task, steps=5)
    assert list(found.assets) == ["wedge.obj"] and str(tmp_path) not in "".join(found.models.values())


def wedge(folder: Path) -> Path:
    """A robot whose shape lies in another folder."""
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "wedge.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    file = folder / "wedge.xml"
    file.write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh file="wedge.obj"/></asset><worldbody><body name="pole">'
        '<joint name="hinge" axis="0 1 0"/><geom type="mesh" mesh="wedge"/></body></worldbody>'
        '<actuator><motor name="hinge" joint="hinge" ctrlrange="-2 2"/></actuator>'
        '<sensor><jointpos name="joint_pos/hinge" joint="hinge"/><jointvel name="joint_vel/hinge" joint="hinge"/></sensor></mujoco>'
    )
    return file
