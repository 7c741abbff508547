"""Numbers that are none, said with the names of whatever brought them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from paddock.contracts import Obs, State
from paddock.errors import BadAction, BadTerm
from paddock.tasks.task import Task

if TYPE_CHECKING:
    from paddock.env import Environment


def check_action(action: Tensor | np.ndarray, env: Environment) -> Tensor:
    """The action as a tensor on the environment's device; refused where its shape or a number is wrong."""
    if isinstance(action, np.ndarray):
        action = torch.from_numpy(np.array(action, dtype=np.float32))  # a copy: torch objects to read-only arrays
    action = action.to(env.device, torch.float32)
    wanted = (env.num_worlds, env.action_size)
    if action.shape != wanted:
        raise BadAction(f"the action has shape {tuple(action.shape)}; {env.task.name} takes {wanted}: (worlds, actuators).")
    if not env.sim.by_rows:  # looking would wait for the GPU: an action that is no number makes its world fail
        return action
    if not math.isfinite(action.sum()) and len(bad := (~torch.isfinite(action)).nonzero()):
        world, column = bad[0].tolist()
        raise BadAction(
            f"the action of world {world} is {action[world, column].item()} in column {column}, "
            f"at step {int(env.state.age[world])} of episode {int(env.episode[world])}. Check the policy's output."
        )
    return action


def not_finite(task: Task, named: dict[str, Tensor], state: State) -> BadTerm:
    """The error that says which of the named values is not finite, and where."""
    for name, value in named.items():
        bad = (~torch.isfinite(value)).nonzero()
        if len(bad):
            row = int(bad[0, 0])
            world = int((state.key == state.key[row]).nonzero()[0])  # a key belongs to one world
            return BadTerm(
                f"{name} of task '{task.name}' is not finite in world {world} at step {int(state.age[row])}. "
                "Look for a division by zero, or a root or logarithm of a negative number."
            )
    return BadTerm(f"the reward or an observation of task '{task.name}' is too large to add up.")


def unsound(reward: Tensor, *seen: Obs) -> Tensor:
    """Worlds whose reward or observations are not finite, in few operations; (n,) bool."""
    total = reward + sum(group.sum(1) for obs in seen for group in obs.values())
    return ~(total.abs() < math.inf)  # which a NaN is not
