"""A comparison of runs as a picture: curves with bands over the seeds, and where each group ended."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from paddock.comparing import Comparison, Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = 0.18
LETTERS_PER_INCH, LINE_INCHES = 13.0, 0.15
"""Of the names of groups, below the panels."""
COLOURS = ("#2563a8", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#0e7490", "#be123c", "#4d7c0f")


def plot_comparison(comparison: Comparison, path: Path, *, title: str = "") -> Path:
    """Draw each metric over steps, the middle with a band from the least seed to the most; then the intervals at the end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    metrics, groups = comparison.metrics, comparison.groups
    colours = {group.label: COLOURS[i % len(COLOURS)] for i, group in enumerate(groups)}
    width = 4.2 * (1 + len(metrics))
    names = [fill(_name(group), round(LETTERS_PER_INCH * width)) for group in groups]
    lines = sum(1 + name.count("\n") for name in names)
    size = (width, 3.2 + LINE_INCHES * lines)
    figure, panels = plt.subplots(1, 1 + len(metrics), figsize=size, squeeze=False, layout="constrained")
    *over_time, ends = panels[0]
    for metric, panel in zip(metrics, over_time, strict=True):
        _draw_curves(panel, metric, groups, colours, at=comparison.at)
    _draw_ends(ends, metrics[0], groups, colours)
    for panel in panels[0]:
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    marks = [Line2D([], [], color=colours[group.label], linewidth=2) for group in groups]
    figure.legend(marks, names, loc="outside lower left", fontsize=7, frameon=False)
    if title:
        figure.suptitle(title, fontsize=10, x=0.01, ha="left", fontweight="bold")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _name(group: Group) -> str:
    seeds = len(group.runs)
    return f"{group.label}  ({seeds} seed{'s' * (seeds != 1)})"


def _draw_curves(panel: Axes, metric: str, groups: tuple[Group, ...], colours: dict[str, str], *, at: int) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    for group in groups:
        if metric not in group.curves:
            continue
        curves, colour = group.curves[metric], colours[group.label]
        panel.plot(curves.step, curves.middle, color=colour)
        panel.fill_between(curves.step, curves.low, curves.high, color=colour, alpha=BAND, linewidth=0)
    if at:
        panel.axvline(at, color="#888888", linewidth=0.8, linestyle=":")
    if metric.endswith("success"):
        panel.set_ylim(-0.03, 1.03)
    panel.set_title(metric.replace("/", " "), fontsize=9, loc="left")
    panel.set_xlabel("environment steps", fontsize=8)
    panel.xaxis.set_major_locator(MaxNLocator(5))
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))


def _draw_ends(panel: Axes, metric: str, groups: tuple[Group, ...], colours: dict[str, str]) -> None:
    """One line a group: its seeds as dots, and the interval of what they have in common."""
    known = [group for group in groups if metric in group.values][::-1]
    for place, group in enumerate(known):
        reached, colour = group.reached[metric], colours[group.label]
        panel.plot([reached.low, reached.high], [place, place], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
        panel.plot([reached.middle], [place], "|", color=colour, markersize=14, markeredgewidth=2)
        panel.plot(group.values[metric], [place] * len(group.values[metric]), ".", color=colour, markersize=6)
    panel.set_yticks([])
    panel.set_ylim(-0.6, len(known) - 0.4)
    panel.set_title(f"{metric.replace('/', ' ')} at the end", fontsize=9, loc="left")
