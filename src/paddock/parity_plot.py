"""Parity as pictures: how the errors of each field are spread, and how fast two sims part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paddock.messages.parity import FieldError, ParityReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WITHIN, BEYOND = "#2563a8", "#c2410c"
EXACT, MOST = 1e-6, 1e6
"""Where errors of zero and without bounds are drawn, in parts of the tolerance."""


def plot_errors(report: ParityReport, path: Path) -> Path:
    """A line for each field: its errors as parts of its tolerance."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fields = report.fields[::-1]
    figure, panel = plt.subplots(figsize=(8.2, 1.3 + 0.17 * len(fields)), layout="constrained")
    for place, field in enumerate(fields):
        _draw_spread(panel, place, field)
    panel.axvline(1.0, color=BEYOND, linewidth=1.0)
    panel.set_xscale("log")
    panel.set_xlim(left=EXACT / 2)
    panel.set_ylim(-1, len(fields))
    panel.set_yticks(range(len(fields)), [field.name for field in fields], fontsize=6)
    panel.set_xlabel("error of one control step, as a part of the field's tolerance (zero at the left edge)", fontsize=8)
    label = f"{report.task}: {report.other} against {report.reference}, {report.states:,} states"
    panel.set_title(f"{label}\nthin 1 to 100 %, thick 5 to 95 %, tick median, dot 99 %", fontsize=9, loc="left")
    _finish(panel)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def plot_divergence(report: ParityReport, path: Path) -> Path:
    """How far qpos is apart over control steps of equal actions."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(8.2, 3.0), layout="constrained")
    steps = [point.steps for point in report.divergence]
    for name, style in (("median", "-"), ("p90", "--"), ("max", ":")):
        values = [min(max(getattr(point, name), 1e-9), MOST) for point in report.divergence]
        panel.plot(steps, values, style, color=WITHIN, label={"p90": "90 %"}.get(name, name))
    panel.set_yscale("log")
    panel.set_xlabel("control steps of equal random actions", fontsize=8)
    panel.set_ylabel("largest difference in qpos, m or rad", fontsize=8)
    panel.legend(fontsize=7, frameon=False)
    worlds = report.divergence[0].worlds if report.divergence else 0
    panel.set_title(f"{report.task}: {worlds} worlds followed from equal states (information only)", fontsize=9, loc="left")
    _finish(panel)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw_spread(panel: Axes, place: int, field: FieldError) -> None:
    colour = WITHIN if field.passed else BEYOND
    _, low, five, _, median, _, ninety_five, p99, most = (
        min(max(value / field.tolerance, EXACT), MOST) for value in field.quantiles
    )
    panel.plot([low, most], [place, place], color=colour, linewidth=0.8)
    panel.plot([five, ninety_five], [place, place], color=colour, linewidth=3.0, alpha=0.5, solid_capstyle="butt")
    panel.plot([median], [place], "|", color=colour, markersize=6)
    panel.plot([p99], [place], ".", color=colour, markersize=4)


def _finish(panel: Axes) -> None:
    panel.tick_params(axis="x", labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(alpha=0.25)
