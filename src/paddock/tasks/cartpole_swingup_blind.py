"""Swing a pole up without feeling how fast anything moves: one look does not tell, so a policy must remember."""

from dataclasses import replace

from paddock.tasks.cartpole_swingup import CARTPOLE_SWINGUP
from paddock.tasks.sensing import joint_vel

CARTPOLE_SWINGUP_BLIND = replace(
    CARTPOLE_SWINGUP,
    name="cartpole-swingup-blind",
    summary="The swing-up without velocities: only positions are measured, and what was seen must be remembered.",
    observe={name: term for name, term in CARTPOLE_SWINGUP.observe.items() if name != "joint_vel"},
    privileged={"joint_vel": joint_vel},
    presets={
        "default": {
            "steps": 4_000_000,
            "num_worlds": 128,  # with rollouts twice as long, as many updates as the task that feels velocities
            "ppo": {"net": "lstm", "horizon": 48, "discount": 0.995, "entropy_weight": 0.003, "log_std": 0.0},
        },
    },
)
