"""Two cart-poles in one scene: both poles stay up while the carts meet wherever they are told to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import mujoco
from torch import Tensor

from paddock.robots.cartpole import CARTPOLE
from paddock.robots.team import team
from paddock.tasks import terms as t
from paddock.tasks.cartpole_balance import cart, off_rail
from paddock.tasks.pole_control import BalancePole, height, pole_cos, pole_vector
from paddock.tasks.scenes import flat_floor
from paddock.tasks.task import Task

if TYPE_CHECKING:
    from paddock.contracts import State, Term
    from paddock.robots import Robot

pair = {"left": CARTPOLE, "right": CARTPOLE}
rails = {"left": (0.0, 0.5, 0.0), "right": (0.0, -0.5, 0.0)}
CAMERA = "hall"
CARTPOLES = replace(team("cartpole-pair", pair, places=rails), camera=CAMERA)


def hall(robot: Robot) -> mujoco.MjSpec:
    """A floor, and a camera that sees both rails and tells the carts apart."""
    spec = flat_floor(robot)
    spec.material("right/shell").rgba = [0.50, 0.26, 0.52, 1.0]
    spec.worldbody.add_camera(name=CAMERA, pos=[1.5, -4.0, 2.2], xyaxes=[0.938, 0.347, 0, -0.0998, 0.270, 0.958], fovy=47)
    return spec


def both(term: Term) -> t.Beside:
    """A term of each cart-pole; (n, 2 k)."""
    return t.Beside((t.Of("left", term), t.Of("right", term)))


def either(condition: Term) -> t.AnyOf:
    """A condition holds for one of the cart-poles; (n,) bool."""
    return t.AnyOf((t.Of("left", condition), t.Of("right", condition)))


def gap(state: State) -> Tensor:
    """How far the left cart is ahead of the right one along the rails; (n,), m."""
    return state.sensor("left/joint_pos")[:, 0] - state.sensor("right/joint_pos")[:, 0]


def from_meeting(state: State) -> Tensor:
    """How far one member's cart is past the place where the carts should meet; (n,), m."""
    return cart(state) - state.command["meeting"][:, 0]


@dataclass(frozen=True, kw_only=True)
class BalanceAt:
    """Balances one member's pole around the meeting place; action (n, 1)."""

    balance: BalancePole = BalancePole()

    def __call__(self, state: State) -> Tensor:
        push = self.balance.push(state) - self.balance.cart * state.command["meeting"][:, 0]
        return push.clamp(-1, 1)[:, None]


fell = either(t.Below(pole_cos, math.cos(0.4)))
off_rails = either(off_rail)
met = t.Not(t.AnyOf((fell, off_rails, t.OutOfBounds(both(from_meeting), -0.2, 0.2), t.OutOfBounds(gap, -0.1, 0.1))))

CARTPOLE_PAIR = Task(
    name="cartpole-pair",
    summary="Balance both poles; bring the carts to a commanded place and keep them side by side there for the last second.",
    robot=CARTPOLES,
    scene=hall,
    control_dt=0.02,
    episode_s=10.0,
    act=t.JointTorque(),
    command={"meeting": t.UniformCommand(low=(-0.6,), high=(0.6,), every_s=6.0)},
    memory={"met": t.Held(met)},
    observe={
        "from_meeting": both(from_meeting),
        "cart": both(cart),
        "pole": both(pole_vector),
        "joint_vel": both(t.joint_vel),
    },
    reward={
        "left_upright": (0.5, t.Of("left", height)),
        "right_upright": (0.5, t.Of("right", height)),
        "meeting": (1.0, t.Near(both(from_meeting), 0.3)),
        "together": (0.5, t.Near(gap, 0.1)),
        "effort": (-0.01, t.action_size),
    },
    done={"fell": fell, "off_rail": off_rails},
    success=t.HeldFor(timer="met", seconds=1.0),
    reset=t.Uniform(
        joints={"left/cart": (-0.5, 0.5), "left/pole": (-0.1, 0.1), "right/cart": (-0.5, 0.5), "right/pole": (-0.1, 0.1)},
        vel=0.1,
    ),
    expert=both(BalanceAt()),
    presets={
        # twice the minibatches and a shorter sight: without them some seeds need twice the steps
        "default": {
            "steps": 900_000,
            "num_worlds": 256,
            "ppo": {"target_kl": 0.02, "minibatches": 8, "discount": 0.98},
        },
    },
)
