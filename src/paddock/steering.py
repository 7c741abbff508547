"""What somebody may tell a simulation that runs: orders checked at the door, and commands that stay as they were told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from paddock.contracts import Memory, State
from paddock.dragging import Drag
from paddock.errors import PaddockError, unknown
from paddock.messages.cockpit import CommandPart, PlayCommand
from paddock.tasks.task import Task

SLOWEST, FASTEST = 0.05, 8.0
"""Simulated seconds in a second."""
FAR = 1000.0
"""Metres from the origin to which nobody reaches."""
PLAIN = ("pause", "resume", "step", "reset", "release")
PARTS: dict[str, tuple[tuple[str, str], ...]] = {"velocity": (("ahead", "m/s"), ("left", "m/s"), ("turn", "rad/s"))}
"""Names and units of the numbers of a command, where everybody means the same by it."""


@dataclass(frozen=True)
class Plainly:
    """To pause, resume, step, reset or release."""

    do: str


@dataclass(frozen=True)
class Speed:
    value: float


@dataclass(frozen=True)
class Command:
    """Values of commands by name; None gives one back to the task."""

    values: dict[str, tuple[float, ...] | None]


Order = Plainly | Speed | Command | Drag


@dataclass(frozen=True)
class Told:
    """A command that is the task's own until somebody sets it. It remembers what was told by name, for all worlds."""

    name: str
    inner: Memory
    told: dict[str, tuple[float, ...]] = field(compare=False)

    def start(self, state: State) -> Tensor:
        return self._or_told(state, self.inner.start(state))

    def next(self, state: State) -> Tensor:
        return self._or_told(state, self.inner.next(state))

    def _or_told(self, state: State, value: Tensor) -> Tensor:
        told = self.told.get(self.name)
        return value if told is None else state.constant(told).expand_as(value)


def steerable(task: Task) -> tuple[Task, dict[str, tuple[float, ...]]]:
    """The same task with commands that follow what is put into the dictionary."""
    told: dict[str, tuple[float, ...]] = {}
    commands = {name: Told(name, memory, told) for name, memory in task.command.items()}
    return replace(task, command=commands), told


def ranges_of(task: Task) -> dict[str, list[tuple[float, float]]]:
    """Between what the task draws the numbers of each command; one that does not say so cannot be told."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, memory in task.command.items():
        low, high = getattr(memory, "low", None), getattr(memory, "high", None)
        if isinstance(low, tuple) and isinstance(high, tuple) and len(low) == len(high):
            found[name] = list(zip(low, high, strict=True))
    return found


def commands_of(ranges: Mapping[str, list[tuple[float, float]]], values: Mapping[str, list[float]]) -> tuple[PlayCommand, ...]:
    """The same for a page, with the present values."""
    return tuple(
        PlayCommand(
            name=name,
            parts=tuple(
                CommandPart(name=own, low=low, high=high, value=min(max(value, low), high), unit=unit)
                for (own, unit), (low, high), value in zip(_parts(name, len(spans)), spans, values[name], strict=True)
            ),
        )
        for name, spans in ranges.items()
    )


def _parts(name: str, count: int) -> tuple[tuple[str, str], ...]:
    known = PARTS.get(name, ())
    return known if len(known) == count else tuple((name if count == 1 else f"{name} {i}", "") for i in range(count))


def order_of(what: object, ranges: Mapping[str, list[tuple[float, float]]]) -> Order:
    """The order in what was sent, such as {"do": "speed", "value": 0.5}; refused where it is none."""
    asked: dict[str, Any] = what if isinstance(what, dict) else {}
    do = asked.get("do")
    if do in PLAIN:
        return Plainly(do)
    match do:
        case "speed":
            value = _numbers("the speed", [asked.get("value")], 1)[0]
            if not SLOWEST <= value <= FASTEST:
                raise PaddockError(f"the speed is {value:g}; wanted {SLOWEST:g} to {FASTEST:g}.")
            return Speed(value)
        case "command":
            values = asked.get("values")
            if not isinstance(values, dict) or not values:
                raise PaddockError('a command is told as {"do": "command", "values": {"velocity": [0.3, 0, 0]}}.')
            return Command({name: _within(name, value, ranges) for name, value in values.items()})
        case "drag":
            world, body = asked.get("world", 0), asked.get("body")
            if type(world) is not int or type(body) is not int:
                raise PaddockError("a drag names the numbers of a world and of a body.")
            point, target = (_numbers(f"the {name}", asked.get(name), 3) for name in ("point", "target"))
            return Drag(world=world, body=body, point=point[:3], target=target[:3])  # pyright: ignore[reportArgumentType]
    raise unknown("order", str(do)[:40], (*PLAIN, "speed", "command", "drag"))


def _within(name: str, value: object, ranges: Mapping[str, list[tuple[float, float]]]) -> tuple[float, ...] | None:
    if name not in ranges:
        raise unknown("command", name[:40], ranges)
    if value is None:
        return None
    numbers = _numbers(f"command '{name}'", value, len(ranges[name]))
    for number, (low, high) in zip(numbers, ranges[name], strict=True):
        if not low <= number <= high:
            raise PaddockError(f"command '{name}' is {number:g}; wanted {low:g} to {high:g}.")
    return numbers


def _numbers(what: str, value: object, count: int) -> tuple[float, ...]:
    if (
        not isinstance(value, list)
        or len(value) != count
        or not all(isinstance(number, int | float) and type(number) is not bool and abs(number) <= FAR for number in value)
    ):
        raise PaddockError(f"{what} is {str(value)[:60]}; wanted {count} number{'s' * (count > 1)}, each at most {FAR:g}.")
    return tuple(float(number) for number in value)
