"""From states to pictures: one frame, a sheet of frames, a video."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from paddock.errors import PaddockError, unknown

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

VIDEO_SUFFIXES = (".mp4", ".gif")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something drawn that is not in the model: a disc on the ground, or an arrow along `vector`."""

    pos: tuple[float, float, float]
    rgba: tuple[float, float, float, float]
    radius: float
    vector: tuple[float, float, float] | None = None


class Camera:
    """Takes pictures of one model. Owns an OpenGL context: close it, or use it in a `with`."""

    def __init__(
        self, model: mujoco.MjModel, *, width: int = 640, height: int = 480, camera: str | int | None = None
    ) -> None:
        """`camera` is a name or number of the model; without one, `track`, else the first, else one that sees it all."""
        self._camera = _view(model, camera)
        self._data = mujoco.MjData(model)
        self._model = model
        # buffers are made by the context below, in the size the model asks for
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        try:
            self._renderer = mujoco.Renderer(model, height, width)
        except Exception as refusal:  # each OpenGL binding fails in its own way
            raise PaddockError(_no_gl(refusal)) from refusal

    def frame(self, qpos: np.ndarray, qvel: np.ndarray | None = None, *, marks: Sequence[Mark] = ()) -> np.ndarray:
        """The picture of a state; (height, width, 3) uint8."""
        self._data.qpos[:] = qpos
        self._data.qvel[:] = 0.0 if qvel is None else qvel
        mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data, self._camera)
        for mark in marks:
            _draw(self._renderer.scene, mark)
        return self._renderer.render()

    def close(self) -> None:
        self._renderer.close()

    def __enter__(self) -> Camera:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _view(model: mujoco.MjModel, wanted: str | int | None) -> str | int | mujoco.MjvCamera:
    names = [model.camera(i).name for i in range(model.ncam)]
    if wanted is None and names:
        return "track" if "track" in names else 0
    if wanted is None:
        free = mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(model, free)
        return free
    if wanted not in (names if isinstance(wanted, str) else range(model.ncam)):
        raise unknown("camera", str(wanted), names)
    return wanted


def _draw(scene: mujoco.MjvScene, mark: Mark) -> None:
    if scene.ngeom == scene.maxgeom:
        raise PaddockError(f"the scene is full: it holds {scene.maxgeom} geoms.")
    geom = scene.geoms[scene.ngeom]
    scene.ngeom += 1
    pos, rgba = np.array(mark.pos), np.array(mark.rgba, dtype=np.float32)
    if mark.vector is None:
        size = np.array([mark.radius, mark.radius, 0.004])
        mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_CYLINDER, size, pos, np.eye(3).flatten(), rgba)
    else:
        arrow = mujoco.mjtGeom.mjGEOM_ARROW
        mujoco.mjv_initGeom(geom, arrow, np.ones(3), pos, np.eye(3).flatten(), rgba)
        mujoco.mjv_connector(geom, arrow, mark.radius, pos, pos + np.array(mark.vector))


def _no_gl(refusal: Exception) -> str:
    backend = os.environ.get("MUJOCO_GL") or "MuJoCo's default"
    how = (
        "On a machine with a GPU, install its driver with EGL and set MUJOCO_GL=egl; "
        "without one, `apt install libosmesa6` (Debian, Ubuntu) and MUJOCO_GL=osmesa."
        if sys.platform == "linux"
        else "Run it from a session that has a display."
    )
    return f"no picture can be drawn with OpenGL backend '{backend}': {refusal}\n{how}\n`paddock doctor` shows what works here."


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


def write_video(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """Frames (height, width, 3) as an .mp4 (H.264) or .gif: written beside, then renamed, so no half file stays."""
    import imageio.v2 as imageio

    if path.suffix not in VIDEO_SUFFIXES:
        raise PaddockError(f"a video cannot be written as '{path.name}'. Known endings: {', '.join(VIDEO_SUFFIXES)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        if path.suffix == ".mp4":
            writer = imageio.get_writer(
                partial, format="FFMPEG", fps=fps, codec="libx264", pixelformat="yuv420p", quality=8, macro_block_size=2
            )
        else:
            writer = imageio.get_writer(partial, format="GIF", duration=1000 / fps, loop=0)
        with writer:
            for frame in frames:
                writer.append_data(frame)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
