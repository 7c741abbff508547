"""Several seeds as one number, how sure it is, and whether two sets of them differ.

A handful of seeds is little, and learning curves have outliers: so interquartile means instead of means, bootstrap intervals
instead of deviations, and a permutation test that says when there are too few seeds to show anything at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

RESAMPLES = 10_000
SURE = 0.05
"""A difference that equals would show less often than this is called one."""


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """What several seeds have in common."""

    count: int
    middle: float
    """Interquartile mean."""
    low: float
    high: float
    """Where it would lie 19 times out of 20, had other seeds been drawn; with one seed, nobody knows."""

    def __str__(self) -> str:
        if self.count < 2:
            return f"{self.middle:.4g}"
        return f"{self.middle:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One set of seeds against another."""

    gap: Aggregate
    """The first's interquartile mean minus the second's."""
    chance: float
    """How often sets drawn from one and the same would be apart this much, by exchanging seeds between them."""
    least_chance: float
    """The smallest that this many seeds can show."""

    @property
    def is_sure(self) -> bool:
        return self.chance < SURE


def aggregate(values: Sequence[float]) -> Aggregate:
    """The interquartile mean of a few values, with its bootstrap interval."""
    drawn = interquartile_mean(_resampled(values, 0))
    low, high = np.percentile(drawn, (2.5, 97.5)) if len(values) > 1 else (np.nan, np.nan)
    return Aggregate(count=len(values), middle=float(interquartile_mean(np.array(values))), low=float(low), high=float(high))


def differ(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Whether two sets of values differ, and by how much."""
    gaps = interquartile_mean(_resampled(first, 0)) - interquartile_mean(_resampled(second, 1))
    low, high = np.percentile(gaps, (2.5, 97.5))
    gap = interquartile_mean(np.array(first)) - interquartile_mean(np.array(second))
    chances = _exchanged(np.array([*first, *second]), len(first))
    apart = abs(np.mean(first) - np.mean(second))
    return Difference(
        gap=Aggregate(count=min(len(first), len(second)), middle=float(gap), low=float(low), high=float(high)),
        chance=float(np.mean(chances >= apart * (1 - 1e-9))),
        least_chance=(1 if len(first) != len(second) else 2) / comb(len(first) + len(second), len(first)),
    )


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the middle half along the last axis; of a number of values that four does not divide, parts of some count."""
    n = values.shape[-1]
    edges = np.arange(n + 1) / n
    weights = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0.0, None) * 2
    return np.sort(values, axis=-1) @ weights


def _resampled(values: Sequence[float], stream: int) -> np.ndarray:
    """As many sets of values as it takes, drawn from these with replacement: the same ones each time; (RESAMPLES, n)."""
    rows = np.random.default_rng([20, stream]).integers(len(values), size=(RESAMPLES, len(values)))
    return np.asarray(values, dtype=np.float64)[rows]


def _exchanged(pool: np.ndarray, taken: int) -> np.ndarray:
    """How far the means are apart when `taken` of the pool are one set and the others the other: all ways, or many."""
    n = len(pool)
    if comb(n, taken) <= RESAMPLES:
        rows = np.array(list(combinations(range(n), taken)))
    else:
        rows = np.random.default_rng(20).permuted(np.tile(np.arange(n), (RESAMPLES, 1)), axis=1)[:, :taken]
    first = pool[rows].sum(1)
    return np.abs(first / taken - (pool.sum() - first) / (n - taken))
