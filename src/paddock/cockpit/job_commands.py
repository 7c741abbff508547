"""A request and its form -> the words of a command: never a line for a shell, and no setting that the form does not have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from paddock.errors import PaddockError, unknown
from paddock.messages.cockpit import Form, FormField, JobRequest

WANTED = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "text": "text",
    "choice": "one of its choices",
    "integers": "a list of whole numbers",
}
MAX_TEXT, MAX_INTEGERS = 1000, 32
ABOVE = ("seed", "sim")
"""Members of the request itself, which are no settings."""


def train_command(request: JobRequest, form: Form, *, run: str, runs_dir: Path) -> tuple[str, ...]:
    """The words behind `paddock` that train anew, as the run of that id."""
    known = {field.name: field for group in form.groups for field in group.fields}
    settings = dict(request.settings or {})
    for name in settings:
        if name not in known or name in ABOVE:
            raise unknown("setting", name[:80], [own for own in known if own not in ABOVE])
    flags = [flag for name, value in settings.items() for flag in _flags(known[name], value)]
    seed = _flags(known["seed"], request.seed)
    head = ("train", form.task, f"--preset={form.preset}", f"--sim={form.sim}")
    return *head, *seed, *flags, f"--id={run}", f"--runs-dir={runs_dir}"


def resume_command(request: JobRequest, *, runs_dir: Path) -> tuple[str, ...]:
    """The words behind `paddock` that go on with a run."""
    if request.steps < 0 or request.minutes < 0 or not math.isfinite(request.minutes):
        raise PaddockError(f"steps is {request.steps} and minutes is {request.minutes}; neither can be negative.")
    further = [f"--steps={request.steps}"] * (request.steps > 0) + [f"--minutes={request.minutes}"] * (request.minutes > 0)
    return "resume", str(runs_dir / request.resume), *further, f"--runs-dir={runs_dir}"


def _flags(field: FormField, value: object) -> Iterator[str]:
    """The words that give a setting a value."""
    _check(field, value)
    name = field.name.replace("_", "-")
    if field.kind == "boolean":
        group, _, own = name.rpartition(".")
        negated = f"--{group}.no-{own}" if group else f"--no-{own}"
        if value != field.default:
            yield f"--{name}" if value else negated
    elif isinstance(value, list | tuple):
        yield f"--{name}"
        yield from (str(part) for part in value)
    else:
        yield f"--{name}={value}"


def _check(field: FormField, value: object) -> None:
    """Refuse what a setting cannot be."""
    if not _is_kind(field, value):
        shown = repr(value)[:80]
        raise PaddockError(f"setting {field.name} is {shown}; wanted {WANTED[field.kind]}.")
    for number in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(number, int | float):
            continue
        low, high = (-math.inf if field.low is None else field.low), (math.inf if field.high is None else field.high)
        if not low <= number <= high:
            raise PaddockError(f"{field.name} is {number}; wanted {low:g} {'or more' if high == math.inf else f'to {high:g}'}.")


def _is_kind(field: FormField, value: object) -> bool:
    match field.kind:
        case "integer":
            return type(value) is int
        case "number":
            return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)
        case "boolean":
            return type(value) is bool
        case "choice":
            return value in field.choices
        case "integers":
            return isinstance(value, list | tuple) and 0 < len(value) <= MAX_INTEGERS and all(type(part) is int for part in value)
        case _:
            return isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable()
