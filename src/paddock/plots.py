"""Curves of runs as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import PaddockError

if TYPE_CHECKING:
    from paddock.trained import Run

WANTED = ("evaluation/success", "evaluation/return", "episode/return", "episode/length")
BLUE, RANGE = "#2563a8", 0.18
FEW = 10


def plot_runs(runs: Sequence[Run], path: Path, *, names: Sequence[str] = WANTED, title: str = "") -> Path:
    """Draw each scalar over environment steps, a line for each run, where the record has it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import EngFormatter, MaxNLocator

    kept = plottable(runs, names)
    if not kept:
        raise PaddockError(f"none of {', '.join(names)} was recorded yet.")
    figure, axes = plt.subplots(1, len(kept), figsize=(3.6 * len(kept), 2.8), squeeze=False, layout="constrained")
    for name, axis in zip(kept, axes[0], strict=True):
        for i, run in enumerate(run for run in runs if name in run.curves()):
            curve = run.curve(name, max_points=400)
            colour = f"C{i}" if len(runs) > 1 else BLUE
            dots = "." if len(curve.step) < FEW else ""  # a line through one point is none
            axis.plot(curve.step, curve.mean, color=colour, marker=dots, label=f"seed {run.card.setup.seed}")
            axis.fill_between(curve.step, curve.min, curve.max, color=colour, alpha=RANGE, linewidth=0)
        axis.set_title(name.replace("/", " "), fontsize=9, loc="left")
        axis.set_xlabel("environment steps", fontsize=8)
        axis.xaxis.set_major_locator(MaxNLocator(5))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        if name.endswith("success"):
            axis.set_ylim(-0.03, 1.03)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    if len(runs) > 1:
        axes[0][0].legend(fontsize=7, frameon=False)
    figure.suptitle(title or runs[0].card.setup.task, fontsize=10, x=0.01, ha="left", fontweight="bold")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def plottable(runs: Sequence[Run], names: Sequence[str] = WANTED) -> list[str]:
    """Those of `names` that any of the runs recorded."""
    recorded = {name for run in runs for name in run.curves()}
    return [name for name in names if name in recorded]
