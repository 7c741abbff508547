"""Ranges to draw from, checked where they are written down.

A range stands wherever a value says `RangeLike`: one of those below, a number, or a pair (low, high), which is uniform.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.errors import PaddockError

NORMAL_ENDS = 5.5
"""No standard normal draw is larger: the table of quantiles ends there."""


class Range(Protocol):
    """Numbers that may be drawn."""

    @property
    def ends(self) -> tuple[float, float]:
        """No draw lies outside."""
        ...

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        """(n, count), from the streams of the state's scope."""
        ...


RangeLike = Range | float | tuple[float, float]
"""A range, a number, or a pair (low, high) to draw uniformly from."""


@dataclass(frozen=True)
class Fixed:
    """One number."""

    value: float

    def __post_init__(self) -> None:
        _check_numbers(self, self.value)

    @property
    def ends(self) -> tuple[float, float]:
        return self.value, self.value

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        return torch.full((state.num_worlds, count), self.value, device=state.key.device)


@dataclass(frozen=True)
class Within:
    """Uniform from low to high; a pair (low, high) is short for it."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_numbers(self, self.low, self.high)
        check_ranges(self, (self.low,), (self.high,))

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        return state.uniform(count, self.low, self.high, label=label, index=index)


@dataclass(frozen=True)
class LogWithin:
    """Uniform in the logarithm: as often from 0.1 to 1 as from 1 to 10."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_numbers(self, self.low, self.high)
        check_ranges(self, (self.low,), (self.high,))
        if not self.low > 0:
            raise PaddockError(f"{self}: {self.low} has no logarithm; both ends must be above 0.")

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        drawn = state.uniform(count, math.log(self.low), math.log(self.high), label=label, index=index).exp()
        return drawn.clamp(self.low, self.high)


@dataclass(frozen=True)
class Normal:
    """Normal around a mean; what falls outside low and high is put on them."""

    mean: float
    std: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _check_numbers(self, self.mean, self.std)
        check_ranges(self, (0.0, self.low, self.low, self.mean), (self.std, self.high, self.mean, self.high))

    @property
    def ends(self) -> tuple[float, float]:
        spread = NORMAL_ENDS * self.std
        return max(self.low, self.mean - spread), min(self.high, self.mean + spread)

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        return (state.normal(count, label=label, index=index) * self.std + self.mean).clamp(self.low, self.high)


@dataclass(frozen=True)
class Around:
    """A factor of 1, more or less a fraction: `Around(0.1)` is uniform from 0.9 to 1.1."""

    fraction: float

    def __post_init__(self) -> None:
        if not 0 <= self.fraction < 1:
            raise PaddockError(f"{self}: the fraction {self.fraction} is not within 0 and 1.")

    @property
    def ends(self) -> tuple[float, float]:
        return 1 - self.fraction, 1 + self.fraction

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        return state.uniform(count, *self.ends, label=label, index=index)


@dataclass(frozen=True)
class Choice:
    """One of several numbers, each equally likely."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise PaddockError("a Choice of no values.")
        _check_numbers(self, *self.values)

    @property
    def ends(self) -> tuple[float, float]:
        return min(self.values), max(self.values)

    def draw(self, state: State, count: int, /, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        return state.constant(self.values)[state.choice(len(self.values), count, label=label, index=index)]


def range_of(value: RangeLike, owner: object) -> Range:
    """A number or a pair as the range it is short for; `owner` is what it stands in."""
    if isinstance(value, int | float):
        return Fixed(value)
    if isinstance(value, tuple):
        if len(value) != 2:
            raise PaddockError(f"{owner}: {value} is no range; wanted a pair (low, high).")
        _check_numbers(owner, *value)
        check_ranges(owner, value[:1], value[1:])
        return Within(*value)
    if not hasattr(value, "draw"):
        raise PaddockError(f"{owner}: {value!r} is no range; wanted a number, a pair (low, high), or a range such as Around(0.1).")
    return value


def is_even(one: Range) -> bool:
    """Whether every number between the ends of a range is equally likely."""
    return isinstance(one, Fixed | Within | Around)


def check_factor(value: RangeLike, owner: object) -> Range:
    """The range, if everything in it can be a factor: 0 and less would turn a mass or a gain into nonsense."""
    found = range_of(value, owner)
    if not found.ends[0] > 0:
        raise PaddockError(f"{owner}: the factor may be {found.ends[0]:g}; wanted a range above 0.")
    return found


def check_positive(value: RangeLike, owner: object) -> Range:
    """The range, if nothing in it is less than 0."""
    found = range_of(value, owner)
    if not found.ends[0] >= 0:
        raise PaddockError(f"{owner}: {found.ends[0]:g} may be drawn; wanted a range from 0 on.")
    return found


def check_ranges(owner: object, low: Sequence[float], high: Sequence[float]) -> None:
    """Refuse ranges that end before they begin, with the value they stand in."""
    if len(low) != len(high):
        raise PaddockError(f"{owner}: {len(low)} lower ends and {len(high)} upper ends.")
    for a, b in zip(low, high, strict=True):
        if not a <= b:
            raise PaddockError(f"{owner}: the range from {a} to {b} ends before it begins.")


def check_period(owner: object, seconds: float) -> None:
    """Refuse a period that never passes."""
    if not seconds > 0:
        raise PaddockError(f"{owner}: a period of {seconds} s is none.")


def _check_numbers(owner: object, *values: float) -> None:
    for value in values:
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise PaddockError(f"{owner}: {value!r} is no finite number.")
