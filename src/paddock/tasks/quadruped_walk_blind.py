"""Walk without feeling how fast joints and trunk turn: only positions are measured, and a policy must remember."""

from dataclasses import replace

from paddock.tasks.quadruped_walk import QUADRUPED_WALK
from paddock.tasks.sensing import gyro, joint_vel

QUADRUPED_WALK_BLIND = replace(
    QUADRUPED_WALK,
    name="quadruped-walk-blind",
    summary=f"{QUADRUPED_WALK.summary} Neither joint velocities nor the gyroscope are seen.",
    observe={name: term for name, term in QUADRUPED_WALK.observe.items() if name not in ("joint_vel", "gyro")},
    privileged={**QUADRUPED_WALK.privileged, "joint_vel": joint_vel, "gyro": gyro},
    presets={
        "default": {
            "steps": 14_000_000,
            "num_worlds": 1024,
            "evaluate_every": 40,
            "ppo": {"net": "lstm", "target_kl": 0.02, "entropy_weight": 0.003, "log_std": -0.3, "calm_steps": 10_000_000},
        },
    },
)
