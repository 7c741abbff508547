"""Many frames on one page: what happened, at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont


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
    head, label = 92, 40 if any(strip.title or strip.subtitle for strip in strips) else 6
    row = label + tile[1] + (22 if label > 6 else 6)
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
