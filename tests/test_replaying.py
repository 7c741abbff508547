"""Replays: bit for bit from any keyframe, in any process; and everything that must fail does."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
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
from paddock.messages import to_json
from paddock.platforms import differences, libm_digest, this_platform
from paddock.playback import Playback, frames, recorded_model
from paddock.playing import random as random_agent
from paddock.playing import scripted
from paddock.recording import Recorder, record_episodes
from paddock.replaying import film, open_recording, replay, show
from paddock.runs.recordings import (
    CHANGE,
    HEADER_TOPIC,
    LOOK_FILE,
    MODEL_FILE,
    Keyframe,
    Reason,
    RecordingHeader,
    Steps,
    keyframes_topic,
    pack_keyframe,
    pack_steps,
    steps_topic,
    unpack_keyframe,
    unpack_steps,
)
from test_recording import chunks, rewritten, shaken, some, wedge

STEPS, EPISODE, EVERY = 260, 65, 20
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
    """Four episodes of a robot that stumbles, is pushed and is another machine each time; two of three worlds are recorded."""
    path = tmp_path_factory.mktemp("walk") / "walk.mcap"
    env = paddock.make(shaken(episode_s=EPISODE * 0.02, done={}), num_worlds=3, seed=5)
    with Recorder(env, path, worlds=(0, 2), keyframe_every=EVERY) as recorder:
        env.reset()
        for step in range(STEPS):
            env.step(0.7 * scripted(env) + 0.6 * env.sample())
            if step % 50 == 0:
                recorder.flush()
    return path


def edited(
    path: Path,
    out: Path,
    *,
    keyframe: Callable[[Keyframe], Keyframe] = lambda own: own,
    steps: Callable[[Steps], Steps] = lambda own: own,
) -> Path:
    """A copy in which world 0's keyframes or steps are changed, with every checksum of the file right."""
    header = open_recording(path).header

    def change(name: str, data: bytes) -> bytes:
        if name == keyframes_topic(0):
            return pack_keyframe(keyframe(unpack_keyframe(data, header)))
        return pack_steps(steps(unpack_steps(data, header))) if name == steps_topic(0) else data

    return rewritten(path, out, change)


def columns(header: RecordingHeader, name: str) -> slice:
    field = next(field for field in header.row if field.name == name)
    return slice(field.start, field.start + field.size)


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


def test_a_dropped_warm_start_is_noticed(walk: Path, tmp_path: Path) -> None:
    warm = columns(open_recording(walk).header, "qacc_warmstart")

    def cold(keyframe: Keyframe) -> Keyframe:
        row = keyframe.row.copy()
        row[warm] = 0.0
        return replace(keyframe, row=row)

    path = edited(walk, tmp_path / "cold.mcap", keyframe=cold)
    report = replay(path)
    assert (report.verdict, report.condition) == ("diverged", "complete")
    assert report.divergence is not None and report.divergence.field == "qacc_warmstart"
    due = [keyframe.step for keyframe in open_recording(path).tracks[0].keyframes if keyframe.reason == Reason.DUE]
    assert len(due) == 12
    assert {replay(walk, world=0, first=step, last=step + 5).verdict for step in due} == {"identical"}
    verdicts = [replay(path, world=0, first=step, last=step + 5).verdict for step in due]
    assert verdicts.count("diverged") > 6  # where nothing touches, a cold start does no harm
    assert replay(path, world=2).verdict == "identical"


def test_a_state_in_single_precision_is_noticed(walk: Path, tmp_path: Path) -> None:
    def rounded(keyframe: Keyframe) -> Keyframe:
        return replace(keyframe, row=keyframe.row.astype(np.float32).astype(np.float64))

    path = edited(walk, tmp_path / "rounded.mcap", keyframe=rounded)
    report = replay(path, world=0, first=EVERY, last=EVERY + 15)
    assert report.verdict == "diverged" and report.divergence is not None and report.divergence.step == EVERY


def test_one_bit_of_one_input_is_noticed(walk: Path, tmp_path: Path) -> None:
    def bent(steps: Steps) -> Steps:
        if not steps.first <= 100 < steps.first + len(steps.crc):
            return steps
        ctrl = steps.ctrl.copy()
        ctrl[100 - steps.first].view(np.uint32)[3] ^= 1
        return replace(steps, ctrl=ctrl)

    report = replay(edited(walk, tmp_path / "bent.mcap", steps=bent))
    assert report.verdict == "diverged" and report.verified == 100 + STEPS
    found = report.divergence
    assert found is not None and (found.world, found.episode, found.step, found.step_of_episode) == (0, 1, 100, 35)
    assert found.field is not None and found.difference is not None and found.difference > 0


def test_nominal_model_fields_are_noticed(walk: Path, tmp_path: Path) -> None:
    recording = open_recording(walk)
    nominal = recorded_model(recording, MODEL_FILE)
    for place, field in enumerate(recording.header.model_fields):

        def forgotten(keyframe: Keyframe, place: int = place, name: str = field.name) -> Keyframe:
            fields = list(keyframe.fields)
            fields[place] = getattr(nominal, name)
            return replace(keyframe, fields=tuple(fields))

        report = replay(edited(walk, tmp_path / f"{field.name}.mcap", keyframe=forgotten))
        assert report.verdict == "diverged", field.name

    def constants(keyframe: Keyframe) -> Keyframe:
        return replace(keyframe, constants=False)

    assert replay(edited(walk, tmp_path / "constants.mcap", keyframe=constants)).verdict == "diverged"


def test_forgotten_pushes_are_noticed(walk: Path, tmp_path: Path) -> None:
    def unpushed(steps: Steps) -> Steps:
        return replace(steps, changes=np.zeros(0, CHANGE))

    report = replay(edited(walk, tmp_path / "unpushed.mcap", steps=unpushed))
    assert report.verdict == "diverged"
    assert report.divergence is not None and report.divergence.step == open_recording(walk).tracks[0].change_steps[0]


def test_another_model_is_corrupt_and_is_not_run(walk: Path, tmp_path: Path) -> None:
    def heavier(name: str, data: bytes) -> bytes:
        return data.replace(b"implicitfast", b"implicit") if name == MODEL_FILE else data

    report = replay(rewritten(walk, tmp_path / "model.mcap", heavier))
    assert (report.verdict, report.condition, report.verified) == ("corrupt", "damaged", 0)
    assert "model.xml is not what was recorded" in report.missing
    with pytest.raises(PaddockError, match="not the one that was recorded"):
        Playback(open_recording(tmp_path / "model.mcap"), 0)


def test_a_damaged_file_is_judged_by_what_is_left(walk: Path, tmp_path: Path) -> None:
    content = bytearray(walk.read_bytes())
    place = chunks(content)[4] + 500
    content[place] ^= 1
    (tmp_path / "damaged.mcap").write_bytes(content)
    report = replay(tmp_path / "damaged.mcap")
    assert report.verdict == "corrupt" and 0 < report.verified == report.recorded < 2 * STEPS
    (tmp_path / "cut.mcap").write_bytes(content[:place])
    left = replay(tmp_path / "cut.mcap")
    assert (left.verdict, left.condition, left.verified, left.recorded) == ("identical", "cut", report.verified, report.recorded)


def test_another_platform_is_blamed_only_for_a_difference(walk: Path, tmp_path: Path) -> None:
    here = this_platform()
    there = replace(here, cpu="Another 9000", cpu_flags=(*here.cpu_flags, "magic"), libm="0")
    assert len(differences(there, here)) == 3 and differences(here, here) == ()

    def moved(name: str, data: bytes) -> bytes:
        if name != HEADER_TOPIC:
            return data
        header = json.loads(data)
        return json.dumps(header | {"platform": json.loads(to_json(there))}).encode()

    path = rewritten(walk, tmp_path / "moved.mcap", moved)
    report = replay(path)
    assert report.verdict == "identical" and len(report.differences) == 3
    colder = edited(path, tmp_path / "colder.mcap", keyframe=lambda own: replace(own, row=own.row * (1 + 1e-12)))
    report = replay(colder)
    assert report.verdict == "different platform" and any("lacks magic" in line for line in report.differences)


def test_a_motion_that_drifts_is_led_back_by_keyframes(walk: Path, tmp_path: Path) -> None:
    """As on another platform, where steps differ and keyframes are the truth."""
    bent = edited(walk, tmp_path / "bent.mcap", steps=lambda own: replace(own, ctrl=own.ctrl * 0.5))
    playback, truth = Playback(open_recording(bent), 0), Playback(open_recording(walk), 0)
    for step in (3 * EVERY - 1, 3 * EVERY):
        playback.seek(0)
        while playback.position < step:
            playback.advance()
        playback.enter()
        truth.seek(step)
        assert (playback.row.tobytes() == truth.row.tobytes()) == (step == 3 * EVERY)


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
    task = pole_task(done={}, episode_s=9.0, randomize={"mass": t.Mass(0.5, 2.0, "pole")})
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


def test_a_report_is_for_people(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(replay(walk))
    said = capsys.readouterr().out
    assert "identical" in said and f"{2 * STEPS} of {2 * STEPS} verified in worlds 0, 2" in said
    bent = edited(walk, tmp_path / "bent.mcap", steps=lambda own: replace(own, ctrl=own.ctrl * 0.5))
    show(replay(bent))
    said = capsys.readouterr().out
    assert "diverged" in said and "world 0, episode 0, step 0" in said and "is off by" in said
