"""What all noisy observations of a task report, remembered together: their errors are drawn at once, in a dozen operations.

Most errors add to the truth without looking at it. Those that stand first in the noise of each observation are merged, as
independent normal errors may be, and added to the columns of all observations side by side; what follows them (whole steps,
lost readings) is applied to each observation by itself. Every observation draws from streams of its own name, so what one
reports does not depend on which others are noisy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from paddock import randomness
from paddock.contracts import Layout, State, Term
from paddock.errors import PaddockError
from paddock.tasks.memories import own
from paddock.tasks.noise import Additive, Forgetful, Noise, Spread, Spreads, Stage, some, stages_of

READINGS = "noise/readings"
"""Name of the memory."""

Streams = tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Readings:
    """The memory of all noisy observations: what each reports, then what their errors remember; (n, size)."""

    terms: Mapping[str, Term]
    noise: Mapping[str, Noise]
    scales: tuple[str, ...] = ()
    """Randomised parameters that the errors are multiplied by."""

    def start(self, state: State) -> Tensor:
        plan = self.plan(state)
        drawn = randomness.coarse_normal(state.key, plan.begin, state.age)
        offset = drawn[:, plan.whites :] * state.constant(plan.bias)
        return self._reported(state, plan, drawn, offset, None)

    def next(self, state: State) -> Tensor:
        plan, kept = self.plan(state), own(state)
        drawn = randomness.coarse_normal(state.key, plan.onward, state.age)
        offset = kept[:, plan.kept_offset]
        if plan.walk:
            before, walking, behind = offset.split(plan.offset_parts, dim=1)
            walked = walking + drawn[:, plan.whites :] * state.constant(plan.walk)
            offset = torch.cat([before, walked, behind], dim=1)
        return self._reported(state, plan, drawn, offset, kept)

    def plan(self, state: State) -> Plan:
        """Where everything lies: found once for a layout."""
        if state.layout not in self._plans:
            widths = {name: columns(self.terms[name](state)).shape[1] for name in self.noise}
            self._plans[state.layout] = plan_of(self.noise, widths, state.layout.control_dt)
        return self._plans[state.layout]

    @cached_property
    def _plans(self) -> WeakKeyDictionary[Layout, Plan]:
        return WeakKeyDictionary()

    def _reported(self, state: State, plan: Plan, drawn: Tensor, offset: Tensor, kept: Tensor | None) -> Tensor:
        clean = torch.cat([columns(self.terms[name](state)) for name in plan.columns], dim=1)
        reading = clean.clone() if self.scales else clean
        if plan.white:
            reading[:, : plan.whites].addcmul_(drawn[:, : plan.whites], state.constant(plan.white))
        if plan.bias:
            reading[:, plan.offset].add_(offset)
        remembered: list[Tensor] = []
        for name, stage, where, own_part in plan.stages:
            before, scoped = reading[:, where], state.scoped(name)
            if isinstance(stage, Forgetful):
                reading[:, where] = stage.read(scoped, before)
                continue
            if kept is None:
                after = stage.start(scoped, before)
            else:
                after = stage.next(scoped, before, kept[:, own_part].unflatten(1, (-1, stage.slots)))
            reading[:, where] = after[:, :, 0]
            remembered.append(after.flatten(1))
        return torch.cat([self._scaled(state, clean, reading), offset, *remembered], dim=1)

    def _scaled(self, state: State, clean: Tensor, reading: Tensor) -> Tensor:
        for name in self.scales:
            reading = torch.lerp(clean, reading, state.params[name])
        return reading


@dataclass(frozen=True, eq=False)
class Reading:
    """What a noisy observation reports; (n, k)."""

    readings: Readings
    name: str

    def __call__(self, state: State) -> Tensor:
        return state.memory[READINGS][:, self.readings.plan(state).columns[self.name]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where everything lies in the memory, and how large the errors are.

    Observations stand in an order in which white noise, offsets and walks are runs of columns: those with white noise first, then
    those with an offset, those whose offset walks in the middle of these.
    """

    columns: Mapping[str, slice]
    """Of each observation's readings."""
    white: tuple[float, ...]
    """Deviation of each column that has white noise; these are the first."""
    bias: tuple[float, ...]
    """Deviation of each column that has an offset, when an episode begins."""
    offset: slice
    """These columns."""
    walk: tuple[float, ...]
    """Deviation of the change in a step of each offset that walks."""
    offset_parts: tuple[int, int, int]
    """How many offsets stand still, walk, and stand still."""
    begin: Streams
    onward: Streams
    """What is drawn when an episode begins, and in every step: white noise, then offsets or walks."""
    stages: tuple[tuple[str, Stage, slice, slice], ...]
    """What follows: the scope it draws in, its observation's columns, and those of the memory that are its own."""

    @property
    def whites(self) -> int:
        return len(self.white)

    @cached_property
    def kept_offset(self) -> slice:
        """Where the memory holds the offsets: behind the readings."""
        width = max(where.stop for where in self.columns.values())
        return slice(width, width + len(self.bias))


def plan_of(noise: Mapping[str, Noise], widths: Mapping[str, int], control_dt: float) -> Plan:
    """The plan of observations with so many columns each."""
    heads, tails = {}, {}
    for name, one in noise.items():
        chained = stages_of(one)
        head = tuple(takewhile(lambda stage: isinstance(stage, Additive), chained))
        spreads = [stage.spreads(control_dt) for stage in head if isinstance(stage, Additive)]
        heads[name], tails[name] = _merged(spreads, f"{one} of '{name}'", widths[name]), chained[len(head) :]
    order = sorted(noise, key=lambda name: _group(heads[name]))
    where: dict[str, slice] = {}
    at = 0
    for name in order:
        where[name] = slice(at, at + widths[name])
        at += widths[name]
    has_white = [name for name in order if some(heads[name].white)]
    has_offset = [name for name in order if some(heads[name].bias) or some(heads[name].walk)]
    walks = [name for name in has_offset if some(heads[name].walk)]
    bias = tuple(one for name in has_offset for one in heads[name].bias)
    at += len(bias)
    stages: list[tuple[str, Stage, slice, slice]] = []
    for name, tail in tails.items():
        for i, stage in enumerate(tail):
            size = 0 if isinstance(stage, Forgetful) else widths[name] * stage.slots
            stages.append((f"noise/{name}/{i}", stage, where[name], slice(at, at + size)))
            at += size
    before = sum(widths[name] for name in has_offset[: has_offset.index(walks[0])]) if walks else 0
    walk = tuple(one for name in walks for one in heads[name].walk)
    white_streams = tuple((f"noise/{name}:white", widths[name]) for name in has_white)
    return Plan(
        columns=where,
        white=tuple(one for name in has_white for one in heads[name].white),
        bias=bias,
        offset=slice(where[has_offset[0]].start, where[has_offset[-1]].stop) if has_offset else slice(0, 0),
        walk=walk,
        offset_parts=(before, len(walk), len(bias) - before - len(walk)),
        begin=(*white_streams, *((f"noise/{name}:bias", widths[name]) for name in has_offset)),
        onward=(*white_streams, *((f"noise/{name}:walk", widths[name]) for name in walks)),
        stages=tuple(stages),
    )


@dataclass(frozen=True, kw_only=True)
class _Head:
    """Deviations of the merged errors of one observation, by column."""

    white: tuple[float, ...]
    bias: tuple[float, ...]
    walk: tuple[float, ...]


def _merged(spreads: list[Spreads], owner: str, width: int) -> _Head:
    """Independent normal errors add up to one whose variance is the sum of theirs."""

    def merged(kind: str) -> tuple[float, ...]:
        each = [_by_column(getattr(one, kind), owner, width) for one in spreads]
        return tuple(math.hypot(*(one[column] for one in each)) for column in range(width))

    return _Head(white=merged("white"), bias=merged("bias"), walk=merged("walk"))


def _by_column(spread: Spread, owner: str, width: int) -> tuple[float, ...]:
    if not isinstance(spread, tuple):
        return (spread,) * width
    if len(spread) != width:
        raise PaddockError(f"noise {owner}: {len(spread)} spreads for {width} columns.")
    return spread


def _group(head: _Head) -> int:
    """White noise alone, white noise and an offset, the same with a walk, a walk, an offset."""
    if some(head.white):
        return 2 if some(head.walk) else 1 if some(head.bias) else 0
    return 3 if some(head.walk) else 4 if some(head.bias) else 5


def columns(value: Tensor) -> Tensor:
    """(n,) as (n, 1); (n, k) as it is."""
    return value if value.ndim == 2 else value[:, None]
