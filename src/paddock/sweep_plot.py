"""A sweep as a picture: how the objective came along, and what each setting did to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paddock.messages import TrialRow
from paddock.sweeping import Sweep, importance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DONE, CUT, BEST = "#2563a8", "#b9c4d0", "#c2410c"


def plot_sweep(sweep: Sweep, path: Path) -> Path:
    """Draw every judged trial: over time, then over each searched setting, the most important first."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    card, weights = sweep.card, importance(sweep)
    rows = [row for row in sweep.rows() if row.value is not None]
    axes_of = sorted(sweep.axes, key=lambda own: -weights.get(own.name, 0.0))
    figure, panels = plt.subplots(1, 1 + len(axes_of), figsize=(3.4 * (1 + len(axes_of)), 3.0), squeeze=False, layout="constrained")
    first, *others = panels[0]
    best = sweep.best()
    _dots(first, rows, [float(row.number) for row in rows], best)
    _draw_best(first, rows, minimize=card.minimize)
    first.set_xlabel("trial", fontsize=8)
    first.xaxis.set_major_locator(MaxNLocator(integer=True))
    first.set_ylabel(card.objective.replace("/", " "), fontsize=8)
    for own, panel in zip(axes_of, others, strict=True):
        if own.choices:
            drawn = [own.extremes().index(row.settings[own.name]) for row in rows]
            panel.set_xticks(range(len(own.choices)), own.choices, fontsize=7)
            panel.set_xlim(-0.5, len(own.choices) - 0.5)
        else:
            drawn = [float(str(row.settings[own.name])) for row in rows]
            panel.set_xscale("log" if own.log else "linear")
        _dots(panel, rows, [float(value) for value in drawn], best)
        weight = f"  explains {weights[own.name]:.0%}" if own.name in weights else ""
        panel.set_xlabel(f"{own.name}{weight}", fontsize=8)
        panel.sharey(first)
    for panel in panels[0]:
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    figure.suptitle(f"{card.name}: {card.task}", fontsize=10, x=0.01, ha="left", fontweight="bold")
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _dots(panel: Axes, rows: list[TrialRow], across: list[float], best: TrialRow | None) -> None:
    for row, x in zip(rows, across, strict=True):
        colour = BEST if best is not None and row.number == best.number else CUT if row.state == "pruned" else DONE
        panel.scatter([x], [row.value or 0.0], s=18, color=colour, zorder=3, marker="x" if row.state == "pruned" else "o")


def _draw_best(panel: Axes, rows: list[TrialRow], *, minimize: bool) -> None:
    """The best so far, as a line of steps."""
    done = [row for row in rows if row.state == "complete"]
    reached: list[float] = []
    for row in done:
        assert row.value is not None
        reached.append(row.value if not reached else (min if minimize else max)(reached[-1], row.value))
    panel.step([row.number for row in done], reached, where="post", color=BEST, linewidth=1.2)
