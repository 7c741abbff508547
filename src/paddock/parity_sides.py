"""What is compared: something that takes the states of a task, steps them, and says what came of it.

A sim of this package is one such side. An engine elsewhere, such as one in a browser, joins by answering the same questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from paddock.evaluation import Agent
from paddock.parity_states import States


@dataclass(frozen=True, kw_only=True, eq=False)
class Reached:
    """Where one control step led, before anything was reset, and what the task says of it; n worlds, on the CPU."""

    raw: dict[str, Tensor]
    """The engine's numbers: qpos, qvel, act, ctrl, sensordata, fields/NAME."""
    numbers: dict[str, Tensor]
    """`reward`, `reward/TERM`, `obs/NAME`, `privileged/NAME`; (n, k) each."""
    flags: dict[str, Tensor]
    """`ends/CAUSE`, `truncated`, `success`, `failed`; (n,) bool each."""

    def of(self, rows: Tensor) -> Reached:
        """From some of the states."""
        groups = (self.raw, self.numbers, self.flags)
        raw, numbers, flags = ({name: value[rows] for name, value in group.items()} for group in groups)
        return Reached(raw=raw, numbers=numbers, flags=flags)


@dataclass(frozen=True, kw_only=True, eq=False)
class Followed:
    """Several control steps, one after another."""

    qpos: Tensor
    """(steps, n, nq)."""
    going: Tensor
    """Whether the episode had not ended by then; (steps, n) bool."""


@dataclass(frozen=True, kw_only=True)
class Played:
    """Whole episodes of one agent."""

    returns: tuple[float, ...]
    lengths: tuple[float, ...]
    successes: tuple[bool, ...]
    """Empty for a task that does not say what success is."""
    ends: dict[str, int]


class Side(Protocol):
    """Something that steps a task's worlds."""

    name: str

    def reach(self, states: States, /) -> Reached:
        """One control step from each state."""
        ...

    def follow(self, states: States, actions: Tensor, /) -> Followed:
        """Control steps from each state under the same actions (steps, n, na) whatever happens."""
        ...

    def play(self, agent: Agent, /, *, episodes: int, seed: int, advance: Callable[[float], None]) -> Played:
        """So many episodes; `advance` hears of each that ends."""
        ...
