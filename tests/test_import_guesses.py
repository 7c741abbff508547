"""What an import guesses where a file is silent: strengths, home poses, tools, timesteps. And what it does not believe."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from mutated_models import LEGS

from paddock.import_commands import _listed
from paddock.robots.import_model import Imported, ImportRequest, build_robot, read_source, source_of_text

BODY = (
    '<body name="{name}" pos="{pos}"><joint name="{name}" {joint}/>'
    '<geom type="capsule" size=".02" fromto="0 0 0 {to}"/>{inner}</body>'
)


def body(name: str, pos: str, joint: str, to: str, inner: str = "") -> str:
    return BODY.format(name=name, pos=pos, joint=joint, to=to, inner=inner)


def arm(hand: str, more: str = "") -> str:
    """Four joints up to a wrist, the first about the vertical."""
    wrist = body("wrist", "0 0 .3", 'axis="0 0 1"', "0 0 .05", hand)
    elbow = body("elbow", "0 0 .3", 'axis="0 1 0" range="-90 90"', "0 0 .3", wrist)
    shoulder = body("shoulder", "0 0 .1", 'axis="0 1 0" range="-90 90"', "0 0 .3", elbow)
    waist = body("waist", "0 0 0", 'axis="0 0 1"', "0 0 .1", shoulder)
    return f"<mujoco><worldbody>{waist}</worldbody>{more}</mujoco>"


def walker(sides: dict[str, float], knee: str, sole: str = "") -> str:
    """Straight legs under a trunk; between hip and knee lies a joint that turns about the leg."""
    legs = ""
    for name, y in sides.items():
        shank = body(f"{name}_knee", "0 0 -.2", f'axis="0 1 0" {knee}', "0 0 -.2", sole.format(name=name))
        thigh = body(f"{name}_yaw", "0 0 -.02", 'axis="0 0 1" range="-30 30"', "0 0 -.2", shank)
        legs += body(f"{name}_hip", f"0 {y} 0", 'axis="0 1 0" range="-120 120"', "0 0 -.02", thigh)
    return f'<mujoco><worldbody><body name="trunk"><freejoint/><geom size=".1"/>{legs}</body></worldbody></mujoco>'


FINGERS = body("left", "0 .03 .05", 'type="slide" axis="0 1 0" range="0 .03"', "0 0 .06")
FINGERS += body("right", "0 -.03 .05", 'type="slide" axis="0 1 0" range="-.03 0"', "0 0 .06")
TIED = '<equality><joint joint1="right" joint2="left" polycoef="0 -1 0 0 0"/></equality>'
JAW = body("jaw", ".03 0 .05", 'axis="0 1 0" range="0 60"', "0 0 .06").replace('joint name="jaw"', 'joint name="gripper"')


def imported(text: str) -> Imported:
    return build_robot(source_of_text(text))


def at_home(done: Imported) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(done.xml)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    return model, data


def notes(done: Imported, kind: str) -> str:
    return "\n".join(f"{note.what}: {note.why}" for note in done.report.notes if note.kind == kind)


def test_a_joint_is_no_weaker_than_what_it_carries() -> None:
    """The waist turns about the vertical, where weight has no lever."""
    force = {joint.name: joint.force for joint in imported(arm("")).report.joints}
    assert force["waist"] == force["shoulder"] > force["elbow"] > force["wrist"] == 0.5  # type: ignore[operator]


@pytest.mark.parametrize(("hand", "more", "why"), [(FINGERS, TIED, "between 2 fingers"), (JAW, "", "between the jaws")])
def test_the_tool_is_where_things_are_gripped(hand: str, more: str, why: str) -> None:
    """Between the fingers, though one of them only follows; and what opens a gripper does not move its tool."""
    done = imported(arm(hand, more))
    model, data = at_home(done)
    assert why in notes(done, "guessed") and "the end of the longest" not in notes(done, "guessed")
    tool = model.site("tool")
    assert model.body(int(tool.bodyid[0])).name == "wrist"
    local = data.xmat[tool.bodyid[0]].reshape(3, 3).T @ (data.site("tool").xpos - data.xpos[tool.bodyid[0]])
    assert abs(local[1]) < 0.01 and 0.04 < local[2] < 0.13


SOLE = (
    '<body name="{name}_foot" pos="0 0 -.2"><joint name="{name}_ankle" axis="0 1 0" range="-50 50"/>'
    '<geom type="box" size=".08 .03 .01"/></body>'
)


def test_straight_legs_are_bent_at_home_the_way_they_bend() -> None:
    done = imported(walker({"left": 0.1, "right": -0.1}, 'range="0 130"', SOLE))
    _, data = at_home(done)
    assert done.report.kind == "legged"
    for side in ("left", "right"):
        assert data.joint(f"{side}_knee").qpos[0] == pytest.approx(0.5)
        assert abs(data.body(f"{side}_foot").xmat[8]) == pytest.approx(1.0, abs=1e-3)  # the sole is level
        assert data.body(f"{side}_foot").xpos[0] == pytest.approx(0.0, abs=0.01)  # and under the hip


def test_many_legs_bend_backwards_where_they_may() -> None:
    done = imported(walker({"a": 0.2, "b": 0.1, "c": -0.1, "d": -0.2}, 'range="-150 150"'))
    _, data = at_home(done)
    knees = [data.joint(f"{leg}_knee").qpos[0] for leg in "abcd"]
    np.testing.assert_allclose(knees, -1.2)
    assert all(0.2 < data.joint(f"{leg}_hip").qpos[0] < 1.0 for leg in "abcd")


def test_servos_carry_the_robot() -> None:
    """Stiffness is such that no joint of a leg gives way much at home, however weak the motor is said to be."""
    weak = walker({"a": 0.2, "b": 0.1, "c": -0.1, "d": -0.2}, 'range="-150 -30" actuatorfrcrange="-2 2"')
    done = imported(weak)
    model, data = at_home(done)
    knee, foot = data.joint("a_knee").xanchor, data.geom_xpos[model.body("a_knee").geomadr[0]]
    bears = model.body_mass.sum() * 9.81 / 4 * abs(foot[0] - knee[0])
    held = next(joint for joint in done.report.joints if joint.name == "a_knee")
    assert held.force == 2 and held.stiffness is not None and held.stiffness > 9 * bears > 2 / 0.5


def test_the_file_has_the_last_word_on_options() -> None:
    text = walker({"left": 0.1, "right": -0.1}, 'range="0 130"', SOLE)
    silent = imported(text)
    said = imported(text.replace("<mujoco>", '<mujoco><option timestep="0.001" integrator="Euler"/>'))
    assert silent.report.timestep == 0.005 and 'integrator="implicitfast"' in silent.xml
    assert said.report.timestep == 0.001 and "implicitfast" not in said.xml
    assert imported(arm("")).report.timestep == 0.002  # what grips takes small steps


def test_no_servo_is_faster_than_the_engine() -> None:
    """A strong motor on a light link, with no word on its rotor."""
    motor = '<actuator><motor joint="wrist" ctrlrange="-50 50"/></actuator>'
    done = imported(arm("", motor).replace("<mujoco>", '<mujoco><option timestep="0.002"/>'))
    model, data = at_home(done)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    stiffness = done.report.joints[0].stiffness
    assert stiffness is not None and stiffness * 0.002**2 / inertia[3, 3] == pytest.approx(0.25, rel=0.05)


@pytest.fixture
def legs(tmp_path: Path) -> Path:
    return tmp_path / "legs.urdf"


def of_urdf(file: Path, text: str) -> Imported:
    file.write_text(text)
    return build_robot(read_source(ImportRequest(file=str(file), name="it", assets="it_assets")))


@pytest.mark.parametrize("speed", ["1e-320", "1000"])
def test_placeholders_are_not_believed(legs: Path, speed: str) -> None:
    """A velocity limit that is next to nothing made a rotor of endless inertia, and the report could not be written."""
    done = of_urdf(legs, LEGS.replace('velocity="10"', f'velocity="{speed}"').replace('effort="20"', 'effort="9999"'))
    model, _ = at_home(done)
    assert "velocity limit" in notes(done, "dropped") and "effort limit of left_hip 9999" in notes(done, "dropped")
    assert all(joint.force is not None and 0.5 <= joint.force < 100 for joint in done.report.joints)
    assert (model.dof_armature[6:] > 1e-5).all() and (model.dof_armature[6:] < 1).all()
    assert (model.jnt_actfrclimited == 0).all()


def test_a_flat_mesh_stays_a_part_of_the_robot() -> None:
    mesh = '<asset><mesh name="pad" vertex="0 0 0 .1 0 0 0 .1 0 .1 .1 0" face="0 1 2 1 3 2"/></asset>'
    pad = '<geom type="mesh" mesh="pad" contype="0" conaffinity="0"/>'
    done = imported(arm(pad).replace("<worldbody>", f"{mesh}<worldbody>"))
    assert "mesh 'pad' is a shell" in notes(done, "changed") and 'mesh="pad"' in done.xml


def test_notes_with_one_reason_share_a_line() -> None:
    assert _listed(["a", "b"]) == "a; b"
    assert _listed(list("abcdef")) == "a; b; c; d; and 2 more"
