"""Scripted cart-pole controllers: they prove that the tasks are possible, and are the baseline a policy must reach.

Angles: 0 is upright, positive leans to +x. The pole angle is not wrapped, so only its sine and cosine are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from paddock.contracts import State


def read(state: State) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Cart position (m), pole angle (rad), cart velocity (m/s), pole velocity (rad/s); each (n,)."""
    pos, vel = state.sensor("joint_pos"), state.sensor("joint_vel")
    return pos[:, 0], pos[:, 1], vel[:, 0], vel[:, 1]


def pole_vector(state: State) -> Tensor:
    """Cosine and sine of the pole's angle: an unlimited hinge does not wrap; (n, 2)."""
    angle = state.sensor("joint_pos")[:, 1]
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def pole_cos(state: State) -> Tensor:
    """Cosine of the pole's angle: 1 upright, -1 hanging; (n,)."""
    return state.sensor("joint_pos")[:, 1].cos()


def height(state: State) -> Tensor:
    """1 with the pole up, 0 with it hanging; (n,)."""
    return (pole_cos(state) + 1.0) * 0.5


@dataclass(frozen=True, kw_only=True)
class BalancePole:
    """Linear state feedback (LQR) around upright; action (n, 1), 1 = 10 N.

    The gains solve the discrete Riccati equation for one control step: `mjd_transitionFD` of cartpole.xml at its
    keyframe, chained over 4 substeps with the force held (0.02 s), action in units of 10 N, then
    `scipy.linalg.solve_discrete_are` with Q = diag(1, 10, 0.1, 0.1) over (cart, pole, their velocities) and R = 5.
    """

    cart: float = 0.395
    """Action per metre from the centre."""
    pole: float = 4.470
    """Action per radian of lean."""
    cart_vel: float = 0.540
    """Action per m/s."""
    pole_vel: float = 1.038
    """Action per rad/s."""

    def push(self, state: State) -> Tensor:
        """The action wanted before the motor's limit; (n,)."""
        cart, pole, cart_vel, pole_vel = read(state)
        return self.cart * cart + self.pole * pole.sin() + self.cart_vel * cart_vel + self.pole_vel * pole_vel

    def __call__(self, state: State) -> Tensor:
        return self.push(state).clamp(-1, 1)[:, None]


@dataclass(frozen=True, kw_only=True)
class SwingUpPole:
    """Pump the pole's energy up to that of standing upright, then hand over to `balance`; action (n, 1), 1 = 10 N.

    An acceleration `a` of the cart changes the pole's energy at the rate -m l a w cos(angle), with w its velocity: pushing
    along -(missing energy) * w cos(angle) always moves it towards upright. The gains are picked from a random search,
    and checked with masses changed by 20 % and length by 15 %.
    """

    balance: BalancePole = BalancePole()
    """Takes over near the top."""
    swing_rate: float = 4.02
    """Small-swing frequency of the hanging pole, sqrt(m g l / J) in rad/s; scales energy to m g l = 1."""
    pump: float = 1.4
    """Action per unit of missing energy and rad/s."""
    pump_limit: float = 0.65
    """Most that pumping may ask for; the rest is left to centring."""
    kick: float = 0.05
    """Added to the swing's rate (rad/s), so that a pole hanging at rest starts to move."""
    cart: float = 0.65
    """Centring action per metre."""
    cart_vel: float = 0.28
    """Centring action per m/s."""
    catch_push: float = 1.8
    """Hand over once the balancer wants no more than this. Wider, it drifts into a stop while the motor saturates."""
    catch_height: float = 0.65
    """Hand over only where the cosine of the angle is above this."""

    def __call__(self, state: State) -> Tensor:
        cart, pole, cart_vel, pole_vel = read(state)
        rate = pole_vel / self.swing_rate
        missing = 1 - pole.cos() - 0.5 * rate * rate
        swing = pole_vel * pole.cos() + self.kick
        pumping = (-self.pump * missing * swing).clamp(-self.pump_limit, self.pump_limit)
        push = pumping - self.cart * cart - self.cart_vel * cart_vel
        wanted = self.balance.push(state)
        can_catch = (pole.cos() > self.catch_height) & (wanted.abs() < self.catch_push)
        return torch.where(can_catch, wanted, push).clamp(-1, 1)[:, None]
