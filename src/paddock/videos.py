"""Frames as a film."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from paddock.errors import PaddockError

VIDEO_SUFFIXES = (".mp4", ".gif")


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
