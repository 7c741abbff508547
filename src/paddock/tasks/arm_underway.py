"""Training that begins in the midst of the work: the hand over the object, or the object in the hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots import Robot
from paddock.tasks.arm_control import HomePose
from paddock.tasks.curriculum import level
from paddock.tasks.kinematics import damped, turn_between
from paddock.tasks.task import Reset

ROUNDS = 12
"""Of inverse kinematics, from the home pose to any place over a bench: to a tenth of a millimetre."""


@dataclass(frozen=True, kw_only=True)
class Underway:
    """A reset that spares some episodes their beginning: as many as a world's curriculum has still to come, and in the end none.

    Half of them begin with the hand open over the object, half with the object in the hand, on its spot or above it.
    """

    whole: Reset
    """How the others begin."""
    robot: Robot = field(repr=False)
    object: str
    """The name of its free joint."""
    fingers: Mapping[str, float]
    """Joints of the gripper, open."""
    half: float
    """Half the object's width, where fingers touch it, m."""
    high: float
    """Highest begin of the hand over the object, or of the object over its spot, m."""

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        qpos, qvel = self.whole(state)
        layout = state.layout
        chance, up, holds = state.uniform(3, label="underway").unbind(1)
        spared, held, above = chance >= level(state)[:, 0], holds < 0.5, up * self.high
        at = layout.qpos[self.object].start
        x, y, z = qpos[:, at : at + 3].unbind(1)
        joints = self._over(torch.stack([x, y, z + above], dim=1))
        parts = list(qpos.unbind(1))
        parts[at + 2] = torch.where(spared & held, z + above, z)
        for name, value in zip(self._home.chain.joints, joints.unbind(1), strict=True):
            column = layout.qpos[name].start
            parts[column] = torch.where(spared, value, parts[column])
        for name, opened in self.fingers.items():
            column = layout.qpos[name].start
            parts[column] = torch.where(spared, torch.where(held, self.half, opened), parts[column])
        return torch.stack(parts, dim=1), qvel

    def _over(self, point: Tensor) -> Tensor:
        """Joint positions that bring the tool to points (n, 3), as it is carried at home; (n, k)."""
        home = self._home.to(point.device)
        q = home.q.expand(point.shape[0], -1)
        for _ in range(ROUNDS):
            pos, rotation, jacobian = home.chain.jacobian(q)
            error = torch.cat([point - pos, turn_between(rotation, home.rotation.expand_as(rotation))], dim=1)
            q = q + damped(jacobian, error, 0.01, 1.0)
        return q

    @cached_property
    def _home(self) -> HomePose:
        return HomePose.of(self.robot)
