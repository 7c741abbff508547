"""Whole episodes on two sides: chaotic trajectories part, but their distributions must not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import comb

import numpy as np

from paddock.aggregates import SURE, aggregate, differ
from paddock.messages.parity import EpisodeStatistic, SideStatistic
from paddock.parity_sides import Played
from paddock.scoring import Rate

POLICY = "policy"
RISK = 0.01
"""How often equal sims would fail by chance, over all statistics of a report together."""


def statistics(played: Mapping[str, tuple[Played, Played]]) -> tuple[EpisodeStatistic, ...]:
    """Return, length, success and ends by cause for each agent, the reference's episodes first."""
    found = [row for agent, (reference, other) in played.items() for row in _of_agent(agent, reference, other)]
    asked = RISK / max(1, len(found))
    return tuple(_verdict(row, asked) for row in found)


def _of_agent(agent: str, reference: Played, other: Played) -> list[EpisodeStatistic]:
    causes = reference.ends | other.ends
    rows = [
        _row(agent, "return", reference.returns, other.returns),
        _row(agent, "length", reference.lengths, other.lengths),
    ]
    if reference.successes:
        rows.append(_row(agent, "success", reference.successes, other.successes, is_rate=True))
    for cause in causes if len(causes) > 1 else ():
        both = [[i < side.ends.get(cause, 0) for i in range(len(side.returns))] for side in (reference, other)]
        rows.append(_row(agent, f"ends/{cause}", *both, is_rate=True))
    return rows


def _row(agent: str, name: str, reference: Sequence[float], other: Sequence[float], *, is_rate: bool = False) -> EpisodeStatistic:
    sides = [_rate(values) if is_rate else _middle(values) for values in (reference, other)]
    return EpisodeStatistic(
        agent=agent,
        name=name,
        episodes=len(reference),
        reference=sides[0],
        other=sides[1],
        chance=differ([float(value) for value in reference], [float(value) for value in other]).chance,
        asked=0.0,
        is_within=all(side.low <= value.value <= side.high for side, value in (sides, sides[::-1])),
        passed=True,
        said="",
    )


def _verdict(row: EpisodeStatistic, asked: float) -> EpisodeStatistic:
    """Apart by more than chance explains; for a trained policy's return and success the usual 5 % are asked of each."""
    is_strict = row.agent == POLICY and row.name in ("return", "success")
    asked = SURE if is_strict else asked
    passed = row.chance >= asked or (is_strict and row.is_within)
    often = f"episodes of one sim would be apart this much in {row.chance:.1%} of cases"
    if 2 / comb(2 * row.episodes, row.episodes) >= asked:
        said = "so few episodes can show nothing"
    elif not passed:
        said = f"a difference: {often}"
    elif row.is_within:
        said = f"each within the other's interval; {often}"
    else:
        said = f"not shown to differ: {often}"
    return replace(row, asked=asked, passed=passed, said=said)


def _rate(values: Sequence[float]) -> SideStatistic:
    rate = Rate(count=int(np.sum(values)), trials=len(values))
    low, high = rate.interval
    return SideStatistic(value=rate.value, low=min(low, rate.value), high=max(high, rate.value))


def _middle(values: Sequence[float]) -> SideStatistic:
    found = aggregate(values)
    return SideStatistic(value=found.middle, low=found.low, high=found.high)
