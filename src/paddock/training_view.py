"""What a person sees while a run trains: a live panel in a terminal, a line now and then in a pipe."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live as LivePanel
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

BARS = "▁▂▃▄▅▆▇█"
UNKNOWN = "-"
LINE_EVERY_S = 10.0
SPARK_POINTS = 40


@dataclass(frozen=True, kw_only=True)
class Glance:
    """A run at one moment."""

    task: str
    run: str
    env_steps: int
    updates: int
    seconds: float
    share: float
    """Of the training that is done, 0 to 1."""
    steps_per_s: float
    numbers: dict[str, float]
    evaluation: str = ""
    """What the last evaluation found."""
    troubles: tuple[str, ...] = ()
    paused: bool = False

    @property
    def eta_s(self) -> float:
        """Seconds still to go, at the pace so far; NaN before there is one."""
        return self.seconds * (1 - self.share) / self.share if self.share else math.nan


class View(Protocol):
    """Somebody who looks."""

    def show(self, glance: Glance) -> None: ...

    def note(self, text: str) -> None:
        """Something worth a line of its own."""
        ...

    def close(self) -> None: ...


class Nobody:
    """Shows nothing, for programs and notebooks that want none."""

    def show(self, glance: Glance) -> None: ...

    def note(self, text: str) -> None: ...

    def close(self) -> None: ...


class Lines:
    """A line every ten seconds, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console, self._due = console, 0.0
        self._shown: Glance | None = None
        self._said_at, self._evaluation = (-1, -1), ""

    def show(self, glance: Glance) -> None:
        before = self._shown
        if before is not None and glance.paused != before.paused:
            self.note("paused" if glance.paused else "going on")
        self._shown = glance
        if glance.paused or (time.monotonic() < self._due and glance.share < 1):
            return
        at = glance.updates, glance.env_steps
        if at != self._said_at:
            self._say(glance, is_first=before is None)
        if glance.evaluation != self._evaluation:
            self.note(f"{'':8}  evaluation: {glance.evaluation}")
        self._said_at, self._evaluation = at, glance.evaluation

    def _say(self, glance: Glance, *, is_first: bool) -> None:
        self._due = time.monotonic() + LINE_EVERY_S
        if is_first:
            self.note(f"{glance.task}  {glance.run}")
        known = [("return", "episode/return", ".2f"), ("length", "episode/length", ".0f"), ("success", "episode/success", ".2f")]
        shown = "".join(f"{label} {number(glance.numbers[name], form)}  " for label, name, form in known if name in glance.numbers)
        trouble = f"  ! {glance.troubles[-1]}" if glance.troubles else ""
        self.note(
            f"{clock(glance.seconds):>8}  {glance.share:4.0%}  {glance.env_steps:>11,} steps  "
            f"{number(glance.steps_per_s, ',.0f'):>9}/s  {shown}eta {clock(glance.eta_s)}{trouble}"
        )

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None: ...


class Terminal:
    """A panel that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = LivePanel(console=console, refresh_per_second=4, transient=False)
        self._history: deque[float] = deque(maxlen=400)
        self._updates = -1

    def show(self, glance: Glance) -> None:
        earned = glance.numbers.get("episode/return", math.nan)
        if glance.updates != self._updates and math.isfinite(earned):
            self._history.append(earned)
        self._updates = glance.updates
        self._live.start()  # not before: a run that is refused leaves the terminal as it was
        self._live.update(self._panel(glance))

    def note(self, text: str) -> None:
        self._live.console.print(Text(text))

    def close(self) -> None:
        self._live.stop()

    def _panel(self, glance: Glance) -> Panel:
        head = Text.assemble(
            (f"{glance.env_steps:,}", "bold"), f" steps   {glance.updates:,} updates   ",
            (number(glance.steps_per_s, ",.0f"), "bold"), " steps/s   ",
            f"{clock(glance.seconds)} gone, {clock(glance.eta_s)} to go",
        )  # fmt: skip
        bar = Padding(ProgressBar(total=1.0, completed=glance.share), (0, 0, 1, 0))
        table = Table.grid(padding=(0, 3))
        for _ in range(3):
            table.add_column(vertical="top")
        table.add_row(
            self._column(
                "episodes", glance, {"return": "episode/return", "length": "episode/length", "success": "episode/success"}
            ),
            self._column(
                "reward a step", glance, {n.removeprefix("reward/"): n for n in glance.numbers if n.startswith("reward/")}
            ),
            self._column("learning", glance, {n.removeprefix("learn/"): n for n in glance.numbers if n.startswith("learn/")}),
        )
        parts: list[Text | Padding | Table] = [head, bar, table]
        if len(self._history) > 1:
            parts += [Text(), Text.assemble(("return      ", "dim"), (sparkline(list(self._history)), "cyan"))]
        if glance.evaluation:
            parts.append(Text.assemble(("evaluation  ", "dim"), glance.evaluation))
        parts += [Text(f"! {trouble}", style="bold red") for trouble in glance.troubles]
        paused = (" paused", "bold yellow") if glance.paused else ""
        title = Text.assemble((glance.task, "bold cyan"), " ", (glance.run, "dim"), paused)
        return Panel(Group(*parts), title=title, title_align="left", border_style="dim", padding=(1, 2))

    @staticmethod
    def _column(title: str, glance: Glance, names: dict[str, str]) -> Table:
        table = Table.grid(padding=(0, 1))
        table.add_row(Text(title, style="dim"), "")
        for label, name in names.items():
            if name in glance.numbers:
                table.add_row(Text(label), f"{number(glance.numbers[name], '.4g'):>9}")
        return table


def view_for(console: Console) -> View:
    """A panel where somebody sits, lines where nobody does."""
    return Terminal(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console)


def sparkline(values: list[float]) -> str:
    """A curve in one line, each sign the mean of its part; what is not finite is left out."""
    values = [value for value in values if math.isfinite(value)]
    width = min(SPARK_POINTS, len(values))
    edges = [len(values) * i // width for i in range(width + 1)] if width else []
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(means, default=0.0), max(means, default=0.0)
    return "".join(BARS[round((value - low) / (high - low) * (len(BARS) - 1)) if high > low else 0] for value in means)


def number(value: float, form: str) -> str:
    """The number, or a dash for one that is not known yet."""
    return f"{value:{form}}" if math.isfinite(value) else UNKNOWN


def clock(seconds: float) -> str:
    """4:05, or 1:02:03; a dash where nobody knows."""
    if not math.isfinite(seconds):
        return UNKNOWN
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
