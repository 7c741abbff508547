"""A scripted balance for the humanoid: the proof that standing under pushes is possible, without even a step.

The body is taken for an inverted pendulum. It would come to rest over its capture point, which lies beyond the centre
of mass by its speed; the feet press on the ground beyond that point in turn, and so drive it back. A pure batched
function of the state, so it exports like any policy. The sizes of humanoid.xml are repeated below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from paddock.robots.humanoid import GAINS, JOINTS, SIDES, joint_kind

if TYPE_CHECKING:
    from paddock.contracts import State

LINK = 0.42
"""Length of the thigh and of the shank, m."""
STANCE = 0.18
"""Distance between the hips, and between the feet below them, m."""
WEIGHT = 69.96 * 9.81
"""N."""
CENTRE = (0.013, 0.079)
"""The centre of mass at home: ahead of the hips and above them, m."""
TIME = math.sqrt(0.892 / 9.81)
"""In which the pendulum leans e times as far: from its height over the ankles, s."""
STIFFNESS = tuple(GAINS[joint_kind(joint)][0] for joint in JOINTS)
DAMPING = tuple(GAINS[joint_kind(joint)][1] for joint in JOINTS)
LOOSE = tuple(float(joint_kind(joint) in ("hip_roll", "ankle_pitch", "ankle_roll")) for joint in JOINTS)
"""1 for the joints about which the body leans. They have no pose to hold: their servos only exert what is asked."""


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Stands on the spot; action (n, 21) for position servos around the home pose."""

    scale: float = 0.5
    """Joint angle of a full action, rad."""
    rest: float = 0.02
    """Where the capture point should rest, ahead of the ankles, m."""
    beyond: float = 2.0
    """How far beyond the capture point the feet press, as a part of its distance from where it should rest."""
    heel: float = -0.09
    toe: float = 0.2
    """Ahead of the ankles the feet press between these, m: the ends of the soles, and a little over to use them up."""
    side: float = 0.13
    """And no further than this from the middle between the feet, m."""
    hips: float = 0.25
    """Each hip's part of the torque against leaning sideways; the ankles share the rest."""
    level: float = 250.0
    """Torque of the hips per tilt of the pelvis, N m / rad."""
    level_rate: float = 25.0
    """And per tilt rate, N m s / rad."""

    def __call__(self, state: State) -> Tensor:
        return self.pressing(state, *self.pressure(state))

    def pressing(self, state: State, ahead: Tensor, left: Tensor) -> Tensor:
        """The action with which the feet press where they are told to; see `pressure`."""
        by_joint, none = self.torques(state, ahead, left), torch.zeros_like(state.time)
        torque = torch.stack([by_joint.get(joint, none) for joint in JOINTS], dim=1)
        stiffness, damping = state.constant(STIFFNESS), state.constant(DAMPING)
        # told its own position and speed, a loose joint's servo adds nothing of its own
        offset = state.sensor("joint_pos") - state.layout.home_joint + damping * state.sensor("joint_vel") / stiffness
        return ((torque / stiffness + state.constant(LOOSE) * offset) / self.scale).clamp(-1, 1)

    def torques(self, state: State, ahead: Tensor, left: Tensor) -> dict[str, Tensor]:
        """What the joints of the legs exert beside their servos; (n,) each, N m."""
        _, knee = leg_pitch(state)
        share = (0.5 + left / STANCE).clamp(0, 1)  # of the weight on the left leg
        load = WEIGHT * torch.stack([share, 1 - share], dim=1)
        level = -self.level * state.sensor("up")[:, 0] + self.level_rate * state.sensor("gyro")[:, 1]
        sway = WEIGHT * left[:, None].expand(-1, 2)
        both = {
            "hip_roll": self.hips * sway,
            "hip_pitch": level[:, None].expand(-1, 2),
            "knee": load * (ahead[:, None] - LINK * knee.sin()),  # the ground's push, at its distance from the knee
            "ankle_pitch": load * ahead[:, None],
            "ankle_roll": (self.hips - 0.5) * sway,
        }
        return {f"{side}_{kind}": value[:, i] for kind, value in both.items() for i, side in enumerate(SIDES)}

    def pressure(self, state: State) -> tuple[Tensor, Tensor]:
        """Where the feet should press: ahead of the ankles, and left of the middle between the feet; (n,) each, m."""
        up, gyro, vel = state.sensor("up"), state.sensor("gyro"), state.sensor("base_vel")
        hip, knee = leg_pitch(state)
        lean = up[:, 1:2].asin() + both_legs(state, "hip_roll")
        forward, above = CENTRE
        x = LINK * (hip.sin() + knee.sin()).mean(1) + forward - above * up[:, 0]
        y = -LINK * ((hip.cos() + knee.cos()) * lean.sin()).mean(1) - above * up[:, 1]
        off_x = x + TIME * (vel[:, 0] + above * gyro[:, 1]) - self.rest
        off_y = y + TIME * (vel[:, 1] - above * gyro[:, 0])
        ahead = self.rest + (1 + self.beyond) * off_x
        left = (1 + self.beyond) * off_y
        return ahead.clamp(self.heel, self.toe), left.clamp(-self.side, self.side)


def both_legs(state: State, joint: str, sensor: str = "joint_pos") -> Tensor:
    """What a joint's sensor reads in both legs, left first; (n, 2)."""
    return torch.cat([state.sensor(f"{sensor}/{side}_{joint}") for side in SIDES], dim=1)


def leg_pitch(state: State) -> tuple[Tensor, Tensor]:
    """How far the thighs and the shanks swing back from the vertical, rad; (n, 2) each."""
    hip = both_legs(state, "hip_pitch") - state.sensor("up")[:, :1].asin()
    return hip, hip + both_legs(state, "knee")
