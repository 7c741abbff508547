"""Proximal policy optimisation, the whole algorithm from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor
from torch.func import functional_call

from paddock.contracts import Env, Obs
from paddock.cores import torch_threads
from paddock.learn.actor_critic import everything, under
from paddock.learn.adam import Adam
from paddock.learn.compiled import compiled
from paddock.learn.crew import ALONE, Crew
from paddock.learn.nets.pictures import as_bytes
from paddock.learn.normalizer import Normalizer
from paddock.learn.ppo_config import PpoConfig, check_net, net_of
from paddock.learn.precision import matmuls
from paddock.learn.returns import advantages
from paddock.learn.rollout import Rollout
from paddock.policies import forgotten

SLOWEST, FASTEST = 1e-5, 1e-2
"""Between these the adaptive learning rate stays."""
LOGGED = ("policy_loss", "value_loss", "kl", "clipped", "grad_norm")
"""Of each minibatch."""


class Ppo:
    """Learns from an environment, one rollout at a time. Every random number comes from its own generator."""

    def __init__(self, env: Env, config: PpoConfig, *, seed: int, crew: Crew = ALONE) -> None:
        self.config, self.crew = config, crew
        self.env_steps = 0
        self._random = torch.Generator(env.device).manual_seed(seed)
        self._shuffled = torch.Generator(env.device).manual_seed(seed + 1)
        """What the order of samples is drawn from: apart from actions, whose noise no number of processes may change."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # torch initialises weights from its global generator only
            self.policy = net_of(env, config).to(env.device)
        check_net(self.policy, env, config, crew=crew)
        self.learning_rate = config.learning_rate
        self._adam = Adam(self.policy)
        self._improve = compiled(self._descend) if config.compiled else self._descend
        self.returns = Normalizer(1).to(env.device)
        self._discounted = torch.zeros(env.num_worlds, device=env.device)
        self._memory = self.policy.begin_both(env.num_worlds)
        """What actor and critic remember where the next rollout begins."""
        self._rollout = Rollout(env, config.horizon, pictures=self.policy.pictures, memory=self._memory)
        """What is learned from."""
        self._actor, self._filled = self.policy, self._rollout
        """Who acts, and what that is written into: its own, where both go on at once."""
        if config.overlap:
            self._actor = deepcopy(self.policy)
            self._filled = Rollout(env, config.horizon, pictures=self.policy.pictures)
        self._is_ahead = False
        """Whether a rollout is collected that nothing was learned from."""
        self._obs: Obs = {}
        self._groups = (*env.obs_sizes, *self.policy.pictures)
        self._laid = _by_world if self.policy.remembers else _flat
        """How a rollout is laid out to be learned from: steps one by one, or for a memory whole worlds, their steps in order."""
        self._everyone = torch.arange(env.num_worlds, device=env.device) if env.is_captured else None
        self._rate = torch.zeros((), device=env.device)
        self._told: dict[str, Tensor] = {}
        """What the last rollout taught, as tensors."""
        self._bound: tuple[Env, tuple[Callable[[], None], Callable[[], None]]] | None = None

    def update(self, env: Env) -> dict[str, float]:
        """Collect one rollout, learn from it, and return what to log."""
        self._calm()
        self._rate.fill_(self.learning_rate)
        if self.config.overlap:
            self._do_both(env)
        else:
            self._collect(env)
            with torch_threads(self.config.learn_threads):
                self._repeated(env)[1]()
        return self._report()

    def _collect(self, env: Env) -> None:
        if not self._obs:
            self._see(env.reset().obs)
        with torch_threads(self.config.collect_threads):
            self._repeated(env)[0]()
        self.env_steps += self._filled.reward.numel() * self.crew.size

    def _do_both(self, env: Env) -> None:
        """Learn from the rollout of the last time, while the policy as it is before that collects the next one."""
        if not self._is_ahead:
            self._collect(env)
            self._is_ahead = True
        self._rollout, self._filled = self._filled, self._rollout
        self._actor.load_state_dict(self.policy.state_dict())
        with ThreadPoolExecutor(1, "learning") as beside:  # which waits for it, whatever happens here
            learning = beside.submit(copy_context().run, self._learn_on_one_thread)  # PyTorch's settings are of a context
            self._collect(env)
        learning.result()

    def _learn_on_one_thread(self) -> None:
        """More would be shared with whoever acts, and change the last bits of both."""
        with torch_threads(1):
            self._learn()

    def _repeated(self, env: Env) -> tuple[Callable[[], None], Callable[[], None]]:
        """Acting and learning, as the environment makes them quick to do over and over."""
        if self._bound is None or self._bound[0] is not env:
            self._bound = (
                env,
                (
                    env.repeated(partial(self._act, env), generators=(self._random,)),
                    env.repeated(self._learn, generators=(self._shuffled,)),
                ),
            )
        return self._bound[1]

    def _act(self, env: Env) -> None:
        with torch.no_grad(), matmuls(self.config.precision, env.device):
            self._roll(env)

    def _roll(self, env: Env) -> None:
        """One rollout, written in place: on a GPU it is captured, so nothing there looks at a value."""
        policy, roll = self._actor, self._filled
        roll.cut.clear()
        _copy_all(roll.memory, self._memory)
        obs, memory = self._obs, under("actor/", roll.memory)
        spread = policy.log_std.exp()
        for t in range(self.config.horizon):
            roll.policy_obs[t], roll.critic_obs[t] = obs["policy"], everything(obs)
            for group, pictures in roll.pictures.items():
                pictures[t] = as_bytes(group, obs[group])
            mean, memory = policy.decide(obs, memory)
            roll.action[t] = mean + spread * self._noise(mean)
            roll.log_prob[t] = policy.log_prob(mean, roll.action[t])
            step = env.step(roll.action[t])
            roll.reward[t], roll.terminated[t], roll.ended[t] = step.reward, step.terminated, step.ended
            if self._everyone is not None or step.truncated.any():
                worlds = step.truncated.nonzero()[:, 0] if self._everyone is None else self._everyone
                seen = {group: as_bytes(group, step.final_obs[group])[worlds] for group in policy.critic.pictures}
                roll.cut.append((t, worlds, everything(step.final_obs)[worlds], seen))
            self._discounted.mul_(self.config.discount).add_(step.reward)
            self.returns.observe(self._discounted[:, None])
            self._discounted.masked_fill_(step.ended, 0.0)
            obs, memory = step.obs, forgotten(memory, step.ended)
        roll.critic_obs[-1] = everything(obs)
        roll.return_var.copy_(self.crew.pooled(self.returns.mean, self.returns.var)[1])
        for group, pictures in roll.pictures.items():
            pictures[-1] = as_bytes(group, obs[group])
        _copy_all(self._obs, obs)
        _copy_all(self._memory, {f"actor/{name}": value for name, value in memory.items()})

    def _learn(self) -> None:
        """Several passes over the rollout; what they found is left as tensors."""
        config, roll, policy = self.config, self._rollout, self.policy
        laid = self._laid
        with torch.no_grad():  # the normalisers rest while the rollout is learned from, so this is done once
            columns = {
                "policy": policy.policy_norm(laid(roll.policy_obs)),
                "critic": policy.critic_norm(laid(roll.critic_obs[:-1])),
            }
        columns |= {"action": laid(roll.action), "log_prob": laid(roll.log_prob)}
        columns |= {group: laid(pictures[:-1]) for group, pictures in roll.pictures.items()}
        if policy.remembers:
            columns |= {"began": laid(roll.began[:-1])} | roll.memory
        mean_reward = self.crew.mean_(roll.reward.mean())
        roll.reward.mul_((roll.return_var + 1e-8).rsqrt().to(roll.reward.dtype))
        columns |= self._estimate()
        sums = torch.zeros(config.epochs, len(LOGGED), device=roll.reward.device)
        for epoch in range(config.epochs):
            if config.recompute_advantages and epoch:
                columns |= {name: column for name, column in self._estimate().items() if name != "value"}
            with matmuls(config.precision, roll.reward.device):
                for rows in self._minibatches(len(columns["action"])):
                    self._improve(self._rate, sums[epoch], rows, columns)
        # after the epochs, so that stored and recomputed probabilities were normalised alike
        policy.policy_norm.observe(_flat(roll.policy_obs), crew=self.crew)
        policy.critic_norm.observe(_flat(roll.critic_obs[:-1]), crew=self.crew)
        explained = self.crew.mean_(_explained(columns["value"], columns["target"]))
        self._told = {"reward": mean_reward, "means": self.crew.mean_(sums / config.minibatches), "explained": explained}

    def _report(self) -> dict[str, float]:
        """What to log; and the learning rate of the next update follows from it."""
        means = self._told["means"].cpu()
        self._adapt(means[-1, LOGGED.index("kl")].item())
        return {
            "reward": self._told["reward"].item(),
            **dict(zip(LOGGED, means.mean(0).tolist(), strict=True)),
            "explained": self._told["explained"].item(),
            "learning_rate": self.learning_rate,
            "std": self.policy.log_std.exp().mean().item(),
        }

    def _see(self, obs: Obs) -> None:
        """Take what the next action follows from, in tensors of its own."""
        self._obs = {group: obs[group].clone() for group in self._groups}

    def _descend(self, rate: Tensor, sums: Tensor, rows: Tensor, columns: dict[str, Tensor]) -> None:
        """One step down the gradient of the loss over a minibatch, the `rows` of `columns`; adds what is `LOGGED` to `sums`."""
        adam, config = self._adam, self.config
        loss, seen = self._loss(adam.named(adam.weights), {name: column[rows] for name, column in columns.items()})
        (grad,) = torch.autograd.grad(loss, adam.weights)
        norm = self.crew.mean_(grad).norm()
        adam.step(grad * (config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0), learning_rate=rate)
        sums += torch.stack([*seen, norm])

    def _loss(self, weights: dict[str, Tensor], batch: dict[str, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """What an update makes small, and the first four of `LOGGED`; () each."""
        config = self.config
        is_mixed = config.precision == "bfloat16" and self._rate.device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16, enabled=is_mixed):
            new_log_prob, value, entropy = functional_call(self.policy, weights, (batch,))
        log_ratio = new_log_prob - batch["log_prob"]
        ratio, advantage = log_ratio.exp(), batch["advantage"]
        policy_loss = -torch.minimum(ratio * advantage, ratio.clamp(1 - config.clip, 1 + config.clip) * advantage).mean()
        value_loss = self._value_loss(value, batch["value"], batch["target"])
        loss = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
        with torch.no_grad():
            kl = (ratio - 1 - log_ratio).mean()  # an estimate that is never negative
            clipped = ((ratio - 1).abs() > config.clip).float().mean()
        return loss, (policy_loss.detach(), value_loss.detach(), kl, clipped)

    @torch.no_grad()
    def _estimate(self) -> dict[str, Tensor]:
        """Value, standardised advantage and value target of every step, by the critic as it is now; laid out."""
        roll, config, policy, laid = self._rollout, self.config, self.policy, self._laid
        pictures = {group: laid(roll.pictures[group]) for group in policy.critic.pictures}
        began = laid(roll.began) if policy.remembers else None
        values, memory = policy.value(laid(roll.critic_obs), pictures, under("critic/", roll.memory), began)
        values = values.T if policy.remembers else values.view(roll.critic_obs.shape[:2])
        reached = values[1:].clone()
        if roll.cut:
            times, rows, last_obs, last_seen = zip(*roll.cut, strict=True)
            seen = {group: torch.cat([pictures[group] for pictures in last_seen]) for group in policy.critic.pictures}
            then = {  # as it was before the next episode began
                name: torch.cat([value[worlds, t] for t, worlds in zip(times, rows, strict=True)]) for name, value in memory.items()
            }
            final, _ = policy.value(torch.cat(last_obs), seen, then)
            for t, worlds, value in zip(times, rows, final.split([len(worlds) for worlds in rows]), strict=True):
                reached[t, worlds] = value
        at_end = forgotten({name: value[:, -2] for name, value in memory.items()}, roll.began[-1])
        _copy_all(self._memory, {f"critic/{name}": value for name, value in at_end.items()})
        advantage = advantages(
            reward=roll.reward,
            value=values[:-1],
            reached_value=reached,
            terminated=roll.terminated,
            ended=roll.ended,
            discount=config.discount,
            trace=config.trace,
        )
        var, mean = torch.var_mean(advantage, correction=0)
        mean, var = self.crew.pooled(mean, var)
        samples = advantage.numel() * self.crew.size
        standard = (advantage - mean) / ((var * samples / (samples - 1)).sqrt() + 1e-8)
        return {"value": laid(values[:-1]), "advantage": laid(standard), "target": laid(advantage + values[:-1])}

    def _value_loss(self, value: Tensor, before: Tensor, target: Tensor) -> Tensor:
        loss = (value - target).square()
        if self.config.value_clip:
            near = before + (value - before).clamp(-self.config.value_clip, self.config.value_clip)
            loss = torch.maximum(loss, (near - target).square())
        return loss.mean()

    def _noise(self, mean: Tensor) -> Tensor:
        """Standard normal, like `mean`; the same for a world however many processes share the worlds."""
        n, size = mean.shape
        everyone = torch.randn(n * self.crew.size, size, generator=self._random, device=mean.device)
        return self.crew.own_rows(everyone)

    def _minibatches(self, samples: int) -> Iterator[Tensor]:
        """All samples once, in random order."""
        device = self._shuffled.device
        if self._everyone is None:
            order = torch.randperm(samples, generator=self._shuffled, device=device)
        else:  # which can be captured
            order = torch.rand(samples, generator=self._shuffled, device=device).argsort()
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
        saved |= {f"obs/{group}": value for group, value in self._obs.items()}  # no picture that nobody sees
        saved |= {f"memory/{name}": value for name, value in self._memory.items()}
        saved |= {f"optimizer/{name}": value for name, value in self._adam.state().items()}
        saved["learning_rate"] = torch.tensor(self.learning_rate, dtype=torch.float64)
        saved["discounted"] = self._discounted
        saved["random"], saved["shuffled"] = self._random.get_state(), self._shuffled.get_state()
        saved["env_steps"] = torch.tensor(self.env_steps)
        if self._is_ahead:
            saved |= {f"ahead/{name}": value for name, value in self._filled.state().items()}
        return {name: value.detach().clone() for name, value in saved.items()}

    def load(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from what `state` returned."""
        self.policy.load_state_dict(under("policy/", saved))
        self.returns.load_state_dict(under("returns/", saved))
        seen = under("obs/", saved)  # in any order, and the critic sees groups side by side
        if self._obs:
            _copy_all(self._obs, seen)
        elif seen:
            self._see(seen)
        _copy_all(self._memory, {name: saved[f"memory/{name}"] for name in self._memory})
        self._adam.load(under("optimizer/", saved))
        self.learning_rate = saved["learning_rate"].item()
        self._discounted.copy_(saved["discounted"])
        self._random.set_state(saved["random"].cpu())
        self._shuffled.set_state(saved["shuffled"].cpu())
        self.env_steps = int(saved["env_steps"])
        ahead = under("ahead/", saved)
        self._is_ahead = bool(ahead)
        if ahead:
            self._filled.load(ahead)


def _explained(value: Tensor, target: Tensor) -> Tensor:
    """Share of the targets' variance that the critic foresaw; ()."""
    return 1.0 - (target - value).var() / (target.var() + 1e-8)


def _copy_all(own: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Copy in place, because what was captured holds on to the tensors themselves."""
    for name, value in values.items():
        if name in own:
            own[name].copy_(value)


def _flat(value: Tensor) -> Tensor:
    """(steps, n, ...) as (steps * n, ...)."""
    return value.flatten(0, 1)


def _by_world(value: Tensor) -> Tensor:
    """(steps, n, ...) as (n, steps, ...)."""
    return value.transpose(0, 1)
