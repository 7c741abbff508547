"""Replays: bit for bit from any keyframe, in any process, whatever happened to the worlds."""

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch
from PIL import Image

import paddock
from models import POLE, pole_task
from paddock import Robot
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.platforms import libm_digest
from paddock.playback import Playback, frames, recorded_model
from paddock.playing import random as random_agent
from paddock.recording import Recorder, record_episodes
from paddock.replaying import film, open_recording, replay
from paddock.runs.recordings import (
    LOOK_FILE,
    MODEL_FILE,
    Reason,
)
from recording_samples import STEPS, columns, recorded_walk, shaken, some, wedge

HIDE_FMA = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"
REPLAY = """
import sys
from pathlib import Path
from paddock.platforms import libm_digest
from paddock.replaying import replay
report = replay(Path(sys.argv[1]))
print(libm_digest(), report.verdict, report.verified, report.differences)
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_walk(tmp_path_factory.mktemp("walk") / "walk.mcap")


def test_everything_happens_again(walk: Path) -> None:
    heard: list[int] = []
    report = replay(walk, advance=heard.append)
    assert (report.verdict, report.condition, report.verified, report.recorded) == ("identical", "complete", 2 * STEPS, 2 * STEPS)
    assert sum(heard) == 2 * STEPS and report.divergence is None and report.differences == ()
    tracks = open_recording(walk).tracks
    assert report.keyframes == sum(len(track.keyframes) for track in tracks.values())
    for track in tracks.values():
        assert {k.reason for k in track.keyframes} == {Reason.BEGUN, Reason.DUE}
        assert len({k.fields[1].tobytes() for k in track.keyframes}) == 4  # a mass for each episode
        assert len(track.change_steps) > 50


def test_it_happens_again_from_every_keyframe(walk: Path) -> None:
    for keyframe in open_recording(walk).tracks[2].keyframes:
        report = replay(walk, world=2, first=keyframe.step, last=keyframe.step + 15)
        assert report.verdict == "identical" and report.verified == min(15, STEPS - keyframe.step)


def test_it_happens_again_in_other_processes(walk: Path) -> None:
    def start(**environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", REPLAY, str(walk)], stdout=subprocess.PIPE, text=True, env=os.environ | environment
        )

    plain, hidden = start(), start(GLIBC_TUNABLES=HIDE_FMA)
    said, other = plain.communicate()[0], hidden.communicate()[0]
    assert said == f"{libm_digest()} identical {2 * STEPS} ()\n"
    if other.startswith(libm_digest()):
        pytest.skip("this C library computes the same without fused multiply-adds, so there is no other platform to test on")
    assert " different platform " in other and "end in other bits" in other


def test_seek_rewind_and_seek_again(walk: Path) -> None:
    recording = open_recording(walk)
    straight = Playback(recording, 0)
    rows = []
    for step in range(STEPS):
        straight.seek(step)
        rows.append(straight.row.tobytes())
    assert straight.executed == STEPS - len(straight.track.keyframes)  # none leads to where a keyframe is
    playback = Playback(recording, 0)
    for step in (130, 65, 200, 66, 0, STEPS - 1, 64, 65, 66):
        assert playback.seek(step)
        assert playback.row.tobytes() == rows[step], step
        ran = playback.executed
        assert playback.seek(step) and playback.executed == ran
    before = playback.executed
    playback.seek(79)
    assert playback.executed - before == 13  # 66 is nearer than the keyframe at 65
    playback.seek(78)
    assert playback.executed - before == 13 + 13  # but there is no way back except by the keyframe
    while playback.position < STEPS:
        assert playback.advance()
    with pytest.raises(PaddockError, match=f"which has {STEPS} steps"):
        playback.seek(STEPS + 1)


def test_frames_are_what_the_environment_showed(tmp_path: Path) -> None:
    env = paddock.make(shaken(), num_worlds=1, seed=9)
    env.reset()
    seen = []
    with Recorder(env, tmp_path / "a.mcap"):
        for _ in range(100):
            seen.append((int(env.episode[0]), env.state.qpos[0].tolist(), env.state.qvel[0].tolist()))
            env.step(env.sample())
    found = list(frames(open_recording(tmp_path / "a.mcap"), first=10, last=99, every=3))
    assert [frame.step for frame in found] == list(range(10, 100, 3))
    for frame in found:
        shown = frame.episode, frame.qpos.astype(np.float32).tolist(), frame.qvel.astype(np.float32).tolist()
        assert shown == seen[frame.step]


def test_a_film_shows_the_robot_as_it_looks(tmp_path: Path) -> None:
    record_episodes("quadruped-walk", random_agent, tmp_path / "a.mcap", seconds=0.12, worlds=(0, 1))
    recording = open_recording(tmp_path / "a.mcap")
    look, lean = (recorded_model(recording, name) for name in (LOOK_FILE, MODEL_FILE))
    assert look.ngeom > lean.ngeom and look.nq == lean.nq
    assert film(tmp_path / "a.mcap", tmp_path / "a.gif", world=1) == 4
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) == 4
        assert np.asarray(image.convert("RGB")).std() > 10


def test_worlds_that_break_break_again(tmp_path: Path) -> None:
    """The engine resets a world that diverges in the middle of a step, inputs and all."""
    env = paddock.make(shaken(), num_worlds=2)
    env.reset()
    failed = []
    with Recorder(env, tmp_path / "a.mcap", worlds=(0, 1)):
        for step in range(30):
            if step == 16:  # while pushed
                env.sim.write("qvel", torch.full((1, 18), 1e9), some(env, 1))
            failed.append(env.step(env.sample()).failed.tolist())
    assert failed[16] == [False, True] and sum(map(sum, failed)) == 1
    report = replay(tmp_path / "a.mcap")
    assert (report.verdict, report.verified) == ("identical", 60)


@pytest.mark.parametrize(("boxes", "is_fatal"), [(16, True), (40, False)])
def test_worlds_that_the_engine_gives_up_on_are_given_up_again(tmp_path: Path, boxes: int, is_fatal: bool) -> None:
    """Boxes in one place have more contacts than the arena holds: the engine stops, or goes on without them."""
    pile = "".join(f'<body pos="{3 * i} 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for i in range(boxes))
    robot = Robot(name="pile", xml=POLE.replace("</worldbody>", f"{pile}</worldbody>"), joints=("hinge",))
    env = paddock.make(pole_task(robot=robot, done={}), num_worlds=2)
    env.reset()
    heap = env.sim.qpos[:1].clone()
    heap[:, 1:] = torch.tensor([0.0, 0.0, 5.0, 1.0, 0.0, 0.0, 0.0]).repeat(boxes)
    with Recorder(env, tmp_path / "a.mcap", worlds=(0, 1)):
        env.step(env.sample())
        env.sim.write("qpos", heap, some(env, 1))
        assert env.step(env.sample()).failed.tolist() == [False, True]
        for _ in range(5):
            env.step(env.sample())
    report = replay(tmp_path / "a.mcap")
    assert (report.verdict, report.verified) == ("identical", 14)
    data = mujoco.MjData(env.model)
    data.qpos[:] = heap[0].numpy()
    with pytest.raises(mujoco.FatalError) if is_fatal else nullcontext():
        mujoco.mj_step(env.model, data)


@pytest.mark.parametrize("integrator", ["RK4", "implicitfast"])
def test_every_kind_of_input_is_replayed(tmp_path: Path, integrator: str) -> None:
    """Mocap bodies, generalised forces, activations, delays, gravity and stiffness that differ: whatever a row or a field holds."""
    xml = (
        POLE.replace('timestep="0.01"', f'timestep="0.01" integrator="{integrator}"')
        .replace('ctrlrange="-2 2"/>', 'ctrlrange="-2 2" delay="0.03" nsample="4"/>')
        .replace("<worldbody>", '<worldbody><body name="hand" mocap="true"><geom size=".05"/></body>')
        .replace('<body name="pole">', '<body name="pole" pos=".1 0 .1">')
        .replace('joint="hinge"/><jointvel', 'joint="hinge" delay="0.02" nsample="3"/><jointvel')
    )
    env = paddock.make(pole_task(robot=Robot(name="pole", xml=xml, joints=("hinge",)), done={}, episode_s=1.0), num_worlds=2)
    for name in ("opt.gravity", "jnt_stiffness"):
        env.sim.expand(name)
    env.reset()
    draw = torch.Generator().manual_seed(0)
    with Recorder(env, tmp_path / "a.mcap", worlds=(1,), keyframe_every=13):
        for step in range(120):
            env.sim.write("mocap_pos", torch.randn(2, 1, 3, generator=draw) * 0.2)
            if step % 5 == 0:
                env.sim.write("qfrc_applied", torch.randn(2, 1, generator=draw) * 0.1)
            if step % 31 == 0:
                env.sim.write_model("opt.gravity", torch.randn(1, 3, generator=draw).double(), some(env, 1))
                env.sim.write_model("jnt_stiffness", torch.rand(1, 1, generator=draw).double(), some(env, 1))
            env.step(env.sample())
    recording = open_recording(tmp_path / "a.mcap")
    history = columns(recording.header, "history")
    assert history.stop > history.start and replay(tmp_path / "a.mcap").verified == 120
    assert replay(tmp_path / "a.mcap").verdict == "identical"
    changed = set(recording.tracks[1].change_columns.tolist())
    for name in ("mocap_pos", "qfrc_applied"):
        own = columns(recording.header, name)
        assert changed & set(range(own.start, own.stop))


def test_a_robot_of_many_files_is_replayed_without_them(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    task = pole_task(robot=Robot(name="wedge", xml=wedge(folder), joints=("hinge",)), done={})
    record_episodes(task, random_agent, tmp_path / "a.mcap", seconds=1.0)
    shutil.rmtree(folder)
    assert replay(tmp_path / "a.mcap").verdict == "identical"


@pytest.mark.parametrize("name", ["cartpole-swingup", "gym-ant", "quadruped-balance"])
def test_tasks_as_they_are(tmp_path: Path, name: str) -> None:
    record_episodes(name, random_agent, tmp_path / "a.mcap", seconds=4.0, worlds=(0, 1))
    assert replay(tmp_path / "a.mcap").verdict == "identical"


def test_drawn_but_unused_mass_is_recorded_once(tmp_path: Path) -> None:
    """A field that never changes costs one keyframe, not one each step."""
    task = pole_task(done={}, episode_s=9.0, randomize={"mass": t.Mass((0.5, 2.0), "pole")})
    record_episodes(task, random_agent, tmp_path / "a.mcap", seconds=4.0, keyframe_every=50)
    assert [k.step for k in open_recording(tmp_path / "a.mcap").tracks[0].keyframes] == [0, 50, 100, 150]


def test_mistakes_are_said(walk: Path, tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="world 1 is not in .*Recorded: 0, 2"):
        replay(walk, world=1)
    with pytest.raises(PaddockError, match="world None is not in"):
        Playback(open_recording(walk))
    with pytest.raises(PaddockError, match=f"has the steps 0 to {STEPS - 1}"):
        replay(walk, first=STEPS)
    env = paddock.make(pole_task())
    with Recorder(env, tmp_path / "none.mcap"):
        env.reset()
    with pytest.raises(PaddockError, match="holds no step"):
        replay(tmp_path / "none.mcap")
