"""Redraws within an episode: felt by the physics, for each world at its own time, and recorded, saved and resumed to the bit."""

from pathlib import Path
from typing import Any

import pytest
import torch

import paddock
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.recording import Recorder
from paddock.replaying import open_recording, replay
from paddock.runs.recordings import Reason
from paddock.tasks.randomize_presets import with_randomization
from randomizer_rig import BALL_Z, CONTROL_DT, DT, GRAVITY, TURN, WHEEL, near, rig

STEPS = 5
"""Control steps from one draw to the next."""
STILL = torch.zeros(4, 2)


def every(*randomizers: Any, **changes: Any) -> paddock.Environment:
    drawn = {name: t.Every(STEPS * CONTROL_DT, one) for name, one in zip("abc", randomizers, strict=False)}
    env = paddock.make(rig(randomize=drawn | changes.pop("others", {}), **changes), num_worlds=4, seed=2)
    env.reset()
    return env


def test_a_falling_ball_feels_each_draw_of_gravity_for_as_long_as_it_lasts() -> None:
    env = every(t.Gravity((0.5, 1.5)))
    seen = [env.state.params["a"].clone()]
    for step in range(4 * STEPS):
        before = env.state.qvel[:, BALL_Z].clone()
        env.step(STILL)
        factor = env.state.params["a"][:, 0]
        near(env.state.qvel[:, BALL_Z] - before, -GRAVITY * factor * CONTROL_DT, rtol=1e-4)
        if step % STEPS == 0 and step:
            seen.append(env.state.params["a"].clone())
        assert torch.equal(env.state.params["a"], seen[-1])
    assert len(torch.cat(seen).unique()) == 16  # four worlds, four draws each, none of them twice


def test_the_first_draw_is_the_randomisers_own_and_a_batch_is_no_matter() -> None:
    plain = paddock.make(rig(randomize={"a": t.Gravity((0.5, 1.5))}), num_worlds=4, seed=2)
    plain.reset()
    env, many = every(t.Gravity((0.5, 1.5))), paddock.make(every(t.Gravity((0.5, 1.5))).task, num_worlds=9, seed=2)
    assert torch.equal(env.state.params["a"], plain.state.params["a"])
    many.reset()
    for _ in range(2 * STEPS + 1):
        env.step(STILL)
        many.step(torch.zeros(9, 2))
    assert torch.equal(env.state.params["a"], many.state.params["a"][:4])
    assert torch.equal(env.state.qpos, many.state.qpos[:4])


def test_worlds_draw_at_their_own_time_and_what_others_drew_stays() -> None:
    """Gains and strength write one field: a redraw of one starts from nominal and keeps the other's draw of this episode."""
    env = every(t.ServoGains(t.Around(0.5)), others={"strength": t.MotorStrength((0.5, 2.0))})
    env.step(STILL)
    env.state.age[1] = STEPS  # as if it had begun earlier
    before = {name: value.clone() for name, value in {**env.state.params, **env.sim.model_fields}.items()}
    env.step(STILL)
    after = {**env.state.params, **env.sim.model_fields}
    for name, value in after.items():
        assert torch.equal(value[[0, 2, 3]], before[name][[0, 2, 3]])
    assert not torch.equal(after["a"][1], before["a"][1]) and torch.equal(after["strength"], before["strength"])
    servo, motor = env.sim.model_fields["actuator_gainprm"][1, :, 0].tolist()
    assert servo == pytest.approx(200.0 * float(after["a"][1, 0])) and motor == pytest.approx(float(after["strength"][1, 0]))


def test_commands_come_as_late_as_the_draw_of_the_moment_says() -> None:
    env = every(t.CommandDelay(t.Choice((0.0, 0.1))), episode_s=4.0)
    commands = (torch.rand(60, 4, generator=torch.Generator().manual_seed(3)) > 0.5).float() * 2 - 1
    slowed = (1 + DT * WHEEL["damping"] / (WHEEL["inertia"] + WHEEL["armature"])) ** -(CONTROL_DT / DT)
    delays = []
    for step, command in enumerate(commands):
        before = env.state.qvel[:, TURN].clone()
        env.step(torch.stack([torch.zeros(4), command], dim=1))
        late = (env.state.params["a"][:, 0] / CONTROL_DT).round().long()
        delays.append(late)
        if step >= 10:  # the torque is fifty times the dry friction, so its sign is that of the command
            felt = (env.state.qvel[:, TURN] - slowed * before).sign()
            assert torch.equal(felt, commands[step - late, torch.arange(4)])
    assert {tuple(world.unique().tolist()) for world in torch.stack(delays).T} == {(0, 5)}


def test_a_recording_holds_every_redraw_and_a_save_goes_on_with_them(tmp_path: Path) -> None:
    env = every(
        t.Gravity((0.5, 1.5)), t.Friction((0.3, 1.5)), others={"mass": t.Mass((0.5, 2.0))}, scene=t.flat_floor, episode_s=0.6
    )
    env.reset()
    actions = torch.rand(45, 4, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1
    saved: dict[str, torch.Tensor] = {}
    with Recorder(env, tmp_path / "redrawn.mcap", worlds=(0, 3), keyframe_every=100) as recorder:
        for step, action in enumerate(actions):
            if step == 17:
                saved = env.save()
            env.step(action)
        assert recorder.steps == 45
    report = replay(tmp_path / "redrawn.mcap")
    assert report.verdict == "identical" and report.verified == 90
    keyframes = open_recording(tmp_path / "redrawn.mcap").tracks[0].keyframes
    written = [keyframe.step for keyframe in keyframes if keyframe.reason == Reason.WRITTEN]
    assert written == [0, 5, 10, 15, 20, 25, 35, 40]  # an episode has 30 steps
    expected = {name: value.clone() for name, value in env.save().items()}
    env.load(saved)
    for action in actions[17:]:
        env.step(action)
    assert all(torch.equal(value, expected[name]) for name, value in env.save().items())


def test_what_cannot_be_drawn_within_an_episode_is_refused_by_name() -> None:
    refused: list[tuple[Any, str]] = [
        (t.Mass((0.5, 2.0)), "Mass writes body_mass, body_inertia, from which the engine derives constants"),
        (t.Push(body="ball", newtons=1.0, every_s=1.0), "a push comes again by itself"),
        (t.Tint((0.5, 1.0)), "looks are drawn when an episode begins"),
        (t.Every(1.0, t.Gravity((0.5, 1.0))), "Every is no randomiser of the model"),
    ]
    for inner, why in refused:
        with pytest.raises(PaddockError, match=why):
            t.Every(2.0, inner)
    with pytest.raises(PaddockError, match="a period of 0.0 s is none"):
        t.Every(0.0, t.Gravity((0.5, 1.0)))


def test_the_command_line_changes_the_range_of_what_is_drawn_again() -> None:
    task = with_randomization(rig(randomize={"gravity": t.Every(1.0, t.Gravity((0.5, 1.0)))}), "own,gravity=0.9:1.1")
    assert task.randomize["gravity"] == t.Every(1.0, t.Gravity((0.9, 1.1)))


def test_the_scale_of_noise_may_be_drawn_again() -> None:
    noisy = {"joint_pos": t.Gaussian(0.1)}
    env = every(t.NoiseScale((0.5, 2.0)), noise=noisy)
    assert env.task.readings.scales == ("a",)
    first = env.state.params["a"].clone()
    for _ in range(STEPS + 1):
        env.step(STILL)
    assert not torch.equal(first, env.state.params["a"])
