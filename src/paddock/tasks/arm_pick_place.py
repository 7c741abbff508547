"""Pick a cube up and put it down somewhere else, held by friction alone."""

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots import ARM
from paddock.robots.arm import ARM_JOINTS
from paddock.tasks import terms as t
from paddock.tasks.arm_experts import PickAndPlace
from paddock.tasks.arm_scenes import CUBE_HALF, bench_with_cube
from paddock.tasks.task import Task

STEP = 0.02
HOLD_S = 0.5  # ten control steps
PRESS = 1.0
"""Force on a finger that tells that it grips, N."""
LIFT = 0.04
"""How high the cube is lifted, m."""

to_cube = t.Between("tool_pos", "cube_pos")
cube_to_goal = t.ToGoal("cube_pos", "goal")
cube_height = t.Column(t.Sensor("cube_pos"), 2)
opening = t.Column(t.Sensor("gripper_pos"), 0)
released = t.Not(t.Below(opening, CUBE_HALF + 0.008))
at_rest = t.Below(t.Distance(t.Sensor("cube_vel")), 0.01)
on_bench = t.Below(cube_height, CUBE_HALF + 0.005)
arrived = t.Below(t.Distance(cube_to_goal), 0.03)
placed = t.AllOf((arrived, on_bench, at_rest, released))
finished = t.HeldFor(timer="held", seconds=HOLD_S)


def gripped(state: State) -> Tensor:
    """Both fingers press on something, and the cube is between them; (n,) bool."""
    between = to_cube(state).norm(dim=1) < 0.02
    return between & (state.sensor("touch") > PRESS).all(1)


def height(state: State) -> Tensor:
    """Of the cube above where it lies, in parts of what a lift is; 0 to 1; (n,)."""
    return ((cube_height(state) - CUBE_HALF) / LIFT).clamp(0.0, 1.0)


# What is left to do, 1 to 0. None of them grows again on the way to the end: what was needed to get there is done once it is.


def to_reach(state: State) -> Tensor:
    """The tool to the cube: a part of it pays from afar, a part only close by, where the fingers must be open; (n,)."""
    left = 1.0 - 0.5 * t.Near(to_cube, 0.2)(state) - 0.5 * t.Near(to_cube, 0.03)(state)
    return left.masked_fill(arrived(state), 0.0)


def to_grip(state: State) -> Tensor:
    """(n,)."""
    return (~(gripped(state) | arrived(state))).to(torch.float32)


def to_lift(state: State) -> Tensor:
    """Off the bench, in the hand; (n,)."""
    left = 1.0 - height(state) * gripped(state)
    return left.masked_fill(arrived(state), 0.0)


def to_release(state: State) -> Tensor:
    """At the goal: down, then open; (n,)."""
    down = 1.0 - height(state)
    opened = (opening(state) / (CUBE_HALF + 0.01)).clamp(max=1.0) * (down > 0.9)
    done = 0.5 * down + 0.5 * opened * ~gripped(state)
    return torch.where(arrived(state), 1.0 - done, 1.0)


ARM_PICK_PLACE = Task(
    name="arm-pick-place",
    summary="Pick up a cube, put it down within 3 cm of a goal 15 cm or more away, let go, and let it rest for half a second.",
    robot=ARM,
    control_dt=0.05,
    episode_s=10.0,
    act=t.EndEffector(robot=ARM, step=STEP, gripper=True),
    memory={
        "goal": t.GoalApart(sensor="cube_pos", low=(0.37, -0.3), high=(0.63, 0.3), apart=0.15),
        "way": t.Tracked(t.Distance(cube_to_goal)),
        "reach": t.Tracked(to_reach),
        "grip": t.Tracked(to_grip),
        "lift": t.Tracked(to_lift),
        "release": t.Tracked(to_release),
        "held": t.Held(placed),
    },
    observe={
        "tool": t.Sensor("tool_pos"),
        "gripper": t.Sensor("gripper_pos", 20.0),
        "cube": to_cube,
        "cube_turn": t.SquareTurn("cube_quat"),
        "cube_vel": t.Sensor("cube_vel"),
        "goal": cube_to_goal,
        **t.proprioception(ARM),
    },
    privileged={"held": t.Remembered("held"), "touch": t.Sensor("touch", 0.1)},
    reward={
        "reach": (2.0, t.Progress("reach")),
        "grip": (2.0, t.Progress("grip")),
        "lift": (3.0, t.Progress("lift")),
        "carry": (20.0, t.Progress("way")),
        "release": (4.0, t.Progress("release")),
        "placed": (0.2, t.Sparse(placed)),
        "finished": (10.0, t.Sparse(finished)),
    },
    done={"finished": finished},
    success=finished,
    reset=t.Ready(joints=ARM_JOINTS, spread=0.05, objects={"cube": t.Spot(low=(0.4, -0.25), high=(0.6, 0.25), turn=0.78)}),
    scene=bench_with_cube,
    measure={"distance": t.Distance(cube_to_goal)},
    expert=PickAndPlace(step=STEP),
    presets={
        "default": {"steps": 20_000_000, "num_worlds": 1024, "ppo": {"target_kl": 0.02, "entropy_weight": 0.003}},
    },
)
