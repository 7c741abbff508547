"""What ends an episode and what counts as success: terms that are true or false; (n,) bool."""

import math
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.tasks.sensing import Remembered


@dataclass(frozen=True, kw_only=True)
class Fell:
    """The base tilts beyond `tilt_deg`."""

    tilt_deg: float = 60.0

    def __call__(self, state: State) -> Tensor:
        return state.sensor("up")[:, 2] < math.cos(math.radians(self.tilt_deg))


@dataclass(frozen=True)
class Below:
    """A term lies under a limit, in every column."""

    of: Term
    limit: float

    def __call__(self, state: State) -> Tensor:
        return _every(self.of(state) < self.limit)


@dataclass(frozen=True)
class OutOfBounds:
    """A term leaves [low, high] in some column."""

    of: Term
    low: float
    high: float

    def __call__(self, state: State) -> Tensor:
        value = self.of(state)
        outside = (value < self.low) | (value > self.high)
        return outside if outside.ndim == 1 else outside.any(1)


@dataclass(frozen=True)
class AnyOf:
    """One condition or another holds."""

    conditions: tuple[Term, ...]

    def __call__(self, state: State) -> Tensor:
        return reduce(torch.logical_or, (condition(state) for condition in self.conditions))


@dataclass(frozen=True)
class AllOf:
    """Every condition holds."""

    conditions: tuple[Term, ...]

    def __call__(self, state: State) -> Tensor:
        return reduce(torch.logical_and, (condition(state) for condition in self.conditions))


@dataclass(frozen=True)
class Not:
    """A condition does not hold."""

    condition: Term

    def __call__(self, state: State) -> Tensor:
        return ~self.condition(state)


@dataclass(frozen=True, kw_only=True)
class HeldFor:
    """A condition timed by the memory `timer` (a `Held`) has held this long without a break."""

    timer: str
    seconds: float

    def __call__(self, state: State) -> Tensor:
        # half a step of slack, because a sum of time steps is never exactly the whole
        return Remembered(self.timer)(state) > self.seconds - 0.5 * state.layout.control_dt


def _every(value: Tensor) -> Tensor:
    return value if value.ndim == 1 else value.all(1)
