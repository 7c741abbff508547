"""An environment whose steps are captured into CUDA graphs: the physics, the task, resets and randomisation in one launch.

It does what `Environment` does, for all worlds at once and without ever looking at a value: what concerns some worlds is computed
for all and kept where a mask holds. A step is made of pieces, each a function of tensors alone, that the compiler makes few kernels
of, with the engine's kernels between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import torch
from torch import Tensor

from paddock.contracts import Obs, Step, Tap
from paddock.cores import Exact
from paddock.crowding import capacity_of
from paddock.env import Environment, copy_all
from paddock.errors import BadTerm
from paddock.finiteness import unsound
from paddock.fusing import Fused
from paddock.sims.capacity import Capacity
from paddock.sims.graphs import Graph, is_capturing
from paddock.worlds import Worlds

T = TypeVar("T")


class CapturedEnvironment(Environment):
    """n worlds of a task on a GPU. Equal to those on the CPU within the engine's single precision."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._graphs: list[Graph] = []
        super().__init__(*args, **options)
        n = self.num_worlds
        self.is_fused = self.device.type == "cuda"
        """Whether the pieces of a step are compiled: some ten seconds at the start, for a tenth of every step."""
        self._fused: dict[str, Fused[Any]] = {}
        self._asked = torch.zeros_like(self.state.action)
        self._ended = torch.zeros(n, dtype=torch.bool, device=self.device)
        self._begun_worlds = Worlds(self._ended, None)
        self._final = {group: torch.zeros(n, size, device=self.device) for group, size in self.obs_sizes.items()}
        self._not_finite = torch.zeros(n, dtype=torch.int64, device=self.device)  # a sum over worlds would hold a whole piece up
        self._advance_again = self.repeated(self._advance_as_asked)

    def reset(self, *, seed: int | None = None, stagger: bool = False) -> Step:
        before = self.obs
        step = super().reset(seed=seed, stagger=stagger)
        with Exact():
            self._starts.settle(self.state)
        self._keep(before)
        return step

    def load(self, saved: Mapping[str, Tensor]) -> None:
        before = self.obs
        super().load(saved)
        self._keep(before)

    def _keep(self, before: Obs) -> None:
        """What is seen now, in the tensors that graphs hold on to."""
        if before:
            copy_all(before, self.obs)
        self.obs = before or {group: value.clone() for group, value in self.obs.items()}

    @property
    def tap(self) -> Tap | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Who hears of every step, as part of what is captured: it may copy tensors, and not look at them."""
        return self._tap

    @tap.setter
    def tap(self, tap: Tap | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._tap = tap
        for graph in self._graphs:
            graph.forget()

    @property
    def is_captured(self) -> bool:
        return True

    def repeated(self, work: Callable[[], None], *, generators: Sequence[torch.Generator] = ()) -> Callable[[], None]:
        """`work` as one CUDA graph.

        It may step this environment; it must not look at a value, nor keep a tensor that it made. It draws from `generators`.
        """
        graph = Graph(work, self.device, generators=generators)
        self._graphs.append(graph)
        return graph

    def settle(self) -> None:
        """Between rollouts: draw what the engine's constants follow from, make room where worlds had too little, and raise where
        terms were not finite.
        """
        with Exact():
            if self.sim.crowded.any():
                self.sim.grow()
                for graph in self._graphs:
                    graph.forget()
            self._starts.settle(self.state)
            if count := int(self._not_finite.sum()):
                self._not_finite.zero_()
                raise BadTerm(
                    f"rewards or observations of task '{self.task.name}' were not finite {count:,} times since the last rollout. "
                    "Run it with --sim cpu, which names the term."
                )

    def _room(self) -> Capacity | None:
        return capacity_of(self.task) if self.task.stage == "velocity" else None

    def _advance(self, action: Tensor) -> Step:
        if is_capturing(self.device):
            return self._step(action)
        self._asked.copy_(action)
        self._advance_again()
        return copied(self._reached)

    def _advance_as_asked(self) -> None:
        self._reached = self._step(self._asked)

    def _step(self, action: Tensor) -> Step:
        if action is not self._asked:
            self._asked.copy_(action)
        ctrl = self._piece(self._decided)
        if self.tap is not None:
            self.tap.stepping(self.sim)
        self.sim.step(ctrl, self.substeps)
        if self.tap is not None:
            self.tap.stepped(self.sim)
        reached = self._piece(self._reach)
        seen = self._seen(self._everyone)
        self.sim.reset(self._begun_worlds)
        self._piece(self._placed)
        self.sim.forward(self._begun_worlds)
        if self.tap is not None:
            self.tap.begun(self.sim, self._begun_worlds)
        obs = self._piece(self._open)
        fresh = self._seen(self._begun_worlds)
        pictures = {group: torch.where(self._ended.view(-1, 1, 1, 1), value, seen[group]) for group, value in fresh.items()}
        copy_all(self.obs, pictures)
        return Step(obs=obs | pictures, final_obs=reached.pop("obs") | seen, **reached)

    def _piece(self, work: Callable[[], T]) -> T:
        """A part of a step that is made of PyTorch's operators alone."""
        if not self.is_fused:
            return work()
        name = work.__name__
        if name not in self._fused:
            self._fused[name] = Fused(work, self.device)
        return self._fused[name]()

    def _decided(self) -> Tensor:
        return self._decide(self._asked)

    def _placed(self) -> None:
        self._place(self._begun_worlds)

    def _reach(self) -> dict[str, Any]:
        """What a step returns but for the next episode's first observation; `obs` is of the state reached."""
        self._move_on()
        task, state = self.task, self.state
        reward, terms = task.rewards(state)
        ends = {name: end.clone() for name, end in task.ends(state).items()}
        failed = self.sim.failed.clone()
        reward, terms, success = self._contain(failed, reward, terms, task.succeeded(state))
        terminated = reduce(torch.logical_or, ends.values(), failed)
        truncated = (state.age >= task.episode_steps) & ~terminated
        obs = {group: value.masked_fill(failed[:, None], 0.0) for group, value in task.observations(state).items()}
        ended = terminated | truncated
        if self.curriculum is not None:
            self._grade(self.curriculum, ended & ~failed, success)  # a score of nonsense may be no number
        self._not_finite += unsound(reward, obs)
        self._ended.copy_(ended)
        copy_all(self._final, obs)
        flags = {"terminated": terminated, "truncated": truncated, "success": success, "failed": failed}
        return {"obs": obs, "reward": reward, "terms": terms, "ends": ends, **flags}

    def _open(self) -> Obs:
        """What to act on next: in worlds where an episode began, its first observation."""
        begun = self._ended[:, None]
        fresh = self.task.observations(self._remember_anew(self._begun_worlds))
        obs = {group: torch.where(begun, value, self._final[group]) for group, value in fresh.items()}
        self._not_finite += unsound(torch.zeros_like(self._world, dtype=torch.float32), obs)
        copy_all(self.obs, obs)
        return obs


def copied(step: Step) -> Step:
    """The same step in tensors of the caller's own."""
    alone = ("reward", "terminated", "truncated", "success", "failed")
    groups = ("obs", "final_obs", "terms", "ends")
    return replace(
        step,
        **{name: getattr(step, name).clone() for name in alone},
        **{name: {key: value.clone() for key, value in getattr(step, name).items()} for name in groups},
    )
