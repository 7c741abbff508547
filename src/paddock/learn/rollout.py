"""What a learner has seen and done since its last update."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from paddock.contracts import Env, Obs
from paddock.learn.actor_critic import under
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
        self.return_var = torch.ones(1, dtype=torch.float64, device=env.device)
        """Variance of discounted returns when it was full, by which its rewards are scaled."""

    def _tensors(self) -> dict[str, Tensor]:
        plain = {name: value for name, value in vars(self).items() if isinstance(value, Tensor) and name != "ended"}
        kept = {"pictures": self.pictures, "memory": self.memory}
        return plain | {f"{part}/{name}": value for part, values in kept.items() for name, value in values.items()}

    def state(self) -> dict[str, Tensor]:
        """All of it, as named tensors."""
        saved = self._tensors()
        for i, (t, worlds, obs, seen) in enumerate(self.cut):
            saved |= {f"cut/{i}/step": torch.tensor(t), f"cut/{i}/worlds": worlds, f"cut/{i}/obs": obs}
            saved |= {f"cut/{i}/seen/{group}": pictures for group, pictures in seen.items()}
        return saved

    def load(self, saved: Mapping[str, Tensor]) -> None:
        """Become what `state` returned."""
        for name, value in self._tensors().items():
            value.copy_(saved[name])
        cuts = [under(f"cut/{i}/", saved) for i in range(sum(name.endswith("/step") for name in saved))]
        self.cut = [(int(cut["step"]), cut["worlds"], cut["obs"], under("seen/", cut)) for cut in cuts]
