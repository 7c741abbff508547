"""Pick a cube up and put it down somewhere else, held by friction alone."""

import torch
from torch import Tensor

from paddock.contracts import State
from paddock.robots import ARM
from paddock.robots.arm import ARM_JOINTS
from paddock.tasks import terms as t
from paddock.tasks.arm_experts import PickAndPlace
from paddock.tasks.arm_scenes import CUBE_HALF, bench_with_cube
from paddock.tasks.arm_underway import Underway
from paddock.tasks.task import Task

STEP = 0.02
LOWEST = 0.018
"""Where the fingertips just clear the bench, m."""
HOLD_S = 0.5  # ten control steps
PRESS = 1.0
"""Force on a finger that tells that it grips, N."""
LIFT = 0.04
"""How high the cube is lifted, m."""
OPEN = 0.04
"""Of each finger from the middle, m."""
FAR = 0.6
"""From where on the way to the cube and that to the goal pay, m."""

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


def in_hand(state: State) -> Tensor:
    """Height of the cube while it is gripped; what `lifted` keeps the largest of; (n,)."""
    return height(state) * gripped(state)


lifted = t.Remembered("lifted")
"""How high the hand has ever held the cube, 0 to 1: only from then on does its way to the goal pay."""


def delivered(state: State) -> Tensor:
    """At the goal, and not pushed there; (n,) bool."""
    return arrived(state) & (lifted(state) > 0.99)


# What is left of each stage, 1 to 0. Progress pays for what gets smaller and takes back what grows again, so going back and forth
# earns nothing; on the way to the end none of them grows, because what was needed to deliver the cube is done once it is there.


def to_reach(state: State) -> Tensor:
    """The tool to the cube: half of it pays from afar, half only close by, where the fingers must be open; (n,)."""
    away = (to_cube(state).norm(dim=1) / FAR).clamp(max=1.0)
    left = 0.5 * away + 0.5 - 0.5 * t.Near(to_cube, 0.03)(state)
    return left.masked_fill(delivered(state), 0.0)


def to_grip(state: State) -> Tensor:
    """(n,)."""
    return (~(gripped(state) | delivered(state))).to(torch.float32)


def to_lift(state: State) -> Tensor:
    """(n,)."""
    return 1.0 - lifted(state)


def to_carry(state: State) -> Tensor:
    """(n,)."""
    near = (1.0 - cube_to_goal(state).norm(dim=1) / FAR).clamp(min=0.0)
    return 1.0 - lifted(state) * near


def to_release(state: State) -> Tensor:
    """At the goal: down, then open; (n,)."""
    down = 1.0 - height(state)
    opened = (opening(state) / (CUBE_HALF + 0.01)).clamp(max=1.0) * (down > 0.9)
    done = 0.5 * down + 0.5 * opened * ~gripped(state)
    return torch.where(delivered(state), 1.0 - done, 1.0)


def to_hold(state: State) -> Tensor:
    """(n,)."""
    return (1.0 - t.Remembered("held")(state) / HOLD_S).clamp(min=0.0)


ARM_PICK_PLACE = Task(
    name="arm-pick-place",
    summary="Pick up a cube, put it down within 3 cm of a goal 15 cm or more away, let go, and let it rest for half a second.",
    robot=ARM,
    control_dt=0.05,
    episode_s=10.0,
    act=t.EndEffector(robot=ARM, step=STEP, gripper=True, lowest=LOWEST),
    memory={
        "goal": t.GoalApart(sensor="cube_pos", low=(0.37, -0.3), high=(0.63, 0.3), apart=0.15),
        "lifted": t.Largest(in_hand),
        "held": t.Held(placed),
        "reach": t.Tracked(to_reach),
        "grip": t.Tracked(to_grip),
        "lift": t.Tracked(to_lift),
        "carry": t.Tracked(to_carry),
        "release": t.Tracked(to_release),
        "hold": t.Tracked(to_hold),
    },
    observe={
        "tool": t.Sensor("tool_pos"),
        "gripper": t.Sensor("gripper_pos", 20.0),
        "cube": to_cube,
        "cube_turn": t.SquareTurn("cube_quat"),
        "cube_vel": t.Sensor("cube_vel"),
        "goal": cube_to_goal,
        "cube_close": t.Magnified(to_cube, 0.03),
        "goal_close": t.Magnified(cube_to_goal, 0.03),
        **t.proprioception(ARM),
    },
    privileged={"held": t.Remembered("held"), "lifted": lifted, "touch": t.Sensor("touch", 0.1)},
    reward={
        "reach": (2.0, t.Progress("reach")),
        "grip": (2.0, t.Progress("grip")),
        "lift": (3.0, t.Progress("lift")),
        "carry": (10.0, t.Progress("carry")),
        "release": (4.0, t.Progress("release")),
        "hold": (2.0, t.Progress("hold")),
        "finished": (10.0, t.Sparse(finished)),
    },
    done={"finished": finished},
    success=finished,
    reset=Underway(
        whole=t.Ready(joints=ARM_JOINTS, spread=0.05, objects={"cube": t.Spot(low=(0.4, -0.25), high=(0.6, 0.25), turn=0.78)}),
        robot=ARM,
        object="cube",
        fingers={"left_finger": OPEN, "right_finger": OPEN},
        half=CUBE_HALF,
        high=0.12,
    ),
    curriculum=t.Curriculum(),
    scene=bench_with_cube,
    measure={"distance": t.Distance(cube_to_goal), "lifted": lifted},
    expert=PickAndPlace(step=STEP),
    presets={
        "default": {
            "steps": 1_000_000,
            "num_worlds": 256,
            "ppo": {"target_kl": 0.02, "entropy_weight": 0.003, "discount": 0.97},
        },
    },
)
