"""Swing a hanging pole up and keep it there."""

import math

from paddock.robots import CARTPOLE
from paddock.tasks import terms as t
from paddock.tasks.cartpole_balance import cart, off_rail
from paddock.tasks.pole_control import SwingUpPole, height, pole_cos, pole_vector
from paddock.tasks.task import Task

calm = t.Near(t.Column(t.joint_vel, 1), 3.0)
standing = t.Times(height, calm)  # so that a pole that spins past the top earns little
up = t.Not(t.AnyOf((t.Below(pole_cos, math.cos(0.3)), off_rail)))

CARTPOLE_SWINGUP = Task(
    name="cartpole-swingup",
    summary="Swing the hanging pole up; hold it within 0.3 rad of upright for the last second.",
    robot=CARTPOLE,
    control_dt=0.02,
    episode_s=10.0,
    act=t.JointTorque(),
    memory={"held": t.Held(up)},
    observe={"cart": cart, "pole": pole_vector, "joint_vel": t.joint_vel},
    reward={
        "standing": (1.0, standing),
        "centred": (0.5, t.Times(standing, t.Near(cart, 0.5))),  # hanging still in the middle is worth nothing
        "effort": (-0.01, t.action_size),
    },
    done={"off_rail": off_rail},
    success=t.HeldFor(timer="held", seconds=1.0),
    reset=t.Uniform(joints={"cart": (-0.3, 0.3), "pole": (math.pi - 0.3, math.pi + 0.3)}, vel=0.1),
    expert=SwingUpPole(),
    presets={
        # the future must weigh enough for a swing that pays only at its end
        "default": {
            "steps": 4_000_000,
            "num_worlds": 256,
            "ppo": {"discount": 0.995, "entropy_weight": 0.003, "log_std": 0.0},
        },
    },
)
