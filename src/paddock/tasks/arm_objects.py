"""What an arm works on: where things begin, where they should go, and what is seen of both."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.errors import PaddockError, unknown
from paddock.tasks.memories import own
from paddock.tasks.ranges import check_ranges
from paddock.tasks.resets import turned
from paddock.tasks.sensing import Remembered


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A part of the floor on which an object begins, turned by up to `turn` radians either way."""

    low: tuple[float, float]
    high: tuple[float, float]
    turn: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(self, (*self.low, 0.0), (*self.high, self.turn))


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The named joints a little off home, free objects somewhere on their spot, all at rest; the others at home."""

    joints: tuple[str, ...]
    spread: float = 0.1
    """Largest offset of each joint, rad or m."""
    objects: Mapping[str, Spot] = field(default_factory=dict)
    """By the name of the object's free joint."""
    anywhere: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Slides and hinges that begin somewhere between two ends, m or rad."""

    def __post_init__(self) -> None:
        for low, high in self.anywhere.values():
            check_ranges(self, (low,), (high,))

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        layout = state.layout
        for name in (*self.joints, *self.objects, *self.anywhere):
            if name not in layout.qpos:
                raise unknown("joint", name, layout.qpos)
        parts = list(layout.home_qpos.expand(state.num_worlds, -1).unbind(1))
        offsets = state.uniform(len(self.joints), -self.spread, self.spread, label="joints")
        for name, offset in zip(self.joints, offsets.unbind(1), strict=True):
            at = layout.qpos[name].start
            parts[at] = parts[at] + offset
        for name, (low, high) in self.anywhere.items():
            parts[layout.qpos[name].start] = state.uniform(1, low, high, label=name)[:, 0]
        for name, spot in self.objects.items():
            x, y, yaw = state.uniform(3, (*spot.low, -spot.turn), (*spot.high, spot.turn), label=name).unbind(1)
            columns = layout.qpos[name]
            pose = turned(layout.home_qpos[columns].expand(state.num_worlds, 7), yaw)
            parts[columns] = [x, y, *pose[:, 2:].unbind(1)]
        return torch.stack(parts, dim=1), torch.zeros_like(state.qvel)


@dataclass(frozen=True, kw_only=True)
class PointIn:
    """A point drawn once an episode, between opposite corners; (n, k)."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        check_ranges(self, self.low, self.high)

    def start(self, state: State) -> Tensor:
        return state.uniform(len(self.low), self.low, self.high)

    def next(self, state: State) -> Tensor:
        return own(state)


@dataclass(frozen=True, kw_only=True)
class GoalApart:
    """A point on the floor, at least `apart` from where an object begins; (n, 2) world x and y."""

    sensor: str
    """The object's position."""
    low: tuple[float, float]
    high: tuple[float, float]
    apart: float

    def __post_init__(self) -> None:
        check_ranges(self, self.low, self.high)
        if 4 * self.apart > self.high[1] - self.low[1]:
            raise PaddockError(f"{self}: points {self.apart} m apart need four times that in y to be drawn from.")

    def start(self, state: State) -> Tensor:
        x, y = state.uniform(2, self.low, self.high).unbind(1)
        middle, half = (self.low[1] + self.high[1]) / 2, (self.high[1] - self.low[1]) / 2
        offset = torch.stack([x, y], dim=1) - state.sensor(self.sensor)[:, :2]
        too_near = offset.norm(dim=1) < self.apart
        # half the width away from a point that is too near, nothing is
        return torch.stack([x, torch.where(too_near, torch.where(y < middle, y + half, y - half), y)], dim=1)

    def next(self, state: State) -> Tensor:
        return own(state)


@dataclass(frozen=True)
class Between:
    """From one sensed position to another; (n, 3)."""

    here: str
    there: str

    def __call__(self, state: State) -> Tensor:
        return state.sensor(self.there) - state.sensor(self.here)


@dataclass(frozen=True)
class ToGoal:
    """From a sensed position to a remembered point, in as many dimensions as the point has; (n, k)."""

    here: str
    goal: str

    def __call__(self, state: State) -> Tensor:
        goal = Remembered(self.goal)(state)
        return goal - state.sensor(self.here)[:, : goal.shape[1]]


@dataclass(frozen=True)
class Magnified:
    """A vector term under a lens: in parts of `scale` m where it is small, towards 1 or -1 where it is large; (n, k).

    Observations are scaled by their spread over a whole episode, in which the last centimetre is next to nothing.
    """

    of: Term
    scale: float

    def __call__(self, state: State) -> Tensor:
        value = self.of(state)
        return value / (value.abs() + self.scale)  # never flat: what hardly changes would be scaled up with its rounding


@dataclass(frozen=True)
class SquareTurn:
    """Cosine and sine of four times the angle that a sensed attitude is turned by: a cube looks alike every quarter; (n, 2)."""

    sensor: str

    def __call__(self, state: State) -> Tensor:
        w, x, y, z = state.sensor(self.sensor).unbind(1)
        cos, sin = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
        for _ in range(2):
            cos, sin = cos * cos - sin * sin, 2.0 * cos * sin
        return torch.stack([cos, sin], dim=1)
