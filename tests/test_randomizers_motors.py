"""Strength, servo gains, gears and delays: what a command becomes differs by what each world drew."""

from typing import Any

import pytest
import torch

import paddock
from paddock import terms as t
from paddock.errors import PaddockError
from randomizer_rig import CONTROL_DT, GRAVITY, LOAD, RIG, TURN, WHEEL, Z, drawn, load_height, near, rig, run, wheel_speed

FULL = (0.0, 1.0)


def test_a_stronger_motor_turns_the_wheel_faster() -> None:
    env = run(t.MotorStrength((0.5, 2.0)), action=FULL, steps=4)
    near(env.state.qvel[:, TURN], wheel_speed(4, torque=drawn(env)[:, 0] * WHEEL["torque"]))


def test_a_weak_servo_cannot_hold_the_load() -> None:
    env = run(t.MotorStrength(t.Choice((0.2, 0.3)), ("z",)), steps=100)
    is_weak = drawn(env)[:, 0] < 0.25  # at most 8 N against a weight of 9.81 N; the other has 12 N
    near(env.state.qvel[is_weak, Z], torch.tensor((0.2 * 40 - GRAVITY) / 2.0), rtol=0.02)
    near(env.state.qpos[~is_weak, Z], torch.tensor(-GRAVITY / LOAD["stiffness"]))


def test_stiffness_changes_how_far_the_load_sags_and_not_the_set_point() -> None:
    low = run(t.ServoGains((0.5, 2.0)), action=(0.0, 0.0), steps=150)
    high = run(t.ServoGains((0.5, 2.0)), action=(0.5, 0.0), steps=150)
    near(low.state.qpos[:, Z], -GRAVITY / (drawn(low)[:, 0] * LOAD["stiffness"]))
    near(high.state.qpos[:, Z] - low.state.qpos[:, Z], torch.tensor(0.5))


def test_damping_of_a_servo_slows_its_way() -> None:
    env = run(t.ServoGains(damping=(0.5, 3.0)), action=(0.15, 0.0), steps=4)  # at most 30 N, within the limit
    expected = load_height(4, target=0.15, damping=drawn(env)[:, 1] * LOAD["damping"])
    near(env.state.qpos[:, Z], expected)
    assert expected.max() - expected.min() > 0.01


def test_a_gear_turns_ratio_into_torque_and_felt_inertia() -> None:
    env = run(t.GearRatio((0.5, 2.0)), action=FULL, steps=2)
    ratio = drawn(env)[:, 0]
    near(env.state.qvel[:, TURN], wheel_speed(2, torque=ratio * WHEEL["torque"], armature=ratio**2 * WHEEL["armature"]))


def test_a_command_arrives_as_late_as_was_drawn() -> None:
    env = run(t.CommandDelay(t.Choice((0.0, 0.01, 0.04, 0.1))), action=FULL, steps=6)
    near(env.state.qvel[:, TURN], wheel_speed(6, delay=drawn(env)[:, 0]))


def test_a_sensor_reports_as_late_as_was_drawn() -> None:
    env = run(t.SensorDelay(t.Choice((0.0, 0.02, 0.06))), action=FULL, steps=0)
    seen = [env.state.sensor("joint_pos/turn").clone()]
    for _ in range(6):
        env.step(torch.tensor([FULL] * 8))
        seen.append(env.state.sensor("joint_pos/turn").clone())
    steps = (drawn(env)[:, 0] / CONTROL_DT).round().long()
    late = torch.stack(seen)[len(seen) - 1 - steps, torch.arange(8)]
    near(env.state.sensor("late"), late, rtol=1e-5)


@pytest.mark.parametrize(
    ("randomizer", "said"),
    [
        (t.CommandDelay((0.0, 0.2)), 'turn keeps too short a history for 0.2 s. Declare delay="0.002" nsample="101"'),
        (t.CommandDelay((0.0, 0.02), ("z",)), "z keeps too short a history"),
        (t.SensorDelay((0.0, 0.02), ("joint_pos/z",)), "joint_pos/z keeps too short a history"),
        (t.ServoGains(2.0, actuators=("turn",)), "turn: no position servo"),
        (t.GearRatio(2.0, ("z",)), "whose set point would move"),
        (t.MotorStrength(2.0, ("trun",)), "unknown actuator 'trun'. Did you mean 'turn'"),
    ],
)
def test_what_a_model_cannot_do_is_refused(randomizer: Any, said: str) -> None:
    with pytest.raises(PaddockError, match=said):
        paddock.make(rig(randomize={"it": randomizer}))


def test_what_would_change_nothing_is_refused() -> None:
    without_limit = RIG.replace(' forcerange="-40 40"', "")
    with pytest.raises(PaddockError, match="servo 'z' has no force limit"):
        paddock.make(rig(randomize={"it": t.MotorStrength(2.0)}, xml=without_limit))
    with pytest.raises(PaddockError, match="no actuator has a gear other than 1"):
        paddock.make(rig(randomize={"it": t.GearRatio(2.0)}, xml=RIG.replace(' gear="5"', "")))
    with pytest.raises(PaddockError, match="no damping of their own"):
        paddock.make(rig(randomize={"it": t.ServoGains(damping=2.0)}, xml=RIG.replace(' kv="20"', "")))
