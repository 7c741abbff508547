"""Proximal policy optimisation, the whole algorithm from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from paddock.contracts import Env, Obs
from paddock.cores import torch_threads
from paddock.learn.actor_critic import ActorCritic, everything
from paddock.learn.adam import Adam
from paddock.learn.compiled import compiled
from paddock.learn.normalizer import Normalizer
from paddock.learn.returns import advantages

SLOWEST, FASTEST = 1e-5, 1e-2
"""Between these the adaptive learning rate stays."""
LOGGED = ("policy_loss", "value_loss", "kl", "clipped", "grad_norm")
"""Of each minibatch."""


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
    """At the start."""
    target_kl: float = 0.01
    """Change of the policy in an update, at its end, that the learning rate is adapted to; 0 leaves it alone."""
    anneal_steps: int = 0
    """Environment steps over which the learning rate falls to nothing, where it is not adapted; 0 leaves it alone."""
    discount: float = 0.99
    """What a reward one control step later is worth."""
    trace: float = 0.95
    """Lambda of the generalised advantage estimate."""
    recompute_advantages: bool = False
    """Estimate advantages anew before each pass, with the critic as it is by then."""
    clip: float = 0.2
    """Largest change of an action's probability that is rewarded."""
    value_clip: float = 0.0
    """Largest change of a value per update that is learned from, in scaled returns; 0 for any."""
    value_weight: float = 1.0
    """Of the critic's loss beside the actor's."""
    entropy_weight: float = 0.0
    """What spread of actions is worth."""
    max_grad_norm: float = 1.0
    """Longer gradients are shortened to this."""
    hidden: tuple[int, ...] = (128, 128)
    """Widths of the hidden layers of actor and critic."""
    log_std: float = -0.7
    """Logarithm of the actions' spread at the start."""
    calm_steps: int = 0
    """Environment steps over which the largest spread that is allowed falls to `calm_log_std`; 0 leaves the spread alone."""
    calm_log_std: float = -2.5
    """Logarithm of that spread. A policy that was never calm may need its own noise to act: its mean then does worse."""
    collect_threads: int = 1
    """PyTorch threads while acting: the physics has threads of its own."""
    learn_threads: int = 0
    """PyTorch threads while learning; 0 takes as many as PyTorch would."""
    compiled: bool = False
    """Learn from minibatches with code compiled for them: it takes a C++ compiler and some 20 s, and pays from about 30,000
    small minibatches on."""


class Rollout:
    """What was seen and done; (steps, n, ...). Allocated once, written in place."""

    def __init__(self, env: Env, steps: int) -> None:
        n, sizes = env.num_worlds, env.obs_sizes

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=env.device)

        self.policy_obs = zeros(steps, n, sizes["policy"])
        self.critic_obs = zeros(steps + 1, n, sum(sizes.values()))
        """One more than was acted on: the last is where the next rollout begins."""
        self.action = zeros(steps, n, env.action_size)
        self.log_prob = zeros(steps, n)
        self.reward = zeros(steps, n)
        self.terminated = zeros(steps, n, dtype=torch.bool)
        self.ended = zeros(steps, n, dtype=torch.bool)
        self.cut: list[tuple[int, Tensor, Tensor]] = []
        """Where episodes ran out of time: step, worlds, and what the critic would have seen next."""


class Ppo:
    """Learns from an environment, one rollout at a time. Every random number comes from its own generator."""

    def __init__(self, env: Env, config: PpoConfig, *, seed: int) -> None:
        self.config = config
        self.env_steps = 0
        self._random = torch.Generator(env.device).manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # torch initialises weights from its global generator only
            self.policy = ActorCritic(env.obs_sizes, env.action_size, hidden=config.hidden, log_std=config.log_std).to(env.device)
        self.learning_rate = config.learning_rate
        self._adam = Adam(self.policy)
        self._improve = compiled(self._descend) if config.compiled else self._descend
        self.returns = Normalizer(1).to(env.device)
        self._discounted = torch.zeros(env.num_worlds, device=env.device)
        self._rollout = Rollout(env, config.horizon)
        self._obs: Obs = {}
        self._groups = tuple(env.obs_sizes)

    def update(self, env: Env) -> dict[str, float]:
        """Collect one rollout, learn from it, and return what to log."""
        self._calm()
        with torch_threads(self.config.collect_threads):
            self._collect(env)
        with torch_threads(self.config.learn_threads):
            return self._learn()

    @torch.no_grad()
    def _collect(self, env: Env) -> None:
        policy, roll = self.policy, self._rollout
        roll.cut.clear()
        obs = self._obs or env.reset().obs
        spread = policy.log_std.exp()
        for t in range(self.config.horizon):
            roll.policy_obs[t], roll.critic_obs[t] = obs["policy"], everything(obs)
            mean = policy.mean(obs["policy"])
            roll.action[t] = mean + spread * torch.randn(mean.shape, generator=self._random, device=mean.device)
            roll.log_prob[t] = policy.log_prob(mean, roll.action[t])
            step = env.step(roll.action[t])
            roll.reward[t], roll.terminated[t], roll.ended[t] = step.reward, step.terminated, step.ended
            if step.truncated.any():
                worlds = step.truncated.nonzero()[:, 0]
                roll.cut.append((t, worlds, everything(step.final_obs)[worlds]))
            self._discounted = self._discounted * self.config.discount + step.reward
            self.returns.observe(self._discounted[:, None])
            self._discounted.masked_fill_(step.ended, 0.0)
            obs = step.obs
        roll.critic_obs[-1] = everything(obs)
        self._obs = obs
        self.env_steps += roll.reward.numel()

    def _learn(self) -> dict[str, float]:
        config, roll, policy = self.config, self._rollout, self.policy
        with torch.no_grad():  # the normalisers rest while the rollout is learned from, so this is done once
            seen, critic_seen = policy.policy_norm(_flat(roll.policy_obs)), policy.critic_norm(_flat(roll.critic_obs[:-1]))
        action, log_prob = _flat(roll.action), _flat(roll.log_prob)
        mean_reward = float(roll.reward.mean())
        roll.reward.mul_((self.returns.var + 1e-8).rsqrt().to(roll.reward.dtype))
        value, advantage, target = self._estimate()
        sums = torch.zeros(config.epochs, len(LOGGED), device=action.device)
        rate = torch.tensor(self.learning_rate, device=action.device)
        for epoch in range(config.epochs):
            if config.recompute_advantages and epoch:
                _, advantage, target = self._estimate()
            columns = (seen, critic_seen, action, log_prob, advantage, value, target)
            for rows in self._minibatches(len(action)):
                self._improve(rate, sums[epoch], rows, *columns)
        means = sums / config.minibatches
        self._adapt(means[-1, LOGGED.index("kl")].item())
        # after the epochs, so that stored and recomputed probabilities were normalised alike
        policy.policy_norm.observe(_flat(roll.policy_obs))
        policy.critic_norm.observe(_flat(roll.critic_obs[:-1]))
        return {
            "reward": mean_reward,
            **dict(zip(LOGGED, means.mean(0).tolist(), strict=True)),
            "explained": _explained(value, target),
            "learning_rate": self.learning_rate,
            "std": policy.log_std.exp().mean().item(),
        }

    def _descend(self, rate: Tensor, sums: Tensor, rows: Tensor, *columns: Tensor) -> None:
        """One step down the gradient of the loss over a minibatch, the `rows` of `columns`; adds what is `LOGGED` to `sums`."""
        adam, config = self._adam, self.config
        loss, seen = self._loss(adam.named(adam.weights), *(column[rows] for column in columns))
        (grad,) = torch.autograd.grad(loss, adam.weights)
        norm = grad.norm()
        adam.step(grad * (config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0), learning_rate=rate)
        sums += torch.stack([*seen, norm])

    def _loss(
        self,
        weights: dict[str, Tensor],
        seen: Tensor,
        critic_seen: Tensor,
        action: Tensor,
        log_prob: Tensor,
        advantage: Tensor,
        before: Tensor,
        target: Tensor,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """What an update makes small, and the first four of `LOGGED`; () each."""
        config = self.config
        new_log_prob, value, entropy = functional_call(self.policy, weights, (seen, critic_seen, action))
        log_ratio = new_log_prob - log_prob
        ratio = log_ratio.exp()
        policy_loss = -torch.minimum(ratio * advantage, ratio.clamp(1 - config.clip, 1 + config.clip) * advantage).mean()
        value_loss = self._value_loss(value, before, target)
        loss = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
        with torch.no_grad():
            kl = (ratio - 1 - log_ratio).mean()  # an estimate that is never negative
            clipped = ((ratio - 1).abs() > config.clip).float().mean()
        return loss, (policy_loss.detach(), value_loss.detach(), kl, clipped)

    @torch.no_grad()
    def _estimate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Value, standardised advantage and value target of every step, by the critic as it is now; (steps * n,) each."""
        roll, config = self._rollout, self.config
        values = self.policy.value(_flat(roll.critic_obs)).view(roll.critic_obs.shape[:2])
        reached = values[1:].clone()
        if roll.cut:
            final = self.policy.value(torch.cat([obs for _, _, obs in roll.cut]))
            for (t, worlds, _), value in zip(roll.cut, final.split([len(worlds) for _, worlds, _ in roll.cut]), strict=True):
                reached[t, worlds] = value
        advantage = advantages(
            reward=roll.reward,
            value=values[:-1],
            reached_value=reached,
            terminated=roll.terminated,
            ended=roll.ended,
            discount=config.discount,
            trace=config.trace,
        )
        target = advantage + values[:-1]
        return _flat(values[:-1]), _flat((advantage - advantage.mean()) / (advantage.std() + 1e-8)), _flat(target)

    def _value_loss(self, value: Tensor, before: Tensor, target: Tensor) -> Tensor:
        loss = (value - target).square()
        if self.config.value_clip:
            near = before + (value - before).clamp(-self.config.value_clip, self.config.value_clip)
            loss = torch.maximum(loss, (near - target).square())
        return loss.mean()

    def _minibatches(self, samples: int) -> Iterator[Tensor]:
        """All samples once, in random order."""
        order = torch.randperm(samples, generator=self._random, device=self._random.device)
        yield from order.chunk(self.config.minibatches)

    @torch.no_grad()
    def _calm(self) -> None:
        """Cut the spread down to what the schedule allows by now."""
        config = self.config
        if config.calm_steps:
            share = min(1.0, self.env_steps / config.calm_steps)
            self.policy.log_std.clamp_(max=config.log_std + share * (config.calm_log_std - config.log_std))

    def _adapt(self, kl: float) -> None:
        """Slow down where the policy changed too much in its last pass, speed up where it barely did; or follow the schedule.

        Once an update: within one, the first parts always look as if nothing changed, and the rate would only swing.
        """
        config = self.config
        if config.target_kl:
            if kl > 2 * config.target_kl:
                self.learning_rate = max(SLOWEST, self.learning_rate / 1.5)
            elif kl < 0.5 * config.target_kl:
                self.learning_rate = min(FASTEST, self.learning_rate * 1.5)
        elif config.anneal_steps:
            self.learning_rate = config.learning_rate * max(0.0, 1 - self.env_steps / config.anneal_steps)

    def state(self) -> dict[str, Tensor]:
        """Everything that the next update depends on, as named tensors."""
        saved = {f"policy/{name}": value for name, value in self.policy.state_dict().items()}
        saved |= {f"returns/{name}": value for name, value in self.returns.state_dict().items()}
        saved |= {f"obs/{group}": value for group, value in self._obs.items() if group in self._groups}  # no pictures
        saved |= {f"optimizer/{name}": value for name, value in self._adam.state().items()}
        saved["learning_rate"] = torch.tensor(self.learning_rate, dtype=torch.float64)
        saved["discounted"], saved["random"] = self._discounted, self._random.get_state()
        saved["env_steps"] = torch.tensor(self.env_steps)
        return {name: value.detach().clone() for name, value in saved.items()}

    def load(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from what `state` returned."""
        self.policy.load_state_dict(_under("policy/", saved))
        self.returns.load_state_dict(_under("returns/", saved))
        seen = _under("obs/", saved)  # in any order, and the critic sees groups side by side
        self._obs = {group: seen[group].clone() for group in self._groups if group in seen}
        self._adam.load(_under("optimizer/", saved))
        self.learning_rate = saved["learning_rate"].item()
        self._discounted.copy_(saved["discounted"])
        self._random.set_state(saved["random"].cpu())
        self.env_steps = int(saved["env_steps"])


def _explained(value: Tensor, target: Tensor) -> float:
    """Share of the targets' variance that the critic foresaw."""
    return 1.0 - ((target - value).var() / (target.var() + 1e-8)).item()


def _under(prefix: str, saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in saved.items() if name.startswith(prefix)}


def _flat(value: Tensor) -> Tensor:
    """(steps, n, ...) as (steps * n, ...)."""
    return value.flatten(0, 1)
