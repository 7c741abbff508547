"""What sensors add to the truth: error models for observations, composable, drawn for each world and column on its own.

A noise turns a clean observation (n, k) into what a sensor would report. Whatever it must remember of each column (its bias,
how far it has drifted, what it reported last) is part of the task's memory: drawn when an episode begins, advanced once a
control step, saved and recorded with everything else. Rates and densities are in SI units and hold at any control rate.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from paddock.contracts import Layout, State, Term
from paddock.errors import PaddockError
from paddock.tasks.memories import own
from paddock.tasks.ranges import RangeLike, check_positive, range_of

Spread = float | tuple[float, ...]
"""One for all columns, or one for each."""


class Noise(Protocol):
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


class _White:
    """An error that remembers nothing."""

    slots = 1

    def read(self, state: State, clean: Tensor) -> Tensor:
        raise NotImplementedError

    def start(self, state: State, clean: Tensor) -> Tensor:
        return self.read(state, clean)[:, :, None]

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        return self.read(state, clean)[:, :, None]


@dataclass(frozen=True)
class Gaussian(_White):
    """Independent normal errors in every reading."""

    std: Spread

    def __post_init__(self) -> None:
        _check(self, self.std)

    def read(self, state: State, clean: Tensor) -> Tensor:
        return clean + _normal(state, clean) * state.constant(self.std)


@dataclass(frozen=True)
class Uniform(_White):
    """Independent errors of at most `size` either way in every reading."""

    size: Spread

    def __post_init__(self) -> None:
        _check(self, self.size)

    def read(self, state: State, clean: Tensor) -> Tensor:
        return clean + state.uniform(clean.shape[1], -1.0, 1.0, index=state.age) * state.constant(self.size)


@dataclass(frozen=True)
class Density(_White):
    """White noise by its density, in units per root hertz, as data sheets give it.

    The more readings a second, the larger each one's error: its deviation is the density times the root of half the rate.
    """

    per_root_hz: Spread

    def __post_init__(self) -> None:
        _check(self, self.per_root_hz)

    def read(self, state: State, clean: Tensor) -> Tensor:
        root = math.sqrt(0.5 / state.layout.control_dt)
        return clean + _normal(state, clean) * (state.constant(self.per_root_hz) * root)


@dataclass(frozen=True)
class Quantised(_White):
    """Readings in whole multiples of `step`."""

    step: float

    def __post_init__(self) -> None:
        if not self.step > 0:
            raise PaddockError(f"{self}: a step of {self.step} is none.")

    def read(self, state: State, clean: Tensor) -> Tensor:
        return (clean * (1.0 / self.step)).round() * self.step


@dataclass(frozen=True)
class Bias:
    """An offset drawn for each episode and column, normal around zero."""

    std: Spread
    slots = 2

    def __post_init__(self) -> None:
        _check(self, self.std)

    def start(self, state: State, clean: Tensor) -> Tensor:
        bias = state.normal(clean.shape[1]) * state.constant(self.std)
        return torch.stack([clean + bias, bias], dim=2)

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        bias = kept[:, :, 1]
        return torch.stack([clean + bias, bias], dim=2)


@dataclass(frozen=True)
class Drift:
    """An offset that walks at random from zero: after t seconds its deviation is `per_root_s` times the root of t."""

    per_root_s: Spread
    slots = 2

    def __post_init__(self) -> None:
        _check(self, self.per_root_s)

    def start(self, state: State, clean: Tensor) -> Tensor:
        return torch.stack([clean, torch.zeros_like(clean)], dim=2)

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        root = math.sqrt(state.layout.control_dt)
        drift = kept[:, :, 1] + _normal(state, clean) * (state.constant(self.per_root_s) * root)
        return torch.stack([clean + drift, drift], dim=2)


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
class Missing(_White):
    """Each reading is lost with a probability, and `value` is reported instead, as a depth camera does."""

    probability: float
    value: float = 0.0

    def __post_init__(self) -> None:
        _check_chance(self, self.probability)

    def read(self, state: State, clean: Tensor) -> Tensor:
        is_lost = state.uniform(clean.shape[1], index=state.age) < self.probability
        return torch.where(is_lost, self.value, clean)


@dataclass(frozen=True)
class Proportional(_White):
    """Normal errors in proportion to a power of what is read: 2 for a stereo camera, whose error grows with the square."""

    std: float
    power: int = 1

    def __post_init__(self) -> None:
        _check(self, self.std)

    def read(self, state: State, clean: Tensor) -> Tensor:
        size = clean.abs()
        for _ in range(self.power - 1):
            size = size * clean.abs()
        return clean + _normal(state, clean) * size * self.std


@dataclass(frozen=True)
class Chain:
    """Errors one after another, each upon what the one before reported. `chain(...)` writes it shorter."""

    stages: tuple[Noise, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise PaddockError("a Chain of no noise; leave the observation out of `noise` instead.")

    @property
    def slots(self) -> int:
        return 1 + sum(stage.slots for stage in self.stages)

    def start(self, state: State, clean: Tensor) -> Tensor:
        parts: list[Tensor] = []
        reading = clean
        for i, stage in enumerate(self.stages):
            parts.append(stage.start(_of_stage(state, i), reading))
            reading = parts[-1][:, :, 0]
        return torch.cat([reading[:, :, None], *parts], dim=2)

    def next(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        parts: list[Tensor] = []
        reading = clean
        before = kept[:, :, 1:].split([stage.slots for stage in self.stages], dim=2)
        for i, (stage, part) in enumerate(zip(self.stages, before, strict=True)):
            parts.append(stage.next(_of_stage(state, i), reading, part))
            reading = parts[-1][:, :, 0]
        return torch.cat([reading[:, :, None], *parts], dim=2)


def chain(*stages: Noise) -> Chain:
    """Errors one after another."""
    return Chain(stages)


@dataclass(frozen=True, kw_only=True)
class Noisy:
    """The memory of a noisy observation; (n, k, slots), the reading first. What `Task.noise` makes."""

    term: Term
    noise: Noise
    scales: tuple[str, ...] = ()
    """Randomised parameters that the error is multiplied by."""

    def start(self, state: State) -> Tensor:
        clean = columns(self.term(state))
        return self._scaled(state, clean, self.noise.start(state, clean))

    def next(self, state: State) -> Tensor:
        clean = columns(self.term(state))
        return self._scaled(state, clean, self.noise.next(state, clean, own(state)))

    def _scaled(self, state: State, clean: Tensor, kept: Tensor) -> Tensor:
        if not self.scales:
            return kept
        error = kept[:, :, 0] - clean
        for name in self.scales:
            error = error * state.params[name]
        return torch.cat([(clean + error)[:, :, None], kept[:, :, 1:]], dim=2)


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


@dataclass(frozen=True)
class Reading:
    """What the sensor reported that the memory `noise` holds; (n, k)."""

    noise: str

    def __call__(self, state: State) -> Tensor:
        return state.memory[self.noise][:, :, 0]


def columns(value: Tensor) -> Tensor:
    """(n,) as (n, 1); (n, k) as it is."""
    return value if value.ndim == 2 else value[:, None]


def _normal(state: State, clean: Tensor) -> Tensor:
    return state.normal(clean.shape[1], index=state.age)


def _of_stage(state: State, index: int) -> State:
    return state.scoped(f"{state.scope}/{index}")


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
