"""Bring the tool to a point in space, by joint positions."""

from dataclasses import replace

from paddock.robots import ARM
from paddock.tasks import terms as t
from paddock.tasks.arm_experts import ReachByJoints
from paddock.tasks.arm_reach import ARM_REACH

SCALE = 1.5

ARM_REACH_JOINT = replace(
    ARM_REACH,
    name="arm-reach-joint",
    summary="The same as arm-reach, by joint positions: bring the tool within 2 cm of a point and stay for half a second.",
    act=t.JointPosition(scale=SCALE),
    # an action is a whole posture here: without its price, policies shake around the target
    reward={**ARM_REACH.reward, "action_rate": (-0.2, t.action_rate)},
    expert=ReachByJoints(robot=ARM, scale=SCALE),
    presets={
        "default": {"steps": 3_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "log_std": -1.5}},
    },
)
