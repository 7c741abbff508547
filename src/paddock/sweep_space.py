"""What a sweep searches: a range or a choice for each setting, as people write them on a command line.

ppo.learning_rate=1e-4:1e-2:log     between two ends, evenly in the logarithm
ppo.horizon=8:64                    between two ends; whole numbers where the setting is one
ppo.minibatches=2,4,8               one of these
ppo.hidden=64,64|128,128            one of these, where a value has commas of its own
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from paddock.configuring import TrainConfig
from paddock.errors import PaddockError, unknown

if TYPE_CHECKING:
    import optuna

Value = bool | int | float | str | list[int]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One setting that is searched."""

    name: str
    """Dotted, as in `ppo.learning_rate`."""
    kind: Any
    """Type of the setting."""
    ends: tuple[float, float] | None = None
    log: bool = False
    choices: tuple[str, ...] = ()
    """As they were written; a range has none."""

    def draw(self, trial: optuna.Trial) -> Value:
        """A value for one trial."""
        if self.choices:
            return _value(trial.suggest_categorical(self.name, self.choices), self.kind, self.name)
        assert self.ends is not None
        low, high = self.ends
        if self.kind is int:
            return trial.suggest_int(self.name, round(low), round(high), log=self.log)
        return trial.suggest_float(self.name, low, high, log=self.log)

    def extremes(self) -> tuple[Value, ...]:
        """Every choice, or both ends: what must be possible for all draws to be."""
        if self.ends is None:
            return tuple(_value(choice, self.kind, self.name) for choice in self.choices)
        return tuple(round(end) if self.kind is int else end for end in self.ends)

    def read(self, drawn: bool | int | float | str) -> Value:
        """The setting's value from what the study stores of a draw: a choice as it was written, or a number."""
        return _value(drawn, self.kind, self.name) if isinstance(drawn, str) else drawn


def setting(name: str, text: str) -> tuple[str, Value]:
    """A setting's own name, and the value that a text means for it."""
    name, kind = _named(name)
    return name, _value(text, kind, name)


def axis(name: str, text: str) -> Axis:
    """The axis that a text describes."""
    (name, kind), text = _named(name), text.strip()
    if ":" in text:
        return _range(name, kind, text)
    words = text.split("|") if "|" in text or kind is tuple else text.split(",")
    choices = tuple(word.strip() for word in words)
    if len(set(choices)) < 2 or not all(choices):
        raise PaddockError(f"{name}={text} leaves nothing to search: give a range, 1e-4:1e-2, or several choices, 2,4,8.")
    found = Axis(name=name, kind=kind, choices=choices)
    found.extremes()
    return found


def nested(settings: Mapping[str, object]) -> dict[str, Any]:
    """`{"ppo.horizon": 8}` as `{"ppo": {"horizon": 8}}`."""
    result: dict[str, Any] = {}
    for name, value in settings.items():
        group, _, leaf = name.rpartition(".")
        (result.setdefault(group, {}) if group else result)[leaf] = value
    return result


def _named(name: str) -> tuple[str, Any]:
    """A setting and its type; dashes do for underscores."""
    name, kinds = name.strip().replace("-", "_"), dict(_kinds(TrainConfig))
    if name not in kinds:
        raise unknown("setting", name, kinds)
    return name, kinds[name]


def _range(name: str, kind: Any, text: str) -> Axis:
    low, high, *rest = [*text.split(":"), ""][:3]
    if kind not in (int, float):
        raise PaddockError(f"{name} is no number, so {text} is no range of it: give choices, such as a|b.")
    if text.count(":") > 2 or rest[0] not in ("", "log"):
        raise PaddockError(f"{name}={text} cannot be read; wanted low:high or low:high:log.")
    ends = _number(low, kind, name), _number(high, kind, name)
    if not ends[0] < ends[1]:
        raise PaddockError(f"{name}={text}: {low} is not below {high}.")
    if rest[0] and ends[0] <= 0:
        raise PaddockError(f"{name}={text}: {low} has no logarithm; begin above 0.")
    return Axis(name=name, kind=kind, ends=ends, log=bool(rest[0]))


def _value(text: object, kind: Any, name: str) -> Value:
    word = str(text).strip()
    if kind is tuple:
        return [int(_number(part, int, name)) for part in word.split(",")]
    if kind is bool:
        if word.lower() not in ("true", "false"):
            raise PaddockError(f"{name} is true or false, not '{word}'.")
        return word.lower() == "true"
    if kind in (int, float):
        number = _number(word, kind, name)
        return int(number) if kind is int else number
    return word


def _number(word: str, kind: Any, name: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise PaddockError(f"{name} is a number, not '{word.strip()}'.") from None
    if kind is int and not value.is_integer():
        raise PaddockError(f"{name} is a whole number, not {word.strip()}.")
    return value


def _kinds(kind: Any, group: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its dotted name, with its type; a list of numbers is `tuple`."""
    hints = get_type_hints(kind)
    for own in fields(kind):
        hint = hints[own.name]
        if is_dataclass(hint):
            yield from _kinds(hint, f"{group}{own.name}.")
        else:
            yield f"{group}{own.name}", getattr(hint, "__origin__", hint)
