"""Gymnasium's Walker2d-v5: two legs in a plane."""

from torch import Tensor

from paddock.contracts import State
from paddock.robots.gym_models import WALKER2D
from paddock.tasks import gymnasium_terms as g
from paddock.tasks import terms as t
from paddock.tasks.task import Task


def unhealthy(state: State) -> Tensor:
    """Too low, too high or tilted; (n,) bool."""
    qpos = g.exact_qpos(state)
    return ~(g.inside(qpos[:, 1], 0.8, 2.0) & g.inside(qpos[:, 2], -1.0, 1.0))


GYM_WALKER2D = Task(
    name="gym-walker2d",
    summary="Gymnasium's Walker2d-v5: walk ahead without falling.",
    robot=WALKER2D,
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
