"""What Gymnasium's locomotion tasks share: how -v5 reads the engine, pays and begins.

Their tasks read `qpos` and derived fields as plain `mj_step` leaves them, so ours run at `stage="engine"`. Speeds are
differences of positions over a few milliseconds and limits are compared exactly, so both read the engine's float64.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.tasks.sensing import Remembered

STEPS = 1000
"""Control steps after which every one of these tasks is truncated."""
MILLION: Mapping[str, object] = {
    "steps": 1_000_000,
    "num_worlds": 64,
    "ppo": {
        "horizon": 32,
        "epochs": 10,
        "minibatches": 32,
        "learning_rate": 3e-4,
        "target_kl": 0.0,
        "anneal_steps": 1_000_000,
        "recompute_advantages": True,
        "hidden": [64, 64],
        "max_grad_norm": 0.5,
        "log_std": -0.5,
    },
}
"""The most out of a million steps, as published tables ask for: many small steps down the gradient."""


def exact_qpos(state: State) -> Tensor:
    """qpos in the engine's float64; (n, nq)."""
    return state.fields["qpos"]


def root_x(state: State) -> Tensor:
    """How far ahead the first joint is, in float64; (n,)."""
    return exact_qpos(state)[:, 0]


def joint_velocities(state: State) -> Tensor:
    """qvel as it is; (n, nv)."""
    return state.qvel


def clipped_velocities(state: State) -> Tensor:
    """qvel, none faster than 10; (n, nv)."""
    return state.qvel.clamp(-10.0, 10.0)


def ctrl_size(state: State) -> Tensor:
    """Sum of squares of ctrl. Where ctrl ranges within [-1, 1], that of the action; (n,)."""
    return state.ctrl.square().sum(1)


@dataclass(frozen=True)
class PositionsFrom:
    """qpos without its first columns, which say where in the world the robot is; (n, nq - skipped)."""

    skipped: int

    def __call__(self, state: State) -> Tensor:
        return state.qpos[:, self.skipped :]


@dataclass(frozen=True)
class Speed:
    """Change of a position in this step over its duration; the memory is a `Tracked` of it, in float64; (n,)."""

    of: str

    def __call__(self, state: State) -> Tensor:
        before, now = Remembered(self.of)(state).unbind(1)
        return ((now - before) / state.layout.control_dt).to(torch.float32)


def inside(value: Tensor, low: float, high: float) -> Tensor:
    """Between the limits and on neither of them; bool."""
    return (value > low) & (value < high)


@dataclass(frozen=True, kw_only=True)
class NoisyStart:
    """The model's own pose with noise on every number of it, quaternions too, and on every velocity."""

    noise: float
    vel: Literal["uniform", "normal"]
    """How velocities are drawn; positions are uniform."""

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        home, nv = state.layout.home_qpos, state.layout.nv
        qpos = home + state.uniform(home.shape[0], -self.noise, self.noise, label="qpos")
        if self.vel == "normal":
            return qpos, state.normal(nv, label="qvel") * self.noise
        return qpos, state.uniform(nv, -self.noise, self.noise, label="qvel")
