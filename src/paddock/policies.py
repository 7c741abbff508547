"""Policies and learners, as everybody else sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from torch import Tensor

from paddock.contracts import Env, Obs

Carried = dict[str, Tensor]
"""What a policy remembers from one step to the next, by name; (n, ...) each. All zero when an episode begins."""


class Policy(Protocol):
    """From observations to actions."""

    def act(self, obs: Obs, /) -> Tensor:
        """Actions within [-1, 1]; (n, na)."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A policy that may remember, and may see pictures. Training, evaluations and exports carry its memory for it."""

    @property
    def pictures(self) -> tuple[str, ...]:
        """The observation groups that are pictures and that it looks at."""
        ...

    def begin(self, num_worlds: int, /) -> Carried:
        """What it remembers when an episode begins; empty for a policy without memory."""
        ...

    def decide(self, obs: Obs, memory: Carried, /) -> tuple[Tensor, Carried]:
        """The most likely action, not yet clipped to [-1, 1] (n, na), and what to remember until the next step."""
        ...


def forgotten(memory: Carried, where: Tensor) -> Carried:
    """The memory, empty in the worlds `where` holds; (n,) bool."""
    return {name: value.masked_fill(where.view(-1, *[1] * (value.ndim - 1)), 0.0) for name, value in memory.items()}


class Learner(Protocol):
    """From experience to weights. Returns numbers; never prints, logs or touches files."""

    @property
    def policy(self) -> Policy: ...

    def update(self, env: Env, /) -> dict[str, float]:
        """Collect from the environment, learn from it, and return what to log."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Weights, optimiser and normalisers, for a checkpoint."""
        ...

    def load(self, saved: Mapping[str, Tensor], /) -> None: ...
