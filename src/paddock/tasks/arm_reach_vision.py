"""Bring the tool to a ball that only cameras see."""

from dataclasses import replace

from paddock.robots import ARM
from paddock.robots.arm import ARM_JOINTS
from paddock.tasks import terms as t
from paddock.tasks.arm_reach import ARM_REACH, STEP
from paddock.tasks.arm_scenes import BALL_RADIUS, BALL_SLIDES, bench_with_ball
from paddock.tasks.reaching import GoStraight

AREA = {"ball_x": (0.3, 0.7), "ball_y": (-0.3, 0.3), "ball_z": (0.1, 0.5)}
assert tuple(AREA) == BALL_SLIDES

to_ball = t.Between("tool_pos", "ball_pos")
arrived = t.Below(t.Distance(to_ball), BALL_RADIUS)

ARM_REACH_VISION = replace(
    ARM_REACH,
    name="arm-reach-vision",
    summary="Bring the tool into a red ball in the air, seen by two cameras, and stay there for the last half second.",
    memory={"held": t.Held(arrived)},
    observe={"tool": t.Sensor("tool_pos"), **t.proprioception(ARM)},
    privileged={"to_ball": to_ball, "held": t.Remembered("held")},
    cameras={"front": t.Camera(name="scene"), "side": t.Camera(name="side")},
    reward={**ARM_REACH.reward, "near": (0.5, t.Near(to_ball, 0.15)), "close": (0.5, t.Near(to_ball, 0.03))},
    reset=t.Ready(joints=ARM_JOINTS, anywhere=AREA),
    scene=bench_with_ball,
    measure={"distance": t.Distance(to_ball)},
    expert=GoStraight(to_ball, STEP),
    # for a GPU: a CPU draws the pictures one by one
    presets={
        "default": {
            "steps": 10_000_000,
            "num_worlds": 2048,
            "ppo": {"net": "cnn", "horizon": 32, "minibatches": 16, "target_kl": 0.02, "entropy_weight": 0.003},
        },
    },
)
