"""Anyone's model becomes a robot: what the file says survives, what it lacks is added, and the report says which is which."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from import_zoo import check, trial
from mutated_models import LEGS

import paddock
from paddock.errors import BrokenModel, PaddockError, UnsafeFile
from paddock.import_commands import import_
from paddock.importing import import_robot, quoted, robot_text
from paddock.messages import ImportReport, from_json, to_json
from paddock.robots import QUADRUPED
from paddock.robots.collada import read_collada
from paddock.robots.finding import find_robot
from paddock.robots.import_model import Imported, ImportRequest, build_robot, read_source
from paddock.robots.import_motors import ARM_STIFFNESS, STRETCH
from paddock.robots.import_senses import short_names
from paddock.robots.stl import binary_stl, stl_of

CORNERS = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
MESH = stl_of(CORNERS[FACES])

SCENE = """<mujoco model="scene">
  <compiler angle="degree" meshdir="assets"/>
  <option timestep="0.003" integrator="RK4"/>
  <include file="parts/materials.xml"/>
  <default>
    <default class="arm"><joint damping="2" armature="0.05"/><geom type="capsule" size="0.03" material="steel"/>
      <default class="shown"><geom type="mesh" mesh="tip" contype="0" conaffinity="0" mass="0" group="2"/></default></default>
  </default>
  <asset>
    <mesh name="tip" file="tip.stl"/>
    <texture type="skybox" builtin="flat" width="8" height="48"/>
    <texture name="floor" type="2d" builtin="checker" width="8" height="8"/>
    <material name="floor" texture="floor"/>
  </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="2 2 .1" material="floor"/>
    <camera name="wide" pos="2 0 1"/>
    <body name="cube" pos=".5 0 .05"><freejoint name="cube"/><geom name="cube" type="box" size=".03 .03 .03"/></body>
    <body name="base" pos="0 0 .1" childclass="arm">
      <geom name="base" type="cylinder" size=".05 .1"/>
      <body name="upper"><joint name="shoulder" axis="0 1 0" range="-90 90"/><geom name="upper" fromto="0 0 0 0 0 .3"/>
        <body name="lower" pos="0 0 .3"><joint name="elbow" axis="0 1 0" range="-120 -20"/>
          <geom name="lower" fromto="0 0 0 .3 0 0"/>
          <geom class="shown" pos=".3 .01 0" euler="0 30 0"/>
          <body name="hand" pos=".3 0 0"><joint name="wrist" axis="1 0 0"/><geom name="hand" size=".02" fromto="0 0 0 .05 0 0"/>
            <camera name="eye"/>
            <body name="left" pos=".05 .02 0"><joint name="left" type="slide" axis="0 1 0" range="0 .02"/>
              <geom name="left" type="box" size=".02 .004 .01" pos=".03 0 0"/></body>
            <body name="right" pos=".05 -.02 0"><joint name="right" type="slide" axis="0 -1 0" range="0 .02"/>
              <geom name="right" type="box" size=".02 .004 .01" pos=".03 0 0"/></body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="base" body2="lower"/><pair geom1="left" geom2="right"/><pair geom1="floor" geom2="hand"/></contact>
  <tendon><fixed name="grip"><joint joint="left" coef=".5"/><joint joint="right" coef=".5"/></fixed></tendon>
  <equality><joint joint1="right" joint2="left" polycoef="0 1 0 0 0"/></equality>
  <actuator>
    <motor name="m0" joint="shoulder" ctrlrange="-20 20"/>
    <motor joint="elbow" ctrlrange="-10 10" gear="2"/>
    <position name="m2" joint="wrist" kp="30" kv="1" ctrlrange="-3 3"/>
    <position name="fingers" tendon="grip" kp="100" ctrlrange="0 .02"/>
  </actuator>
  <sensor><actuatorfrc name="felt" actuator="m0"/><framepos name="cube_pos" objtype="body" objname="cube"/>
    <touch name="joint_pos/shoulder" site="pad"/></sensor>
  <keyframe><key name="far" qpos="1 0 .05 1 0 0 0 0 -1 0 0 0"/>
    <key name="stand" qpos="1 0 .05 1 0 0 0 .2 -1 .3 .01 .01" ctrl="0 0 .3 .01"/></keyframe>
</mujoco>""".replace('<geom name="left"', '<site name="pad" size=".01"/><geom name="left"')
PARTS = '<mujoco><asset><material name="steel" rgba=".5 .5 .6 1"/><material name="unused" rgba="1 0 0 1"/></asset></mujoco>'


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "tip.stl").write_bytes(MESH)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "materials.xml").write_text(PARTS)
    (tmp_path / "scene.xml").write_text(SCENE)
    return tmp_path / "scene.xml"


def built(file: Path, **options: object) -> Imported:
    """The import without the jail."""
    return build_robot(read_source(ImportRequest(file=str(file), name="it", assets="it_assets", **options)))  # type: ignore[arg-type]


def compiled(imported: Imported) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_string(imported.xml, assets=imported.assets)
    spec.meshdir = spec.texturedir = ""
    return spec.compile()


def notes(imported: Imported, kind: str) -> str:
    return "\n".join(f"{note.what}: {note.why}" for note in imported.report.notes if note.kind == kind)


def names(model: mujoco.MjModel, kind: str, count: int) -> list[str]:
    return [getattr(model, kind)(i).name for i in range(count)]


def test_what_an_mjcf_says_survives(scene: Path) -> None:
    before, done = mujoco.MjModel.from_xml_path(str(scene)), built(scene)
    after = compiled(done)
    for body in ("base", "upper", "lower", "hand", "left", "right"):
        for field in ("mass", "inertia", "ipos", "pos"):
            np.testing.assert_allclose(getattr(after.body(body), field), getattr(before.body(body), field), rtol=1e-5, atol=1e-9)
    for joint in ("shoulder", "elbow", "wrist", "left", "right"):
        np.testing.assert_allclose(after.joint(joint).range, before.joint(joint).range, atol=1e-5)
        np.testing.assert_allclose(after.joint(joint).damping, before.joint(joint).damping)
    assert after.nexclude == 1 and after.npair == 1 and after.neq == 1 and after.ntendon == 1
    np.testing.assert_allclose(after.eq_data, before.eq_data)
    assert set(names(after, "camera", after.ncam)) == {"wide", "eye", "track"}
    assert 'class="shown"' in done.xml and 'class="arm"' in done.xml
    shown = next(g for g in range(after.ngeom) if after.geom_dataid[g] >= 0)
    was = next(g for g in range(before.ngeom) if before.geom_dataid[g] >= 0)
    np.testing.assert_allclose(after.geom_pos[shown], before.geom_pos[was], atol=1e-6)
    np.testing.assert_allclose(after.geom_quat[shown], before.geom_quat[was], atol=1e-6)
    assert done.assets == {"tip.stl": MESH} and 'meshdir="it_assets"' in done.xml


def test_a_robot_is_not_its_scene(scene: Path) -> None:
    done = built(scene)
    model = compiled(done)
    assert names(model, "body", model.nbody) == ["world", "base", "upper", "lower", "hand", "left", "right"]
    assert model.nlight == 0 and "floor" not in names(model, "geom", model.ngeom)
    assert names(model, "material", model.nmat) == ["steel"] and model.ntex == 0
    dropped = notes(done, "dropped")
    for what in ("light", "floor", "body 'cube'", "contact pair of 'floor' and 'hand'", "materials", "textures"):
        assert what in dropped
    assert "cube_pos" not in done.xml


def test_actuators_have_the_names_of_their_joints(scene: Path) -> None:
    done = built(scene)
    model = compiled(done)
    assert done.report.robot.joints == tuple(names(model, "actuator", model.nu)) == ("shoulder", "elbow", "wrist", "fingers")
    assert "actuator 'm0' is now 'shoulder'" in notes(done, "changed")
    assert model.actuator(model.sensor_objid[model.sensor("felt").id]).name == "shoulder"  # what it felt, it feels
    rows = {joint.name: joint for joint in done.report.joints}
    assert [rows[name].drive for name in rows] == ["motor", "motor", "servo", "servo"] and rows["fingers"].kind == "tendon"
    assert rows["elbow"].force == 20 and rows["elbow"].low == pytest.approx(np.radians(-120), abs=1e-5)
    assert (rows["wrist"].stiffness, rows["wrist"].damping) == (30, 1) and not done.report.robot.own_servos


def test_sensors_are_what_tasks_read(scene: Path) -> None:
    done = built(scene)
    model = compiled(done)
    sensors = names(model, "sensor", model.nsensor)
    order = [f"{group}/{joint}" for group in ("joint_pos", "joint_vel", "joint_torque") for joint in ("shoulder", "elbow", "wrist")]
    start = sensors.index(order[0])
    assert sensors[start : start + len(order)] == order
    assert "own_joint_pos_shoulder" in sensors and "is now 'own_joint_pos_shoulder'" in notes(done, "changed")
    assert {"tendon_pos/fingers", "tendon_vel/fingers", "tool_pos", "tool_quat"} <= set(sensors)
    assert done.report.kind == "arm" and done.report.robot.tool == "tool"
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.qpos[:] = 0
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.site("tool").xpos, [0.38, 0, 0.4], atol=1e-5)  # between the fingers


def test_home_is_the_keyframe_that_stands(scene: Path) -> None:
    done = built(scene)
    model = compiled(done)
    assert names(model, "key", model.nkey) == ["far", "home"]
    np.testing.assert_allclose(model.key("home").qpos, [0.2, -1, 0.3, 0.01, 0.01])
    np.testing.assert_allclose(model.key("home").ctrl, [0, 0, 0.3, 0.01])
    assert "keyframe 'stand' is now 'home'" in notes(done, "changed")


def test_options_suit_every_backend(scene: Path) -> None:
    done = built(scene)
    assert compiled(done).opt.integrator == int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    steps = 0.02 / done.report.timestep
    assert steps == pytest.approx(round(steps), abs=1e-9) and done.report.timestep == 0.0025
    assert "RK4" in notes(done, "changed") and "timestep" in notes(done, "changed")


def test_gains_are_critically_damped_at_home(scene: Path) -> None:
    done = built(scene)
    model = compiled(done)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    shoulder = done.report.joints[0]
    assert shoulder.stiffness == ARM_STIFFNESS * 20 / STRETCH[int(mujoco.mjtJoint.mjJNT_HINGE)]
    assert shoulder.damping == pytest.approx(2 * np.sqrt(shoulder.stiffness * inertia[0, 0]), rel=0.05)


def test_the_robot_file_works_at_once(scene: Path, tmp_path: Path) -> None:
    files = import_robot(scene, out=tmp_path / "out" / "my_arm.py")
    robot = find_robot(files.robot)
    assert robot == replace(robot, name="my_arm", xml=files.xml, tool="tool") and robot.joints == files.report.robot.joints
    assert sorted(path.name for path in files.robot.parent.iterdir()) == ["my_arm.py", "my_arm.xml", "my_arm_assets"]
    checked = check(trial(robot))
    assert checked.passed, checked
    scene.unlink()
    (tmp_path / "assets" / "tip.stl").unlink()
    find_robot(files.robot).spec().compile()  # it needs nothing of where it came from


def test_nothing_is_replaced_unasked(scene: Path, tmp_path: Path) -> None:
    out = tmp_path / "arm.py"
    import_robot(scene, out=out)
    before = {path: path.read_bytes() for path in tmp_path.glob("arm*") if path.is_file()}
    with pytest.raises(PaddockError, match="--force"):
        import_robot(scene, out=out)
    with pytest.raises(PaddockError, match="would be replaced"):
        import_robot(scene, out=tmp_path / "scene.py", force=True)
    scene.write_text(SCENE.replace('kp="30"', 'kp="nan"'))
    with pytest.raises(UnsafeFile, match="kp"):
        import_robot(scene, out=out, force=True)
    assert {path: path.read_bytes() for path in before} == before and (tmp_path / "arm_assets" / "tip.stl").read_bytes() == MESH
    scene.write_text(SCENE.replace('kp="30"', 'kp="31"'))
    import_robot(scene, out=out, force=True)
    assert (tmp_path / "arm.xml").read_bytes() != before[tmp_path / "arm.xml"]
    assert list(tmp_path.glob(".*")) == []


def test_half_an_import_is_taken_back(scene: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "arm.py"
    (tmp_path / "out" / ".arm.py.partial").mkdir(parents=True)  # in the way of the last file
    with pytest.raises(OSError):
        import_robot(scene, out=out)
    assert [path.name for path in out.parent.iterdir()] == [".arm.py.partial"]


def test_destinations_are_checked_before_anything_runs(scene: Path, tmp_path: Path) -> None:
    for options in ({"out": tmp_path / "arm.txt"}, {"out": tmp_path / "my arm.py"}, {"name": "class"}, {"name": "x y"}):
        with pytest.raises(PaddockError, match="Python|.py"):
            import_robot(scene, **options)  # type: ignore[arg-type]


def test_names_from_a_model_are_never_code(scene: Path, tmp_path: Path) -> None:
    evil = '"); import os; os.abort()  # \\ \' &#10;"""'
    text = SCENE.replace("shoulder", evil.replace('"', "&quot;"))
    scene.write_text(text)
    robot = find_robot(import_robot(scene, out=tmp_path / "evil.py").robot)
    assert robot.joints[0] == evil.replace("&#10;", "\n")
    for name in (evil, "plain", 'say "hi"', "it's", "\N{SNOWMAN}\u2028", "\\"):
        assert ast.literal_eval(quoted(name)) == name


def test_attached_models_are_read_from_their_own_folder(tmp_path: Path) -> None:
    (tmp_path / "sub" / "m").mkdir(parents=True)
    (tmp_path / "sub" / "m" / "tip.stl").write_bytes(MESH)
    sub = """<mujoco model="sub"><compiler meshdir="m"/><asset><mesh file="tip.stl"/></asset>
      <worldbody><body name="arm"><joint name="j" range="-1 1"/><geom type="mesh" mesh="tip"/></body></worldbody>
      <actuator><motor joint="j" ctrlrange="-1 1"/></actuator></mujoco>"""
    (tmp_path / "sub" / "sub.xml").write_text(sub)
    main = """<mujoco><asset><model name="s" file="sub/sub.xml"/></asset><worldbody><body name="base"><geom size=".1"/>
      <attach model="s" body="arm" prefix="l_"/></body></worldbody></mujoco>"""
    (tmp_path / "main.xml").write_text(main)
    done = built(tmp_path / "main.xml")
    assert done.report.robot.joints == ("l_j",) and done.assets == {"tip.stl": MESH}


def test_our_own_quadruped_comes_back_as_it_was() -> None:
    assert isinstance(QUADRUPED.xml, Path)
    done = built(QUADRUPED.xml)
    before, after = QUADRUPED.spec().compile(), compiled(done)
    assert names(after, "sensor", after.nsensor) == names(before, "sensor", before.nsensor)
    assert names(after, "actuator", after.nu) == list(QUADRUPED.joints)
    assert (done.report.kind, done.report.robot.base) == ("legged", "trunk") and done.report.robot.feet == QUADRUPED.feet
    np.testing.assert_allclose(after.key("home").qpos, before.key("home").qpos)
    np.testing.assert_allclose(after.body_mass, before.body_mass)
    assert notes(done, "guessed").count("\n") == 0  # the feet, and nothing else


@pytest.fixture
def legs(tmp_path: Path) -> Path:
    """A two-legged URDF in a package, its mesh named by the package."""
    package = tmp_path / "deep" / "legs_description"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "meshes" / "tip.stl").write_bytes(MESH)
    (package / "package.xml").write_text("<package><name>my_legs</name></package>")
    (package / "urdf" / "legs.urdf").write_text(LEGS.replace("meshes/tip.stl", "package://my_legs/meshes/tip.stl"))
    return package / "urdf" / "legs.urdf"


def test_a_urdf_gets_motors_base_home_and_senses(legs: Path) -> None:
    done = built(legs)
    model = compiled(done)
    report = done.report
    assert (report.format, report.kind, report.robot.base, report.robot.feet) == ("urdf", "legged", "base", ("left", "right"))
    assert report.robot.joints == ("left_hip", "left_knee", "right_hip", "right_knee")
    np.testing.assert_allclose(model.actuator_ctrlrange, [[-20, 20]] * 4)
    assert model.jnt_type[0] == int(mujoco.mjtJoint.mjJNT_FREE) and model.nv == 10
    np.testing.assert_allclose(model.body("base").mass, 4)
    assert model.joint("left_hip").damping == 0.1 and model.joint("left_knee").damping > 0  # the file's own, and a guess
    armature = model.dof_armature[model.joint("left_hip").dofadr[0]]
    assert armature == pytest.approx(20 * 0.02 / 10)
    assert [path.found for path in report.paths] == [str(legs.parent.parent / "meshes" / "tip.stl")]
    for what in ("<transmission>", "<gazebo>"):
        assert what in notes(done, "dropped")
    assert "2 legs" in notes(done, "guessed") and model.sensor("up").dim == 3


def test_it_stands_on_its_feet(legs: Path) -> None:
    model = compiled(built(legs))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    feet = [data.geom_xpos[g] for g in range(model.ngeom) if model.geom_type[g] == int(mujoco.mjtGeom.mjGEOM_SPHERE)]
    for foot in feet:
        np.testing.assert_allclose(foot[[0, 2]], [0, 0.03], atol=0.005)  # under the hips, on the ground
    knee = data.qpos[model.joint("left_knee").qposadr[0]]
    assert knee == pytest.approx(-1.25)  # zero is out of its range


def test_touch_feels_the_weight(legs: Path, tmp_path: Path) -> None:
    robot = find_robot(import_robot(legs, out=tmp_path / "legs.py").robot)
    spec = robot.spec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    home = data.qpos.copy()
    for _ in range(600):  # hold the joints and keep the base level: two feet alone would topple
        joints = data.qpos[7:] - home[7:]
        data.ctrl[:] = np.clip(-200 * joints - 4 * data.qvel[6:], -20, 20)
        data.qvel[3:6] = 0
        data.qpos[3:7] = home[3:7]
        mujoco.mj_step(model, data)
    weight = model.body_mass.sum() * 9.81
    assert data.sensor("touch/left").data[0] + data.sensor("touch/right").data[0] == pytest.approx(weight, rel=0.05)


def test_the_base_is_as_asked(legs: Path) -> None:
    fixed = built(legs, base="fixed")
    assert compiled(fixed).nv == 4 and fixed.report.robot.base is None
    one_legged = LEGS
    for joint in ("left_hip", "left_knee"):
        one_legged = one_legged.replace(f'name="{joint}" type="revolute"', f'name="{joint}" type="fixed"')
    legs.write_text(one_legged)
    assert built(legs).report.robot.base is None
    assert built(legs, base="free").report.robot.base == "base"
    world = '<link name="world"/><joint name="w" type="{}"><parent link="world"/><child link="base"/></joint><link name="base">'
    for kind, base in (("floating", "base"), ("fixed", None)):
        legs.write_text(LEGS.replace('<link name="base">', world.format(kind)))
        assert built(legs).report.robot.base == base


def test_a_mimic_joint_follows(legs: Path) -> None:
    legs.write_text(
        LEGS.replace(
            '<parent link="right_thigh"/>', '<mimic joint="left_knee" multiplier="-0.5" offset="-1.5"/><parent link="right_thigh"/>'
        )
    )
    done = built(legs, base="fixed")
    model = compiled(done)
    (mimic,) = done.report.mimics
    assert (mimic.joint, mimic.leader, mimic.multiplier, mimic.offset) == ("right_knee", "left_knee", -0.5, -1.5)
    assert "right_knee" not in done.report.robot.joints and model.neq == 1
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    for _ in range(1500):
        data.ctrl[model.actuator("left_knee").id] = 1.0
        mujoco.mj_step(model, data)
    leader, follower = (data.joint(name).qpos[0] for name in ("left_knee", "right_knee"))
    assert leader > -0.6 and follower == pytest.approx(-1.5 - 0.5 * leader, abs=0.02)


def test_what_a_urdf_gets_wrong_is_mended_and_said(legs: Path) -> None:
    text = LEGS.replace("meshes/tip.stl", "package://nowhere/tip.stl")
    text = text.replace('ixx="0.02" iyy="0.03" izz="0.03"', 'ixx="0.02" iyy="0.03" izz="0.3"')
    text = text.replace('<mass value="0.5"/>', '<mass value="0"/>', 1).replace('lower="-1" upper="1"', 'lower="1" upper="1"', 1)
    text = text.replace('effort="20"', 'effort="0"', 1)
    legs.write_text(text)
    done = built(legs)
    dropped, changed, warned = (notes(done, kind) for kind in ("dropped", "changed", "warning"))
    assert "package://nowhere/tip.stl" in dropped and "--package-dir" in dropped and not done.assets
    assert "inertial of link 'left_thigh'" in dropped
    assert "inertia of link 'base'" in changed
    assert "'left_hip' has no range" in warned
    assert "left_hip" in notes(done, "guessed") and done.report.joints[0].force
    assert compiled(done).body("left_thigh").mass[0] > 0  # from its shape
    assert [path.asked for path in done.report.paths if not path.found] == ["package://nowhere/tip.stl"]


def test_packages_are_looked_for_where_they_are_said_to_be(legs: Path, tmp_path: Path) -> None:
    other = tmp_path / "ros" / "looks" / "meshes"
    other.mkdir(parents=True)
    (other / "tip.stl").write_bytes(MESH)
    legs.write_text(LEGS.replace("meshes/tip.stl", "package://looks/meshes/tip.stl"))
    assert not built(legs).assets
    assert built(legs, package_dirs=[str(tmp_path / "ros")]).assets


def test_suspicious_parts_are_pointed_out(tmp_path: Path) -> None:
    file = tmp_path / "odd.xml"
    file.write_text("""<mujoco><worldbody><body name="a"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="j"/>
      <geom type="box" size=".1 .1 .1"/><body name="b" pos=".5 0 0"><inertial pos="0 0 0" mass="2" diaginertia="1e-7 1e-7 1e-7"/>
      <joint name="k" range="20 90"/><geom type="box" size=".1 .1 .1"/><body name="c" pos=".1 0 0"><joint name="l" axis="0 1 0"/>
      <geom type="box" size=".1 .1 .1"/><body name="d" pos="-.6 0 0"><joint name="m" range="-9 9"/>
      <geom type="box" size=".1 .1 .1"/></body></body></body></body></worldbody>
      <actuator><motor joint="j"/><motor joint="k"/></actuator><keyframe><key qpos="0 0 0 0"/></keyframe></mujoco>""")
    warned = notes(built(file), "warning")
    for what in ("a has 1 kg", "tiny", "huge", "no control range", "no range: j, l", "outside the range of k", "a and d touch"):
        assert what in warned


def test_models_that_cannot_be_robots(tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    for text, said in (
        ("<html/>", "neither MJCF"),
        ("<robot name='x'/>", "no link"),
        ("<robot name='x' xmlns:xacro='y'><xacro:macro name='z'/></robot>", "xacro"),
        ("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>", "no joint"),
        ("<mujoco><option timestep='0'/><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>", "timestep"),
    ):
        file.write_text(text)
        with pytest.raises(BrokenModel, match=said):
            built(file)


COLLADA = """<COLLADA><asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
 <library_effects><effect id="e"><profile_COMMON><technique><phong><diffuse><color>1 0 0 1</color></diffuse></phong></technique>
  </profile_COMMON></effect></library_effects>
 <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
 <library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array>0 0 0 10 0 0 10 10 0 0 10 0</float_array>
   <technique_common><accessor stride="3"/></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <polylist material="s" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
   <input semantic="NORMAL" source="#n" offset="1"/><vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist>
  <triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 0 2 3</p></triangles>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene><node><translate>0 0 5</translate><rotate>0 0 1 90</rotate>
  <instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="s" target="#m"/></technique_common>
  </bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
</COLLADA>"""


def test_collada_by_hand() -> None:
    red, grey = read_collada(COLLADA.encode(), "x.dae")
    assert red.rgba == (1, 0, 0, 1) and len(red.triangles) == len(grey.triangles) == 2
    # centimetres, turned by a quarter about z, then lifted by 5
    np.testing.assert_allclose(grey.triangles[0], [[0, 0, 0.05], [0, 0.1, 0.05], [-0.1, 0.1, 0.05]], atol=1e-12)
    for broken in (COLLADA.replace("0 2 3</p>", "0 2 9</p>"), COLLADA.replace("10 0 0", "10 x 0"), "<COLLADA/>"):
        with pytest.raises(BrokenModel, match="x.dae"):
            read_collada(broken.encode(), "x.dae")


def test_a_visual_in_collada_is_seen_in_its_colours(legs: Path) -> None:
    (legs.parent.parent / "meshes" / "tip.dae").write_text(COLLADA)
    legs.write_text(
        LEGS.replace("meshes/tip.stl", "package://my_legs/meshes/tip.dae").replace('<material name="grey"/></visual>', "</visual>")
    )
    done = built(legs)
    model = compiled(done)
    assert len(done.assets) == 2 and all(name.endswith(".stl") for name in done.assets)
    shown = model.geom_rgba[model.geom_type == int(mujoco.mjtGeom.mjGEOM_MESH)]
    assert shown.astype(float).round(2).tolist() == [[1, 0, 0, 1], [0.7, 0.7, 0.7, 1]] * 2


def test_stl_as_text() -> None:
    text = b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e0 0\nendloop\nendfacet\nendsolid"
    assert binary_stl(text) == stl_of(np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], dtype=float))
    assert binary_stl(MESH) is MESH and binary_stl(b"solid" + MESH[5:]) == b"solid" + MESH[5:]


def test_feet_have_short_names() -> None:
    assert short_names(["FL_calf", "FR_calf"]) == ["FL", "FR"]
    assert short_names(["left_ankle_roll_link", "right_ankle_roll_link"]) == ["left", "right"]
    assert short_names(["foot_1", "foot_2"]) == ["1", "2"]
    assert short_names(["a", "ab"]) == ["a", "ab"] and short_names(["tail"]) == ["tail"]


def test_the_report_is_json_and_text(legs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_(legs, out=tmp_path / "legs.py", json=True)
    report = from_json(ImportReport, capsys.readouterr().out)
    assert from_json(ImportReport, to_json(report)) == report and json.loads(to_json(report))["kind"] == "legged"
    assert ast.parse(robot_text(report, "legs"))
    import_(legs, out=tmp_path / "legs.py", force=True)
    shown = capsys.readouterr().out
    for what in ("2 legs", "left_hip", "Guessed", "Dropped", f"paddock train walk --robot {tmp_path / 'legs.py'}"):
        assert what in shown.replace("\n", " ") or what in shown


def test_an_imported_robot_suits_a_family(legs: Path, tmp_path: Path) -> None:
    file = import_robot(legs, out=tmp_path / "legs.py").robot
    env = paddock.make(f"walk@{file}", num_worlds=3, seed=0)
    env.reset()
    steps = [env.step(env.sample()) for _ in range(20)]
    assert all(step.final_obs["policy"].isfinite().all() and not step.failed.any() for step in steps)
    assert env.task.robot.feet == ("left", "right")
