"""A sim of this package as one side of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from paddock.contracts import Sim, State
from paddock.cores import Exact
from paddock.env import Environment
from paddock.evaluation import Agent, play_out
from paddock.making import make
from paddock.parity_sides import Followed, Played, Reached
from paddock.parity_states import States, fitted
from paddock.tasks.task import Task
from paddock.worlds import Worlds

RAW = ("qpos", "qvel", "act", "ctrl", "sensordata")
WARM_UP = 2
"""Steps after which a GPU replays what it has captured, as it does in training."""


class SimSide:
    """A sim of this package. `num_worlds` states are stepped at a time."""

    def __init__(self, task: Task, sim: str, *, num_worlds: int, name: str = "") -> None:
        self.name, self.task, self.sim = name or sim, task, sim
        self.env = make(task, num_worlds=num_worlds, sim=sim)
        self._stage: Environment | None = None
        self.env.tap = self._reached = _Reaching()
        self.env.reset()
        self.env.settle()  # from here on the engine's own constants follow from the model fields of each state
        if self.env.device.type == "cuda":
            for _ in range(WARM_UP):
                self.env.step(self.env.sample())

    def reach(self, states: States) -> Reached:
        return _joined([self._step(states.of(rows)) for rows in self._batches(len(states))], len(states))

    def judge(self, states: States, raw: dict[str, Tensor]) -> Reached:
        """What the task says here of the numbers that an engine elsewhere reached from the states."""
        batches = self._batches(len(states))
        return _joined(
            [self._judged(states.of(rows), {name: part[rows] for name, part in raw.items()}) for rows in batches], len(states)
        )

    def follow(self, states: States, actions: Tensor) -> Followed:
        parts = [self._follow(states.of(rows), actions[:, rows]) for rows in self._batches(len(states))]
        qpos, going = (torch.cat([getattr(part, name) for part in parts], dim=1)[:, : len(states)] for name in ("qpos", "going"))
        return Followed(qpos=qpos, going=going)

    def play(self, agent: Agent, *, episodes: int, seed: int, advance: Callable[[float], None]) -> Played:
        env = (
            self._stage
            if self._stage and self._stage.num_worlds == episodes
            else make(self.task, num_worlds=episodes, sim=self.sim)
        )
        self._stage = env
        env.reset(seed=seed)
        env.settle()
        score, played = play_out(env, agent, name="", episodes=episodes, advance=advance)
        played.sort(key=lambda episode: episode.world)
        return Played(
            returns=tuple(episode.total for episode in played),
            lengths=tuple(float(episode.length) for episode in played),
            successes=tuple(episode.success for episode in played) if self.task.success else (),
            ends=score.ends,
        )

    def _batches(self, count: int) -> Sequence[Tensor]:
        """Rows of as many states as there are worlds, the last of them repeated where too few are left."""
        n = self.env.num_worlds
        return [torch.arange(first, first + n).clamp(max=count - 1) for first in range(0, count, n)]

    def _put(self, states: States) -> None:
        """Load them. The GPU's engine has entered the present reading of a late sensor where the CPU's enters it with the step."""
        self.env.load(fitted(states, self.env))
        if not self.env.sim.by_rows:
            self.env.sim.forward(Worlds(torch.zeros_like(self.env.sim.failed), None))

    def _step(self, states: States) -> Reached:
        env = self.env
        self._put(states)
        step = env.step(states.action.to(env.device))
        numbers = {"reward": step.reward, **{f"reward/{name}": term for name, term in step.terms.items()}}
        numbers |= spread(env, {group: step.final_obs[group] for group in env.obs_sizes})
        flags = {f"ends/{name}": end for name, end in step.ends.items()}
        flags |= {name: getattr(step, name) for name in ("truncated", "success", "failed")}
        return _reached(self._reached.raw, numbers, flags)

    def _follow(self, states: States, actions: Tensor) -> Followed:
        self._put(states)
        qpos: list[Tensor] = []
        going = [torch.ones(len(states), dtype=torch.bool)]
        for action in actions:
            step = self.env.step(action.to(self.env.device))
            qpos.append(self._reached.raw["qpos"].to("cpu", torch.float64, copy=True))
            going.append(going[-1] & ~step.ended.cpu())
        return Followed(qpos=torch.stack(qpos), going=torch.stack(going[1:]))

    def _judged(self, states: States, raw: dict[str, Tensor]) -> Reached:
        env = self.env
        self._put(states)
        fields = {name: raw[f"fields/{name}"].to(own.device, own.dtype) for name, own in env.state.fields.items()}
        with Exact():
            now = env.state.replaced(
                **{name: raw[name].float().to(env.device) for name in RAW},
                fields=fields,
                age=env.state.age + 1,
                last_action=env.state.action.clone(),
                action=states.action.clamp(-1.0, 1.0).to(env.device),
            )
            command, memory = env.task.advance(now)
            return _told(env, now.replaced(command=command, memory=memory), raw)


def spread(env: Environment, groups: dict[str, Tensor]) -> dict[str, Tensor]:
    """Observation groups by the names of what is in them."""
    found: dict[str, Tensor] = {}
    for group, terms in (("policy", env.task.observed(env.state)), ("privileged", _privileged(env.task, env.state))):
        if group in groups and terms:
            parts = groups[group].split([value[0].numel() for value in terms.values()], dim=1)
            label = "obs" if group == "policy" else group
            found |= {f"{label}/{name}": part for name, part in zip(terms, parts, strict=True)}
    return found


class _Reaching:
    """Holds on to where a step led, in tensors of its own: a captured step can only copy."""

    def __init__(self) -> None:
        self.raw: dict[str, Tensor] = {}

    def stepping(self, sim: Sim) -> None:
        pass

    def stepped(self, sim: Sim) -> None:
        now = {name: getattr(sim, name) for name in RAW} | {f"fields/{name}": value for name, value in sim.fields.items()}
        if not self.raw:
            self.raw = {name: torch.empty_like(value) for name, value in now.items()}
        for name, value in now.items():
            self.raw[name].copy_(value)

    def begun(self, sim: Sim, worlds: Worlds) -> None:
        pass


def _told(env: Environment, now: State, raw: dict[str, Tensor]) -> Reached:
    task = env.task
    reward, terms = task.rewards(now)
    ends = task.ends(now)
    numbers = {"reward": reward, **{f"reward/{name}": term for name, term in terms.items()}}
    numbers |= spread(env, task.observations(now))
    ended = torch.stack([*ends.values(), torch.zeros_like(now.age, dtype=torch.bool)]).any(0)
    flags = {f"ends/{name}": end for name, end in ends.items()}
    flags |= {"truncated": (now.age >= task.episode_steps) & ~ended, "success": task.succeeded(now)}
    return _reached(raw, numbers, flags | {"failed": torch.zeros_like(ended)})


def _privileged(task: Task, state: State) -> dict[str, Tensor]:
    return {name: term(state) for name, term in task.privileged.items()}


def _joined(parts: Sequence[Reached], count: int) -> Reached:
    def group(name: str) -> dict[str, Tensor]:
        return {own: torch.cat([getattr(part, name)[own] for part in parts])[:count] for own in getattr(parts[0], name)}

    return Reached(raw=group("raw"), numbers=group("numbers"), flags=group("flags"))


def _reached(raw: dict[str, Tensor], numbers: dict[str, Tensor], flags: dict[str, Tensor]) -> Reached:
    """On the CPU, numbers in float64, a column at least each."""
    return Reached(
        raw={name: value.to("cpu", torch.float64, copy=True) for name, value in raw.items()},
        numbers={name: value.cpu().double().reshape(len(value), -1) for name, value in numbers.items()},
        flags={name: value.cpu().clone() for name, value in flags.items()},
    )
