"""Gears, play and friction, by what they do to a wheel."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from models import pole_task
from motor_rig import INERTIA, run, torque_at, wheel
from paddock import Robot
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.robots import Gearbox, JointFriction, Motor
from paddock.sims.model import compile_text, model_text
from paddock.tasks.scenes import bare

DC = Motor(stall_torque=2.0, no_load_speed=40.0, rotor_inertia=1e-3)
IDEAL = Motor(stall_torque=2.0)


@pytest.mark.parametrize("ratio", [1.0, 5.0, 20.0])
def test_a_gear_multiplies_torque_and_divides_speed(ratio: float) -> None:
    model, data = wheel(replace(DC, gearbox=Gearbox(ratio=ratio)))
    assert torque_at(model, 1e9) == pytest.approx(2.0 * ratio)
    assert torque_at(model, 1e9, speed=10.0 / ratio) == pytest.approx(1.5 * ratio)
    run(model, data, 20.0, wheel=1e9)
    assert data.qvel[0] == pytest.approx(40.0 / ratio, rel=1e-3)


@pytest.mark.parametrize("ratio", [1.0, 5.0, 20.0])
def test_reflected_inertia_grows_with_the_square(ratio: float) -> None:
    model, data = wheel(replace(DC, no_load_speed=math.inf, gearbox=Gearbox(ratio=ratio)))
    run(model, data, 1.0, wheel=1.0)
    assert data.qvel[0] == pytest.approx(1.0 / (INERTIA + 1e-3 * ratio**2), rel=1e-6)


@pytest.mark.parametrize("efficiency", [1.0, 0.8, 0.5])
def test_efficiency_loses_its_part_of_the_power(efficiency: float) -> None:
    """Power at the joint over that at the shaft, which a perfect gear passes on, at any load."""
    ratio = 6.0
    lossy, perfect = (wheel(replace(DC, gearbox=Gearbox(ratio=ratio, efficiency=part)))[0] for part in (efficiency, 1.0))
    for speed in (0.5, 2.0, 5.0):
        power, whole = (torque_at(model, 1e9, speed=speed) * speed for model in (lossy, perfect))
        assert power / whole == pytest.approx(efficiency)
        assert whole == pytest.approx(2.0 * (1 - ratio * speed / 40.0) * ratio * speed)  # torque and speed of the shaft


@pytest.mark.parametrize("width", [0.05, 0.2])
def test_play_is_a_dead_zone_of_its_width(width: float) -> None:
    motor = replace(DC, gearbox=Gearbox(ratio=3.0, backlash=width))
    model, data = wheel(motor, t.JointPosition(), gains=(200.0, 5.0), timestep=0.002)
    ends = []
    for push in (0.5, -0.5):
        data.qfrc_applied[model.joint("wheel/backlash").dofadr[0]] = push  # on the link alone
        run(model, data, 4.0, wheel=0.0)
        mujoco.mj_forward(model, data)
        link = data.joint("wheel").qpos[0] + data.joint("wheel/backlash").qpos[0]
        ends.append(link - data.joint("wheel").qpos[0])
        assert data.sensor("joint_pos/wheel").data[0] == data.joint("wheel").qpos[0]  # the encoder sits on the motor
        assert data.sensor("backlash/wheel").data[0] == data.joint("wheel/backlash").qpos[0]
    assert ends[0] - ends[1] == pytest.approx(width, abs=5e-4)


def test_nothing_is_felt_within_the_play() -> None:
    motor = replace(DC, gearbox=Gearbox(backlash=0.4))
    model, data = wheel(motor)
    run(model, data, 0.015, wheel=1.0)  # the rotor alone: 1000 rad/s^2
    assert 0.05 < data.joint("wheel").qpos[0] < 0.2
    link = data.joint("wheel").qpos[0] + data.joint("wheel/backlash").qpos[0]
    assert abs(link) < 1e-9
    run(model, data, 0.3)
    link = data.joint("wheel").qpos[0] + data.joint("wheel/backlash").qpos[0]
    assert link > 0.01  # until it has been taken up


ARM = """
<mujoco>
  <compiler angle="degree"/><option timestep="0.002" integrator="implicitfast" gravity="0 0 0"/>
  <default><joint damping="0.3" frictionloss="0.2" range="-90 90"/></default>
  <worldbody><body name="trunk"><freejoint/><geom size=".1"/><body name="upper" pos="0 0 .1"><joint name="shoulder" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 .3" size=".02"/><body name="lower" pos="0 0 .3"><joint name="elbow" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 .3" size=".02"/></body></body></body></worldbody>
  <actuator><motor name="elbow" joint="elbow"/><motor name="shoulder" joint="shoulder" ctrlrange="-7 7"/></actuator>
  <sensor><jointpos name="joint_pos/elbow" joint="elbow"/><jointpos name="joint_pos/shoulder" joint="shoulder"/></sensor>
  <keyframe><key name="home" qpos="0 0 1 1 0 0 0 .3 -.4" qvel="0 0 0 0 0 0 .1 .2"/></keyframe>
</mujoco>
"""


def test_play_keeps_the_home_pose_the_links_and_the_other_joints() -> None:
    motors = {"shoulder": replace(DC, gearbox=Gearbox(ratio=5.0, backlash=0.02))}
    robot = Robot(name="arm", xml=ARM, joints=("elbow", "shoulder"), motors=motors)
    plain, played = (replace(robot, motors=own).spec().compile() for own in (None, motors))
    poses = []
    for model in (plain, played):
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        poses.append((data.xpos, data.xquat, data.joint("elbow").qvel[0], data.joint("shoulder").qvel[0]))
    for one, other in zip(*poses, strict=True):
        np.testing.assert_array_equal(one, other)
    play = played.joint("shoulder/backlash")
    np.testing.assert_allclose(play.range, [-0.01, 0.01], rtol=1e-12)
    assert play.damping[0] == play.frictionloss[0] == play.armature[0] == 0.0
    assert played.joint("shoulder").damping[0] == 0.3 and played.joint("shoulder").frictionloss[0] == 0.2  # it names no friction
    assert played.actuator("elbow").ctrlrange.tolist() == plain.actuator("elbow").ctrlrange.tolist()
    assert [played.sensor(i).name for i in range(played.nsensor)][-1] == "backlash/shoulder"


def test_play_needs_the_last_joint_of_its_body() -> None:
    two = ARM.replace('<joint name="elbow"', '<joint name="twist" axis="0 0 1"/><joint name="elbow"').replace(
        '"elbow" joint="elbow"', '"twist" joint="twist"'
    )
    two = two.replace("-.4", "0 -.4").replace(".1 .2", ".1 0 .2")
    motors = {"twist": replace(DC, gearbox=Gearbox(backlash=0.02))}
    with pytest.raises(PaddockError, match="'twist' cannot have play: body 'lower' has 'elbow' behind it"):
        Robot(name="arm", xml=two, joints=("twist", "shoulder"), motors=motors).spec()


def test_coulomb_friction_stops_what_is_below_it() -> None:
    model, data = wheel(replace(IDEAL, friction=JointFriction(coulomb=0.5)))
    run(model, data, 2.0, wheel=0.45)
    assert abs(data.qvel[0]) < 1e-5 and abs(data.qpos[0]) < 1e-4
    run(model, data, 1.0, wheel=0.7)
    assert data.qvel[0] == pytest.approx(0.2 / (INERTIA + 0.01), rel=0.01)  # the file's armature counts where the motor has none


def test_viscous_friction_decays_at_its_rate() -> None:
    model, data = wheel(replace(IDEAL, friction=JointFriction(viscous=0.2)))
    data.qvel[0] = 10.0
    run(model, data, 0.5)
    assert data.qvel[0] == pytest.approx(10.0 * math.exp(-0.2 * 0.5 / (INERTIA + 0.01)), rel=2e-3)


STRIBECK = JointFriction(coulomb=0.5, breakaway=1.0, stribeck_speed=0.2, presliding=0.005)


def test_stribeck_friction_falls_with_speed() -> None:
    model, _ = wheel(replace(DC, friction=STRIBECK))
    for speed in (0.1, 0.2, 0.4, 2.0, 20.0):
        wanted = 0.5 + 0.5 * math.exp(-((speed / 0.2) ** 2))
        assert -torque_at(model, 0.0, speed=speed, seconds=2.0) == pytest.approx(wanted, rel=0.01)


def test_stribeck_friction_holds_until_breakaway_and_then_lets_go() -> None:
    model, data = wheel(replace(DC, friction=STRIBECK))
    for load in np.linspace(0.0, 0.9, 1000):  # slowly, and to more than the friction in motion
        run(model, data, 0.001, wheel=load)
    run(model, data, 1.0)
    assert abs(data.qvel[0]) < 1e-3 and 0 < data.qpos[0] < 4 * STRIBECK.presliding
    run(model, data, 0.5, wheel=1.1)
    assert data.qvel[0] > 1.0
    run(model, data, 1.0, wheel=0.7)  # once it moves, less keeps it moving
    assert data.qvel[0] > 1.0


def test_bristles_too_stiff_for_the_timestep_are_refused() -> None:
    stiff = replace(DC, friction=replace(STRIBECK, presliding=1e-5))
    with pytest.raises(PaddockError, match=r"too stiff for a timestep.*Use presliding="):
        wheel(stiff)


def test_friction_and_gears_that_cannot_be_are_refused() -> None:
    for make, words in (
        (lambda: Gearbox(ratio=0.0), "more than 0"),
        (lambda: Gearbox(efficiency=1.2), "at most 1"),
        (lambda: Gearbox(backlash=-0.1), "cannot be less than 0"),
        (lambda: JointFriction(coulomb=-1.0), "less than 0"),
        (lambda: JointFriction(coulomb=1.0, breakaway=0.5), "more than coulomb"),
        (lambda: replace(IDEAL, friction=STRIBECK), "Give it a no_load_speed"),
    ):
        with pytest.raises(PaddockError, match=words):
            make()


def test_a_slide_has_newtons() -> None:
    xml = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><body><joint name="lift" type="slide"/>
    <geom size=".1" mass="2"/></body></worldbody><actuator><motor name="lift" joint="lift"/></actuator>
    <sensor><jointpos name="joint_pos/lift" joint="lift"/><jointvel name="joint_vel/lift" joint="lift"/></sensor></mujoco>"""
    screw = Motor(stall_torque=0.1, gearbox=Gearbox(ratio=1000.0, efficiency=0.5))
    task = pole_task(robot=Robot(name="lift", xml=xml, joints=("lift",), motors=screw), scene=bare, done={})
    model = compile_text(model_text(task.spec(), lean=True))
    data = mujoco.MjData(model)
    run(model, data, 0.1, lift=1e9)
    assert data.qvel[0] == pytest.approx(0.1 * 50.0 / 2.0, rel=1e-6)
