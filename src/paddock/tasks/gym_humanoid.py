"""Gymnasium's Humanoid-v5 without contact forces.

Actions are within [-1, 1] as everywhere here, and 1 is the end of the actuators' range: what Gymnasium calls 0.4.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots.gym_models import HUMANOID
from paddock.tasks import gymnasium_terms as g
from paddock.tasks import terms as t
from paddock.tasks.task import Task

FREE = 6  # velocities of the free joint, which no actuator drives


def mass_centre_x(state: State) -> Tensor:
    """World x of the centre of all mass, in float64; (n,)."""
    return state.fields["subtree_com"][:, 0, 0]


@dataclass(frozen=True)
class OfBodies:
    """An MjData field of every body but the world, side by side; (n, bodies * k)."""

    field: str

    def __call__(self, state: State) -> Tensor:
        return state.fields[self.field][:, 1:].flatten(1).to(torch.float32)


def joint_forces(state: State) -> Tensor:
    """What the actuators exert on each joint; (n, 17)."""
    return state.fields["qfrc_actuator"][:, FREE:].to(torch.float32)


def unhealthy(state: State) -> Tensor:
    """The torso is too low or too high; (n,) bool."""
    return ~g.inside(g.exact_qpos(state)[:, 2], 1.0, 2.0)


GYM_HUMANOID = Task(
    name="gym-humanoid",
    summary="Gymnasium's Humanoid-v5 with its flags that leave contact forces out; actions in [-1, 1] for its [-0.4, 0.4].",
    robot=HUMANOID,
    control_dt=0.015,
    episode_s=0.015 * g.STEPS,
    act=t.JointTorque(),
    memory={"x": t.Tracked(mass_centre_x)},
    observe={
        "pos": g.PositionsFrom(2),
        "vel": g.joint_velocities,
        "inertia": OfBodies("cinert"),
        "body_vel": OfBodies("cvel"),
        "joint_forces": joint_forces,
    },
    reward={"forward": (1.25, g.Speed("x")), "survive": (5.0, t.Sparse(t.Not(unhealthy))), "ctrl": (-0.1, g.ctrl_size)},
    done={"unhealthy": unhealthy},
    reset=g.NoisyStart(noise=0.01, vel="uniform"),
    scene=t.bare,
    fields=("qpos", "subtree_com", "cinert", "cvel", "qfrc_actuator"),
    stage="engine",
    presets={"default": {"steps": 3_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02}}, "million": g.MILLION},
)
