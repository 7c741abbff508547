"""Proximal policy optimisation, the whole algorithm from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from paddock.contracts import Env, Step
from paddock.learn.actor_critic import ActorCritic, everything
from paddock.learn.normalizer import Normalizer
from paddock.learn.returns import advantages


@dataclass(frozen=True, kw_only=True)
class PpoConfig:
    """What PPO can be told."""

    horizon: int = 24
    """Control steps per world per update."""
    epochs: int = 5
    """Passes over each rollout."""
    minibatches: int = 4
    """Parts a rollout is split into in each pass."""
    learning_rate: float = 1e-3
    """At the start; adapted to `target_kl` while learning."""
    target_kl: float = 0.01
    """Change of the policy per update to aim for; 0 keeps the learning rate."""
    discount: float = 0.99
    trace: float = 0.95
    """Lambda of the generalised advantage estimate."""
    clip: float = 0.2
    """Largest change of an action's probability that is rewarded."""
    value_weight: float = 1.0
    entropy_weight: float = 0.0
    max_grad_norm: float = 1.0
    hidden: tuple[int, ...] = (128, 128)
    """Widths of the hidden layers of actor and critic."""
    log_std: float = -0.7
    """Logarithm of the actions' spread at the start."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """What was seen and done; (steps, n, ...)."""

    policy_obs: Tensor
    critic_obs: Tensor
    action: Tensor
    log_prob: Tensor
    value: Tensor
    reward: Tensor
    reached_value: Tensor
    terminated: Tensor
    ended: Tensor

    @staticmethod
    def empty(env: Env, steps: int) -> Rollout:
        n, sizes = env.num_worlds, env.obs_sizes

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(steps, n, *shape, dtype=dtype, device=env.device)

        return Rollout(
            policy_obs=zeros(sizes["policy"]),
            critic_obs=zeros(sum(sizes.values())),
            action=zeros(env.action_size),
            log_prob=zeros(),
            value=zeros(),
            reward=zeros(),
            reached_value=zeros(),
            terminated=zeros(dtype=torch.bool),
            ended=zeros(dtype=torch.bool),
        )


class Ppo:
    """Learns from an environment, one rollout at a time. Every random number comes from its own generator."""

    def __init__(self, env: Env, config: PpoConfig, *, seed: int) -> None:
        self.config = config
        self._random = torch.Generator(env.device).manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # torch initialises weights from its global generator only
            self.policy = ActorCritic(env.obs_sizes, env.action_size, hidden=config.hidden, log_std=config.log_std).to(env.device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=config.learning_rate, eps=1e-5)
        self.returns = Normalizer(1).to(env.device)
        self._discounted = torch.zeros(env.num_worlds, device=env.device)
        self._rollout = Rollout.empty(env, config.horizon)
        self._step: Step | None = None

    def update(self, env: Env) -> dict[str, float]:
        """Collect one rollout, learn from it, and return what to log."""
        stats = self._collect(env)
        return stats | self._learn()

    @torch.no_grad()
    def _collect(self, env: Env) -> dict[str, float]:
        policy, roll = self.policy, self._rollout
        step = self._step or env.reset()
        rewards, ends, successes = 0.0, 0, 0
        for t in range(self.config.horizon):
            roll.policy_obs[t] = step.obs["policy"]
            roll.critic_obs[t] = everything(step.obs)
            mean = policy.mean(roll.policy_obs[t])
            noise = torch.randn(mean.shape, generator=self._random, device=mean.device)
            roll.action[t] = mean + noise * policy.log_std.exp()
            roll.log_prob[t] = policy.log_prob(mean, roll.action[t])
            roll.value[t] = policy.value(roll.critic_obs[t])
            step = env.step(roll.action[t])
            roll.reward[t], roll.terminated[t], roll.ended[t] = step.reward, step.terminated, step.ended
            roll.reached_value[t] = policy.value(everything(step.final_obs))
            self._discounted = torch.where(step.ended, 0.0, self._discounted * self.config.discount + step.reward)
            self.returns.observe(self._discounted[:, None])
            rewards += float(step.reward.mean())
            ends += int(step.ended.sum())
            successes += int((step.success & step.ended).sum())
        self._step = step
        roll.reward.mul_((self.returns.var + 1e-8).rsqrt().to(roll.reward.dtype))
        stats = {"reward": rewards / self.config.horizon, "episodes": float(ends)}
        return stats | ({"success": successes / ends} if ends else {})

    def _learn(self) -> dict[str, float]:
        config, roll = self.config, self._rollout
        advantage = advantages(
            reward=roll.reward,
            value=roll.value,
            reached_value=roll.reached_value,
            terminated=roll.terminated,
            ended=roll.ended,
            discount=config.discount,
            trace=config.trace,
        )
        target = advantage + roll.value
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        sums: dict[str, float] = {"policy_loss": 0.0, "value_loss": 0.0, "kl": 0.0}
        for rows in self._minibatches(advantage.numel()):
            part = {name: _flat(value)[rows] for name, value in vars(roll).items()}
            mean = self.policy.mean(part["policy_obs"])
            log_ratio = self.policy.log_prob(mean, part["action"]) - part["log_prob"]
            gain = _flat(advantage)[rows]
            clipped = log_ratio.exp().clamp(1 - config.clip, 1 + config.clip)
            policy_loss = -torch.minimum(log_ratio.exp() * gain, clipped * gain).mean()
            value_loss = (self.policy.value(part["critic_obs"]) - _flat(target)[rows]).square().mean()
            loss = policy_loss + config.value_weight * value_loss - config.entropy_weight * self.policy.entropy()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm)
            self.optimizer.step()
            kl = (log_ratio.exp() - 1 - log_ratio).mean()  # an estimate that is never negative
            self._adapt(kl.item())
            for name, value in (("policy_loss", policy_loss), ("value_loss", value_loss), ("kl", kl)):
                sums[name] += value.item() / (config.epochs * config.minibatches)
        # after the epochs, so that stored and recomputed probabilities were normalised alike
        self.policy.policy_norm.observe(_flat(roll.policy_obs))
        self.policy.critic_norm.observe(_flat(roll.critic_obs))
        return sums | {"learning_rate": self.optimizer.param_groups[0]["lr"], "std": self.policy.log_std.exp().mean().item()}

    def _minibatches(self, samples: int) -> Iterator[Tensor]:
        for _ in range(self.config.epochs):
            order = torch.randperm(samples, generator=self._random, device=self._random.device)
            yield from order.chunk(self.config.minibatches)

    def _adapt(self, kl: float) -> None:
        """Slow down where the policy changes too fast, speed up where it barely does."""
        if self.config.target_kl:
            rate = self.optimizer.param_groups[0]["lr"]
            if kl > 2 * self.config.target_kl:
                rate = max(1e-5, rate / 1.5)
            elif kl < 0.5 * self.config.target_kl:
                rate = min(1e-2, rate * 1.5)
            self.optimizer.param_groups[0]["lr"] = rate

    def state(self) -> dict[str, Tensor]:
        """Weights and normalisers."""
        return dict(self.policy.state_dict())

    def load(self, saved: Mapping[str, Tensor]) -> None:
        self.policy.load_state_dict(dict(saved))


def _flat(value: Tensor) -> Tensor:
    """(steps, n, ...) as (steps * n, ...)."""
    return value.flatten(0, 1)
