"""What a task wants of a world, as something to draw: its goal, its target, the velocity it commands."""

from __future__ import annotations

import math

from paddock.env import Environment
from paddock.rendering import Mark

GOAL_RGBA, COMMAND_RGBA = (0.98, 0.42, 0.10, 0.75), (0.10, 0.45, 0.85, 0.9)


def marks(env: Environment, world: int = 0) -> list[Mark]:
    """What a task wants: a `goal` on the ground as a disc, a `target` in space as a ball, a `velocity` as an arrow."""
    found: list[Mark] = []
    state = env.state
    if "goal" in state.memory:
        x, y, *_ = state.memory["goal"][world].tolist()
        found.append(Mark(name="goal", pos=(x, y, 0.005), rgba=GOAL_RGBA, radius=0.12 if env.task.robot.tool is None else 0.03))
    if "target" in state.memory:
        x, y, z = state.memory["target"][world].tolist()
        found.append(Mark(name="target", pos=(x, y, z), rgba=GOAL_RGBA, radius=0.02, solid=True))
    if "velocity" in state.command and env.task.robot.base is not None:
        ahead, left, _ = state.command["velocity"][world].tolist()
        w, x, y, z = state.sensor("base_quat")[world].tolist()
        yaw = math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))  # of this world alone: `heading` turns all of them
        along = ahead * math.cos(yaw) - left * math.sin(yaw), ahead * math.sin(yaw) + left * math.cos(yaw)
        x, y, z = state.sensor("base_pos")[world].tolist()
        vector = (0.5 * along[0], 0.5 * along[1], 0.0)
        found.append(Mark(name="velocity", pos=(x, y, z + 0.2), rgba=COMMAND_RGBA, radius=0.016, vector=vector))
    return found
