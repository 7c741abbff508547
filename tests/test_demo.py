"""The demo as a newcomer runs it."""

import os
from pathlib import Path

import pytest
from PIL import Image

from paddock import tour
from paddock.cli import main
from paddock.gl_choice import best_gl

needs_gl = pytest.mark.skipif(best_gl() is None and os.environ.get("CI") != "true", reason="nothing here can draw")


@needs_gl
def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--quick", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for word in ("quadruped-stand", "policy", "zero", "demo.mp4", "paddock export"):
        assert word in shown
    assert (tmp_path / "demo.mp4").stat().st_size > 1000
    with Image.open(tmp_path / "demo-curves.png") as picture:
        assert picture.width > 800


@needs_gl
def test_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert {"quadruped-walk", "humanoid-walk"} < set(tour.TASKS)
    monkeypatch.setattr(tour, "TASKS", ("cartpole-pair", "quadruped-walk"))  # all of them take minutes
    monkeypatch.setattr(tour, "SPEED_S", 0.1)
    assert main(["tour", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for word in ("quadruped-walk", "scripted", "env steps/s", "tour.png", "paddock inspect"):
        assert word in shown
    with Image.open(tmp_path / "tour.png") as picture:
        assert picture.width > 1000 and len(picture.getcolors(maxcolors=10**7) or []) > 1000


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "quadruped-balance" in capsys.readouterr().out
