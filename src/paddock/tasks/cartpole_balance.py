"""Keep a pole upright on a cart that must not run off its rail."""

import math

from paddock.robots import CARTPOLE
from paddock.tasks import terms as t
from paddock.tasks.pole_control import BalancePole, height, pole_cos, pole_vector
from paddock.tasks.task import Task

cart = t.Column(t.joint_pos, 0)
off_rail = t.OutOfBounds(cart, -1.7, 1.7)
fell = t.Below(pole_cos, math.cos(0.4))

CARTPOLE_BALANCE = Task(
    name="cartpole-balance",
    summary="Keep the pole up for ten seconds.",
    robot=CARTPOLE,
    control_dt=0.02,
    episode_s=10.0,
    act=t.JointTorque(),
    observe={"cart": cart, "pole": pole_vector, "joint_vel": t.joint_vel},
    reward={
        "upright": (1.0, height),
        "centred": (0.2, t.Near(cart, 0.5)),
        "effort": (-0.01, t.action_size),
    },
    done={"fell": fell, "off_rail": off_rail},
    success=t.Not(t.AnyOf((fell, off_rail))),
    reset=t.Uniform(joints={"cart": (-0.2, 0.2), "pole": (-0.1, 0.1)}, vel=0.1),
    expert=BalancePole(),
    presets={"default": {"steps": 300_000, "num_worlds": 256}},
)
