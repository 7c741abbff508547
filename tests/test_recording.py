"""Recordings: what is in them, and who may write one."""

from collections import Counter
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import lz4.frame
import mujoco
import numpy as np
import pytest
import torch
from mcap.data_stream import ReadDataStream
from mcap.reader import make_reader
from mcap.records import Chunk, Message, MessageIndex
from mcap_ros2.decoder import DecoderFactory
from rosbags.typesys import Stores, get_typestore

import paddock
from models import pole_task
from paddock import Robot, recording
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.playing import random as random_agent
from paddock.recording import Recorder, record_episodes
from paddock.runs.recording_reader import open_recording
from paddock.runs.recordings import Reason
from paddock.tasks.finding import find_task
from recording_samples import messages, recorded, shaken, some, wedge


def test_equal_seeds_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "PATIENCE_S", 1e9)  # where blocks end must not depend on how busy this machine is
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
    env = paddock.make(pole_task(done={}, episode_s=9.0, randomize={"mass": t.Mass(1.0, "pole")}), num_worlds=2)
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


def test_the_index_leads_to_every_message(tmp_path: Path) -> None:
    recorded(tmp_path / "a.mcap", worlds=(0, 2))
    written = messages(tmp_path / "a.mcap")
    found: list[tuple[str, int, bytes]] = []
    with (tmp_path / "a.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None and summary.statistics is not None
        for index in summary.chunk_indexes:
            file.seek(index.chunk_start_offset + 9)
            chunk = lz4.frame.decompress(Chunk.read(ReadDataStream(file)).data)
            for channel, offset in index.message_index_offsets.items():
                file.seek(offset + 9)
                for time, place in MessageIndex.read(ReadDataStream(file)).records:
                    size = int.from_bytes(chunk[place + 1 : place + 9], "little")
                    message = Message.read(ReadDataStream(BytesIO(chunk[place + 9 : place + 9 + size])), size)
                    assert (message.channel_id, message.log_time) == (channel, time)
                    found.append((summary.channels[channel].topic, time, message.data))
    assert sorted(found) == sorted(written) and len(summary.chunk_indexes) > 1
    counts = {summary.channels[channel].topic: n for channel, n in summary.statistics.channel_message_counts.items()}
    assert counts == Counter(topic for topic, _, _ in written)
    assert (summary.statistics.message_count, summary.statistics.message_end_time) == (len(written), written[-1][1])


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
