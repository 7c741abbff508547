"""Messages as JSON text and back, strictly."""

import json
import types
import typing
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import TypeVar

from paddock.errors import PaddockError

M = TypeVar("M")


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
    if origin is typing.Literal:
        if value not in typing.get_args(kind):
            raise PaddockError(f"{where} is {value!r}, wanted one of {', '.join(map(repr, typing.get_args(kind)))}.")
        return value
    if origin is tuple:
        return _read_tuple(typing.get_args(kind), value, where)
    if origin in (types.UnionType, typing.Union):
        (inner,) = (member for member in typing.get_args(kind) if member is not type(None))
        return None if value is None else _read(inner, value, where)
    if kind is object:
        return value
    if origin is dict and isinstance(value, dict):
        return value
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise PaddockError(f"{where} is {value!r}, wanted {kind.__name__}.")
    return value


def _read_message(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    if not isinstance(value, dict) or not _fit(kind, set(value)):
        got = ", ".join(value) if isinstance(value, dict) else repr(value)
        raise PaddockError(f"{where} has {got or 'nothing'}; wanted exactly {', '.join(names)}.")
    return kind(**{name: _read(hints[name], part, f"{where}.{name}") for name, part in value.items()})


def _fit(kind: typing.Any, names: set[str]) -> bool:
    """Whether a message has all its keys and no other; what was added later has a default, and may be missing."""
    needed = {own.name for own in fields(kind) if own.default is MISSING and own.default_factory is MISSING}
    return needed <= names <= {own.name for own in fields(kind)}


def _read_tuple(members: tuple[typing.Any, ...], value: typing.Any, where: str) -> tuple[typing.Any, ...]:
    if not isinstance(value, list):
        raise PaddockError(f"{where} is {value!r}, wanted a list.")
    if len(members) == 2 and members[1] is Ellipsis:
        members = (members[0],) * len(value)
    if len(members) != len(value):
        raise PaddockError(f"{where} has {len(value)} members, wanted {len(members)}.")
    return tuple(_read(member, item, f"{where}[{i}]") for i, (member, item) in enumerate(zip(members, value, strict=True)))
