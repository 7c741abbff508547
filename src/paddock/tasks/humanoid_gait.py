"""A scripted walk for the humanoid: the proof that its walking task can be done, and a teacher that needs no training.

The body falls over its stance foot as an inverted pendulum does. At every moment the walk foresees where that fall will
have brought it when the step ends, and sends the other foot to where the next fall has the speed and width wanted.
The stance leg carries the weight and keeps the pelvis level. A pure batched function of the state and the task's clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from paddock.robots.humanoid import GAINS, JOINTS, SIDES
from paddock.tasks.humanoid_control import CENTRE, LINK, STANCE, TIME, WEIGHT, Balance, both_legs, leg_pitch
from paddock.tasks.sensing import Remembered

if TYPE_CHECKING:
    from paddock.contracts import State


@dataclass(frozen=True, kw_only=True, eq=False)
class Footing:
    """The body as seen from its stance ankle, in the level frame of the pelvis; (n,) each, m and m/s."""

    x: Tensor
    y: Tensor
    vel_x: Tensor
    vel_y: Tensor
    """Of the centre of mass, ahead and to the left."""
    hip_x: Tensor
    hip_y: Tensor
    hip_z: Tensor
    knee_x: Tensor
    knee_z: Tensor

    @staticmethod
    def on(stance: Tensor, state: State) -> Footing:
        """`stance` is 1 on the left leg and -1 on the right; (n,)."""
        up, gyro, vel = state.sensor("up"), state.sensor("gyro"), state.sensor("base_vel")
        thigh, shank = (of_leg(stance, angle) for angle in leg_pitch(state))
        lean = up[:, 1].asin() + of_leg(stance, both_legs(state, "hip_roll"))
        length = LINK * (thigh.cos() + shank.cos())
        hip_x, hip_y = LINK * (thigh.sin() + shank.sin()), -length * lean.sin()
        forward, above = CENTRE
        return Footing(
            x=hip_x + forward - above * up[:, 0],
            y=hip_y - 0.5 * STANCE * stance - above * up[:, 1],
            vel_x=vel[:, 0] + above * gyro[:, 1],
            vel_y=vel[:, 1] - above * gyro[:, 0],
            hip_x=hip_x,
            hip_y=hip_y,
            hip_z=length * lean.cos(),
            knee_x=LINK * shank.sin(),
            knee_z=LINK * shank.cos(),
        )


@dataclass(frozen=True, kw_only=True)
class Stride:
    """Follows command["velocity"] (vx, vy, yaw rate); action (n, 21) for position servos around the home pose."""

    period: float
    """Of one stride, two steps, s: that of the task's clock."""
    clock: str = "clock"
    scale: float = 0.5
    """Joint angle of a full action, rad."""
    height: float = 0.81
    """Hips over the ankles, m."""
    width: float = 0.13
    """Between left and right footholds, m."""
    lift: float = 0.08
    """Foot clearance, m."""
    lead: float = 1.1
    """The speed aimed for, as a part of the one wanted, for what is lost at each touch-down."""
    short: float = 0.05
    """How far short of where the pendulum would have it the foot lands, m: it presses ahead of its ankle."""
    rest: float = 0.01
    """Where the stance foot presses at the right speed, ahead of its ankle, m."""
    brake: float = 0.3
    """How much further ahead it presses per excess speed, s."""
    level: float = 250.0
    """Torque of the stance hip per tilt of the pelvis, N m / rad."""
    level_rate: float = 25.0
    """And per tilt rate, N m s / rad."""
    wait: float = 0.2
    """Before the first step the body stands for at least so long, s."""
    shift_s: float = 0.15
    shift: float = 0.08
    """Then the foot to be lifted first presses this far out for so long, m and s, to throw the weight onto the other."""

    @property
    def step_s(self) -> float:
        return 0.5 * self.period

    @property
    def balance(self) -> Balance:
        """What stands before the first step."""
        return Balance(scale=self.scale)

    def __call__(self, state: State) -> Tensor:
        steps = Remembered(self.clock)(state) * 2
        part = steps - steps.floor()  # of this step that is over
        side = 1 - 2 * steps.floor()  # 1 while the left foot is in the air, -1 while the right one is
        begun = state.time - part * self.step_s
        slack = 0.5 * state.layout.control_dt
        return torch.where(
            (begun > self.wait - slack)[:, None],
            self.step(state, part, side),
            self.stand(state, begun + self.step_s, side),
        )

    def stand(self, state: State, until: Tensor, side: Tensor) -> Tensor:
        """The action before the first step, which begins at `until` if the body has waited long enough by then."""
        ahead, left = self.balance.pressure(state)
        first = (until > self.wait - 0.5 * state.layout.control_dt) & (until - state.time <= self.shift_s)
        return self.balance.pressing(state, ahead, torch.where(first, -side * self.shift, left))

    def step(self, state: State, part: Tensor, side: Tensor) -> Tensor:
        """The action in the midst of a step."""
        wanted = state.command["velocity"] * state.constant((self.lead, 1.0, 1.0))
        footing = Footing.on(-side, state)
        press = (self.rest + self.brake * (footing.vel_x - wanted[:, 0])).clamp(-0.05, 0.13)
        turn = wanted[:, 2] * self.step_s * (0.5 - part)
        stance = {"hip_yaw": turn, **self.stance(state, footing, press, -side)}
        swing = {"hip_yaw": -turn, **self.swing(state, footing, press, wanted, part, side)}
        target: dict[str, Tensor] = {}
        for i, name in enumerate(SIDES):
            lifted = side > 0 if i == 0 else side < 0
            target |= {f"{name}_{joint}": torch.where(lifted, swing[joint], stance[joint]) for joint in swing}
        home = state.layout.home_joint.expand(state.num_worlds, -1)
        pose = torch.stack([target.get(joint, home[:, i]) for i, joint in enumerate(JOINTS)], dim=1)
        return ((pose - home) / self.scale).clamp(-1, 1)

    def stance(self, state: State, footing: Footing, press: Tensor, leg: Tensor) -> dict[str, Tensor]:
        """Targets of the leg on the ground; (n,) each. The ground pushes from `press` towards the centre of mass."""
        up, gyro = state.sensor("up"), state.sensor("gyro")
        centre_z = footing.hip_z + CENTRE[1]
        push_x, push_y = WEIGHT * (footing.x - press) / centre_z, WEIGHT * footing.y / centre_z
        ankle = WEIGHT * press
        knee = WEIGHT * (press - footing.knee_x) + push_x * footing.knee_z
        pitch = WEIGHT * (press - footing.hip_x) + push_x * footing.hip_z - self.level * up[:, 0] + self.level_rate * gyro[:, 1]
        roll = WEIGHT * footing.hip_y - push_y * footing.hip_z + self.level * up[:, 1] + self.level_rate * gyro[:, 0]
        reach = (self.height**2 + footing.hip_x.square()).sqrt().clamp(max=1.99 * LINK)
        return {
            "hip_roll": exerting(roll, "hip_roll", leg, state),
            "hip_pitch": exerting(pitch, "hip_pitch", leg, state),
            "knee": 2 * (reach / (2 * LINK)).acos() + knee / GAINS["knee"][0],
            "ankle_pitch": exerting(ankle, "ankle_pitch", leg, state),
            "ankle_roll": -up[:, 1].asin() - of_leg(leg, both_legs(state, "hip_roll")),
        }

    def swing(self, state: State, footing: Footing, press: Tensor, wanted: Tensor, part: Tensor, side: Tensor) -> dict[str, Tensor]:
        """Targets of the leg in the air; (n,) each. Its sole stays level, whatever the pelvis does."""
        x, y = self.foothold(footing, press, wanted, part, side)
        x, y = x + CENTRE[0], y - 0.5 * STANCE * side  # as seen from its hip
        behind = -0.5 * self.step_s * wanted[:, 0]
        way = (part / 0.8).clamp(0, 1)
        way = way * way * (3 - 2 * way)
        x, y = behind + (x - behind) * way, y * way
        drop = (y.square() + (self.height - self.lift * (math.pi * part).sin()).square()).sqrt()
        reach = (x.square() + drop.square()).sqrt().clamp(0.4, 1.99 * LINK)
        fold = (reach / (2 * LINK)).acos()  # thigh and shank are equally long: each leans by this from the hip-ankle line
        thigh, roll = (-x / reach).clamp(-0.9, 0.9).asin() - fold, (y / drop).asin()
        up = state.sensor("up")
        return {
            "hip_roll": roll - up[:, 1].asin(),
            "hip_pitch": thigh + up[:, 0].asin(),
            "knee": 2 * fold,
            "ankle_pitch": -thigh - 2 * fold,
            "ankle_roll": -roll,
        }

    def foothold(self, footing: Footing, press: Tensor, wanted: Tensor, part: Tensor, side: Tensor) -> tuple[Tensor, Tensor]:
        """Where the swinging ankle should land, seen from the centre of mass at that moment; (n,) each, m."""
        left = (1 - part) * (self.step_s / TIME)
        growth, turned = left.cosh(), left.sinh()
        # speeds at touch-down, in metres: by so much the capture point will be ahead of the centre of mass
        x = (footing.x - press) * turned + footing.vel_x * TIME * growth
        y = footing.y * turned + footing.vel_y * TIME * growth
        factor = math.exp(self.step_s / TIME)  # by which a distance from the capture point grows in a step
        x = x - wanted[:, 0] * self.step_s / (factor - 1) - self.short
        y = y + side * self.width / (factor + 1) + 0.5 * self.step_s * wanted[:, 1]
        outward = (side * y).clamp(-0.02, 0.4)  # feet do not cross
        return x.clamp(-0.35, 0.45), side * outward


def of_leg(side: Tensor, both: Tensor) -> Tensor:
    """The left of two columns where `side` is positive, else the right one; (n,)."""
    return torch.where(side > 0, both[:, 0], both[:, 1])


def exerting(torque: Tensor, joint: str, leg: Tensor, state: State) -> Tensor:
    """The target with which a joint's servo exerts just this torque; (n,)."""
    stiffness, damping = GAINS[joint]
    pos, vel = (of_leg(leg, both_legs(state, joint, sensor)) for sensor in ("joint_pos", "joint_vel"))
    return pos + (torque + damping * vel) / stiffness
