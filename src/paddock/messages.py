"""The nouns on disk and on the wire: frozen dataclasses of plain values, the same in JSON and in TypeScript.

A field is a str, int, float, bool, one of those or None, another message, or a tuple of any of these.
"""

import json
import types
import typing
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import TypeVar

from paddock.errors import PaddockError

M = TypeVar("M")


@dataclass(frozen=True, kw_only=True)
class TermRow:
    """A named term of a task: an observation, a reward, a condition, a command, a memory or a randomisation."""

    name: str
    term: str
    """How it is written, such as `Near(velocity_error, 0.35)`."""
    what: str
    """What it means, in a line."""
    shape: tuple[int, ...] | None = None
    """Of one world; () for a number. None where a term has no value of its own."""
    weight: float | None = None
    """Of a reward."""


@dataclass(frozen=True, kw_only=True)
class ObservationGroup:
    """Terms side by side in one vector: `policy`, or `privileged` for critics."""

    name: str
    size: int
    terms: tuple[TermRow, ...]


@dataclass(frozen=True, kw_only=True)
class SensorRow:
    """A sensor of the compiled model."""

    name: str
    kind: str
    size: int
    stage: str
    """What it is computed from: `position` and `velocity` are fresh, `acceleration` belongs to the last substep."""
    unit: str


@dataclass(frozen=True, kw_only=True)
class ActionRow:
    """An actuator and what an action does to it."""

    name: str
    kind: str
    """What ctrl means: `torque`, `force`, `position` or the actuator's own scale."""
    unit: str
    at_minus_one: float
    """ctrl under an action of -1, in the home pose."""
    at_plus_one: float
    low: float | None
    """Limits of ctrl; None where the actuator has none."""
    high: float | None
    force_limit: float | None
    """Largest force or torque, where it is limited."""


@dataclass(frozen=True, kw_only=True)
class TaskCard:
    """Everything `paddock inspect` shows of a task."""

    name: str
    version: int
    summary: str
    robot: str
    sim_stage: str
    control_dt: float
    timestep: float
    substeps: int
    episode_s: float
    episode_steps: int
    act: str
    """How an action within [-1, 1] becomes ctrl."""
    actions: tuple[ActionRow, ...]
    observations: tuple[ObservationGroup, ...]
    sensors: tuple[SensorRow, ...]
    rewards: tuple[TermRow, ...]
    ends: tuple[TermRow, ...]
    success: TermRow | None
    commands: tuple[TermRow, ...]
    memory: tuple[TermRow, ...]
    randomization: tuple[TermRow, ...]
    reset: TermRow
    expert: TermRow | None
    cameras: tuple[str, ...]
    nq: int
    nv: int
    nu: int
    mass: float
    """Of everything that moves, kg."""
    arena_bytes: int
    """Memory for contacts and constraints of each world."""


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """One contender in a comparison."""

    name: str
    """What stepped the worlds."""
    worlds: int
    env_steps_per_s: float
    physics_steps_per_s: float
    ratio: float
    """Env steps per second against the comparison's first row, the median over rounds."""


@dataclass(frozen=True, kw_only=True)
class BenchComparison:
    """What was measured in turns."""

    task: str
    rows: tuple[BenchRow, ...]


@dataclass(frozen=True, kw_only=True)
class BenchRun:
    """A benchmark of one machine."""

    paddock: str
    mujoco: str
    torch: str
    python: str
    machine: str
    rounds: int
    seconds_per_round: float
    kib_per_world: float
    comparisons: tuple[BenchComparison, ...]


def to_json(message: object) -> str:
    """The message as a line of JSON. NaN and infinity are refused: no reader in a browser takes them."""
    assert is_dataclass(message) and not isinstance(message, type)
    return json.dumps(asdict(message), allow_nan=False)


def from_json(cls: type[M], text: str) -> M:
    """The message back. A missing key, an unknown one or a wrong type is an error that says where."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise PaddockError(f"a {cls.__name__} cannot be read: {error}") from None
    return _read(cls, value, cls.__name__)


def _read(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    """`value` as `kind`, which is any type a field may have."""
    origin = typing.get_origin(kind)
    if is_dataclass(kind):
        return _read_message(kind, value, where)
    if origin is tuple:
        return _read_tuple(typing.get_args(kind), value, where)
    if origin in (types.UnionType, typing.Union):
        (inner,) = (member for member in typing.get_args(kind) if member is not type(None))
        return None if value is None else _read(inner, value, where)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise PaddockError(f"{where} is {value!r}, wanted {kind.__name__}.")
    return value


def _read_message(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    if not isinstance(value, dict) or set(value) != set(names):
        got = ", ".join(value) if isinstance(value, dict) else repr(value)
        raise PaddockError(f"{where} has {got or 'nothing'}; wanted exactly {', '.join(names)}.")
    return kind(**{name: _read(hints[name], value[name], f"{where}.{name}") for name in names})


def _read_tuple(members: tuple[typing.Any, ...], value: typing.Any, where: str) -> tuple[typing.Any, ...]:
    if not isinstance(value, list):
        raise PaddockError(f"{where} is {value!r}, wanted a list.")
    if len(members) == 2 and members[1] is Ellipsis:
        members = (members[0],) * len(value)
    if len(members) != len(value):
        raise PaddockError(f"{where} has {len(value)} members, wanted {len(members)}.")
    return tuple(_read(member, item, f"{where}[{i}]") for i, (member, item) in enumerate(zip(members, value, strict=True)))
