"""Full states that episodes came by, in no sim's own format, so that any sim can be put into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from paddock.cores import torch_threads
from paddock.env import Environment
from paddock.evaluation import Agent, acting
from paddock.learn.actor_critic import ActorCritic
from paddock.making import make
from paddock.playing import agents_of, find_agent
from paddock.recording_header import row_fields
from paddock.tasks.task import Task

WORLDS = 32
"""Episodes played side by side by each agent; all of them are looked at, at several instants."""
HORIZON = 250
"""Control steps within which those instants lie."""
HELD = 5
"""Control steps for which an extreme action lasts."""
ROWS, OF_SIM = "sim/rows", "sim/"
CLOCK = ("sim/time", "sim/history")
"""Kept in full: which past reading a late sensor reports is decided by comparing times."""


@dataclass(frozen=True, kw_only=True, eq=False)
class States:
    """n states of a task's environment with everything that its next step depends on, and the action taken there."""

    saved: dict[str, Tensor]
    """As `Environment.save` names them, but the engine's state by fields: `sim/qpos`, ...; (n, ...) each."""
    action: Tensor
    """(n, na)."""
    agents: tuple[str, ...]
    """Whose episode each is of."""

    def __len__(self) -> int:
        return len(self.agents)

    def of(self, rows: Tensor) -> States:
        """Some of them."""
        return States(
            saved={name: value[rows] for name, value in self.saved.items()},
            action=self.action[rows],
            agents=tuple(self.agents[row] for row in rows.tolist()),
        )


def acting_agents(task: Task, policy: ActorCritic | None = None) -> dict[str, Agent]:
    """Who plays: nobody, chance, full drive this way or that, the task's own expert, a trained policy."""
    agents = {name: find_agent(name, task) for name in agents_of(task)} | {"extreme": extreme}
    return agents if policy is None else agents | {"policy": of_policy(policy)}


def extreme(env: Environment) -> Tensor:
    """Full drive one way or the other, for a few steps each; the same for the same seed."""
    drawn = env.state.scoped("extreme").uniform(env.action_size, -1.0, 1.0, index=env.state.age // HELD)
    return torch.where(drawn < 0, -1.0, 1.0)


def of_policy(policy: ActorCritic) -> Agent:
    """What the policy thinks best, on the device of whatever environment asks."""
    there: dict[torch.device, Agent] = {}

    def act(env: Environment) -> Tensor:
        if env.device not in there:
            there[env.device] = acting(deepcopy(policy).to(env.device))
        return there[env.device](env)

    return act


def sample_states(
    task: Task,
    agents: Mapping[str, Agent],
    *,
    count: int,
    seed: int,
    sim: str = "cpu",
    advance: Callable[[float], None] = lambda states: None,
) -> States:
    """`count` states of the agents' episodes on a sim with `rows`, rounded to float32, which every sim can hold."""
    shares = [len(range(i, count, len(agents))) for i in range(len(agents))]
    parts: list[States] = []
    for number, ((name, act), share) in enumerate(zip(agents.items(), shares, strict=True)):
        if share:
            env = make(task, num_worlds=min(WORLDS, share), seed=seed + number, sim=sim)
            parts.append(_seen(env, act, name, share, np.random.default_rng([seed, number])))
            advance(share)
    saved = {name: torch.cat([part.saved[name] for part in parts]) for name in parts[0].saved}
    return States(
        saved=saved,
        action=torch.cat([part.action for part in parts]),
        agents=tuple(agent for part in parts for agent in part.agents),
    )


def fitted(states: States, env: Environment) -> dict[str, Tensor]:
    """The states in the format that this environment loads; it has as many worlds."""
    own = env.save()
    fields = [states.saved[OF_SIM + field.name] for field in row_fields(env.model)] if ROWS in own else []
    saved = states.saved | ({ROWS: torch.cat(fields, dim=1)} if fields else {})
    return {name: saved[name].reshape(value.shape).to(value.device, value.dtype) for name, value in own.items()}


def _seen(env: Environment, act: Agent, name: str, share: int, rng: np.random.Generator) -> States:
    """All worlds at so many instants, drawn from the length of an episode."""
    horizon = min(env.task.episode_steps, HORIZON)
    count = -(-share // env.num_worlds)
    instants = set(rng.choice(horizon, size=min(count, horizon), replace=False).tolist())
    parts: list[States] = []
    with torch_threads(1):
        env.reset()
        for step in range(max(instants) + 1):
            action = act(env).clamp(-1.0, 1.0)
            if step in instants:
                saved = _rounded(_by_fields(env))
                parts.append(States(saved=saved, action=action.clone(), agents=(name,) * env.num_worlds))
            env.step(action)
    saved = {own: torch.cat([part.saved[own] for part in parts])[:share] for own in parts[0].saved}
    return States(saved=saved, action=torch.cat([part.action for part in parts])[:share], agents=(name,) * len(saved["episode"]))


def _by_fields(env: Environment) -> dict[str, Tensor]:
    saved = env.save()
    rows = saved.pop(ROWS)
    return saved | {OF_SIM + field.name: rows[:, field.start : field.start + field.size].clone() for field in row_fields(env.model)}


def _rounded(saved: dict[str, Tensor]) -> dict[str, Tensor]:
    wide = {name for name, value in saved.items() if value.dtype == torch.float64 and name not in CLOCK}
    return {name: value.float().double() if name in wide else value for name, value in saved.items()}
