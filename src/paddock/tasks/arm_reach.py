"""Bring the tool to a point in space, by steps of the tool."""

from paddock.robots import ARM
from paddock.robots.arm import ARM_JOINTS
from paddock.tasks import terms as t
from paddock.tasks.arm_scenes import bench
from paddock.tasks.reaching import GoStraight
from paddock.tasks.task import Task

STEP = 0.02

to_target = t.ToGoal("tool_pos", "target")
arrived = t.Below(t.Distance(to_target), 0.02)

ARM_REACH = Task(
    name="arm-reach",
    summary="Bring the tool within 2 cm of a point in the air and stay there for the last half second.",
    robot=ARM,
    control_dt=0.05,
    episode_s=4.0,
    act=t.EndEffector(robot=ARM, step=STEP),
    memory={
        "target": t.PointIn(low=(0.3, -0.3, 0.1), high=(0.7, 0.3, 0.5)),
        "held": t.Held(arrived),
    },
    observe={
        "tool": t.Sensor("tool_pos"),
        "target": to_target,
        **t.proprioception(ARM),
    },
    privileged={"held": t.Remembered("held")},
    reward={
        "near": (0.5, t.Near(to_target, 0.15)),
        "close": (0.5, t.Near(to_target, 0.03)),
        "effort": (-0.01, t.action_size),
        "action_rate": (-0.01, t.action_rate),
    },
    done={},
    success=t.HeldFor(timer="held", seconds=0.5),
    reset=t.Ready(joints=ARM_JOINTS),
    scene=bench,
    measure={"distance": t.Distance(to_target)},
    expert=GoStraight(to_target, STEP),
    presets={
        "default": {"steps": 1_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "entropy_weight": 0.003}},
    },
)
