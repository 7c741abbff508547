"""A Gaussian policy and a value function: two networks, and the normalisers in front of them."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from paddock.contracts import CAMERA_GROUP, Obs
from paddock.errors import PaddockError
from paddock.learn.nets.mirrored import Mirrored
from paddock.learn.nets.mlp import Mlp, mlp
from paddock.learn.nets.tower import Tower
from paddock.learn.normalizer import Normalizer
from paddock.policies import Carried

LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


class ActorCritic(nn.Module):
    """The actor sees the policy group; the critic sees everything. The spread of actions does not depend on the state."""

    def __init__(
        self,
        obs_sizes: dict[str, int],
        action_size: int,
        *,
        hidden: Sequence[int],
        log_std: float,
        actor: Mlp | Tower | Mirrored | None = None,
        critic: Mlp | Tower | Mirrored | None = None,
        norms: tuple[Normalizer, Normalizer] | None = None,
    ) -> None:
        super().__init__()
        policy, everything = obs_sizes["policy"], sum(obs_sizes.values())
        self.policy_norm, self.critic_norm = norms or (Normalizer(policy), Normalizer(everything))
        self.actor = actor or mlp([policy, *hidden, action_size], last_gain=0.01)
        self.critic = critic or mlp([everything, *hidden, 1], last_gain=1.0)
        self.log_std = nn.Parameter(torch.full((action_size,), float(log_std)))

    @property
    def remembers(self) -> bool:
        """Whether actor or critic does, so that they learn from sequences."""
        return self.actor.remembers or self.critic.remembers

    @property
    def pictures(self) -> tuple[str, ...]:
        """The groups of pictures that the actor looks at; the critic at the same, or none."""
        return self.actor.pictures

    def begin(self, num_worlds: int) -> Carried:
        """What the actor remembers when an episode begins."""
        return self.actor.begin(num_worlds)

    def begin_both(self, num_worlds: int) -> Carried:
        """What actor and critic remember when an episode begins: `actor/...` and `critic/...`."""
        parts = {"actor": self.actor, "critic": self.critic}
        return {f"{part}/{name}": value for part, net in parts.items() for name, value in net.begin(num_worlds).items()}

    def decide(self, obs: Obs, memory: Carried) -> tuple[Tensor, Carried]:
        """The most likely action (n, na), and what to remember until the next step."""
        return self.actor(self.policy_norm(obs["policy"]), obs, memory)

    def value(
        self, everything: Tensor, pictures: Mapping[str, Tensor], memory: Carried, began: Tensor | None = None
    ) -> tuple[Tensor, Carried]:
        """(m,), or of sequences (m, steps); and the critic's memory, as a tower returns it."""
        value, memory = self.critic(self.critic_norm(everything), pictures, memory, began)
        return value[..., 0], memory

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probability of actions (m,) and value (m,), or (m, steps) each, and the entropy ().

        Of `policy`, `critic`, `action` and pictures, the first two normalised already; with memory, of sequences, with where
        episodes `began` in them, and `actor/...` and `critic/...` as remembered before their first step.
        """
        began = batch.get("began")
        mean, _ = self.actor(batch["policy"], batch, under("actor/", batch), began)
        value, _ = self.critic(batch["critic"], batch, under("critic/", batch), began)
        return self.log_prob(mean, batch["action"]), value[..., 0], self.entropy()

    def log_prob(self, mean: Tensor, action: Tensor) -> Tensor:
        """Of actions as drawn, before an environment clips them; (m,)."""
        standard = (action - mean) * (-self.log_std).exp()
        return (-0.5 * standard.square() - self.log_std - LOG_ROOT_2_PI).sum(-1)

    def entropy(self) -> Tensor:
        """Of the Gaussian; ()."""
        return (self.log_std + LOG_ROOT_2_PI + 0.5).sum()

    @torch.no_grad()
    def act(self, obs: Obs) -> Tensor:
        """The most likely action, within [-1, 1], of a policy without memory; (n, na)."""
        if self.actor.remembers:
            raise PaddockError(
                "this policy remembers, so act(obs) alone is not enough. Begin with memory = policy.begin(num_worlds), then "
                "mean, memory = policy.decide(obs, memory) each step; or let paddock.evaluation.acting(policy) carry it."
            )
        return self.decide(obs, {})[0].clamp(-1.0, 1.0)


def everything(obs: Obs) -> Tensor:
    """All groups side by side, for the critic, but no pictures."""
    return torch.cat([value for group, value in obs.items() if not group.startswith(CAMERA_GROUP)], dim=1)


def under(prefix: str, named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is named with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}
