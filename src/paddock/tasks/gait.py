"""A scripted trot for the quadruped: the proof that its tasks can be done, and a teacher that needs no training.

Diagonal leg pairs take turns. A stance foot moves back under the body at the wanted speed; a swing foot arcs to the
next foothold. The gait keeps no memory: it is a pure batched function of the state, so it exports like any policy.
Legs are ordered fl, fr, hl, hr and joints hip, thigh, knee, as in quadruped.xml, whose sizes are repeated below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from paddock.tasks.sensing import GoalVector

if TYPE_CHECKING:
    from paddock.contracts import State

LINK = 0.2
"""Length of the thigh and of the shank, m."""
HIP_X = (0.185, 0.185, -0.185, -0.185)
HIP_Y = (0.055, -0.055, 0.055, -0.055)
"""Hip joints in the base frame, m."""
HIP_OFFSET = (0.085, -0.085, 0.085, -0.085)
"""From the hip joint sideways to the plane of thigh and shank, m."""
PAIR = (0.0, 0.5, 0.5, 0.0)
"""Phase of each leg, cycles: the diagonals move together."""
WEIGHT = 12.0 * 9.81
"""N."""
TORQUE_LIMIT = (24.0, 24.0, 36.0) * 4
"""N m, as in the actuators' ctrlrange."""


def under_hips(state: State) -> tuple[Tensor, Tensor]:
    """Where the feet stand at rest, forward and left of the base, each (4,), m."""
    return state.constant(HIP_X), state.constant(HIP_Y) + state.constant(HIP_OFFSET)


def leg_angles(foot: Tensor, offset: Tensor) -> Tensor:
    """Joint angles (n, 4, 3) that put the feet at (n, 4, 3), each seen from its hip joint; offset is (4,)."""
    x, y, z = foot.unbind(-1)
    drop = (y * y + z * z - offset * offset).clamp(min=0.01).sqrt()  # hip axis to foot, inside the leg's plane
    hip = ((offset * z + drop * y) / (offset * offset + drop * drop)).clamp(-0.8, 0.8).asin()
    reach = (x * x + drop * drop).sqrt().clamp(0.12, 0.98 * 2 * LINK)
    fold = (reach / (2 * LINK)).acos()  # thigh and shank are equally long: each leans by this from the hip-foot line
    lean = (-x / reach).clamp(-0.9, 0.9).asin()
    return torch.stack((hip, lean + fold, -2 * fold), -1)


def push_torque(angles: Tensor, foot: Tensor, force: Tensor) -> Tensor:
    """Joint torques (n, 4, 3) with which the legs press down on the ground with force (n, 4), N."""
    x, y, _ = foot.unbind(-1)
    shank = angles[..., 1] + angles[..., 2]
    return torch.stack((-force * y, force * x, -force * LINK * shank.sin()), -1)


@dataclass(frozen=True, kw_only=True)
class Trot:
    """Follows command["velocity"] (vx, vy, yaw rate); action (n, 12) for position servos around the home pose."""

    scale: float = 0.5
    """Joint angle of a full action, rad."""
    stiffness: float = 60.0
    """Of the servos, N m / rad: targets lead by the sag that the load would cause."""
    period: float = 0.4
    """Of one stride, s."""
    swing: float = 0.43
    """Part of the stride a foot is in the air."""
    lift: float = 0.075
    """Foot clearance, m."""
    height: float = 0.28
    """Hip joints over the ground, m."""
    ramp: float = 0.4
    """Time from standing to full steps, s."""
    surge: float = 0.5
    """Most the wanted velocity may lead the measured one, m/s."""
    drive: float = 1.2
    """Stance feet run this much of the missing velocity faster than the body."""
    brace: float = 0.1
    """Raibert's gain: foothold shift per excess velocity, s. In stance the same shift brakes the body."""
    brace_yaw: float = 0.1
    """The same for the yaw rate, s."""
    level: float = 0.3
    """How much of a tilt the legs take out by length."""
    level_rate: float = 0.01
    """And of a tilt rate, s."""

    def __call__(self, state: State) -> Tensor:
        angles, torque = self.legs(state, state.command["velocity"])
        target = (angles + torque / self.stiffness).flatten(1)
        return ((target - state.layout.home_qpos[7:]) / self.scale).clamp(-1, 1)

    def legs(self, state: State, velocity: Tensor) -> tuple[Tensor, Tensor]:
        """Wanted joint angles and the torques that carry the weight, each (n, 4, 3), for a base velocity (n, 3)."""
        offset = state.constant(HIP_OFFSET)
        start = (state.time / self.ramp).clamp(0, 1)[:, None]
        phase = state.time[:, None] / self.period + state.constant(PAIR)
        phase = phase - phase.floor()
        air = (phase / self.swing).clamp(0, 1)  # 0..1 through the swing, then 1
        ground = ((phase - self.swing) / (1 - self.swing)).clamp(0, 1)  # 0, then 0..1 through the stance

        step, shift = self.footholds(state, velocity)
        smooth = air * air * (3 - 2 * air)
        along = (smooth - ground - 0.5)[..., None] * start[..., None] * step + shift
        lifted = (math.pi * air).sin()
        z = self.leveled(state) - self.height + self.lift * start * lifted * lifted
        foot = torch.stack((along[..., 0], offset + along[..., 1], z), -1)

        angles = leg_angles(foot, offset)
        carry = 1 - start * (5 * lifted).clamp(max=1)
        force = WEIGHT * carry / carry.sum(-1, keepdim=True).clamp(min=1)
        return angles, push_torque(angles, foot, force)

    def footholds(self, state: State, velocity: Tensor) -> tuple[Tensor, Tensor]:
        """Stance travel of each foot and its shift against excess velocity, both (n, 4, 2), m."""
        base_vel, yaw_rate = state.sensor("base_vel")[:, :2], state.sensor("gyro")[:, 2:]
        excess = (base_vel - velocity[:, :2]).clamp(-self.surge, self.surge)
        excess_yaw = yaw_rate - velocity[:, 2:]
        front, left = under_hips(state)
        spin = torch.stack((-left, front), -1)  # velocity of the feet for a yaw rate of 1 rad/s
        travel = (base_vel - self.drive * excess)[:, None] + velocity[:, 2:, None] * spin
        shift = self.brace * excess[:, None] + self.brace_yaw * excess_yaw[..., None] * spin
        return travel * self.period * (1 - self.swing), shift

    def leveled(self, state: State) -> Tensor:
        """Height (n, 4) to add to the feet so that a tilted trunk turns level: the low side stretches its legs."""
        front, left = under_hips(state)
        up, gyro = state.sensor("up"), state.sensor("gyro")
        roll = self.level * up[:, 1:2] + self.level_rate * gyro[:, 0:1]
        pitch = self.level * up[:, 0:1] - self.level_rate * gyro[:, 1:2]
        return (roll * left + pitch * front).clamp(-0.08, 0.08)


@dataclass(frozen=True, kw_only=True)
class TrotToGoal:
    """Walks to memory["goal"] (n, 2) and stays; action (n, 12) as a part of the torque limits."""

    trot: Trot = Trot()
    stiffness: float = 60.0
    """N m / rad. Torque is held for a control step, so stiffness * control_dt^2 must stay below a leg's inertia."""
    damping: float = 0.9
    """N m s / rad."""
    approach: float = 1.0
    """Velocity per distance to the goal, 1/s."""
    speed: float = 0.6
    """m/s at most."""
    turn: float = 1.0
    """Yaw rate per sideways velocity, rad / m: fades at the goal by itself."""

    def __call__(self, state: State) -> Tensor:
        return self.torque(state, self.velocity(state))

    def torque(self, state: State, velocity: Tensor) -> Tensor:
        """The action (n, 12) that trots at a base velocity (n, 3)."""
        angles, torque = self.trot.legs(state, velocity)
        error = angles.flatten(1) - state.sensor("joint_pos")
        torque = torque.flatten(1) + self.stiffness * error - self.damping * state.sensor("joint_vel")
        return (torque / state.constant(TORQUE_LIMIT)).clamp(-1, 1)

    def velocity(self, state: State) -> Tensor:
        """Base velocity (n, 3) towards the goal, turning to face it."""
        ahead, left, _ = GoalVector()(state).unbind(1)
        distance = (ahead * ahead + left * left).clamp(min=1e-6).sqrt()
        speed = (self.approach * distance).clamp(max=self.speed) / distance
        return torch.stack((speed * ahead, speed * left, self.turn * speed * left), -1)


@dataclass(frozen=True, kw_only=True)
class TrotInPlace:
    """Steps on the spot, which is how it catches itself when pushed; action (n, 12) as a part of the torque limits."""

    walker: TrotToGoal = TrotToGoal()

    def __call__(self, state: State) -> Tensor:
        return self.walker.torque(state, torch.zeros_like(state.sensor("base_vel")))
