"""The shared vocabulary of rewards. Each is (n,), unweighted, and named by the task that uses it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.tasks.sensing import Command, Remembered, base_vel, gyro


def alive(state: State) -> Tensor:
    """1 for every step lived."""
    return torch.ones_like(state.qpos[:, 0])


def upright(state: State) -> Tensor:
    """1 when the base is level, 0 when it is on its side or worse."""
    return state.sensor("up")[:, 2].clamp(min=0.0)


def tilt(state: State) -> Tensor:
    """0 when the base is level, 1 when it is on its side, 2 upside down."""
    return 1.0 - state.sensor("up")[:, 2]


def action_size(state: State) -> Tensor:
    """Sum of squares of the action."""
    return state.action.square().sum(1)


def action_rate(state: State) -> Tensor:
    """Sum of squares of the change since the last action."""
    return (state.action - state.last_action).square().sum(1)


def power(state: State) -> Tensor:
    """Mechanical power the actuators move, in watts, whichever way it flows."""
    return (state.sensor("joint_torque") * state.sensor("joint_vel")).abs().sum(1)


def torque(state: State) -> Tensor:
    """Sum of squares of joint torques."""
    return state.sensor("joint_torque").square().sum(1)


@dataclass(frozen=True)
class Distance:
    """Length of a vector term, of its first `axes` columns."""

    of: Term
    axes: int = 3

    def __call__(self, state: State) -> Tensor:
        return self.of(state)[:, : self.axes].norm(dim=1)


@dataclass(frozen=True)
class Near:
    """1 where a term is zero, falling as a bell to 0.61 at `margin`; a vector term counts by its length."""

    of: Term
    margin: float

    def __call__(self, state: State) -> Tensor:
        value = self.of(state)
        square = value.square() if value.ndim == 1 else value.square().sum(1)
        return torch.exp(square * (-0.5 / self.margin**2))


@dataclass(frozen=True)
class Times:
    """One term times another: paid only where both hold."""

    one: Term
    other: Term

    def __call__(self, state: State) -> Tensor:
        return self.one(state) * self.other(state)


@dataclass(frozen=True)
class Sparse:
    """1 where a condition holds, else 0."""

    condition: Term

    def __call__(self, state: State) -> Tensor:
        return self.condition(state).to(torch.float32)


@dataclass(frozen=True)
class Progress:
    """How much smaller a tracked quantity became in this step; the memory is a `Tracked`."""

    of: str

    def __call__(self, state: State) -> Tensor:
        before, now = Remembered(self.of)(state).unbind(1)
        return before - now


@dataclass(frozen=True)
class Excess:
    """How far a term lies outside [low, high], summed over its columns."""

    of: Term
    low: float = -math.inf
    high: float = math.inf

    def __call__(self, state: State) -> Tensor:
        value = self.of(state)
        beyond = (self.low - value).clamp(min=0.0) + (value - self.high).clamp(min=0.0)
        return beyond if beyond.ndim == 1 else beyond.sum(1)


@dataclass(frozen=True, kw_only=True)
class Roll:
    """1 where the base leans `target_deg` to its right, falling as a bell to 0.61 at `margin_deg` from there."""

    target_deg: float
    margin_deg: float = 15.0

    def __call__(self, state: State) -> Tensor:
        lean = torch.asin(state.sensor("up")[:, 1].clamp(-1.0, 1.0))
        off = lean - math.radians(self.target_deg)
        return torch.exp(off.square() * (-0.5 / math.radians(self.margin_deg) ** 2))


def velocity_error(state: State) -> Tensor:
    """Distance between the commanded and the actual ground velocity in the base's frame, m/s; (n,)."""
    return (Command("velocity")(state)[:, :2] - base_vel(state)[:, :2]).norm(dim=1)


def yaw_error(state: State) -> Tensor:
    """Difference between the commanded and the actual turning rate, rad/s; (n,)."""
    return Command("velocity")(state)[:, 2] - gyro(state)[:, 2]


def bounce(state: State) -> Tensor:
    """Square of the base's vertical velocity."""
    return base_vel(state)[:, 2].square()


def wobble(state: State) -> Tensor:
    """Sum of squares of the base's roll and pitch rates."""
    return gyro(state)[:, :2].square().sum(1)
