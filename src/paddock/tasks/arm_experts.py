"""Scripted arm controllers: they prove that the tasks are possible, and teach by demonstration.

Each looks at the state alone and decides anew at every step, so a slip or a push is answered like any other state.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots import Robot
from paddock.tasks.arm_control import HomePose, joint_reading
from paddock.tasks.arm_scenes import CUBE_HALF
from paddock.tasks.kinematics import damped
from paddock.tasks.sensing import Remembered

GAIN = 0.35
"""Part of the remaining way that one step goes: servos lag by about a step, and more would make them swing."""


def towards(offset: Tensor, step: float) -> Tensor:
    """The action that takes a part of `offset` (n, 3), no faster than `step` allows along any axis; (n, 3)."""
    wanted = offset * (GAIN / step)
    return wanted / wanted.abs().amax(dim=1, keepdim=True).clamp(min=1.0)


@dataclass(frozen=True, kw_only=True)
class ReachByJoints:
    """Go to the target by inverse kinematics; action (n, joints) of a `JointPosition` of the same `scale`."""

    robot: Robot = field(repr=False)
    scale: float

    def __call__(self, state: State) -> Tensor:
        home = HomePose.of(self.robot).to(state.qpos.device)
        q = torch.cat([joint_reading(state, joint) for joint in home.chain.joints], dim=1)
        for _ in range(4):
            pos, _, jacobian = home.chain.jacobian(q)
            q = q + damped(jacobian[:, :3], Remembered("target")(state) - pos, 0.1)
        parts = list(torch.zeros_like(state.ctrl).unbind(1))
        for joint, offset in zip(home.chain.joints, ((q - home.q) / self.scale).unbind(1), strict=True):
            parts[state.layout.actuators[joint].start] = offset
        return torch.stack(parts, dim=1).clamp(-1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class PushCube:
    """Come down behind the cube as seen from the goal, then push it along, steering back to the line; action (n, 3)."""

    step: float
    hover: float = 0.13
    """Height at which the tool passes over the cube, m."""
    low: float = 0.025
    """Height at which it pushes, m."""
    behind: float = 0.065
    """From the cube's centre to where the tool comes down, m."""

    def __call__(self, state: State) -> Tensor:
        tool, cube = state.sensor("tool_pos"), state.sensor("cube_pos")
        way = Remembered("goal")(state) - cube[:, :2]
        left = way.norm(dim=1, keepdim=True)
        ahead = way / left.clamp(min=1e-6)
        offset = tool[:, :2] - cube[:, :2]
        along = (offset * ahead).sum(1, keepdim=True)
        beside = offset - along * ahead
        down = self._vertical(tool, self.low)
        # pushing: further along the line, the cube kept in front; it turns away from a tool that is off to one side
        pushed = ahead * (left + 0.01).clamp(max=0.06) - beside * 2.0
        pushing = (tool[:, 2:] < 0.05) & (along > -self.behind - 0.03) & (along < -0.01) & (beside.norm(dim=1, keepdim=True) < 0.02)
        # otherwise to the place behind it, high until above that place
        start = cube[:, :2] - ahead * self.behind - tool[:, :2]
        away = start.norm(dim=1, keepdim=True)
        high = self.low + ((away - 0.01) * 3.0).clamp(0.0, self.hover - self.low)
        rise = self._vertical(tool, high)
        approach = torch.cat([start * (1.0 - rise / 0.03).clamp(0.0, 1.0), rise], dim=1)
        arrived = left < 0.02
        moving = torch.where(pushing, torch.cat([pushed, down], dim=1), approach)
        return towards(torch.where(arrived, torch.zeros_like(moving), moving), self.step)

    def _vertical(self, tool: Tensor, height: Tensor | float) -> Tensor:
        return height - tool[:, 2:]


@dataclass(frozen=True, kw_only=True)
class PickAndPlace:
    """Over the cube, down, grip, up, over the goal, down, open; action (n, 4).

    Both ways down are funnels: the height allowed grows with the distance from the axis, and nothing moves sideways below it.
    """

    step: float
    carry: float = 0.1
    """Height above the floor at which the cube, and above the cube at which the open gripper travels, m."""
    aligned: float = 0.008
    """Distance from the axis at which a funnel reaches the bottom, m."""
    touching: float = 3.0
    """Force on a finger that tells that it grips, N."""

    def __call__(self, state: State) -> Tensor:
        tool, cube = state.sensor("tool_pos"), state.sensor("cube_pos")
        goal = torch.cat([Remembered("goal")(state), torch.full_like(cube[:, 2:], CUBE_HALF)], dim=1)
        to_cube, to_goal = cube - tool, goal - cube
        between = (to_cube[:, :2].norm(dim=1) < 0.015) & (to_cube[:, 2].abs() < 0.012)
        gripped = between & (state.sensor("touch") > self.touching).all(1)
        there = to_goal[:, :2].norm(dim=1) < 0.015
        placed = there & (to_goal[:, 2] > -0.004)
        opened = state.sensor("gripper_pos")[:, 0] > CUBE_HALF + 0.01
        # what was placed is let go of before the hand rises
        leave = torch.cat([torch.zeros_like(to_cube[:, :2]), (to_cube[:, 2:] + self.carry) * opened[:, None]], dim=1)
        move = torch.where(gripped[:, None], self._funnel(to_goal), self._funnel(to_cube))
        move = torch.where(placed[:, None], leave, move)
        grip = torch.where(between & ~placed, -1.0, 1.0)
        return torch.cat([towards(move, self.step), grip[:, None]], dim=1)

    def _funnel(self, offset: Tensor) -> Tensor:
        """The way to go so that `offset` (n, 3) shrinks from the side only when high enough, and from above only when aligned."""
        sideways, up = offset[:, :2], offset[:, 2:]
        away = sideways.norm(dim=1, keepdim=True)
        rise = up + ((away - self.aligned) * 4.0).clamp(0.0, self.carry)
        return torch.cat([sideways * (1.0 - rise / 0.03).clamp(0.0, 1.0), rise], dim=1)
