"""Where episodes begin: around the home pose, with everything a policy should not rely on drawn at random."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State


@dataclass(frozen=True, kw_only=True)
class NearHome:
    """The home pose with each joint a little off. A free base keeps its place and faces anywhere."""

    joint: float = 0.1
    """Largest offset of each joint, rad or m."""
    vel: float = 0.1
    """Largest velocity of each joint, rad/s or m/s, and of a free base."""
    turn: bool = True
    """Whether a free base faces a random direction."""

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        layout = state.layout
        free = [name for name, span in layout.qpos.items() if span.stop - span.start == 7]
        offset = state.uniform(layout.home_qpos.shape[0], -self.joint, self.joint, label="qpos")
        qpos = layout.home_qpos + offset
        qvel = state.uniform(layout.nv, -self.vel, self.vel, label="qvel")
        for name in free:
            pose = layout.home_qpos[layout.qpos[name]].expand(state.num_worlds, 7)
            if self.turn:
                pose = turned(pose, state.uniform(1, -math.pi, math.pi, label=f"turn/{name}")[:, 0])
            span = layout.qpos[name]
            qpos = torch.cat([qpos[:, : span.start], pose, qpos[:, span.stop :]], dim=1)
        return qpos, qvel


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Named one-dimensional joints drawn between limits, the others at home; velocities within `vel`."""

    joints: dict[str, tuple[float, float]]
    vel: float = 0.0

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        layout = state.layout
        qpos = layout.home_qpos.expand(state.num_worlds, -1)
        parts = list(qpos.unbind(1))
        for name, (low, high) in self.joints.items():
            parts[layout.qpos[name].start] = state.uniform(1, low, high, label=name)[:, 0]
        return torch.stack(parts, dim=1), state.uniform(layout.nv, -self.vel, self.vel, label="qvel")


def turned(pose: Tensor, yaw: Tensor) -> Tensor:
    """A pose (position, then w x y z; (n, 7)) turned in place about the vertical by `yaw` (n,)."""
    c, s = (yaw * 0.5).cos(), (yaw * 0.5).sin()
    w, x, y, z = pose[:, 3:].unbind(1)
    quat = torch.stack([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w], dim=1)
    return torch.cat([pose[:, :3], quat], dim=1)
