"""Tasks that begin easy and grow as they are mastered, each world at its own pace."""

from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.errors import PaddockError

CURRICULUM = "curriculum"
"""Its name among `State.params`: level and rolling score of each world; (n, 2)."""


@dataclass(frozen=True, kw_only=True)
class Curriculum:
    """How hard a world's next episode may be: a level from 0 to 1, one step up or down by a rolling score of its last ones.

    Only training goes through the levels. Everywhere else a task is the whole task, at level 1. What grows says so itself:
    `UniformCommand(easy=...)`, `OnTerrain`, or any term that reads `level`.
    """

    score: Term | None = None
    """What an episode earned, from 0 to 1, read at its last step; without one, whether it succeeded."""
    window: float = 3.0
    """Episodes that the rolling score looks back on."""
    up: float = 0.8
    """A rolling score from here on leads to the next level."""
    down: float = 0.4
    """One below this leads back."""
    levels: int = 10
    """Steps from 0 to 1."""
    begin: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.down < self.up <= 1 and 0 <= self.begin <= 1 and self.levels >= 1 and self.window >= 1):
            raise PaddockError(f"{self}: wanted 0 <= down < up <= 1, begin within 0 and 1, and at least one level and episode.")

    def fresh(self, level: float) -> tuple[float, float]:
        """A world's level and score before it has done anything."""
        return level, (self.up + self.down) / 2

    def next(self, kept: Tensor, score: Tensor) -> Tensor:
        """Level and score after an episode that earned `score` (n,); (n, 2)."""
        level, rolling = kept.unbind(1)
        rolling = rolling + (score - rolling) / self.window
        rises, falls = rolling >= self.up, rolling < self.down
        level = (level + (rises.to(level.dtype) - falls.to(level.dtype)) / self.levels).clamp(0.0, 1.0)
        return torch.stack([level, torch.where(rises | falls, (self.up + self.down) / 2, rolling)], dim=1)


def level(state: State) -> Tensor:
    """How far each world's curriculum has come, 1 where the task has none; (n, 1)."""
    kept = state.params.get(CURRICULUM)
    return torch.ones_like(state.time)[:, None] if kept is None else kept[:, :1]


def grown(state: State, easy: float) -> Tensor:
    """The part of a range that is open: `easy` at level 0, all of it at level 1; (n, 1)."""
    return easy + (1.0 - easy) * level(state)
