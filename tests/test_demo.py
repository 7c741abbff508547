"""The demo as a newcomer runs it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

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
def test_demo_with_the_cockpit_open(tmp_path: Path) -> None:
    """The page answers while it trains and after it; Ctrl-C ends both."""
    command = [sys.executable, "-m", "paddock", "demo", "--quick", "--cockpit", "on", "--out", str(tmp_path)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True) as demo:
        assert demo.stdout is not None
        said = address = ""
        for line in demo.stdout:
            said += line
            if "Watch it" in line:
                address = line.split()[-1]
                assert b"Paddock" in urlopen(address).read()
            if "Ctrl-C ends it" in line:
                assert urlopen(address).status == 200
                os.killpg(demo.pid, signal.SIGINT)
    assert demo.returncode == 0 and "demo.mp4" in said
    with pytest.raises(URLError):
        urlopen(address)


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
