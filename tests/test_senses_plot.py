"""The picture of a task's senses."""

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.image import imread

import paddock
from paddock import terms as t
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.senses_plot import ERROR, plot_senses
from paddock.tasks.noise import MEMS_GYRO


def test_inspect_draws_readings_errors_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "quadruped-walk-rough", "--plot", str(tmp_path / "in" / "senses.png")])
    shown = capsys.readouterr().out
    assert "curriculum" in shown and "Picture: " in shown
    picture = imread(tmp_path / "in" / "senses.png")
    assert picture.shape[0] > 300 and picture.std() > 0.05


def test_noise_has_panels_of_its_own(tmp_path: Path) -> None:
    base = paddock.find_task("quadruped-stand")
    task = replace(base, noise={"gyro": MEMS_GYRO}, randomize={**base.randomize, "errors": t.NoiseScale((0.5, 2.0))})
    plain, noisy = (plot_senses(one, tmp_path / f"{i}.png") for i, one in enumerate((base, task)))
    assert imread(noisy).shape[0] >= imread(plain).shape[0]
    assert ERROR not in task.observe
    with pytest.raises(PaddockError, match=r"cannot be written to .*\.xyz"):
        plot_senses(base, tmp_path / "senses.xyz")
