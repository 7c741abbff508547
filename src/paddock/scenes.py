"""Task -> scene: what a browser needs to draw its worlds from qpos alone, written once into a run's folder.

`python -m paddock.scenes RUN` writes it for a run that has none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from paddock.errors import PaddockError, broken_model
from paddock.messages import (
    Scene,
    SceneBody,
    SceneCamera,
    SceneGeom,
    SceneHeights,
    SceneJoint,
    SceneMesh,
    SceneSite,
    to_json,
)
from paddock.messages.scene import Vec3
from paddock.runs.atomic import write_file
from paddock.runs.folder import RunFolder, find_run
from paddock.sources import task_of
from paddock.tasks.task import Task

VERSION = 1
CAMERA_MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
JOINTS = ("free", "ball", "slide", "hinge")
"""In the engine's order, like the modes of cameras."""
SHAPES = {
    int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")): kind
    for kind in ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
}
RGB = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)
NO_MATERIAL = (0.5, 0.5, 0.0)
"""As the engine lights a geom without one."""
UNTOUCHED = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)
"""The colour of a geom to which none was given: a material's own shows."""


class _Bin:
    """Numbers of scene.bin, one after another."""

    def __init__(self) -> None:
        self.content = bytearray()

    def add(self, numbers: np.ndarray, dtype: str) -> tuple[int, int]:
        """Where they lie: byte offset and count."""
        span = len(self.content), numbers.size
        self.content += np.ascontiguousarray(numbers, dtype=dtype).tobytes()
        return span


def scene_of(task: Task) -> tuple[Scene, bytes]:
    """The scene of a task's nominal model, and the content of scene.bin."""
    spec = task.spec()
    try:
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken_model(f"model '{spec.modelname}'", refusal) from None
    own = {body.name for body in task.robot.spec().bodies} - {"world"}
    return draw(spec, model, name=task.name, robot_bodies=own, control_dt=task.control_dt)


def draw(
    spec: mujoco.MjSpec, model: mujoco.MjModel, *, name: str, robot_bodies: set[str], control_dt: float
) -> tuple[Scene, bytes]:
    """The scene of a model that was compiled from `spec`."""
    numbers, missing = _Bin(), _missing(model)
    meshes = tuple(_mesh(model, i, numbers) for i in range(model.nmesh))
    heights = tuple(_heights(model, i, numbers) for i in range(model.nhfield))
    geoms = tuple(geom for i in range(model.ngeom) if (geom := _geom(spec, model, i, missing)) is not None)
    home = model.key("home").qpos if "home" in [model.key(i).name for i in range(model.nkey)] else model.qpos0
    scene = Scene(
        version=VERSION,
        name=name,
        nq=model.nq,
        nbody=model.nbody,
        up="z",
        bodies=tuple(_body(model, i, robot_bodies) for i in range(model.nbody)),
        geoms=geoms,
        meshes=meshes,
        heights=heights,
        sites=tuple(_site(model, i) for i in range(model.nsite)),
        cameras=tuple(_camera(model, i) for i in range(model.ncam)),
        home=_plain(home),
        control_dt=control_dt,
        missing=tuple(dict.fromkeys(missing)),
    )
    return scene, bytes(numbers.content)


def write_scene(run: RunFolder, task: Task) -> None:
    """Put scene.bin and then scene.json into a run's folder: whoever finds the second has the first."""
    scene, numbers = scene_of(task)
    write_file(run.scene_bin, numbers, durable=False)
    write_file(run.scene, to_json(scene).encode(), durable=False)


def _body(model: mujoco.MjModel, i: int, robot_bodies: set[str]) -> SceneBody:
    own = model.body(i)
    first, count = int(model.body_jntadr[i]), int(model.body_jntnum[i])
    return SceneBody(
        name=own.name,
        parent=int(model.body_parentid[i]),
        pos=_plain(own.pos),
        quat=_plain(own.quat),
        mocap=int(model.body_mocapid[i]),
        mass=float(model.body_mass[i]),
        joints=tuple(_joint(model, joint) for joint in range(first, first + count)),
        robot=own.name in robot_bodies,
    )


def _joint(model: mujoco.MjModel, i: int) -> SceneJoint:
    is_limited, (low, high) = bool(model.jnt_limited[i]), model.jnt_range[i].tolist()
    kind, qpos = JOINTS[model.jnt_type[i]], int(model.jnt_qposadr[i])
    return SceneJoint(
        name=model.joint(i).name,
        kind=kind,
        axis=_plain(model.jnt_axis[i]),
        pos=_plain(model.jnt_pos[i]),
        qpos=qpos,
        low=low if is_limited else None,
        high=high if is_limited else None,
        ref=float(model.qpos0[qpos]) if kind in ("slide", "hinge") else 0.0,
    )


def _geom(spec: mujoco.MjSpec, model: mujoco.MjModel, i: int, missing: list[str]) -> SceneGeom | None:
    own = model.geom(i)
    kind = SHAPES.get(int(model.geom_type[i]))
    if kind is None:
        shape = mujoco.mjtGeom(int(model.geom_type[i])).name.removeprefix("mjGEOM_").lower()
        missing.append(f"geom '{own.name or i}' is not drawn: it is of kind {shape}")
        return None
    data = int(model.geom_dataid[i])
    rgba, second = _colours(spec, model, i, missing)
    return SceneGeom(
        name=own.name,
        body=int(model.geom_bodyid[i]),
        kind=kind,
        size=_plain(own.size),
        pos=_plain(own.pos),
        quat=_plain(own.quat),
        rgba=_plain(rgba),
        group=int(model.geom_group[i]),
        mesh=data if kind == "mesh" else -1,
        height=data if kind == "hfield" else -1,
        checker=second is not None,
        second=None if second is None else _plain(second),
        shine=_shine(model, int(model.geom_matid[i])),
    )


def _shine(model: mujoco.MjModel, material: int) -> Vec3:
    if material < 0:
        return NO_MATERIAL
    return _plain(np.stack([model.mat_specular[material], model.mat_shininess[material], model.mat_emission[material]]))


def _colours(spec: mujoco.MjSpec, model: mujoco.MjModel, i: int, missing: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """What a geom is painted with, and the second colour of a checkered one. Of other textures only the mean colour is kept."""
    rgba, material = model.geom_rgba[i].copy(), int(model.geom_matid[i])
    if material < 0:
        return rgba, None
    if np.array_equal(rgba, UNTOUCHED):
        rgba = model.mat_rgba[material].copy()
    texture = int(model.mat_texid[material, RGB])
    if texture < 0:
        return rgba, None
    name = model.texture(texture).name
    made = spec.texture(name)
    if made is not None and made.builtin == mujoco.mjtBuiltin.mjBUILTIN_CHECKER:
        second = rgba[:3] * made.rgb2
        rgba[:3] *= made.rgb1
        return rgba, second
    start, channels = int(model.tex_adr[texture]), int(model.tex_nchannel[texture])
    size = int(model.tex_height[texture]) * int(model.tex_width[texture]) * channels
    pixels = model.tex_data[start : start + size].reshape(-1, channels)[:, :3]
    if np.ptp(pixels, axis=0).any():
        missing.append(f"texture '{name}' is drawn in its mean colour")
    rgba[:3] *= pixels.mean(axis=0) / 255
    return rgba, None


def _mesh(model: mujoco.MjModel, i: int, numbers: _Bin) -> SceneMesh:
    vertices, faces = int(model.mesh_vertadr[i]), int(model.mesh_faceadr[i])
    return SceneMesh(
        vertices=numbers.add(model.mesh_vert[vertices : vertices + model.mesh_vertnum[i]], "<f4"),
        faces=numbers.add(model.mesh_face[faces : faces + model.mesh_facenum[i]], "<u4"),
    )


def _heights(model: mujoco.MjModel, i: int, numbers: _Bin) -> SceneHeights:
    rows, cols, start = int(model.hfield_nrow[i]), int(model.hfield_ncol[i]), int(model.hfield_adr[i])
    return SceneHeights(
        rows=rows,
        cols=cols,
        size=_plain(model.hfield_size[i]),
        data=numbers.add(model.hfield_data[start : start + rows * cols], "<f4"),
    )


def _site(model: mujoco.MjModel, i: int) -> SceneSite:
    own = model.site(i)
    return SceneSite(
        name=own.name,
        body=int(model.site_bodyid[i]),
        kind=SHAPES[int(model.site_type[i])],
        size=_plain(own.size),
        pos=_plain(own.pos),
        quat=_plain(own.quat),
        rgba=_plain(own.rgba),
        group=int(model.site_group[i]),
    )


def _camera(model: mujoco.MjModel, i: int) -> SceneCamera:
    own = model.camera(i)
    return SceneCamera(
        name=own.name,
        body=int(model.cam_bodyid[i]),
        pos=_plain(own.pos),
        quat=_plain(own.quat),
        fovy=float(model.cam_fovy[i]),
        mode=CAMERA_MODES[model.cam_mode[i]],
    )


def _missing(model: mujoco.MjModel) -> list[str]:
    """What a model has to look at beside bodies and geoms."""
    spatial = int((model.wrap_type[model.tendon_adr] != mujoco.mjtWrap.mjWRAP_JOINT).sum())
    counts = {"spatial tendons": spatial, "flexible bodies": model.nflex, "skins": model.nskin}
    return [f"{count} {things} not drawn" for things, count in counts.items() if count]


def _plain(numbers: np.ndarray) -> tuple[Any, ...]:
    """Float32 in as few digits as tell it from its neighbours; float64 whole."""
    return tuple(float(str(number)) for number in np.asarray(numbers).ravel())


def main(args: list[str]) -> int:
    """Write the scene of the run that is named, where it lies or by its name in `runs`."""
    if len(args) != 1:
        print("python -m paddock.scenes RUN", file=sys.stderr)
        return 2
    try:
        run = find_run(args[0], Path("runs"))
        write_scene(run, task_of(run))
    except PaddockError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    print(run.scene)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
