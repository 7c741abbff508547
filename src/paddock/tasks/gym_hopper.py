"""Gymnasium's Hopper-v5: one leg in a plane."""

import math

from torch import Tensor

from paddock.contracts import State
from paddock.robots.gym_models import HOPPER
from paddock.tasks import gymnasium_terms as g
from paddock.tasks import terms as t
from paddock.tasks.task import Task


def unhealthy(state: State) -> Tensor:
    """Too low, tilted, or a number beyond its height and place gone wild; (n,) bool."""
    qpos = g.exact_qpos(state)
    calm = g.inside(qpos[:, 2:], -100.0, 100.0).all(1) & g.inside(state.qvel, -100.0, 100.0).all(1)
    return ~(calm & g.inside(qpos[:, 1], 0.7, math.inf) & g.inside(qpos[:, 2], -0.2, 0.2))


GYM_HOPPER = Task(
    name="gym-hopper",
    summary="Gymnasium's Hopper-v5: hop ahead without falling.",
    robot=HOPPER,
    control_dt=0.008,
    episode_s=0.008 * g.STEPS,
    act=t.JointTorque(),
    memory={"x": t.Tracked(g.root_x)},
    observe={"pos": g.PositionsFrom(1), "vel": g.clipped_velocities},
    reward={"forward": (1.0, g.Speed("x")), "survive": (1.0, t.Sparse(t.Not(unhealthy))), "ctrl": (-0.001, g.ctrl_size)},
    done={"unhealthy": unhealthy},
    reset=g.NoisyStart(noise=0.005, vel="uniform"),
    scene=t.bare,
    fields=("qpos",),
    stage="engine",
    presets={"default": {"steps": 4_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02}}, "million": g.MILLION},
)
