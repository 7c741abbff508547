"""Gymnasium's Ant-v5 without contact forces."""

from torch import Tensor

from paddock.contracts import State
from paddock.robots.gym_models import ANT
from paddock.tasks import gymnasium_terms as g
from paddock.tasks import terms as t
from paddock.tasks.task import Task

TORSO = 1  # first body after the world


def torso_x(state: State) -> Tensor:
    """World x of the torso, in float64; (n,)."""
    return state.fields["xpos"][:, TORSO, 0]


def unhealthy(state: State) -> Tensor:
    """The torso is too low or too high; the limits themselves are healthy; (n,) bool."""
    z = g.exact_qpos(state)[:, 2]
    return ~((z >= 0.2) & (z <= 1.0))


GYM_ANT = Task(
    name="gym-ant",
    summary="Gymnasium's Ant-v5 with its flags that leave contact forces out.",
    robot=ANT,
    control_dt=0.05,
    episode_s=0.05 * g.STEPS,
    act=t.JointTorque(),
    memory={"x": t.Tracked(torso_x)},
    observe={"pos": g.PositionsFrom(2), "vel": g.joint_velocities},
    reward={"forward": (1.0, g.Speed("x")), "survive": (1.0, t.Sparse(t.Not(unhealthy))), "ctrl": (-0.5, g.ctrl_size)},
    done={"unhealthy": unhealthy},
    reset=g.NoisyStart(noise=0.1, vel="normal"),
    scene=t.bare,
    fields=("qpos", "xpos"),
    stage="engine",
    presets={"default": {"steps": 3_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02}}, "million": g.MILLION},
)
