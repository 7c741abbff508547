"""Pictures: what is in front of the camera is in the frame, and files are whole or absent."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import mujoco
import numpy as np
import pytest
from PIL import Image, ImageSequence

from paddock.cli import main
from paddock.errors import PaddockError
from paddock.rendering import Camera, Mark
from paddock.sheets import Strip, contact_sheet
from paddock.videos import write_video

BALL = """<mujoco>
  <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
  <worldbody>
    {camera}
    <body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.2" rgba="1 0 0 1"/></body>
  </worldbody>
</mujoco>"""
AHEAD = '<camera name="{name}" pos="0 -3 0" xyaxes="1 0 0 0 0 1"/>'


@pytest.fixture(scope="module", autouse=True)
def gl() -> None:
    """Skips where nothing can be drawn, except in CI: there it must."""
    try:
        Camera(mujoco.MjModel.from_xml_string("<mujoco/>"), width=8, height=8).close()
    except PaddockError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def ball(camera: str = AHEAD.format(name="front")) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(BALL.format(camera=camera))


def red_column(frame: np.ndarray) -> float:
    """Mean column of the red pixels, from -1 at the left edge to 1 at the right."""
    red = (frame[..., 0] > 150) & (frame[..., 1] < 80) & (frame[..., 2] < 80)
    assert red.any()
    return float(np.argwhere(red)[:, 1].mean()) / frame.shape[1] * 2 - 1


def test_a_frame_shows_the_state() -> None:
    with Camera(ball(), width=160, height=120) as camera:
        frames = [camera.frame(np.array([x])) for x in (-0.6, 0.0, 0.6)]
    assert all(frame.shape == (120, 160, 3) and frame.dtype == np.uint8 for frame in frames)
    left, middle, right = map(red_column, frames)
    # at 3 m and 45 degrees of height, half the width is 3 tan(22.5) 4/3 = 1.657 m
    assert (left, middle, right) == pytest.approx((-0.6 / 1.657, 0.0, 0.6 / 1.657), abs=0.03)


def test_the_camera_is_track_then_the_first_then_one_that_sees_everything() -> None:
    away = '<camera name="away" pos="0 -3 0" xyaxes="-1 0 0 0 0 1"/>'
    for cameras in (away + AHEAD.format(name="track"), AHEAD.format(name="front") + away, ""):
        with Camera(ball(cameras), width=64, height=48) as camera:
            assert abs(red_column(camera.frame(np.zeros(1)))) < 0.05
    with pytest.raises(PaddockError, match="Did you mean 'front'"):
        Camera(ball(), camera="frnt")


def test_marks_are_drawn_for_one_frame() -> None:
    mark = Mark(pos=(0.0, -1.0, 0.0), rgba=(0.0, 1.0, 0.0, 1.0), radius=0.02, vector=(0.8, 0.0, 0.0))
    with Camera(ball(), width=160, height=120) as camera:
        with_mark = camera.frame(np.zeros(1), marks=[mark])
        without = camera.frame(np.zeros(1))
    green = (with_mark[..., 1] > 150) & (with_mark[..., 0] < 80)
    assert green[:, 80:].sum() > 50 and green[:, :70].sum() == 0
    assert not ((without[..., 1] > 150) & (without[..., 0] < 80)).any()


def test_frames_may_be_larger_than_the_models_buffer() -> None:
    with Camera(ball(), width=800, height=600) as camera:
        assert camera.frame(np.zeros(1)).shape == (600, 800, 3)


def shades(count: int) -> Iterator[np.ndarray]:
    for i in range(count):
        yield np.full((48, 64, 3), 20 * i, dtype=np.uint8)


def decoded(path: Path, height: int, width: int) -> np.ndarray:
    """Every frame of a film, by other code than wrote it; (frames, height, width, 3)."""
    if path.suffix == ".gif":
        with Image.open(path) as film:
            return np.stack([np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(film)])
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, dtype=np.uint8).reshape(-1, height, width, 3)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_video_has_every_frame(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"shades{suffix}"
    write_video(path, shades(10), fps=25)
    frames = decoded(path, 48, 64)
    assert frames.shape == (10, 48, 64, 3)
    np.testing.assert_allclose(frames.mean(axis=(1, 2, 3)), 20 * np.arange(10), atol=4)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_video_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def breaks() -> Iterator[np.ndarray]:
        yield from shades(3)
        raise RuntimeError("the policy gave up")

    path = tmp_path / "kept.mp4"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError, match="gave up"):
        write_video(path, breaks(), fps=25)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(PaddockError, match=r"\.mp4, \.gif"):
        write_video(tmp_path / "film.avi", shades(1), fps=25)


def test_play_films_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film = tmp_path / "balance.mp4"
    argv = ["play", "cartpole-balance", "--agent", "scripted", "--episodes", "2", "--seconds", "0.4", "--render", str(film)]
    assert main(argv) == 0
    said = capsys.readouterr().out
    assert "success" in said and "1.00" in said and str(film) in said.replace("\n", "")
    frames = decoded(film, 480, 640)
    assert len(frames) == 10  # every second control step of 0.02 s
    assert frames.std() > 10  # and there is something to see


def test_a_sheet_holds_every_frame() -> None:
    colours = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (200, 200, 0)]
    tiles = [np.full((40, 64, 3), colour, dtype=np.uint8) for colour in colours]
    strips = [
        Strip(title="a", subtitle="first", frames=tiles[:2], captions=["0 s", "1 s"]),
        Strip(title="b", subtitle="", frames=tiles[2:], captions=["0 s", "1 s"]),
    ]
    page = np.asarray(contact_sheet(strips, title="Sheet", tile_width=160))
    for colour, (right, low) in zip(colours, ((0, 0), (1, 0), (0, 1), (1, 1)), strict=True):
        rows, columns = np.nonzero((page == colour).all(axis=2))
        assert len(rows) > 0.8 * 160 * 100
        assert (columns.mean() > page.shape[1] / 2) == bool(right)
        assert (rows.mean() > page.shape[0] / 2 + 20) == bool(low)
