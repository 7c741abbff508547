"""Where episodes begin: around the home pose, with everything a policy should not rely on drawn at random."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.errors import PaddockError, unknown
from paddock.robots.gearbox import PLAY
from paddock.tasks.ranges import check_ranges


@dataclass(frozen=True, kw_only=True)
class NearHome:
    """The home pose with each joint a little off. A free base keeps its place and faces anywhere."""

    joint: float = 0.1
    """Largest offset of each joint, rad or m; less where its limits are nearer."""
    vel: float = 0.1
    """Largest velocity of each joint, rad/s or m/s, and of a free base."""
    turn: bool = True
    """Whether a free base faces a random direction."""

    def __post_init__(self) -> None:
        if self.joint < 0 or self.vel < 0:
            raise PaddockError(f"{self}: joint and vel are largest offsets, so neither can be negative.")

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        layout = state.layout
        nq = layout.home_qpos.shape[0]
        free = [span for span in layout.qpos.values() if span.stop - span.start == 7]
        # a quaternion is not a number to be nudged: free joints are turned below, ball joints stay at home
        below, above = [0.0] * nq, [0.0] * nq
        for name, span in layout.qpos.items():
            if span.stop - span.start == 1 and not name.endswith(PLAY):  # play is narrower than a nudge
                below[span.start], above[span.start] = (min(self.joint, room) for room in layout.home_room[span.start])
        # one draw for everything: its columns are as independent as several draws would be
        reach = (*(self.vel,) * layout.nv, *(math.pi if self.turn else 0.0,) * len(free))
        drawn = state.uniform(nq + len(reach), tuple(-r for r in (*below, *reach)), (*above, *reach))
        qpos, qvel, turns = layout.home_qpos + drawn[:, :nq], drawn[:, nq : nq + layout.nv], drawn[:, nq + layout.nv :]
        for span, yaw in zip(free, turns.unbind(1), strict=True):
            pose = turned(layout.home_qpos[span].expand(state.num_worlds, 7), yaw)
            qpos = torch.cat([qpos[:, : span.start], pose, qpos[:, span.stop :]], dim=1)
        return qpos, qvel


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Named one-dimensional joints drawn between limits, the others at home; velocities within `vel`."""

    joints: dict[str, tuple[float, float]]
    vel: float = 0.0

    def __post_init__(self) -> None:
        if not self.joints:
            raise PaddockError("Uniform names no joint to draw. NearHome(joint=0, vel=0) begins at home.")
        check_ranges(self, *zip(*self.joints.values(), strict=True))

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        layout = state.layout
        for name in self.joints:
            if name not in layout.qpos:
                raise unknown("joint", name, layout.qpos)
            if layout.qpos[name].stop - layout.qpos[name].start != 1:
                raise PaddockError(f"joint '{name}' has more than one coordinate; Uniform draws hinges and slides.")
        drawn = state.uniform(len(self.joints), *zip(*self.joints.values(), strict=True))
        parts = list(layout.home_qpos.expand(state.num_worlds, -1).unbind(1))
        for name, value in zip(self.joints, drawn.unbind(1), strict=True):
            parts[layout.qpos[name].start] = value
        return torch.stack(parts, dim=1), state.uniform(layout.nv, -self.vel, self.vel, label="qvel")


def turned(pose: Tensor, yaw: Tensor) -> Tensor:
    """A pose (position, then w x y z; (n, 7)) turned in place about the vertical by `yaw` (n,)."""
    c, s = (yaw * 0.5).cos(), (yaw * 0.5).sin()
    w, x, y, z = pose[:, 3:].unbind(1)
    quat = torch.stack([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w], dim=1)
    return torch.cat([pose[:, :3], quat], dim=1)
