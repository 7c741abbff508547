"""PPO for continuous actions in one file, on one Gymnasium environment: the way single-file implementations write it.

    python bench/single_file_ppo.py Ant-v5 --steps 1000000 --seed 0

The widely used settings: 2,048 steps a rollout, 10 epochs of 32 minibatches, an annealed learning rate of 3e-4, tanh nets of
64-64, clipped value losses, observations and rewards normalised and clipped by Gymnasium's wrappers, no bootstrap at truncation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Normal

ROLLOUT, EPOCHS, MINIBATCHES = 2048, 10, 32
RATE, DISCOUNT, TRACE, CLIP = 3e-4, 0.99, 0.95, 0.2
VALUE_WEIGHT, MAX_NORM, LIMIT = 0.5, 0.5, 10.0


def layer(before: int, after: int, gain: float) -> nn.Linear:
    linear = nn.Linear(before, after)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def net(before: int, after: int, gain: float) -> nn.Sequential:
    root = 2**0.5
    return nn.Sequential(layer(before, 64, root), nn.Tanh(), layer(64, 64, root), nn.Tanh(), layer(64, after, gain))


class Agent(nn.Module):
    def __init__(self, seen: int, actions: int) -> None:
        super().__init__()
        self.mean, self.critic = net(seen, actions, 0.01), net(seen, 1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(actions))

    def act(self, seen: Tensor, action: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The action, its log-probability, and the value."""
        spread = Normal(self.mean(seen), self.log_std.exp())
        action = spread.sample() if action is None else action
        return action, spread.log_prob(action).sum(-1), self.critic(seen)[..., 0]


def make(name: str, **flags: Any) -> tuple[gymnasium.Env[Any, Any], gymnasium.wrappers.NormalizeObservation[Any, Any, Any]]:
    """The wrapped environment, and the wrapper that knows how observations are normalised."""
    env = gymnasium.wrappers.ClipAction(gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(name, **flags)))
    seen = gymnasium.wrappers.NormalizeObservation(env)
    clipped = gymnasium.wrappers.TransformObservation(seen, lambda obs: np.clip(obs, -LIMIT, LIMIT), seen.observation_space)
    paid = gymnasium.wrappers.NormalizeReward(clipped, gamma=DISCOUNT)
    return gymnasium.wrappers.TransformReward(paid, lambda reward: min(max(float(reward), -LIMIT), LIMIT)), seen


def train(
    name: str, *, steps: int, seed: int, told: Callable[[int, float], None] = lambda step, episode_return: None, **flags: Any
) -> Callable[[np.ndarray], np.ndarray]:
    """Learn, telling of each episode that ends; returns the policy's mean over raw observations."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    env, normaliser = make(name, **flags)
    seen_size, action_size = int(np.prod(env.observation_space.shape or ())), int(np.prod(env.action_space.shape or ()))
    agent = Agent(seen_size, action_size)
    adam = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    seen, action = torch.zeros(ROLLOUT, seen_size), torch.zeros(ROLLOUT, action_size)
    log_prob, reward, value, begins = (torch.zeros(ROLLOUT + 1) for _ in range(4))
    obs, _ = env.reset(seed=seed)
    begun, done = 1.0, 0
    for update in range(steps // ROLLOUT):
        adam.param_groups[0]["lr"] = RATE * (1.0 - update / (steps // ROLLOUT))
        for t in range(ROLLOUT):
            seen[t], begins[t] = torch.as_tensor(obs, dtype=torch.float32), begun
            with torch.no_grad():
                action[t], log_prob[t], value[t] = agent.act(seen[t])
            obs, earned, terminated, truncated, info = env.step(action[t].numpy())
            reward[t], begun = float(earned), float(terminated or truncated)
            done += 1
            if begun:
                told(done, float(info["episode"]["r"]))
                obs, _ = env.reset()
        with torch.no_grad():
            begins[ROLLOUT], value[ROLLOUT] = begun, agent.act(torch.as_tensor(obs, dtype=torch.float32))[2]
        advantage = torch.zeros(ROLLOUT)
        ahead = torch.zeros(())
        for t in reversed(range(ROLLOUT)):
            goes_on = 1.0 - begins[t + 1]
            error = reward[t] + DISCOUNT * value[t + 1] * goes_on - value[t]
            ahead = error + DISCOUNT * TRACE * goes_on * ahead
            advantage[t] = ahead
        target = advantage + value[:-1]
        for _ in range(EPOCHS):
            for rows in torch.randperm(ROLLOUT).chunk(MINIBATCHES):
                _, new, guess = agent.act(seen[rows], action[rows])
                ratio = (new - log_prob[rows]).exp()
                gain = (advantage[rows] - advantage[rows].mean()) / (advantage[rows].std() + 1e-8)
                actor = torch.max(-gain * ratio, -gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                near = value[rows] + (guess - value[rows]).clamp(-CLIP, CLIP)
                critic = 0.5 * torch.max((guess - target[rows]) ** 2, (near - target[rows]) ** 2).mean()
                adam.zero_grad()
                (actor + VALUE_WEIGHT * critic).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
                adam.step()
    env.close()
    mean, var = normaliser.obs_rms.mean.copy(), normaliser.obs_rms.var.copy()

    def policy(raw: np.ndarray) -> np.ndarray:
        normal = np.clip((raw - mean) / np.sqrt(var + normaliser.epsilon), -LIMIT, LIMIT)
        with torch.no_grad():
            return agent.mean(torch.as_tensor(normal, dtype=torch.float32)).numpy()

    return policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began = time.perf_counter()

    def told(step: int, episode_return: float) -> None:
        print(f"{step:>9,} steps  return {episode_return:9.1f}  {step / (time.perf_counter() - began):,.0f} steps/s", flush=True)

    train(asked.env, steps=asked.steps, seed=asked.seed, told=told)


if __name__ == "__main__":
    main()
