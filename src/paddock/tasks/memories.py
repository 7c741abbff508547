"""What a task remembers between steps: commands, goals, timers, running means."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.errors import PaddockError
from paddock.tasks.curriculum import grown
from paddock.tasks.ranges import check_period, check_ranges
from paddock.tasks.sensing import Remembered

ACT_MEMORY = "act/target"
"""Name of what an act remembers that is a Memory too."""


def own(state: State) -> Tensor:
    """The present value of the memory or command that is being advanced."""
    group, name = state.scope.split("/", 1)
    return getattr(state, group)[name]


@dataclass(frozen=True, kw_only=True)
class UniformCommand:
    """A vector drawn between `low` and `high`, anew every `every_s` seconds; (n, k)."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    every_s: float
    easy: float = 1.0
    """Part of the vector that a curriculum begins with, and widens from."""
    mirror: tuple[float, ...] = ()
    """Signs that its numbers take where left and right are exchanged; (1, -1, -1) for a velocity. Needed to learn with symmetry."""

    def __post_init__(self) -> None:
        check_ranges(self, self.low, self.high)
        check_period(self, self.every_s)
        check_ranges(self, (0.0,), (self.easy,))
        if self.mirror and len(self.mirror) != len(self.low):
            raise PaddockError(f"{type(self).__name__}: {len(self.mirror)} signs in a mirror for {len(self.low)} numbers.")

    def start(self, state: State) -> Tensor:
        return self._drawn(state)

    def next(self, state: State) -> Tensor:
        """What an operator sets meanwhile stays until the next draw."""
        period = max(1, round(self.every_s / state.layout.control_dt))
        return torch.where((state.age % period == 0)[:, None], self._drawn(state), own(state))

    def reflected(self, value: Tensor) -> Tensor | None:
        return value * value.new_tensor(self.mirror) if self.mirror else None

    def _drawn(self, state: State) -> Tensor:
        drawn = state.uniform(len(self.low), self.low, self.high, index=state.age)
        return drawn if self.easy == 1.0 else drawn * grown(state, self.easy)


@dataclass(frozen=True, kw_only=True)
class GoalOnRing:
    """A point on the ground at a random bearing and distance from where the base starts; (n, 2) world x and y."""

    near: float
    far: float

    def reflected(self, value: Tensor) -> Tensor:
        return value * value.new_tensor([1.0, -1.0])

    def __post_init__(self) -> None:
        check_ranges(self, (0.0, self.near), (self.near, self.far))

    def start(self, state: State) -> Tensor:
        bearing, distance = state.uniform(2, (0.0, self.near), (2 * math.pi, self.far)).unbind(1)
        offset = torch.stack([distance * bearing.cos(), distance * bearing.sin()], dim=1)
        return state.sensor("base_pos")[:, :2] + offset

    def next(self, state: State) -> Tensor:
        return own(state)


@dataclass(frozen=True)
class Held:
    """Seconds that a condition has held without a break; (n,)."""

    condition: Term

    def start(self, state: State) -> Tensor:
        return torch.zeros_like(state.time)

    def next(self, state: State) -> Tensor:
        return torch.where(self.condition(state), own(state) + state.layout.control_dt, 0.0)

    def reflected(self, value: Tensor) -> Tensor:
        return value


@dataclass(frozen=True)
class Tracked:
    """A term's value one step ago and now; (n, 2). What `Progress` reads."""

    term: Term

    def start(self, state: State) -> Tensor:
        value = self.term(state)
        return torch.stack([value, value], dim=1)

    def next(self, state: State) -> Tensor:
        return torch.stack([own(state)[:, 1], self.term(state)], dim=1)


@dataclass(frozen=True)
class Total:
    """Sum of a term over the steps of the episode; (n,). `Mean` divides it by their number."""

    term: Term

    def start(self, state: State) -> Tensor:
        return torch.zeros_like(state.time)

    def next(self, state: State) -> Tensor:
        return own(state) + self.term(state)


@dataclass(frozen=True)
class Largest:
    """The largest value that a term has had in the episode; (n,)."""

    term: Term

    def start(self, state: State) -> Tensor:
        return self.term(state)

    def next(self, state: State) -> Tensor:
        return torch.maximum(own(state), self.term(state))


@dataclass(frozen=True)
class Mean:
    """Mean over the episode so far of what the memory `total` sums; (n,)."""

    total: str

    def __call__(self, state: State) -> Tensor:
        return Remembered(self.total)(state) / state.age.clamp(min=1)


@dataclass(frozen=True, kw_only=True)
class History:
    """A term's last `steps` values, oldest first, the present one last; (n, steps, k). What `Task.history` makes."""

    term: Term
    steps: int

    def start(self, state: State) -> Tensor:
        """An episode begins as if nothing had moved before it."""
        return self._now(state).expand(-1, self.steps, -1)

    def next(self, state: State) -> Tensor:
        return torch.cat([own(state)[:, 1:], self._now(state)], dim=1)

    def _now(self, state: State) -> Tensor:
        value = self.term(state)
        return value.reshape(value.shape[0], 1, -1)
