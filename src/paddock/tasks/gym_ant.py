"""Gymnasium's Ant-v5 without contact forces, for comparison with other systems."""

from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots.gym_ant import GYM_ANT as ANT
from paddock.tasks import terms as t
from paddock.tasks.memories import own
from paddock.tasks.task import Task

TORSO = 1  # first body after the world


class TorsoTravel:
    """World x of the torso one step ago and now, in the engine's float64; (n, 2)."""

    def start(self, state: State) -> Tensor:
        x = state.fields["xpos"][:, TORSO, 0]
        return torch.stack([x, x], dim=1)

    def next(self, state: State) -> Tensor:
        return torch.stack([own(state)[:, 1], state.fields["xpos"][:, TORSO, 0]], dim=1)


def body_pos(state: State) -> Tensor:
    """qpos without the world x and y; (n, 13)."""
    return state.qpos[:, 2:]


def body_vel(state: State) -> Tensor:
    """(n, 14)."""
    return state.qvel


def forward_speed(state: State) -> Tensor:
    """(n,)."""
    before, now = state.memory["travel"].unbind(1)
    return ((now - before) / state.layout.control_dt).to(torch.float32)


def unhealthy(state: State) -> Tensor:
    """The torso leaves the band of heights Ant-v5 calls healthy; (n,) bool."""
    z = state.qpos[:, 2]
    return (z < 0.2) | (z > 1.0)


@dataclass(frozen=True, kw_only=True)
class AntStart:
    """Ant-v5's: uniform noise on positions, normal noise on velocities."""

    noise: float = 0.1

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        layout = state.layout
        qpos = layout.home_qpos + state.uniform(layout.home_qpos.shape[0], -self.noise, self.noise, label="qpos")
        return qpos, state.normal(layout.nv, label="qvel") * self.noise


GYM_ANT = Task(
    name="gym-ant",
    summary="Gymnasium's Ant-v5 with its flags that leave contact forces out.",
    robot=ANT,
    control_dt=0.05,
    episode_s=50.0,
    act=t.JointTorque(),
    memory={"travel": TorsoTravel()},
    observe={"pos": body_pos, "vel": body_vel},
    reward={"forward": (1.0, forward_speed), "healthy": (1.0, t.Sparse(t.Not(unhealthy))), "ctrl": (-0.5, t.action_size)},
    done={"unhealthy": unhealthy},
    reset=AntStart(),
    scene=t.bare,
    fields=("xpos",),
    stage="engine",
)
