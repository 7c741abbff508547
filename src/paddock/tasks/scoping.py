"""Terms of one robot among several: any term of the vocabulary, evaluated as if its robot were alone in the scene."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from paddock.contracts import Layout, Memory, State, Term
from paddock.errors import PaddockError, unknown

V = TypeVar("V")

_MEMBERS: WeakKeyDictionary[Layout, dict[str, Member]] = WeakKeyDictionary()
"""Members of the layouts in use: found once, because names are searched but once."""


@dataclass(frozen=True)
class Of:
    """A term of one member of a team; what the term returns.

    The term finds the member's joints, sensors, actuators and bodies by their own names, and only the member's columns in
    qpos, qvel, ctrl and the actions. Commands and memories of the task that begin with the member's name are its own, under
    the rest of their name; the others it shares. `act` and `fields` are those of the whole scene.
    """

    robot: str
    term: Term

    def __call__(self, state: State) -> Tensor:
        return self.term(alone(state, self.robot))


@dataclass(frozen=True)
class MemoryOf:
    """A memory or command of one member, such as `"left/goal": MemoryOf("left", GoalOnRing(...))`; terms `Of` it read `goal`."""

    robot: str
    memory: Memory

    def start(self, state: State) -> Tensor:
        return self.memory.start(alone(state, self.robot))

    def next(self, state: State) -> Tensor:
        return self.memory.next(alone(state, self.robot))


@dataclass(frozen=True)
class Beside:
    """Several terms side by side, such as the actions of every member; (n, sum of their columns)."""

    terms: tuple[Term, ...]

    def __call__(self, state: State) -> Tensor:
        values = [term(state) for term in self.terms]
        return torch.cat([value if value.ndim == 2 else value[:, None] for value in values], dim=1)


def alone(state: State, robot: str) -> State:
    """The state as the terms of one member see it."""
    if state.action.shape[1] != state.layout.ctrl_low.shape[0]:
        raise PaddockError(
            f"the task acts with {state.action.shape[1]} numbers on {state.layout.ctrl_low.shape[0]} actuators, so those of "
            f"'{robot}' cannot be told. `Of` needs an act with one number for each actuator."
        )
    member = _member(state.layout, robot)
    return state.replaced(
        layout=member.layout,
        qpos=state.qpos[:, member.qpos],
        qvel=state.qvel[:, member.qvel],
        ctrl=state.ctrl[:, member.ctrl],
        action=state.action[:, member.ctrl],
        last_action=state.last_action[:, member.ctrl],
        command=_with_own(state.command, robot),
        memory=_with_own(state.memory, robot),
        sensors=_Readings(state, robot),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    """Where a member's part of a scene lies."""

    layout: Layout
    qpos: slice
    qvel: slice
    ctrl: slice


class _Readings(dict[str, Tensor]):
    """The sensors of a member, read from the whole scene's state: each view is made once, and is known to have been asked for."""

    def __init__(self, state: State, robot: str) -> None:
        super().__init__()
        self._state, self._prefix = state, f"{robot}/"

    def __contains__(self, name: object) -> bool:
        return f"{self._prefix}{name}" in self._state.layout.sensors

    def __getitem__(self, name: str) -> Tensor:
        return self._state.sensor(self._prefix + name)


def _member(layout: Layout, robot: str) -> Member:
    if layout not in _MEMBERS:
        _MEMBERS[layout] = {}
    members = _MEMBERS[layout]
    if robot not in members:
        members[robot] = _found(layout, robot)
    return members[robot]


def _found(layout: Layout, robot: str) -> Member:
    named = (*layout.qpos, *layout.actuators, *layout.sensors)
    if not any(name.startswith(f"{robot}/") for name in named):
        raise unknown("robot of the team", robot, {name.split("/")[0] for name in named if "/" in name})
    qpos, qvel, ctrl = (_span(_own(part, robot)) for part in (layout.qpos, layout.qvel, layout.actuators))
    per_actuator = ("home_joint", "on_joint", "ctrl_low", "ctrl_high", "ctrl_middle", "ctrl_half")
    own = replace(
        layout,
        sensors=_own(layout.sensors, robot),  # columns of sensordata, which stays whole
        bodies=_own(layout.bodies, robot),
        qpos=_shifted(_own(layout.qpos, robot), qpos.start),
        qvel=_shifted(_own(layout.qvel, robot), qvel.start),
        actuators=_shifted(_own(layout.actuators, robot), ctrl.start),
        home_qpos=layout.home_qpos[qpos],
        home_room=layout.home_room[qpos],
        nv=qvel.stop - qvel.start,
        **{name: getattr(layout, name)[ctrl] for name in per_actuator},
    )
    return Member(layout=own, qpos=qpos, qvel=qvel, ctrl=ctrl)


def _own(named: Mapping[str, V], robot: str) -> dict[str, V]:
    """What begins with the robot's name, by the rest of it."""
    prefix = f"{robot}/"
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}


def _with_own(named: dict[str, Tensor], robot: str) -> dict[str, Tensor]:
    """Everything, and the robot's own under the rest of its name: a memory that is being advanced looks for its full one."""
    return named | _own(named, robot)


def _span(columns: Mapping[str, slice]) -> slice:
    """From the first to the last: a team's members lie one behind the other."""
    if not columns:
        return slice(0, 0)
    return slice(min(c.start for c in columns.values()), max(c.stop for c in columns.values()))


def _shifted(columns: Mapping[str, slice], by: int) -> dict[str, slice]:
    return {name: slice(c.start - by, c.stop - by) for name, c in columns.items()}
