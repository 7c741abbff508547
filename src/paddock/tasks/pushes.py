"""Pushes: forces and torques on a body, for a while, again and again."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.errors import PaddockError
from paddock.tasks.ranges import RangeLike, check_period, check_positive, is_even, range_of


@dataclass(frozen=True, kw_only=True)
class Push:
    """A force on a body: level, in a random direction, of random strength, `duration_s` long, every `every_s` seconds."""

    body: str
    newtons: RangeLike
    """Of the level force."""
    every_s: float | tuple[float, float]
    """From the end of one to the end of the next; a pair draws each interval anew."""
    duration_s: float = 0.2
    lift_newtons: RangeLike = 0.0
    """Upwards, or downwards where it is negative."""
    newton_metres: RangeLike = 0.0
    """Of a torque around a random axis."""

    def __post_init__(self) -> None:
        check_positive(self.newtons, self)
        check_positive(self.newton_metres, self)
        range_of(self.lift_newtons, self)
        check_positive(self.duration_s, self)
        check_period(self, self._intervals[0])
        range_of(self.every_s, self)
        if self.duration_s > self._intervals[0]:
            raise PaddockError(
                f"{self}: a push of {self.duration_s} s would not end before the next, {self._intervals[0]} s later."
            )

    def wrench(self, state: State) -> Tensor:
        """(n, 6). A function of the key and the age alone, so it needs no memory and repeats exactly."""
        dt = state.layout.control_dt
        low, high = self._intervals
        period = max(1, round((low + high) / 2 / dt))
        length = round(self.duration_s / dt)
        turn = state.age // period
        # a push ends at the end of its period, or up to half the spread of the intervals earlier: two ends in a row are then
        # never nearer than the shortest interval, nor further apart than the longest
        slack = round((high - low) / 2 / dt)
        strength = range_of(self.newtons, self)
        # one draw for everything, because this is done in every step
        least, most = strength.ends if is_even(strength) else (0.0, 0.0)
        drawn = state.uniform(3, (0.0, least, 0.0), (2 * math.pi, most, slack + 1.0), index=turn)
        bearing, size, early = drawn.unbind(1)
        if not is_even(strength):
            size = strength.draw(state, 1, label="newtons", index=turn)[:, 0]
        within = state.age % period
        if slack:
            within = within + early.floor()
        is_on = (within >= period - length) & (within < period)
        force = torch.stack([size * bearing.cos(), size * bearing.sin()], dim=1)
        if self.lift_newtons == 0.0 and self.newton_metres == 0.0:
            wrench = torch.nn.functional.pad(force, (0, 4))
        else:
            lift = range_of(self.lift_newtons, self).draw(state, 1, label="lift", index=turn)
            wrench = torch.cat([force, lift, self._torque(state, turn)], dim=1)
        return torch.where(is_on[:, None], wrench, 0.0)

    def _torque(self, state: State, turn: Tensor) -> Tensor:
        """Around an axis that may point anywhere; (n, 3)."""
        up = state.uniform(1, -1.0, 1.0, label="axis", index=turn)
        bearing = state.uniform(2, 0.0, 2 * math.pi, label="axis", index=turn)[:, 1:]
        level = (1 - up * up).clamp(min=0.0).sqrt()
        size = range_of(self.newton_metres, self).draw(state, 1, label="torque", index=turn)
        return torch.cat([level * bearing.cos(), level * bearing.sin(), up], dim=1) * size

    @property
    def _intervals(self) -> tuple[float, float]:
        return self.every_s if isinstance(self.every_s, tuple) else (self.every_s, self.every_s)
