"""Bring the tool to a point and hold it there, with any arm."""

from paddock.robots import Robot
from paddock.tasks import terms as t
from paddock.tasks.arm_control import EndEffector
from paddock.tasks.reaching import GoStraight, Reachable, ToolPosition, ToPoint, reach_of
from paddock.tasks.scenes import seen_floor
from paddock.tasks.task import Task


def reach(robot: Robot) -> Task:
    """The reaching task of a robot that names its `tool`; distances are in proportion to the arm's length."""
    length = reach_of(robot)
    step, close = round(0.02 * length, 4), round(0.02 * length, 4)
    tool = ToolPosition(robot)
    to_target = ToPoint(tool, "target")
    return Task(
        name=f"{robot.name}-reach",
        summary=f"Bring the tool within {100 * close:.2g} cm of a point and stay there for the last half second.",
        robot=robot,
        control_dt=0.05,
        episode_s=4.0,
        act=EndEffector(robot=robot, step=step, hold=False),
        memory={"target": Reachable(robot=robot), "held": t.Held(t.Below(t.Distance(to_target), close))},
        observe={"tool": tool, "target": to_target, **t.proprioception(robot)},
        privileged={"held": t.Remembered("held")},
        reward={
            "near": (0.5, t.Near(to_target, 0.15 * length)),
            "close": (0.5, t.Near(to_target, 0.03 * length)),
            "effort": (-0.01, t.action_size),
            "action_rate": (-0.01, t.action_rate),
        },
        done={},
        success=t.HeldFor(timer="held", seconds=0.5),
        reset=t.NearHome(),
        scene=seen_floor,
        measure={"distance": t.Distance(to_target)},
        expert=GoStraight(to_target, step=step),
        presets={"default": {"steps": 1_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "entropy_weight": 0.003}}},
    )
