"""What the training loop hands to the writer thread: a few rows at a time, owned by nobody else."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

PER_OBJECT = 128
"""Bytes that a row of Python objects takes in memory, roughly: the bound on the queue need not be exact."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EpisodeBatch:
    """Episodes that ended in one control step; k of them."""

    world: np.ndarray
    """(k,) int."""
    episode: np.ndarray
    """Number of the episode within its world; (k,) int."""
    length: np.ndarray
    """Control steps; (k,) int."""
    total: np.ndarray
    """Return; (k,) float."""
    success: np.ndarray
    """1, 0, or -1 where the task has no success; (k,) int8."""
    cause: np.ndarray
    """What ended it, a place among the causes; (k,) int16."""
    terms: np.ndarray
    """Sum of each reward term; (k, terms) float32."""


@dataclass(frozen=True, eq=False)
class Scalars:
    """Named numbers of one step."""

    step: int
    time: float
    values: Mapping[str, float]

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return PER_OBJECT * (1 + len(self.values))


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes that ended at one step."""

    step: int
    time: float
    batch: EpisodeBatch

    @property
    def rows(self) -> int:
        return len(self.batch.world)

    @property
    def nbytes(self) -> int:
        return PER_OBJECT + sum(array.nbytes for array in vars(self.batch).values())


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive step rows of the chosen worlds: row k belongs to step t0 + k * stride."""

    time: float
    t0: int
    stride: int
    worlds: tuple[int, ...]
    block: np.ndarray
    """(worlds, n, columns) float32."""

    @property
    def rows(self) -> int:
        return len(self.worlds) * self.block.shape[1]

    @property
    def nbytes(self) -> int:
        return PER_OBJECT + self.block.nbytes


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happened, its detail as JSON."""

    step: int
    time: float
    kind: str
    detail: str

    @property
    def rows(self) -> int:
        return 1

    @property
    def nbytes(self) -> int:
        return PER_OBJECT + len(self.detail)


Batch = Scalars | Episodes | Chunk | Event
