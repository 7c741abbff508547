"""What sensors add to the truth: error models for observations, composable, drawn for each world and column on its own.

A noise turns a clean observation (n, k) into what a sensor would report. Whatever it must remember of each column (its bias,
how far it has drifted, what it reported last) is part of the task's memory: drawn when an episode begins, advanced once a
control step, saved and recorded with everything else. Rates and densities are in SI units and hold at any control rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError
from paddock.tasks.ranges import RangeLike, check_positive, range_of

Spread = float | tuple[float, ...]
"""One for all columns, or one for each."""


@runtime_checkable
class Stage(Protocol):
    """An error model."""

    @property
    def slots(self) -> int:
        """How many numbers it keeps of each column, the reading included."""
        ...

    def start(self, state: State, clean: Tensor, /) -> Tensor:
        """The first reading of an episode, and behind it what is remembered of each column; (n, k, slots)."""
        ...

    def next(self, state: State, clean: Tensor, kept: Tensor, /) -> Tensor:
        """The same one control step later, from what was kept."""
        ...


@dataclass(frozen=True)
class Chain:
    """Errors one after another, each upon what the one before reported. `chain(...)` writes it shorter."""

    stages: tuple[Noise, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise PaddockError("a Chain of no noise; leave the observation out of `noise` instead.")


Noise = Stage | Chain


class Additive:
    """An error that does not depend on what is read: white noise, an offset drawn once, and one that walks at random.

    Where it stands first, as most do, `Readings` draws it for all observations at once.
    """

    def spreads(self, control_dt: float) -> Spreads:
        raise NotImplementedError

    @property
    def slots(self) -> int:
        spreads = self.spreads(1.0)
        return 2 if some(spreads.bias) or some(spreads.walk) else 1

    def start(self, state: State, clean: Tensor) -> Tensor:
        spreads = self.spreads(state.layout.control_dt)
        return self._read(state, clean, spreads.white, _drawn(state, clean, "bias", spreads.bias))

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        spreads = self.spreads(state.layout.control_dt)
        offset = kept[:, :, -1] + _drawn(state, clean, "walk", spreads.walk) if self.slots == 2 else torch.zeros_like(clean)
        return self._read(state, clean, spreads.white, offset)

    def _read(self, state: State, clean: Tensor, white: Spread, offset: Tensor) -> Tensor:
        reading = clean + offset + _drawn(state, clean, "", white)
        return torch.stack([reading, offset], dim=2) if self.slots == 2 else reading[:, :, None]


@dataclass(frozen=True)
class Spreads:
    """Deviations of an additive error: of every reading, of the offset an episode begins with, of its change in a step."""

    white: Spread = 0.0
    bias: Spread = 0.0
    walk: Spread = 0.0


@dataclass(frozen=True)
class Gaussian(Additive):
    """Independent normal errors in every reading."""

    std: Spread

    def __post_init__(self) -> None:
        _check(self, self.std)

    def spreads(self, control_dt: float) -> Spreads:
        return Spreads(white=self.std)


@dataclass(frozen=True)
class Density(Additive):
    """White noise by its density, in units per root hertz, as data sheets give it.

    The more readings a second, the larger each one's error: its deviation is the density times the root of half the rate.
    """

    per_root_hz: Spread

    def __post_init__(self) -> None:
        _check(self, self.per_root_hz)

    def spreads(self, control_dt: float) -> Spreads:
        return Spreads(white=times(self.per_root_hz, math.sqrt(0.5 / control_dt)))


@dataclass(frozen=True)
class Bias(Additive):
    """An offset drawn for each episode and column, normal around zero."""

    std: Spread

    def __post_init__(self) -> None:
        _check(self, self.std)

    def spreads(self, control_dt: float) -> Spreads:
        return Spreads(bias=self.std)


@dataclass(frozen=True)
class Drift(Additive):
    """An offset that walks at random from zero: after t seconds its deviation is `per_root_s` times the root of t."""

    per_root_s: Spread

    def __post_init__(self) -> None:
        _check(self, self.per_root_s)

    def spreads(self, control_dt: float) -> Spreads:
        return Spreads(walk=times(self.per_root_s, math.sqrt(control_dt)))


class Forgetful:
    """An error that remembers nothing."""

    slots = 1

    def read(self, state: State, clean: Tensor) -> Tensor:
        raise NotImplementedError

    def start(self, state: State, clean: Tensor) -> Tensor:
        return self.read(state, clean)[:, :, None]

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        return self.read(state, clean)[:, :, None]


@dataclass(frozen=True)
class Uniform(Forgetful):
    """Independent errors of at most `size` either way in every reading."""

    size: Spread

    def __post_init__(self) -> None:
        _check(self, self.size)

    def read(self, state: State, clean: Tensor) -> Tensor:
        return clean + state.uniform(clean.shape[1], -1.0, 1.0, index=state.age) * state.constant(self.size)


@dataclass(frozen=True)
class Quantised(Forgetful):
    """Readings in whole multiples of `step`."""

    step: float

    def __post_init__(self) -> None:
        if not self.step > 0:
            raise PaddockError(f"{self}: a step of {self.step} is none.")

    def read(self, state: State, clean: Tensor) -> Tensor:
        return (clean * (1.0 / self.step)).round() * self.step


@dataclass(frozen=True)
class Dropout:
    """Each reading is lost with a probability, and the last one that was not is reported again."""

    probability: float
    slots = 1

    def __post_init__(self) -> None:
        _check_chance(self, self.probability)

    def start(self, state: State, clean: Tensor) -> Tensor:
        return clean[:, :, None]

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        is_lost = state.uniform(clean.shape[1], index=state.age) < self.probability
        return torch.where(is_lost, kept[:, :, 0], clean)[:, :, None]


@dataclass(frozen=True)
class Missing(Forgetful):
    """Each reading is lost with a probability, and `value` is reported instead, as a depth camera does."""

    probability: float
    value: float = 0.0

    def __post_init__(self) -> None:
        _check_chance(self, self.probability)

    def read(self, state: State, clean: Tensor) -> Tensor:
        is_lost = state.uniform(clean.shape[1], index=state.age) < self.probability
        return torch.where(is_lost, self.value, clean)


@dataclass(frozen=True)
class Proportional(Forgetful):
    """Normal errors in proportion to a power of what is read: 2 for a stereo camera, whose error grows with the square."""

    std: float
    power: int = 1

    def __post_init__(self) -> None:
        _check(self, self.std)
        if self.power < 1:
            raise PaddockError(f"{self}: a power of {self.power}; wanted 1 or more. Gaussian is an error of one size.")

    def read(self, state: State, clean: Tensor) -> Tensor:
        size = clean.abs()
        for _ in range(self.power - 1):
            size = size * clean.abs()
        return clean + _drawn(state, clean, "", self.std) * size


def chain(*stages: Noise) -> Chain:
    """Errors one after another."""
    return Chain(stages)


@dataclass(frozen=True)
class NoiseScale:
    """A randomiser: one factor a world and episode for the errors of all noisy observations."""

    factor: RangeLike
    model_fields = ()
    changes_constants = False

    def __post_init__(self) -> None:
        check_positive(self.factor, self)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        return {}


def stages_of(noise: Noise) -> tuple[Stage, ...]:
    """What a noise is a chain of, one after another; chains within chains are none of their own."""
    return tuple(each for stage in noise.stages for each in stages_of(stage)) if isinstance(noise, Chain) else (noise,)


def some(spread: Spread) -> bool:
    """Whether a spread is more than 0 anywhere."""
    return any(spread) if isinstance(spread, tuple) else bool(spread)


def times(spread: Spread, factor: float) -> Spread:
    return tuple(one * factor for one in spread) if isinstance(spread, tuple) else spread * factor


def _drawn(state: State, clean: Tensor, label: str, spread: Spread) -> Tensor:
    """Normal errors of some spread for every column and step; no draw where there is none."""
    if not some(spread):
        return torch.zeros_like(clean)
    return state.normal(clean.shape[1], label=label, index=state.age) * state.constant(spread)


def _check(noise: object, size: Spread) -> None:
    """Refuse a spread that is none."""
    if not all(one >= 0 for one in (size if isinstance(size, tuple) else (size,))):
        raise PaddockError(f"{noise}: a spread cannot be less than 0.")


def _check_chance(noise: object, probability: float) -> None:
    if not 0 <= probability < 1:
        raise PaddockError(f"{noise}: a probability of {probability} is not within 0 and 1.")


MEMS_GYRO = chain(Density(1.8e-4), Bias(0.01), Drift(4e-5))
"""A consumer MEMS gyroscope, rad/s: noise density in rad/s/sqrt(Hz), bias at switch-on, its random walk in rad/s/sqrt(s)."""
MEMS_ACCELEROMETER = chain(Density(3e-3), Bias(0.05), Drift(4e-4))
"""A consumer MEMS accelerometer, m/s^2: density in m/s^2/sqrt(Hz), bias at switch-on, its random walk in m/s^2/sqrt(s)."""
JOINT_ENCODER = chain(Bias(1e-3), Quantised(2 * math.pi / 4096))
"""A 12-bit absolute encoder behind the gear, rad: a calibration error of a milliradian and steps of 1.5 mrad."""
JOINT_RATE = Gaussian(0.05)
"""Joint speed as the difference of encoder readings, filtered, rad/s."""
FORCE = chain(Gaussian(0.3), Bias(0.5), Quantised(0.05))
"""A strain-gauge load cell in a foot, N."""
DEPTH_CAMERA = chain(Proportional(2.5e-3, power=2), Quantised(1e-3), Missing(0.01))
"""A stereo depth camera, m: an error that grows with the square of the distance, 2.5 mm at 1 m; millimetres; holes read 0."""
PRESETS: dict[str, Noise] = {
    "mems_gyro": MEMS_GYRO,
    "mems_accelerometer": MEMS_ACCELEROMETER,
    "joint_encoder": JOINT_ENCODER,
    "joint_rate": JOINT_RATE,
    "force": FORCE,
    "depth_camera": DEPTH_CAMERA,
}
