"""Push a cube over the bench to a goal."""

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots import ARM
from paddock.robots.arm import ARM_JOINTS
from paddock.tasks import terms as t
from paddock.tasks.arm_experts import PushCube
from paddock.tasks.arm_scenes import bench_with_cube
from paddock.tasks.task import Task

STEP = 0.02
LOWEST = 0.018
"""Where the fingertips just clear the bench, m."""
HOLD_S = 0.5
BEHIND, LOW = 0.045, 0.025
"""Where a push begins: from the cube's centre, and above the floor, m."""

to_cube = t.Between("tool_pos", "cube_pos")
cube_to_goal = t.ToGoal("cube_pos", "goal")
there = t.Below(t.Distance(cube_to_goal), 0.05)
arrived = t.HeldFor(timer="held", seconds=HOLD_S)


def to_start(state: State) -> Tensor:
    """From the tool to where a push begins: behind the cube as seen from the goal, near the floor; (n, 3)."""
    way = cube_to_goal(state)
    behind = state.sensor("cube_pos")[:, :2] - BEHIND * way / way.norm(dim=1, keepdim=True).clamp(min=BEHIND)
    return torch.cat([behind, torch.full_like(behind[:, :1], LOW)], dim=1) - state.sensor("tool_pos")


def to_hold(state: State) -> Tensor:
    """What is left of the time that the cube has to stay, 1 to 0; (n,)."""
    return (1.0 - t.Remembered("held")(state) / HOLD_S).clamp(min=0.0)


ARM_PUSH = Task(
    name="arm-push",
    summary="Push a cube over the bench to within 5 cm of a goal at least 12 cm away, and leave it there for half a second.",
    robot=ARM,
    control_dt=0.05,
    episode_s=10.0,
    act=t.EndEffector(robot=ARM, step=STEP, lowest=LOWEST),
    memory={
        "goal": t.GoalApart(sensor="cube_pos", low=(0.37, -0.25), high=(0.63, 0.25), apart=0.12),
        "way": t.Tracked(t.Distance(cube_to_goal)),
        "reach": t.Tracked(t.Distance(to_start)),
        "held": t.Held(there),
        "hold": t.Tracked(to_hold),
    },
    observe={
        "tool": t.Sensor("tool_pos"),
        "cube": to_cube,
        "cube_turn": t.SquareTurn("cube_quat"),
        "cube_vel": t.Sensor("cube_vel"),
        "goal": cube_to_goal,
        "start": to_start,
        **t.proprioception(ARM),
    },
    privileged={"held": t.Remembered("held"), "touch": t.Sensor("touch", 0.1)},
    reward={
        "push": (20.0, t.Progress("way")),
        "reach": (5.0, t.Progress("reach")),
        "hold": (2.0, t.Progress("hold")),
        "arrived": (10.0, t.Sparse(arrived)),
        "action_rate": (-0.002, t.action_rate),
    },
    done={"arrived": arrived},
    success=arrived,
    reset=t.Ready(joints=ARM_JOINTS, spread=0.05, objects={"cube": t.Spot(low=(0.4, -0.2), high=(0.6, 0.2), turn=0.78)}),
    scene=bench_with_cube,
    measure={"distance": t.Distance(cube_to_goal)},
    expert=PushCube(step=STEP),
    presets={
        "default": {"steps": 1_500_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "entropy_weight": 0.003, "discount": 0.98}},
    },
)
