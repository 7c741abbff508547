"""Reaching with any arm: where its tool is, by its joints alone, and points that it can get to."""

from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.robots import Robot
from paddock.tasks.arm_control import HomePose, joint_reading
from paddock.tasks.arm_experts import towards
from paddock.tasks.memories import own
from paddock.tasks.sensing import Remembered


@dataclass(frozen=True)
class ToolPosition:
    """Where the robot's tool is, computed from its encoders, in the frame of its foot; (n, 3)."""

    robot: Robot = field(repr=False)

    def __call__(self, state: State) -> Tensor:
        chain = self._home.chain.to(state.qpos.device)
        return chain.pose(torch.cat([joint_reading(state, joint) for joint in chain.joints], dim=1))[0]

    @cached_property
    def _home(self) -> HomePose:
        return HomePose.of(self.robot)


@dataclass(frozen=True)
class ToPoint:
    """From the robot's tool to a remembered point; (n, 3)."""

    tool: ToolPosition
    point: str

    def __call__(self, state: State) -> Tensor:
        return Remembered(self.point)(state) - self.tool(state)


@dataclass(frozen=True, kw_only=True)
class Reachable:
    """A point that the tool can get to: where it would be with its joints drawn around home, within their limits; (n, 3)."""

    robot: Robot = field(repr=False)
    spread: float = 0.7
    """Largest offset of each joint from home, rad or m."""
    above: float = 0.05
    """Lowest height of a point, m; one that would be lower is as far above this."""

    def start(self, state: State) -> Tensor:
        home, (low, high) = self._home, self._limits
        drawn = home.q.to(state.qpos.device) + state.uniform(len(home.chain.joints), -self.spread, self.spread)
        q = torch.maximum(torch.minimum(drawn, high.to(drawn.device)), low.to(drawn.device))
        x, y, z = home.chain.to(drawn.device).pose(q)[0].unbind(1)
        return torch.stack([x, y, (z - self.above).abs() + self.above], dim=1)

    def next(self, state: State) -> Tensor:
        return own(state)

    @cached_property
    def _home(self) -> HomePose:
        return HomePose.of(self.robot)

    @cached_property
    def _limits(self) -> tuple[Tensor, Tensor]:
        """Of each joint, a little within, so that the point is not at the edge of what can be reached; (1, k) each."""
        model = self.robot.spec().compile()
        ends = [_limits_of(model, joint) for joint in self._home.chain.joints]
        return torch.tensor([[low for low, _ in ends]]), torch.tensor([[high for _, high in ends]])


@dataclass(frozen=True)
class GoStraight:
    """Go along the straight line that `offset` measures; action (n, 3) of an `EndEffector` of the same `step`."""

    offset: Term
    step: float

    def __call__(self, state: State) -> Tensor:
        return towards(self.offset(state), self.step)


def _limits_of(model: mujoco.MjModel, joint: str) -> tuple[float, float]:
    if not model.joint(joint).limited[0]:
        return -torch.inf, torch.inf
    low, high = model.joint(joint).range
    return float(low + 0.05 * (high - low)), float(high - 0.05 * (high - low))


def reach_of(robot: Robot) -> float:
    """How far from its first joint the stretched arm could get, m."""
    frames, tool = HomePose.of(robot).chain.frames(HomePose.of(robot).q)
    points = torch.cat([frames[0, :, :3, 3], tool[:, :3, 3]])
    return round(float((points[1:] - points[:-1]).norm(dim=1).sum()), 3)
