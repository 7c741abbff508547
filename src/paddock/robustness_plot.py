"""What policies can stand, as a picture: the transfer matrix as a heat map, and what each property does by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paddock.robustness import Cell, Robustness, is_by_return, merit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALONE, WITHOUT = "#c2410c", "#2563a8"
DARK = 0.55
"""Part of the scale below which numbers are written in white."""


def plot_robustness(found: Robustness, path: Path) -> Path:
    """Draw the matrix, and the ablations beside it where there are any."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = max(len(found.rows), len(found.ablations) * 0.6)
    size = (1.3 * len(found.conditions) + 2.2 + (4.6 if found.ablations else 0.0), 0.75 * rows + 1.3)
    count = 2 if found.ablations else 1
    figure, panels = plt.subplots(1, count, figsize=size, squeeze=False, layout="constrained")
    _draw_matrix(panels[0][0], found)
    if found.ablations:
        _draw_ablations(panels[0][1], found)
    title = f"{found.task}: {'return' if is_by_return(found) else 'success, with 95 % intervals,'} over {found.episodes} episodes"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left", fontweight="bold")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw_matrix(panel: Axes, found: Robustness) -> None:
    is_rate = not is_by_return(found)
    values = [[_value(cell, is_rate) for cell in row.cells] for row in found.rows]
    low, high = (0.0, 1.0) if is_rate else (min(map(min, values)), max(map(max, values)))
    panel.imshow(values, vmin=low, vmax=high, cmap="viridis", aspect="auto")
    for y, row in enumerate(found.rows):
        for x, cell in enumerate(row.cells):
            light = (_value(cell, is_rate) - low) / ((high - low) or 1.0) < DARK
            panel.text(x, y, _words(cell, is_rate), ha="center", va="center", fontsize=8, color="white" if light else "black")
    panel.set_xticks(range(len(found.conditions)), found.conditions, fontsize=8)
    panel.set_yticks(range(len(found.rows)), [row.trained_under for row in found.rows], fontsize=8)
    panel.set_xlabel("evaluated under", fontsize=8)
    panel.set_ylabel("trained under", fontsize=8)


def _draw_ablations(panel: Axes, found: Robustness) -> None:
    is_rate = not is_by_return(found)
    for y, ablation in enumerate(found.ablations[::-1]):
        for offset, cell, colour in ((0.15, ablation.alone, ALONE), (-0.15, ablation.without, WITHOUT)):
            panel.plot([_value(cell, is_rate)], [y + offset], "o", color=colour, markersize=5)
            if is_rate and cell.success is not None:
                panel.plot(cell.success.interval, [y + offset] * 2, color=colour, linewidth=2, alpha=0.5)
    panel.plot([], [], "o-", color=ALONE, label=f"this part of '{found.hardest}' alone")
    panel.plot([], [], "o-", color=WITHOUT, label="everything but this")
    panel.set_yticks(range(len(found.ablations)), [ablation.name for ablation in found.ablations[::-1]], fontsize=8)
    if is_rate:
        panel.set_xlim(-0.03, 1.03)
    panel.set_title("what hurts most, from the top", fontsize=9, loc="left")
    panel.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def _value(cell: Cell, is_rate: bool) -> float:
    return merit(cell) if is_rate else cell.mean_return


def _words(cell: Cell, is_rate: bool) -> str:
    if cell.success is None or not is_rate:
        return f"{cell.mean_return:.1f}"
    low, high = cell.success.interval
    return f"{cell.success.value:.2f}\n{low:.2f} to {high:.2f}"
