"""Motors, by what they do: each claim measured on a wheel whose motion can be computed by hand."""

import dataclasses
import math
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from motor_rig import INERTIA, arrays_apart, run, torque_at, wheel, wheel_task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.robots import GEARBOXES, MOTORS, Gearbox, JointFriction, Motor
from paddock.sims.model import compile_text, model_text
from paddock.sims.older_engine import for_mujoco_3_14

DC = Motor(stall_torque=2.0, no_load_speed=40.0)
IDEAL = Motor(stall_torque=2.0)
ACTS = {"torque": t.JointTorque(), "position": t.JointPosition(), "velocity": t.JointVelocity()}


def test_stall_torque_and_no_load_speed_lie_on_the_curve() -> None:
    model, data = wheel(DC)
    for speed in (0.0, 10.0, 30.0, 40.0):
        assert torque_at(model, 2.0, speed=speed) == pytest.approx(2.0 * (1 - speed / 40.0), abs=1e-9)
    assert torque_at(model, 2.0, speed=-20.0) == pytest.approx(2.0, abs=1e-9)  # braking it does what it is asked to
    assert torque_at(model, 0.5, speed=20.0) == pytest.approx(0.5, abs=1e-9)  # below the curve, too
    run(model, data, 20.0, wheel=2.0)
    assert data.qvel[0] == pytest.approx(40.0, rel=1e-3)


def test_a_motor_without_back_emf_gives_its_torque_at_any_speed() -> None:
    model, _ = wheel(IDEAL)
    assert [torque_at(model, ctrl, speed=1000.0) for ctrl in (-5.0, 1.0, 5.0)] == [-2.0, 1.0, 2.0]


def test_torque_rises_with_the_electrical_time_constant() -> None:
    model, data = wheel(replace(DC, lag=0.05, no_load_speed=1e5), timestep=0.0005)
    run(model, data, 0.05, wheel=1.0)
    assert data.actuator_force[0] == pytest.approx(1 - math.exp(-1), rel=0.01)
    run(model, data, 0.45)
    assert data.actuator_force[0] == pytest.approx(1.0, rel=1e-3)


def test_a_current_limit_caps_torque_and_not_the_current_behind_a_lag() -> None:
    limited = replace(DC, torque_limit=0.5, lag=0.01)
    model, _ = wheel(limited)
    assert torque_at(model, 9.0) == pytest.approx(0.5)  # the range of ctrl already says so
    # a loop asks for more than the limit: its torque is capped, the current in the coils is the supply's
    model, data = wheel(limited, t.JointPosition(), gains=(100.0, 0.0))
    data.ctrl[0] = 1.0
    for _ in range(500):
        data.qpos[0] = data.qvel[0] = 0.0
        mujoco.mj_step(model, data)
    assert data.actuator_force[0] == pytest.approx(0.5)
    ampere_per_newton_metre = limited.joint_speed / limited.voltage
    assert data.act[0] == pytest.approx(2.0 * ampere_per_newton_metre, rel=0.01)


def test_saturation_is_the_motors_whatever_the_loop_asks() -> None:
    for motor, most in ((DC, 2.0), (IDEAL, 2.0), (replace(IDEAL, torque_limit=0.7), 0.7)):
        model, _ = wheel(motor, t.JointPosition(), gains=(1000.0, 1.0))
        assert torque_at(model, 100.0, seconds=0.001) == pytest.approx(most)
        assert torque_at(model, -100.0, seconds=0.001) == pytest.approx(-most)


@pytest.mark.parametrize("motor", [DC, IDEAL], ids=["dc", "ideal"])
def test_a_position_loop_stands_at_its_target_with_its_stiffness(motor: Motor) -> None:
    model, data = wheel(motor, t.JointPosition(), gains=(8.0, 1.5))
    run(model, data, 5.0, wheel=0.3)
    assert data.qpos[0] == pytest.approx(0.3, abs=1e-6)
    data.qfrc_applied[0] = 0.4
    run(model, data, 5.0)
    assert data.qpos[0] - 0.3 == pytest.approx(0.4 / 8.0, rel=1e-6)


@pytest.mark.parametrize("motor", [DC, IDEAL], ids=["dc", "ideal"])
def test_a_velocity_loop_holds_its_speed(motor: Motor) -> None:
    model, data = wheel(motor, t.JointVelocity(), gains=(0.0, 0.5))
    run(model, data, 5.0, wheel=10.0)
    assert data.qvel[0] == pytest.approx(10.0, rel=1e-6)
    data.qfrc_applied[0] = -0.5
    run(model, data, 5.0)
    assert data.qvel[0] == pytest.approx(10.0 - 0.5 / 0.5, rel=1e-6)


def test_a_velocity_loop_without_motors_or_without_gain() -> None:
    model, data = wheel(None, t.JointVelocity(), gains=(0.0, 0.5))
    run(model, data, 5.0, wheel=1.0)
    assert data.qvel[0] == pytest.approx(1.0, rel=1e-6)
    run(model, data, 0.001, wheel=1000.0)
    assert data.actuator_force[0] == 3.0  # as strong as the motor it replaces
    with pytest.raises(PaddockError, match="no damping in its gains"):
        wheel(DC, t.JointVelocity())


@pytest.mark.parametrize(("timestep", "delay", "steps"), [(0.001, 0.003, 3), (0.002, 0.01, 5), (0.005, 0.01, 2), (0.005, 0.002, 0)])
@pytest.mark.parametrize("motor", [DC, IDEAL], ids=["dc", "ideal"])
def test_a_delayed_command_arrives_so_many_substeps_later(motor: Motor, timestep: float, delay: float, steps: int) -> None:
    """Over thousands of substeps, in which the engine's clock gathers rounding errors."""
    model, data = wheel(replace(motor, delay=delay), timestep=timestep)
    told = np.arange(5000) % 97 / 97
    felt = np.zeros_like(told)
    for step, ctrl in enumerate(told):
        data.ctrl[0], data.qvel[0] = ctrl, 0.0
        mujoco.mj_step(model, data)
        felt[step] = data.actuator_force[0]
    np.testing.assert_allclose(felt[steps:], told[: len(told) - steps], atol=1e-9)
    assert (felt[:steps] == 0).all()


@pytest.mark.parametrize("command", ACTS)
@pytest.mark.parametrize("motor", MOTORS.values(), ids=MOTORS)
def test_the_saved_text_is_the_spec_in_both_engines_words(motor: Motor, command: str) -> None:
    full = replace(
        motor,
        delay=0.004,
        gearbox=replace(motor.gearbox, backlash=0.1),
        friction=JointFriction(coulomb=0.1, viscous=0.02, breakaway=0.2, presliding=0.02),
    )
    task = wheel_task(full, timestep=0.002, gains=(5.0, 1.0), act=ACTS[command])
    text = model_text(task.spec(), lean=True)
    model = compile_text(text)
    assert arrays_apart(task.spec().compile(), model) <= {"_sizes"}  # the memory for contacts, sized by use
    assert arrays_apart(model, compile_text(for_mujoco_3_14(text))) == set()  # what a dcmotor takes is kept there
    assert model.actuator_ctrlspec[0] == {"position": 1, "velocity": 2, "torque": 4}[command]


def test_a_robot_fitted_twice_is_the_robot() -> None:
    """As a member of a team is: its model already has its motors."""
    motor = replace(DC, rotor_inertia=1e-3, gearbox=Gearbox(ratio=3, backlash=0.1))
    once = wheel_task(motor)
    again = replace(once, robot=replace(once.robot, xml=once.robot.spec().to_xml()))
    assert model_text(once.spec(), lean=True) == model_text(again.spec(), lean=True)


def test_presets_at_the_joint() -> None:
    """What their docstrings and the documents say of them."""
    found = {name: (motor.joint_stall_torque, motor.joint_speed, motor.lag) for name, motor in MOTORS.items()}
    wanted = {
        "hobby_servo": (0.52, 6.1, 0.02),
        "industrial_joint": (150.0, 3.14, 0.01),
        "high_torque_servo": (44.7, 5.76, 0.015),
        "direct_drive": (10.0, 30.0, 0.005),
        "quadruped_leg": (17.0, 40.0, 0.008),
    }
    assert found.keys() == wanted.keys()
    for name, numbers in wanted.items():
        np.testing.assert_allclose(found[name], numbers, rtol=1e-12)
    assert MOTORS["industrial_joint"].joint_torque == pytest.approx(100.0)


@pytest.mark.parametrize("motor", MOTORS.values(), ids=MOTORS)
def test_presets_do_what_they_say(motor: Motor) -> None:
    model, data = wheel(replace(motor, friction=JointFriction()))
    assert torque_at(model, math.inf if motor.torque_limit is None else 1e9, seconds=0.3) == pytest.approx(
        motor.joint_torque, rel=1e-3
    )
    inertia = INERTIA + motor.joint_inertia
    run(model, data, 20 * inertia * motor.joint_speed / motor.joint_stall_torque + 1.0, wheel=1e9)
    assert data.qvel[0] == pytest.approx(motor.joint_speed, rel=1e-3)


def test_motors_that_cannot_be_are_refused() -> None:
    for changes, words in (
        ({"stall_torque": 0.0}, "stall_torque must be more"),
        ({"lag": -1.0}, "lag cannot be less"),
        ({"torque_limit": 3.0}, "between 0 and the stall torque"),
        ({"no_load_speed": math.inf, "lag": 0.1}, "Give it a no_load_speed"),
        ({"gearbox": Gearbox(backlash=0.1)}, "Give it a rotor_inertia"),
    ):
        with pytest.raises(PaddockError, match=words):
            replace(DC, **changes)
    task = wheel_task(DC)
    with pytest.raises(PaddockError, match=r"'weel'.*Did you mean 'wheel'"):
        replace(task.robot, motors={"weel": DC}).spec()


def test_the_documentation_says_what_the_code_does() -> None:
    page = (Path(__file__).parents[1] / "docs" / "actuators.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    told = {row[0].strip("`"): row[1:] for row in rows}
    for name, motor in MOTORS.items():
        times = motor.lag * 1000, motor.delay * 1000
        numbers = motor.joint_stall_torque, motor.joint_torque, motor.joint_speed, *times, motor.gearbox.ratio, motor.joint_inertia
        assert told[name] == [f"{number:.3g}" for number in numbers], name
    for name, gearbox in GEARBOXES.items():
        numbers = gearbox.ratio, gearbox.efficiency, gearbox.backlash * 1000
        assert told[name] == [f"{number:.3g}" for number in numbers], name
    parameters = {name for row in rows if len(row) == 4 and row[2] == "engine" for name in row[1].replace("`", "").split(", ")}
    fields = {own.name for kind in (Motor, Gearbox, JointFriction) for own in dataclasses.fields(kind)}
    assert fields - {"voltage", "gearbox", "friction"} == parameters - {"Robot.gains"}
    assert all(motor.runs == "engine" for motor in MOTORS.values())
