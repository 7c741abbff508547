"""How good each step turned out: generalised advantage estimates."""

import torch
from torch import Tensor


def advantages(
    *,
    reward: Tensor,
    value: Tensor,
    reached_value: Tensor,
    terminated: Tensor,
    ended: Tensor,
    discount: float,
    trace: float,
) -> Tensor:
    """GAE of a rollout; all (steps, n).

    `value` is that of the state acted in, `reached_value` that of the state reached before any reset. Only a termination
    takes the future away: a truncated episode bootstraps from its final observation, and both stop the trace.
    """
    result = torch.empty_like(reward)
    carried = torch.zeros_like(reward[0])
    for step in range(len(reward) - 1, -1, -1):
        future = torch.where(terminated[step], 0.0, reached_value[step])
        surprise = reward[step] + discount * future - value[step]
        carried = surprise + discount * trace * torch.where(ended[step], 0.0, carried)
        result[step] = carried
    return result
