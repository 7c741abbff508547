"""An environment in training, with somebody counting: episodes as they end, reward terms, and chosen worlds step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from paddock.anatomy import Anatomy
from paddock.contracts import Step
from paddock.env import Environment
from paddock.learn.crew import ALONE, Crew
from paddock.runs.live import Live
from paddock.runs.telemetry import EpisodeBatch, Telemetry
from paddock.showing import Earned, Showing
from paddock.tasks.curriculum import CURRICULUM

RECENT = 100
"""Episodes over which the numbers of training are averaged."""


def causes_of(env: Environment) -> list[str]:
    """What can end an episode, in the order that `cause` counts."""
    return [*env.task.done, "failed", "truncated"]


def cause(step: Step) -> Tensor:
    """What ended each world's episode, as a place among `causes_of`, the first of several; (n,) int64."""
    return torch.stack([*step.ends.values(), step.failed, step.truncated], dim=1).to(torch.int64).argmax(1)


def step_columns(env: Environment) -> list[str]:
    """Names of what is kept of every step of a watched world."""
    numbered = [f"obs/{i}" for i in range(env.obs_sizes["policy"])] + [f"action/{i}" for i in range(env.action_size)]
    return [*numbered, "reward", "ended", *(f"reward/{name}" for name in env.task.reward)]


class EndedEpisodes(NamedTuple):
    """Episodes as they ended: of all worlds, or of those that did; (k, ...) each."""

    number: Tensor
    length: Tensor
    sums: Tensor
    """Of each reward term."""
    success: Tensor
    cause: Tensor


class Note(NamedTuple):
    """What a captured step leaves to be counted."""

    is_end: Tensor
    """(n,) bool."""
    ended: EndedEpisodes
    row: Tensor
    """Of the watched worlds; (k, columns)."""
    earned: Earned


class Monitor:
    """Passes a learner's steps on to an environment, and what comes of them to the record."""

    def __init__(
        self, env: Environment, telemetry: Telemetry | None, *, watched: int, live: Live | None, crew: Crew = ALONE
    ) -> None:
        """Of a crew, the first process has telemetry, and the others have theirs entered there by `share`."""
        self.env, self.num_worlds, self.device, self.obs_sizes = env, env.num_worlds, env.device, env.obs_sizes
        self.env_steps = 0
        self._telemetry, self._live, self._crew = telemetry, live, crew
        self._watched = watched if telemetry is not None else 0
        self._showing = Showing(env)
        self._earned: Earned | None = None
        self._causes = causes_of(env)
        terms = len(env.task.reward)
        self._sums = torch.zeros(env.num_worlds, terms, dtype=torch.float64, device=env.device)
        self._length = torch.zeros(env.num_worlds, dtype=torch.int64, device=env.device)
        self._recent = torch.zeros(RECENT, 3 + terms, dtype=torch.float64)  # return, length, success, terms
        self._episodes = torch.zeros((), dtype=torch.int64)
        self._term_means = torch.zeros(terms, dtype=torch.float64, device=env.device)
        self._ends = torch.zeros(len(self._causes), dtype=torch.int64)
        self._steps = 0
        self._notes: list[Note] = []
        self._failed_before = 0  # worlds the engine gave up on in earlier processes
        self._unshared: list[tuple[Tensor, EndedEpisodes]] = []

    @property
    def action_size(self) -> int:
        return self.env.action_size

    @property
    def image_shapes(self) -> Mapping[str, tuple[int, int, int]]:
        return self.env.image_shapes

    @property
    def anatomy(self) -> Anatomy:
        return self.env.anatomy

    def reset(self, *, seed: int | None = None) -> Step:
        """Begin, the worlds spread over the length of an episode."""
        return self.env.reset(seed=seed, stagger=True)

    @property
    def is_captured(self) -> bool:
        return self.env.is_captured

    def repeated(self, work: Callable[[], None], *, generators: Sequence[torch.Generator] = ()) -> Callable[[], None]:
        """As the environment does it; where steps are captured, they leave notes, which are counted after every repetition."""
        if not self.is_captured:
            return self.env.repeated(work, generators=generators)
        notes: list[Note] = []

        def noting() -> None:
            notes.clear()
            self._notes = notes
            work()

        again = self.env.repeated(noting, generators=generators)

        def counting() -> None:
            again()
            self._count(notes)

        return counting

    def step(self, action: Tensor, /) -> Step:
        if self.is_captured:
            return self._noted(action)
        acted_on = self.env.obs["policy"][: self._watched]
        number = self.env.episode.clone()
        step = self.env.step(action)
        self.env_steps += self.num_worlds * self._crew.size
        self._steps += 1
        terms = torch.stack(list(step.terms.values()), dim=1)
        self._sums += terms
        self._length += 1
        self._term_means += terms.mean(0)
        if step.ended.any():
            self._ended(step, number)
        if self._telemetry is not None and self._watched:
            self._telemetry.step_row(self.env_steps, self._row(acted_on, action, step, terms))
        if self._live is not None and self._live.wanted:
            self._earned = Earned(terms=terms, success=step.success)
            self.show()
        return step

    def show(self, *, paused: bool = False) -> None:
        """Offer the state as it is to whoever watches."""
        if self._live is not None and self._live.wanted:
            self._live.frame(self._showing.shot(self.env_steps, self._earned, self._sums, paused=paused))

    def _noted(self, action: Tensor) -> Step:
        """A step of which nothing is looked at yet."""
        acted_on = self.env.obs["policy"][: self._watched]
        number = self.env.episode.clone()
        step = self.env.step(action)
        terms = torch.stack(list(step.terms.values()), dim=1)
        self._sums += terms
        self._length += 1
        self._term_means += terms.mean(0)
        row = self._columns(acted_on, action, step, terms)
        ended = EndedEpisodes(number, self._length.clone(), self._sums.clone(), step.success, cause(step))
        self._notes.append(Note(step.ended, ended, row, Earned(terms=terms, success=step.success)))
        self._sums.masked_fill_(step.ended[:, None], 0.0)
        self._length.masked_fill_(step.ended, 0)
        return step

    def _count(self, notes: list[Note]) -> None:
        """Enter what a captured rollout left: its episodes, and the watched worlds' steps."""
        if not notes:
            return
        before, every = self.env_steps, self.num_worlds * self._crew.size
        self.env_steps += every * len(notes)
        self._steps += len(notes)
        when, rows = torch.stack([note.is_end for note in notes]).nonzero().unbind(1)
        if len(rows):
            columns = [torch.stack([getattr(note.ended, part) for note in notes])[when, rows] for part in EndedEpisodes._fields]
            self._enter(rows, EndedEpisodes(*columns))
        if self._telemetry is not None and self._watched:
            for i, row in enumerate(torch.stack([note.row for note in notes]).cpu().numpy()):
                self._telemetry.step_row(before + every * (i + 1), row)
        self._earned = notes[-1].earned
        self.show()

    def _row(self, acted_on: Tensor, action: Tensor, step: Step, terms: Tensor) -> np.ndarray:
        return self._columns(acted_on, action, step, terms).cpu().numpy()

    def _columns(self, acted_on: Tensor, action: Tensor, step: Step, terms: Tensor) -> Tensor:
        k = self._watched
        return torch.cat([acted_on, action[:k], step.reward[:k, None], step.ended[:k, None], terms[:k]], dim=1)

    def _ended(self, step: Step, number: Tensor) -> None:
        rows = step.ended.nonzero()[:, 0]
        parts = (number, self._length, self._sums, step.success, cause(step))
        self._enter(rows, EndedEpisodes(*(part[rows] for part in parts)))
        self._sums[rows] = 0.0
        self._length[rows] = 0

    def _enter(self, world: Tensor, ended: EndedEpisodes) -> None:
        """Put episodes that ended (k,) into the record and the running numbers, or aside for whoever keeps them."""
        if self._telemetry is None:
            self._unshared.append((world.cpu(), EndedEpisodes(*(part.cpu() for part in ended))))
            return
        total = ended.sums.sum(1)
        known = self.env.task.success is not None
        success = ended.success.to(torch.int8) if known else torch.full_like(world, -1, dtype=torch.int8)
        why = ended.cause.cpu()
        self._telemetry.episodes(
            self.env_steps,
            EpisodeBatch(
                world=world.cpu().numpy(),
                episode=ended.number.cpu().numpy(),
                length=ended.length.cpu().numpy(),
                total=total.cpu().numpy(),
                success=success.cpu().numpy(),
                cause=why.numpy(),
                terms=ended.sums.cpu().numpy(),
            ),
        )
        summary = torch.cat([total[:, None], ended.length[:, None], success[:, None], ended.sums], dim=1).cpu()[-RECENT:]
        places = (int(self._episodes) + torch.arange(len(summary))) % RECENT
        self._recent[places] = summary
        self._episodes += len(summary)
        self._ends += torch.bincount(why, minlength=len(self._ends))
        if self._live is not None and self._live.focused:
            causes = (self._causes[number] for number in why.tolist())
            self._showing.ended(self.env_steps, world.tolist(), causes, focused=self._live.focused)

    def share(self) -> None:
        """Enter the episodes of the whole crew where its first process keeps the record."""
        if self._crew.is_alone:
            return
        ours, self._unshared = self._unshared, []
        for rank, theirs in enumerate(self._crew.gather(ours)):
            for world, ended in theirs:
                self._enter(world + rank * self.num_worlds, ended)

    def numbers(self) -> dict[str, float]:
        """What happened since the last call, by name; episodes as means over the last hundred."""
        env, steps = self.env, max(self._steps, 1)
        found = {f"reward/{name}": value / steps for name, value in zip(env.task.reward, self._term_means.tolist(), strict=True)}
        found |= {f"ended/{name}": float(count) for name, count in zip(self._causes, self._ends.tolist(), strict=True)}
        count = min(int(self._episodes), RECENT)
        if count:
            means = self._recent[:count].mean(0).tolist()
            found |= {"episode/return": means[0], "episode/length": means[1]}
            if env.task.success is not None:
                found["episode/success"] = means[2]
        if env.curriculum is not None:
            found["curriculum/level"] = float(env.state.params[CURRICULUM][:, 0].mean())
        self._term_means.zero_()
        self._ends.zero_()
        self._steps = 0
        return found | {"episode/count": float(self._episodes), "engine_failures": float(self._failed_before + env.failures)}

    def save(self) -> dict[str, Tensor]:
        """What a resumed run needs to go on counting."""
        names = ("sums", "length", "recent", "episodes")
        counts = {"env_steps": self.env_steps, "failures": self._failed_before + self.env.failures}
        return {name: getattr(self, f"_{name}").clone() for name in names} | {n: torch.tensor(v) for n, v in counts.items()}

    def load(self, saved: Mapping[str, Tensor]) -> None:
        for name in ("sums", "length", "recent", "episodes"):
            getattr(self, f"_{name}").copy_(saved[name])
        self.env_steps, self._failed_before = int(saved["env_steps"]), int(saved["failures"])
