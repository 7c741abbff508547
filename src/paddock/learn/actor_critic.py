"""A Gaussian policy and a value function over flat observations."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from paddock.contracts import CAMERA_GROUP, Obs
from paddock.learn.normalizer import Normalizer

LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


def mlp(sizes: Sequence[int], *, last_gain: float) -> nn.Sequential:
    """Linear layers with ELU between, orthogonal weights and zero biases."""
    layers: list[nn.Module] = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        linear = nn.Linear(before, after)
        nn.init.orthogonal_(linear.weight, last_gain if i == len(sizes) - 2 else math.sqrt(2))
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ELU()]
    return nn.Sequential(*layers[:-1])


class ActorCritic(nn.Module):
    """The actor sees the policy group; the critic sees everything. The spread of actions does not depend on the state."""

    def __init__(self, obs_sizes: dict[str, int], action_size: int, *, hidden: Sequence[int], log_std: float) -> None:
        super().__init__()
        policy, everything = obs_sizes["policy"], sum(obs_sizes.values())
        self.policy_norm, self.critic_norm = Normalizer(policy), Normalizer(everything)
        self.actor = mlp([policy, *hidden, action_size], last_gain=0.01)
        self.critic = mlp([everything, *hidden, 1], last_gain=1.0)
        self.log_std = nn.Parameter(torch.full((action_size,), float(log_std)))

    def mean(self, policy_obs: Tensor) -> Tensor:
        """(m, na)."""
        return self.actor(self.policy_norm(policy_obs))

    def value(self, everything: Tensor) -> Tensor:
        """(m,)."""
        return self.critic(self.critic_norm(everything))[:, 0]

    def forward(self, seen: Tensor, critic_seen: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probability of actions (m,) and value (m,) for observations that are normalised already, and the entropy ()."""
        return self.log_prob(self.actor(seen), action), self.critic(critic_seen)[:, 0], self.entropy()

    def log_prob(self, mean: Tensor, action: Tensor) -> Tensor:
        """Of actions as drawn, before an environment clips them; (m,)."""
        standard = (action - mean) * (-self.log_std).exp()
        return (-0.5 * standard.square() - self.log_std - LOG_ROOT_2_PI).sum(1)

    def entropy(self) -> Tensor:
        """Of the Gaussian; ()."""
        return (self.log_std + LOG_ROOT_2_PI + 0.5).sum()

    @torch.no_grad()
    def act(self, obs: Obs) -> Tensor:
        """The most likely action, within [-1, 1]; (n, na)."""
        return self.mean(obs["policy"]).clamp(-1.0, 1.0)


def everything(obs: Obs) -> Tensor:
    """All groups side by side, for the critic, but no pictures."""
    return torch.cat([value for group, value in obs.items() if not group.startswith(CAMERA_GROUP)], dim=1)
