"""Scenes: what a client draws of qpos alone is where MuJoCo has it, and nothing is left out without a word."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

import paddock
from paddock.messages import Scene, SceneBody, from_json
from paddock.runs.folder import RunFolder
from paddock.scenes import draw, main, scene_of
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task

EVERY_JOINT = """<mujoco><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 0.5"/></asset><worldbody>
<body name="hand" mocap="true" pos="0 0 1"><geom type="box" size=".1 .2 .3" euler="10 20 30"/></body>
<body name="root" pos="1 2 3"><freejoint/><geom type="sphere" size=".1"/>
 <body name="shoulder" pos=".2 .1 0" quat=".7 .1 .7 .1"><joint type="ball" pos=".05 .02 -.03"/><geom size=".1"/>
  <body name="rail" pos="0 0 .3" euler="30 0 20"><joint name="rail" type="slide" axis="1 1 0" ref=".2"/>
   <joint type="hinge" axis="0 1 1" pos=".1 0 .2" ref="40"/><joint type="hinge" axis="1 0 0" pos="0 .1 0" range="-90 45"/>
   <geom type="mesh" mesh="wedge" pos=".1 .2 .3" euler="5 50 10"/></body></body></body>
</worldbody></mujoco>"""


def turned(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    result = np.zeros(3)
    mujoco.mju_rotVecQuat(result, vector, quat)
    return result


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = np.zeros(4)
    mujoco.mju_mulQuat(result, a, b)
    return result / np.linalg.norm(result)


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    return np.array([np.cos(angle / 2), *np.sin(angle / 2) * axis])


def kinematics(scene: Scene, qpos: np.ndarray, mocap: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Where each body is, from the scene alone, as a client does it."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for body in scene.bodies:
        found.append(placed(body, found, qpos, mocap))
    return found


def placed(body: SceneBody, others: list, qpos: np.ndarray, mocap: list) -> tuple[np.ndarray, np.ndarray]:
    if not others:
        return np.zeros(3), np.array([1.0, 0, 0, 0])
    if body.mocap >= 0:
        pos, quat = mocap[body.mocap]
        return pos, quat / np.linalg.norm(quat)
    at, facing = others[body.parent]
    pos, quat = at + turned(facing, np.array(body.pos)), times(facing, np.array(body.quat))
    for joint in body.joints:
        own = qpos[joint.qpos :]
        if joint.kind == "free":
            pos, quat = own[:3], own[3:7] / np.linalg.norm(own[3:7])
            continue
        anchor, axis = pos + turned(quat, np.array(joint.pos)), np.array(joint.axis)
        if joint.kind == "slide":
            pos = pos + turned(quat, axis) * (own[0] - joint.ref)
            continue
        turn = own[:4] / np.linalg.norm(own[:4]) if joint.kind == "ball" else about(axis, own[0] - joint.ref)
        quat = times(quat, turn)
        pos = anchor - turned(quat, np.array(joint.pos))
    return pos, quat


def check_poses(scene: Scene, model: mujoco.MjModel) -> None:
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(3):
        data.qpos[:] = rng.normal(size=model.nq)
        data.mocap_pos[:], data.mocap_quat[:] = rng.normal(size=(model.nmocap, 3)), rng.normal(size=(model.nmocap, 4))
        mocap = [(pos.copy(), quat.copy()) for pos, quat in zip(data.mocap_pos, data.mocap_quat, strict=True)]
        mujoco.mj_kinematics(model, data)
        found = kinematics(scene, data.qpos, mocap)
        np.testing.assert_allclose([pos for pos, _ in found], data.xpos, atol=1e-9)
        agreement = [abs(quat @ theirs) for (_, quat), theirs in zip(found, data.xquat, strict=True)]
        np.testing.assert_allclose(agreement, 1.0, atol=1e-9)
        for i, geom in enumerate(scene.geoms):
            pos, quat = found[geom.body]
            np.testing.assert_allclose(pos + turned(quat, np.array(geom.pos)), data.geom_xpos[i], atol=1e-9)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_every_tasks_bodies_are_where_mujoco_has_them(name: str) -> None:
    task = find_task(name)
    scene, _ = scene_of(task)
    model = task.spec().compile()
    assert (scene.nq, scene.nbody, len(scene.geoms), len(scene.bodies)) == (model.nq, model.nbody, model.ngeom, model.nbody)
    assert any(body.robot for body in scene.bodies) and not scene.bodies[0].robot
    check_poses(scene, model)


def test_every_kind_of_joint_and_a_mesh() -> None:
    spec = mujoco.MjSpec.from_string(EVERY_JOINT)
    model = spec.compile()
    scene, numbers = draw(spec, model, name="every joint", robot_bodies={"root"}, control_dt=0.02)
    check_poses(scene, model)
    assert [body.robot for body in scene.bodies] == [False, False, True, False, False]
    assert scene.bodies[1].mocap == 0 and {joint.kind for body in scene.bodies for joint in body.joints} == {
        *("free", "ball", "slide", "hinge")
    }
    ((vertices, faces),) = [(mesh.vertices, mesh.faces) for mesh in scene.meshes]
    np.testing.assert_array_equal(np.frombuffer(numbers, "<f4", vertices[1], vertices[0]).reshape(-1, 3), model.mesh_vert)
    np.testing.assert_array_equal(np.frombuffer(numbers, "<u4", faces[1], faces[0]).reshape(-1, 3), model.mesh_face)


def test_the_ground_and_what_stands_on_it() -> None:
    task = find_task("quadruped-walk-rough")
    scene, numbers = scene_of(task)
    model = task.spec().compile()
    (field,) = scene.heights
    heights = np.frombuffer(numbers, "<f4", *reversed(field.data)).reshape(field.rows, field.cols)
    np.testing.assert_array_equal(heights.ravel(), model.hfield_data)
    (floor,) = [geom for geom in scene.geoms if geom.kind == "hfield"]
    assert floor.height == 0 and floor.checker and floor.second is not None
    cube = next(body for body in scene_of(find_task("arm-pick-place"))[0].bodies if body.name == "cube")
    assert not cube.robot and cube.mass > 0


def test_what_is_not_drawn_is_said() -> None:
    xml = """<mujoco><asset><texture name="wood" type="2d" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
    <material name="wood" texture="wood"/></asset><worldbody><geom name="plank" type="box" size="1 1 1" material="wood"/>
    <site name="a"/><body pos="0 0 1"><joint/><geom size=".1"/><site name="b"/></body></worldbody>
    <tendon><spatial><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    spec = mujoco.MjSpec.from_string(xml)
    scene, _ = draw(spec, spec.compile(), name="t", robot_bodies=set(), control_dt=0.1)
    assert scene.missing == ("1 spatial tendons not drawn", "texture 'wood' is drawn in its mean colour")
    plank = scene.geoms[0].rgba
    assert 0.1 < plank[0] < 0.9 and plank[1] == 0 and 0.1 < plank[2] < 0.9


def test_a_training_leaves_its_scene_and_an_older_run_gets_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = paddock.train("cartpole-balance", runs_dir=tmp_path, steps=64, num_worlds=8, evaluate_every=0, evaluate_episodes=1)
    folder = RunFolder(run.path)
    written = folder.scene.read_text(), folder.scene_bin.read_bytes()
    assert from_json(Scene, written[0]) == scene_of(run.task)[0]
    for file in (folder.scene, folder.scene_bin):
        file.unlink()
    assert main([str(run.path)]) == 0 and str(folder.scene) in capsys.readouterr().out
    assert (folder.scene.read_text(), folder.scene_bin.read_bytes()) == written
    assert main(["no such run"]) == 2 and "no run 'no such run'" in capsys.readouterr().err
    assert json.loads(written[0])["name"] == "cartpole-balance"
