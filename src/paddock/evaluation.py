"""How good an agent is: episodes on seeds that no training uses, scored, with the best and the worst of them known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.cores import torch_threads
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.monitoring import cause, causes_of
from paddock.policies import Carried, Policy, Remembering, forgotten
from paddock.scoring import Rate, Score

Agent = Callable[[Environment], Tensor]
"""What to do next in every world; (n, na)."""

FIRST_EVALUATION_SEED = 1_000_000_000
"""Seeds from here on are for evaluation; training refuses them."""
FINAL_SEED = FIRST_EVALUATION_SEED + 7
SELECTION_SEED = FIRST_EVALUATION_SEED + 9
"""For choosing the best checkpoint: another than the final one, which would flatter what was chosen by it."""


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One episode of an evaluation, and where to find it again."""

    world: int
    number: int
    """Within its world."""
    total: float
    length: int
    success: bool


def acting(policy: Policy) -> Agent:
    """An agent that does what the policy thinks best. What the policy remembers it carries, from each episode's first step on."""
    if not isinstance(policy, Remembering):
        return lambda env: policy.act(env.obs)
    memory: Carried = {}

    @torch.no_grad()
    def act(env: Environment) -> Tensor:
        nonlocal memory
        fits = memory and all(len(value) == env.num_worlds for value in memory.values())
        memory = forgotten(memory, env.state.age == 0) if fits else policy.begin(env.num_worlds)
        action, memory = policy.decide(env.obs, memory)
        return action.clamp(-1.0, 1.0)

    return act


def check_episodes(episodes: int) -> None:
    if episodes < 1:
        raise PaddockError(f"episodes is {episodes}; a score needs at least 1.")


def score(
    env: Environment, act: Agent, *, name: str, episodes: int, advance: Callable[[int], None] = lambda episodes: None
) -> Score:
    """The score of exactly `episodes` episodes, from a reset on; `advance` hears of each that ends."""
    return play_out(env, act, name=name, episodes=episodes, advance=advance)[0]


def play_out(
    env: Environment, act: Agent, *, name: str, episodes: int, advance: Callable[[int], None] = lambda episodes: None
) -> tuple[Score, list[Episode]]:
    """The score, and each episode by itself.

    Every world plays a share fixed beforehand: taking whichever episodes end first would favour the short ones.
    """
    check_episodes(episodes)
    names = causes_of(env)
    left = torch.tensor([len(range(world, episodes, env.num_worlds)) for world in range(env.num_worlds)])
    sums = torch.zeros(env.num_worlds, len(env.task.reward))
    length = torch.zeros(env.num_worlds, dtype=torch.int64)
    number = torch.zeros(env.num_worlds, dtype=torch.int64)
    total, ends = torch.zeros(len(env.task.reward)), torch.zeros(len(names), dtype=torch.int64)
    measured, counted_steps = torch.zeros(len(env.task.measure), dtype=torch.float64), 0
    played: list[Episode] = []
    steps, began = 0, time.perf_counter()
    with torch_threads(1):
        env.reset()
        while (playing := left > 0).any():
            step = env.step(act(env))
            steps += 1
            length += 1
            sums += torch.stack(list(step.terms.values()), dim=1).cpu()
            ended = step.ended.cpu()
            if env.task.measure:
                going = playing & ~ended  # a world that ended is in its next episode already
                measured += torch.stack([term(env.state).cpu()[going].sum() for term in env.task.measure.values()])
                counted_steps += int(going.sum())
            counted = ended & playing
            if counted.any():
                rows = counted.nonzero()[:, 0]
                total += sums[rows].sum(0)
                ends += torch.bincount(cause(step).cpu()[rows], minlength=len(names))
                for row, earned, won in zip(
                    rows.tolist(), sums[rows].sum(1).tolist(), step.success.cpu()[rows].tolist(), strict=True
                ):
                    played.append(
                        Episode(world=row, number=int(number[row]), total=earned, length=int(length[row]), success=bool(won))
                    )
                left -= counted.long()
                advance(len(rows))
            number += ended
            sums.masked_fill_(ended[:, None], 0.0)
            length.masked_fill_(ended, 0)
    seconds = time.perf_counter() - began
    result = Score(
        task=env.task.name,
        agent=name,
        episodes=episodes,
        success=Rate(count=sum(e.success for e in played), trials=episodes) if env.task.success else None,
        mean_return=float(total.sum()) / episodes,
        mean_length=sum(e.length for e in played) / episodes,
        terms={name: value / episodes for name, value in zip(env.task.reward, total.tolist(), strict=True)},
        measures=dict(zip(env.task.measure, (measured / max(counted_steps, 1)).tolist(), strict=True)),
        ends={end: int(count) for end, count in zip(names, ends, strict=True) if count},
        env_steps_per_s=steps * env.num_worlds / seconds,
    )
    return result, played
