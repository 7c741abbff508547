"""From states to pictures: one frame, a sheet of frames, a video."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import mujoco
import numpy as np

from paddock.errors import PaddockError, unknown
from paddock.gl_choice import best_gl

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

VIDEO_SUFFIXES = (".mp4", ".gif")
MAX_GEOMS = 10_000


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something drawn that is not in the model: a disc on the ground, or an arrow along `vector`."""

    pos: tuple[float, float, float]
    rgba: tuple[float, float, float, float]
    radius: float
    vector: tuple[float, float, float] | None = None


class Camera:
    """Takes pictures of one model. Owns an OpenGL context: close it, or use it in a `with`.

    The context is made here rather than by `mujoco.Renderer`, whose backend is settled by the first `import mujoco`.
    """

    def __init__(self, model: mujoco.MjModel, *, width: int = 640, height: int = 480, camera: str | int | None = None) -> None:
        """`camera` is a name or number of the model; without one, `track`, else the first, else one that sees it all."""
        self._model, self._data = model, mujoco.MjData(model)
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
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=MAX_GEOMS)

    def frame(self, qpos: np.ndarray, qvel: np.ndarray | None = None, *, marks: Sequence[Mark] = ()) -> np.ndarray:
        """The picture of a state; (height, width, 3) uint8."""
        self._data.qpos[:] = qpos
        self._data.qvel[:] = 0.0 if qvel is None else qvel
        mujoco.mj_forward(self._model, self._data)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, self._data, self._shown, None, self._view, everything, self._scene)
        for mark in marks:
            _draw(self._scene, mark)
        pixels = np.empty((self._frame.height, self._frame.width, 3), dtype=np.uint8)
        self._gl.make_current()
        mujoco.mjr_render(self._frame, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, self._frame, self._context)
        return np.ascontiguousarray(pixels[::-1])  # OpenGL counts rows from the bottom

    def close(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()

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
    if mark.vector is None:
        size = np.array([mark.radius, 0.003, 0.0])
        mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_CYLINDER, size, pos, np.eye(3).flatten(), rgba)
    else:
        arrow = mujoco.mjtGeom.mjGEOM_ARROW
        mujoco.mjv_initGeom(geom, arrow, np.ones(3), pos, np.eye(3).flatten(), rgba)
        mujoco.mjv_connector(geom, arrow, mark.radius, pos, pos + np.array(mark.vector))


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One row of a contact sheet: frames of one size, each with a caption."""

    title: str
    subtitle: str
    frames: Sequence[np.ndarray]
    captions: Sequence[str]


PAPER, INK, SOFT = (250, 249, 246), (28, 30, 34), (110, 114, 122)
MARGIN, GAP, CORNER = 36, 10, 10


def contact_sheet(strips: Sequence[Strip], *, title: str, subtitle: str = "", tile_width: int = 300) -> Image.Image:
    """Strips under each other on one page, under a title."""
    from PIL import Image, ImageDraw

    height, width = strips[0].frames[0].shape[:2]
    tile = (tile_width, round(tile_width * height / width))
    columns = max(len(strip.frames) for strip in strips)
    head, label = 92, 40
    row = label + tile[1] + 22
    page = Image.new("RGB", (2 * MARGIN + columns * (tile[0] + GAP) - GAP, MARGIN + head + len(strips) * row), PAPER)
    draw = ImageDraw.Draw(page)
    draw.text((MARGIN, MARGIN - 6), title, INK, _font(38))
    draw.text((MARGIN, MARGIN + 42), subtitle, SOFT, _font(18))
    for i, strip in enumerate(strips):
        top = MARGIN + head + i * row
        draw.text((MARGIN, top), strip.title, INK, _font(22))
        draw.text((MARGIN + draw.textlength(strip.title, _font(22)) + 14, top + 4), strip.subtitle, SOFT, _font(17))
        for j, (frame, caption) in enumerate(zip(strip.frames, strip.captions, strict=True)):
            corner = (MARGIN + j * (tile[0] + GAP), top + label - 6)
            picture = Image.fromarray(frame).resize(tile, Image.Resampling.LANCZOS)
            page.paste(picture, corner, _rounded(tile))
            _caption(draw, caption, (corner[0] + 8, corner[1] + tile[1] - 30))
    return page


def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.load_default(size=size)


def _rounded(size: tuple[int, int]) -> Image.Image:
    """A mask with round corners, drawn large and shrunk so that they are smooth."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", (size[0] * 4, size[1] * 4), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, size[0] * 4 - 1, size[1] * 4 - 1), CORNER * 4, fill=255)
    return mask.resize(size, Image.Resampling.LANCZOS)


def _caption(draw: ImageDraw.ImageDraw, text: str, corner: tuple[int, int]) -> None:
    width = draw.textlength(text, _font(14))
    draw.rounded_rectangle((*corner, corner[0] + width + 14, corner[1] + 22), 6, fill=PAPER)
    draw.text((corner[0] + 7, corner[1] + 2), text, INK, _font(14))


def check_video(path: Path, seconds: float = 1.0) -> None:
    """Refuse a video that could not be written, or would be empty."""
    if path.suffix not in VIDEO_SUFFIXES:
        raise PaddockError(f"a video cannot be written as '{path.name}'. Known endings: {', '.join(VIDEO_SUFFIXES)}")
    if not seconds > 0:
        raise PaddockError(f"a film of {seconds} s has no frames.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _partial(path).touch()
        _partial(path).unlink()
    except OSError as refusal:
        raise PaddockError(f"{path} cannot be written: {refusal.strerror}. Choose a folder that you may write to.") from None
    if path.is_dir():
        raise PaddockError(f"{path} is a folder. Choose the name of a file.")


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.stem}.partial{path.suffix}")


def write_video(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """Frames (height, width, 3) as an .mp4 (H.264) or .gif: written beside, then renamed, so no half file stays."""
    import imageio.v2 as imageio

    check_video(path)
    partial = _partial(path)
    try:
        if path.suffix == ".mp4":
            writer = imageio.get_writer(
                partial, format="FFMPEG", fps=fps, codec="libx264", pixelformat="yuv420p", quality=8, macro_block_size=2
            )
        else:
            writer = imageio.get_writer(partial, format="GIF", duration=1000 / fps, loop=0)
        try:
            for frame in frames:
                writer.append_data(frame)
        finally:
            writer.close()  # which leaving its `with` by an exception would not do
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
