"""What a learner has seen and done since its last update."""

from __future__ import annotations

import torch
from torch import Tensor

from paddock.contracts import Env, Obs
from paddock.policies import Carried


class Rollout:
    """What was seen and done; (steps, n, ...). Allocated once, written in place."""

    def __init__(self, env: Env, steps: int, *, pictures: tuple[str, ...] = (), memory: Carried | None = None) -> None:
        n, sizes = env.num_worlds, env.obs_sizes

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=env.device)

        self.policy_obs = zeros(steps, n, sizes["policy"])
        self.critic_obs = zeros(steps + 1, n, sum(sizes.values()))
        """One more than was acted on: the last is where the next rollout begins."""
        self.pictures = {g: zeros(steps + 1, n, *env.image_shapes[g], dtype=torch.uint8) for g in pictures}
        self.action = zeros(steps, n, env.action_size)
        self.log_prob = zeros(steps, n)
        self.reward = zeros(steps, n)
        self.terminated = zeros(steps, n, dtype=torch.bool)
        self.began = zeros(steps + 1, n, dtype=torch.bool)
        """Whether an episode began with what is seen at that step: what was remembered before is forgotten there."""
        self.ended = self.began[1:]
        """An episode that ends with a step begins anew with what is seen next. A view."""
        self.memory = {name: value.clone() for name, value in (memory or {}).items()}
        """Of actor and critic, before the first step."""
        self.cut: list[tuple[int, Tensor, Tensor, Obs]] = []
        """Where episodes ran out of time: step, worlds, and what the critic would have seen next, with the pictures."""
