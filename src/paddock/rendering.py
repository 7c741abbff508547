"""From a state to a picture of it."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import mujoco
import numpy as np

from paddock.errors import PaddockError, unknown
from paddock.gl_choice import best_gl

MAX_GEOMS = 10_000
NUMBERS = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
"""What makes colours say which geom is seen."""
SKY = (mujoco.mjtRndFlag.mjRND_SKYBOX, mujoco.mjtRndFlag.mjRND_HAZE)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something drawn that is not in the model: a disc on the ground, a ball, or an arrow along `vector`."""

    pos: tuple[float, float, float]
    rgba: tuple[float, float, float, float]
    radius: float
    vector: tuple[float, float, float] | None = None
    solid: bool = False
    """A ball instead of a disc."""
    name: str = ""
    """Of what it shows."""


class Camera:
    """Takes pictures of one model. Owns an OpenGL context: close it, or use it in a `with`.

    The context is made here rather than by `mujoco.Renderer`, whose backend is settled by the first `import mujoco`.
    """

    def __init__(self, model: mujoco.MjModel, *, width: int = 640, height: int = 480, camera: str | int | None = None) -> None:
        """`camera` is a name or number of the model; without one, `track`, else the first, else one that sees it all."""
        self._model = self._nominal = model
        self._data, self._worn = mujoco.MjData(model), dict[str, np.ndarray]()
        self._view, self._shown = _view(model, camera), mujoco.MjvOption()
        self._frame = mujoco.MjrRect(0, 0, width, height)
        # the offscreen buffer is made in the size that the model asks for
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        backend = os.environ.get("MUJOCO_GL") or best_gl()
        try:
            self._gl = _gl_context(backend, width, height)
            self._gl.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except Exception as refusal:  # each OpenGL binding fails in its own way
            raise PaddockError(_no_gl(backend, refusal)) from refusal
        self._free = weakref.finalize(self, _free, self._gl, self._context)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._scene = mujoco.MjvScene(model, maxgeom=MAX_GEOMS)

    def frame(
        self,
        qpos: np.ndarray,
        qvel: np.ndarray | None = None,
        *,
        marks: Sequence[Mark] = (),
        look: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """The picture of a state; (height, width, 3) uint8. `look` exchanges fields of the model, such as lights and colours."""
        is_new = self._wear(look or {})
        self._data.qpos[:] = qpos
        self._data.qvel[:] = 0.0 if qvel is None else qvel
        mujoco.mj_forward(self._model, self._data)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        if is_new:  # the engine lights lamps as the camera of the scene before saw them
            mujoco.mjv_updateScene(self._model, self._data, self._shown, None, self._view, everything, self._scene)
        mujoco.mjv_updateScene(self._model, self._data, self._shown, None, self._view, everything, self._scene)
        for mark in marks:
            _draw(self._scene, mark)
        pixels = np.empty((self._frame.height, self._frame.width, 3), dtype=np.uint8)
        self._gl.make_current()
        mujoco.mjr_render(self._frame, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, self._frame, self._context)
        return np.ascontiguousarray(pixels[::-1])  # OpenGL counts rows from the bottom

    def _wear(self, look: Mapping[str, np.ndarray]) -> bool:
        """Put on other fields, over nominal ones, on a copy of the model; the caller's stays as it is. Whether it is new."""
        if look.keys() == self._worn.keys() and all(np.array_equal(value, self._worn[name]) for name, value in look.items()):
            return False
        self._model, self._worn = copy(self._nominal), dict(look)
        for name, value in look.items():
            getattr(self._model, name)[:] = value
        if any(name.startswith(("cam_", "light_")) for name in look):
            mujoco.mj_setConst(self._model, mujoco.MjData(self._model))  # where cameras that track a body are
        return True

    def pose(self, qpos: np.ndarray, look: Mapping[str, np.ndarray], *, mocap: tuple[np.ndarray, np.ndarray]) -> None:
        """Put the model where pictures are wanted, by its geometry alone, in a look as `frame` takes it."""
        self._wear(look)
        self._data.qpos[:] = qpos
        self._data.mocap_pos[:], self._data.mocap_quat[:] = mocap
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)

    def point(self, camera: str, width: int, height: int) -> None:
        """Look through one of the model's cameras, with at most as many pixels as this was made for."""
        self._view = _view(self._model, camera)
        self._frame = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjv_updateScene(self._model, self._data, self._shown, None, self._view, mujoco.mjtCatBit.mjCAT_ALL, self._scene)

    def shoot(self, kind: str) -> np.ndarray:
        """The picture: `rgb` (h, w, 3) uint8, `depth` (h, w, 1) float32 or `segmentation` (h, w, 2) int32."""
        self._gl.make_current()
        pixels = np.empty((self._frame.height, self._frame.width, 3), dtype=np.uint8)
        depth = np.empty((self._frame.height, self._frame.width), dtype=np.float32) if kind == "depth" else None
        segments = kind == "segmentation"
        usual = self._scene.flags.copy()
        self._scene.flags[[int(flag) for flag in NUMBERS]] = segments
        if kind != "rgb":  # a sky is as far away as the dome that it is painted on
            self._scene.flags[[int(flag) for flag in SKY]] = False
        mujoco.mjr_render(self._frame, self._scene, self._context)
        mujoco.mjr_readPixels(None if depth is not None else pixels, depth, self._frame, self._context)
        self._scene.flags[:] = usual
        if depth is not None:
            return self._metres(depth)[::-1, :, None].copy()
        if segments:
            return self._objects(pixels)[::-1].copy()
        return np.ascontiguousarray(pixels[::-1])

    def _metres(self, depth: np.ndarray) -> np.ndarray:
        """From OpenGL's depth, 1 at the near plane and 0 at the far one, to metres; inf from the far plane on."""
        extent, planes = self._model.stat.extent, self._model.vis.map
        near, far = planes.znear * extent, planes.zfar * extent
        with np.errstate(divide="ignore"):
            metres = near * far / (near + depth.astype(np.float64) * (far - near))
        return np.where(depth <= 0.0, np.inf, metres).astype(np.float32)

    def _objects(self, pixels: np.ndarray) -> np.ndarray:
        """From colours that number the scene's geoms, from 1, to what these are in the model."""
        codes = pixels.astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], dtype=np.int32)
        objects = np.full((self._scene.ngeom + 1, 2), -1, dtype=np.int32)
        for geom in self._scene.geoms[: self._scene.ngeom]:
            if geom.segid >= 0:
                objects[geom.segid + 1] = geom.objid, geom.objtype
        return objects[codes]

    def close(self) -> None:
        self._free()

    def __enter__(self) -> Camera:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _view(model: mujoco.MjModel, wanted: str | int | None) -> mujoco.MjvCamera:
    names = [model.camera(i).name for i in range(model.ncam)]
    view = mujoco.MjvCamera()
    if wanted is None and not names:
        mujoco.mjv_defaultFreeCamera(model, view)
        return view
    if wanted is None:
        wanted = "track" if "track" in names else 0
    if wanted not in (names if isinstance(wanted, str) else range(model.ncam)):
        raise unknown("camera", str(wanted), names)
    view.type = mujoco.mjtCamera.mjCAMERA_FIXED
    view.fixedcamid = names.index(wanted) if isinstance(wanted, str) else wanted
    return view


class _GlContext(Protocol):
    def make_current(self) -> None: ...
    def free(self) -> None: ...


def _gl_context(backend: str | None, width: int, height: int) -> _GlContext:
    if backend is None and sys.platform == "linux":
        raise RuntimeError("this machine has no display, no EGL and no OSMesa library")
    module = backend if backend in ("egl", "osmesa") else "gl_context"
    return import_module(f"mujoco.{module}").GLContext(width, height)


def _free(gl: _GlContext, context: mujoco.MjrContext) -> None:
    """In its own OpenGL, where a camera that nobody closed would free the buffers of another's that is current."""
    gl.make_current()
    context.free()
    gl.free()


def _no_gl(backend: str | None, refusal: Exception) -> str:
    how = (
        "Without a GPU, `apt install libosmesa6` (Debian, Ubuntu); with one, install the EGL library of its driver. "
        "The environment variable MUJOCO_GL=osmesa, egl or glfw forces a choice."
        if sys.platform == "linux"
        else "Run it from a session that has a display."
    )
    tried = f"OpenGL backend '{backend}'" if backend else "OpenGL"
    return f"no picture can be drawn with {tried}: {refusal}\n{how}\n`paddock doctor` shows what works here."


def _draw(scene: mujoco.MjvScene, mark: Mark) -> None:
    if scene.ngeom == scene.maxgeom:
        raise PaddockError(f"the scene is full: it holds {scene.maxgeom} geoms.")
    geom = scene.geoms[scene.ngeom]
    scene.ngeom += 1
    pos, rgba = np.array(mark.pos), np.array(mark.rgba, dtype=np.float32)
    if mark.vector is None and mark.solid:
        mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_SPHERE, np.full(3, mark.radius), pos, np.eye(3).flatten(), rgba)
    elif mark.vector is None:
        size = np.array([mark.radius, 0.003, 0.0])
        mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_CYLINDER, size, pos, np.eye(3).flatten(), rgba)
    else:
        arrow = mujoco.mjtGeom.mjGEOM_ARROW
        mujoco.mjv_initGeom(geom, arrow, np.ones(3), pos, np.eye(3).flatten(), rgba)
        mujoco.mjv_connector(geom, arrow, mark.radius, pos, pos + np.array(mark.vector))
