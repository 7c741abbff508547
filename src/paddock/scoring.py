"""What an agent got out of a task, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from paddock.terminal import plain_table, screen


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A proportion of trials, with the interval that holds the true one 19 times out of 20 (Wilson's)."""

    count: int
    trials: int

    @property
    def value(self) -> float:
        return self.count / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        n, p, z2 = self.trials, self.value, 1.96**2
        centre = (p + z2 / (2 * n)) / (1 + z2 / n)
        half = math.sqrt(p * (1 - p) * z2 / n + z2 * z2 / (4 * n * n)) / (1 + z2 / n)
        return max(0.0, centre - half), min(1.0, centre + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.2f} [{low:.2f}, {high:.2f}]"


@dataclass(frozen=True, kw_only=True)
class Score:
    """What an agent got out of a task."""

    task: str
    agent: str
    episodes: int
    success: Rate | None
    """None for a task that does not say what success is."""
    mean_return: float
    mean_length: float
    """Control steps."""
    terms: dict[str, float]
    """Each weighted reward term, summed over an episode, as the mean over episodes."""
    measures: dict[str, float]
    """What the task measures, as means over steps; a step that ends an episode does not count."""
    ends: dict[str, int]
    """Episodes by what ended them, the first in the task's order; `truncated` ran out of time, `failed` broke the engine."""
    env_steps_per_s: float


def show(score: Score) -> None:
    """One score in full, on stdout."""
    title = Text.assemble(("\n" + score.task, "bold cyan"), f"  {score.agent} agent, {score.episodes} episodes\n")
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row("success", str(score.success or "the task defines none"))
    table.add_row(
        "return", f"{score.mean_return:.2f}  = " + "  ".join(f"{name} {value:+.2f}" for name, value in score.terms.items())
    )
    for name, value in score.measures.items():
        table.add_row(name, f"{value:.4g} on average")
    table.add_row("length", f"{score.mean_length:.0f} steps on average")
    table.add_row("ends", _ends(score))
    table.add_row("speed", f"{score.env_steps_per_s:,.0f} env steps/s")
    screen().print(title, table, "")


def show_all(scores: Sequence[Score]) -> None:
    """Many scores, a line each, on stdout."""
    table = plain_table()
    for name in ("task", "agent", "success, 95 % interval", "return", "steps", "ended by"):
        table.add_column(name, justify="right" if name in ("return", "steps") else "left", no_wrap=name in ("task", "agent"))
    task = ""
    for score in scores:
        style = "dim" if score.agent in ("zero", "random") else ""
        first = f"[not dim bold cyan]{score.task}[/]" if score.task != task else ""
        numbers = (str(score.success or "-"), f"{score.mean_return:.1f}", f"{score.mean_length:.0f}", _ends(score))
        table.add_row(first, score.agent, *numbers, style=style)
        task = score.task
    screen().print(table)


def _ends(score: Score) -> str:
    return ", ".join(f"{name} {count}" for name, count in score.ends.items())
