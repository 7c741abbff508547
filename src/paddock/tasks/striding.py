"""A walking rhythm: a clock, which feet it wants on the ground, and the leg motion that goes with it on two legs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.tasks.memories import own
from paddock.tasks.sensing import FootContact, Remembered, joint_offset


@dataclass(frozen=True, kw_only=True)
class Clock:
    """How far the stride has come, in cycles; (n,). The first leg swings in the first half, the second in the second."""

    period: float
    """Of one stride, two steps, s."""

    def start(self, state: State) -> Tensor:
        """Anywhere, so that neither leg is always first."""
        return state.uniform(1)[:, 0]

    def next(self, state: State) -> Tensor:
        later = own(state) + state.layout.control_dt / self.period
        return later - later.floor()

    def reflected(self, value: Tensor) -> Tensor:
        """Half a stride on, where the other leg swings."""
        return value + 0.5 - (value + 0.5).floor()


@dataclass(frozen=True)
class ClockHands:
    """Sine and cosine of a `Clock`, which does not jump where the clock begins anew; (n, 2)."""

    clock: str = "clock"

    def __call__(self, state: State) -> Tensor:
        angle = Remembered(self.clock)(state) * (2 * math.pi)
        return torch.stack([angle.sin(), angle.cos()], dim=1)


@dataclass(frozen=True)
class Swing:
    """0 while a leg should stand, rising to 1 in the middle of its swing; (n, 2)."""

    clock: str = "clock"

    def __call__(self, state: State) -> Tensor:
        first = ClockHands(self.clock)(state)[:, 0]
        return torch.stack([first, -first], dim=1).clamp(min=0.0)


@dataclass(frozen=True)
class InStep:
    """Part of the feet that stand where the clock wants them to, and are lifted where it does not; (n,)."""

    clock: str = "clock"
    turns: tuple[int, ...] = (0, 1)
    """Of each foot, 0 to swing in the first half of the stride and 1 in the second."""

    def __call__(self, state: State) -> Tensor:
        lifted = (Swing(self.clock)(state) > 0.0).to(torch.float32)[:, list(self.turns)]
        return (FootContact()(state) - lifted).abs().mean(1)


@dataclass(frozen=True, kw_only=True)
class OffStride:
    """How far the legs are from folding in turn, rad; (n, 2 * 3). Hip, knee and ankle of each leg."""

    columns: tuple[int, ...]
    """Of hip pitch, knee and ankle pitch among the joints, first leg first."""
    fold: float
    """How far hip and ankle turn in the middle of a swing, rad; the knee turns twice as far, so the sole stays level."""
    clock: str = "clock"

    def __call__(self, state: State) -> Tensor:
        swing = Swing(self.clock)(state) * self.fold
        wanted = (swing[:, :, None] * state.constant((-1.0, 2.0, -1.0))).flatten(1)
        return joint_offset(state)[:, list(self.columns)] - wanted
