"""What a learner may know of a robot: its parts, how they hang together, and its symmetry. Plain data, and no simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class BodyPlan:
    """Which parts a robot has, and to which of them each number of its observations and actions belongs."""

    nodes: tuple[str, ...]
    """The root, which has what belongs to no joint, then the joints that actuators drive; the root alone where they are not two."""
    hops: tuple[tuple[int, ...], ...]
    """How many joints lie between any two nodes, along the kinematic tree."""
    obs: Mapping[str, tuple[int, ...]]
    """The node of each column, by observation group."""
    action: tuple[int, ...]
    """The node of each column of the action."""


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """How numbers change when left and right are exchanged: column i becomes `signs[i]` times what column `sources[i]` was."""

    sources: tuple[int, ...]
    signs: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """What observations and actions would be if left and right were exchanged."""

    obs: Mapping[str, Reflection]
    """By observation group."""
    action: Reflection


def beside(reflections: Sequence[Reflection]) -> Reflection:
    """Of parts that lie side by side."""
    sources: list[int] = []
    for reflection in reflections:
        start = len(sources)
        sources += [start + source for source in reflection.sources]
    return Reflection(sources=tuple(sources), signs=tuple(sign for reflection in reflections for sign in reflection.signs))


class Anatomy(Protocol):
    """How a robot is built, found out when somebody asks."""

    @property
    def plan(self) -> BodyPlan: ...

    @property
    def mirror(self) -> Mirror:
        """An error that says why, where the robot or the task is not symmetric."""
        ...
