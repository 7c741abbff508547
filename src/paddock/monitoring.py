"""An environment in training, with somebody counting: episodes as they end, reward terms, and chosen worlds step by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from paddock.anatomy import Anatomy
from paddock.contracts import Step
from paddock.env import Environment
from paddock.runs.live import Live
from paddock.runs.telemetry import EpisodeBatch, Telemetry
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


class Monitor:
    """Passes a learner's steps on to an environment, and what comes of them to the record."""

    def __init__(self, env: Environment, telemetry: Telemetry, *, watched: int, live: Live) -> None:
        self.env, self.num_worlds, self.device, self.obs_sizes = env, env.num_worlds, env.device, env.obs_sizes
        self.env_steps = 0
        self._telemetry, self._watched, self._live = telemetry, watched, live
        terms = len(env.task.reward)
        self._sums = torch.zeros(env.num_worlds, terms, dtype=torch.float64, device=env.device)
        self._length = torch.zeros(env.num_worlds, dtype=torch.int64, device=env.device)
        self._recent = torch.zeros(RECENT, 3 + terms, dtype=torch.float64)  # return, length, success, terms
        self._episodes = torch.zeros((), dtype=torch.int64)
        self._term_means = torch.zeros(terms, dtype=torch.float64, device=env.device)
        self._ends = torch.zeros(len(causes_of(env)), dtype=torch.int64)
        self._steps = 0
        self._failed_before = 0  # worlds the engine gave up on in earlier processes

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

    def step(self, action: Tensor, /) -> Step:
        acted_on = self.env.obs["policy"][: self._watched]
        number = self.env.episode.clone()
        step = self.env.step(action)
        self.env_steps += self.num_worlds
        self._steps += 1
        terms = torch.stack(list(step.terms.values()), dim=1)
        self._sums += terms
        self._length += 1
        self._term_means += terms.mean(0)
        if step.ended.any():
            self._ended(step, number)
        if self._watched:
            self._telemetry.step_row(self.env_steps, self._row(acted_on, action, step, terms))
        if self._live.wanted:
            self._live.frame(self.env_steps, self.env.state.qpos, self.env.state.age)
        return step

    def _row(self, acted_on: Tensor, action: Tensor, step: Step, terms: Tensor) -> np.ndarray:
        k = self._watched
        return torch.cat([acted_on, action[:k], step.reward[:k, None], step.ended[:k, None], terms[:k]], dim=1).cpu().numpy()

    def _ended(self, step: Step, number: Tensor) -> None:
        rows = step.ended.nonzero()[:, 0]
        sums, length, total = self._sums[rows], self._length[rows], self._sums[rows].sum(1)
        known = self.env.task.success is not None
        success = step.success[rows].to(torch.int8) if known else torch.full_like(rows, -1, dtype=torch.int8)
        why = cause(step)[rows]
        self._telemetry.episodes(
            self.env_steps,
            EpisodeBatch(
                world=rows.cpu().numpy(),
                episode=number[rows].cpu().numpy(),
                length=length.cpu().numpy(),
                total=total.cpu().numpy(),
                success=success.cpu().numpy(),
                cause=why.cpu().numpy(),
                terms=sums.cpu().numpy(),
            ),
        )
        summary = torch.cat([total[:, None], length[:, None], success[:, None], sums], dim=1).cpu()[-RECENT:]
        places = (int(self._episodes) + torch.arange(len(summary))) % RECENT
        self._recent[places] = summary
        self._episodes += len(summary)
        self._ends += torch.bincount(why.cpu(), minlength=len(self._ends))
        self._sums[rows] = 0.0
        self._length[rows] = 0

    def numbers(self) -> dict[str, float]:
        """What happened since the last call, by name; episodes as means over the last hundred."""
        env, steps = self.env, max(self._steps, 1)
        found = {f"reward/{name}": value / steps for name, value in zip(env.task.reward, self._term_means.tolist(), strict=True)}
        found |= {f"ended/{name}": float(count) for name, count in zip(causes_of(env), self._ends.tolist(), strict=True)}
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
