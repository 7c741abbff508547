"""Pick a cube up and put it down somewhere else, held by friction alone."""

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

to_cube = t.Between("tool_pos", "cube_pos")
cube_to_goal = t.ToGoal("cube_pos", "goal")
cube_height = t.Column(t.Sensor("cube_pos"), 2)
opening = t.Column(t.Sensor("gripper_pos"), 0)
released = t.Not(t.Below(opening, CUBE_HALF + 0.008))
at_rest = t.Below(t.Distance(t.Sensor("cube_vel")), 0.01)
on_bench = t.Below(cube_height, CUBE_HALF + 0.005)
lifted = t.Not(t.Below(cube_height, CUBE_HALF + 0.03))
placed = t.AllOf((t.Below(t.Distance(cube_to_goal), 0.03), on_bench, at_rest, released))
finished = t.HeldFor(timer="held", seconds=HOLD_S)


def away_from_cube(state: State) -> Tensor:
    """0 with the tool at the cube, 1 from half a metre on: only near it does a step towards it pay; (n,)."""
    return 1.0 - t.Near(to_cube, 0.2)(state)


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
        "reach": t.Tracked(away_from_cube),
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
        "reach": (5.0, t.Progress("reach")),
        "carry": (20.0, t.Progress("way")),
        "lifted": (0.02, t.Sparse(lifted)),
        "placed": (0.5, t.Sparse(placed)),
        "finished": (20.0, t.Sparse(finished)),
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
