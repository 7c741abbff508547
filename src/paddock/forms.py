"""What a training can be told, as a form that a page can show: names, kinds, presets' values, help and limits.

`python -m paddock.forms form TASK PRESET SIM [FILE...]` and `... tasks [FILE...]` print JSON; a task in a file is known only where
the file is named. Without words it answers questions line by line.
"""

from __future__ import annotations

import json
import os
import sys
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import torch

from paddock.configuring import ANY, LEAST, MOST, TrainConfig, configure, preset_for, presets_of, settle
from paddock.errors import PaddockError, unknown
from paddock.evaluation import FIRST_EVALUATION_SEED
from paddock.field_docs import docs_of
from paddock.learn.precision import PRECISIONS
from paddock.listing import known_tasks
from paddock.messages import to_json
from paddock.messages.cockpit import FieldKind, Form, FormField, FormGroup, TaskList, TaskRow
from paddock.robots import ROBOTS
from paddock.tasks import FAMILY_NAMES
from paddock.tasks.finding import find_task

SIMS = ("cpu", "gpu")
"""As many as there can be; `sims_here` has those that run on this machine."""
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "length": ("How long", ("steps", "minutes")),
    "worlds": ("Worlds", ("seed", "sim", "num_worlds", "num_threads", "randomize")),
    "record": (
        "Evaluation and record",
        ("evaluate_every", "evaluate_episodes", "save_every_s", "keep", "watch_worlds", "record_every", "wandb"),
    ),
}
"""Title and settings; those of a group of settings, such as `ppo`, are a group of the form."""
PPO_TITLE = "Learning (PPO)"
BASIC = ("seed", "sim", "steps", "minutes", "num_worlds", "randomize", "ppo.learning_rate", "ppo.net", "ppo.hidden")
"""What most people change, if anything."""
CHOICES = {"sim": SIMS, "ppo.precision": PRECISIONS}
HIGHEST = {**MOST, "seed": FIRST_EVALUATION_SEED - 1}
UNITS = {"minutes": "min", "steps": "steps", "save_every_s": "s", "anneal_steps": "steps", "calm_steps": "steps"}
KINDS: dict[type, FieldKind] = {int: "integer", float: "number", bool: "boolean", str: "text", tuple: "integers"}


def form_of(task: str, preset: str, sim: str, registered: Sequence[str] = ()) -> Form:
    """The form of a task with the values that a preset gives it; `sim` may be empty for the preset's own."""
    if task not in (names := startable(registered)):
        raise unknown("task", task, names)
    if sim and sim not in SIMS:
        raise unknown("sim", sim, SIMS)
    found = find_task(task)
    asked = {"sim": sim} if sim else {}
    config = settle(configure(found, preset=preset, flags=asked))
    return Form(
        task=task,
        preset=preset_for(preset, sim),
        sim=config.sim,
        presets=offered(presets_of(found), preset),
        sims=sims_here(),
        groups=tuple(_groups(config)),
        warnings=tuple(_warnings(config)),
    )


def tasks(registered: Sequence[str] = ()) -> TaskList:
    """What can be trained, and with which presets; a file whose task cannot be made says why in its line."""
    rows = (_row(name, line) for name, line in startable(registered).items())
    return TaskList(tasks=tuple(row for row in rows if row.presets or row.name in registered))


def startable(registered: Sequence[str]) -> dict[str, str]:
    """Tasks by name, with a line each: those of the table and of packages, families with each robot, and registered files."""
    known = {name: line for name, line in known_tasks().items() if "@" not in name}
    lines = {name.partition("@")[0]: line for name, line in known_tasks().items() if "@" in name}
    families = {f"{family}@{robot}": lines[family] for family in FAMILY_NAMES for robot in ROBOTS}
    return known | families | dict.fromkeys(registered, "A task of your own.")


def sims_here() -> tuple[str, ...]:
    """Sims that run on this machine."""
    return SIMS if torch.cuda.is_available() else ("cpu",)


def offered(presets: Iterable[str], asked: str = "") -> tuple[str, ...]:
    """Without the one for a GPU where there is none, unless it is asked for by name: then a warning is in the form."""
    return tuple(name for name in presets if name != "gpu" or name == asked or "gpu" in sims_here())


def _row(name: str, line: str) -> TaskRow:
    try:
        presets = offered(presets_of(find_task(name)))
    except Exception as refusal:  # a user's file may raise anything
        line, presets = f"{line} It cannot be made: {refusal}", ()
    return TaskRow(name=name, line=line, presets=presets, trained=0)


def _groups(config: TrainConfig) -> Iterator[FormGroup]:
    for name, (title, members) in GROUPS.items():
        yield FormGroup(name=name, title=title, fields=tuple(_fields(config, "", members)))
    learner = config.ppo
    yield FormGroup(
        name="ppo", title=PPO_TITLE, fields=tuple(_fields(learner, "ppo.", [member.name for member in fields(learner)]))
    )


def _fields(config: Any, prefix: str, names: Sequence[str]) -> Iterator[FormField]:
    hints, docs = typing.get_type_hints(type(config)), docs_of(type(config))
    for own in names:
        name, value = f"{prefix}{own}", getattr(config, own)
        assert not is_dataclass(value)
        kind = KINDS[typing.get_origin(hints[own]) or hints[own]]
        yield FormField(
            name=name,
            title=own.removesuffix("_s").replace("_", " ").capitalize(),
            kind="choice" if name in CHOICES else kind,
            default=list(value) if isinstance(value, tuple) else value,
            help=docs[own],
            unit=UNITS.get(own, ""),
            choices=CHOICES.get(name, ()),
            low=_low(name, kind),
            high=float(HIGHEST[name]) if name in HIGHEST else None,
            advanced=name not in BASIC,
        )


def _low(name: str, kind: FieldKind) -> float | None:
    if kind == "integers":
        return 1.0
    is_bounded = kind in ("integer", "number") and (name == "seed" or name not in ANY)
    return float(LEAST.get(name, 0)) if is_bounded else None


def _warnings(config: TrainConfig) -> Iterator[str]:
    if config.sim == "gpu" and not torch.cuda.is_available():
        yield "This machine has no GPU that PyTorch can use: a training with sim gpu will end at once. Choose cpu."


def answer(words: Sequence[str]) -> tuple[str, int]:
    """JSON for a question, or for why there is no answer, and the exit code."""
    try:
        match words:
            case ["form", task, preset, sim, *registered]:
                return to_json(form_of(task, preset, sim, registered)), 0
            case ["tasks", *registered]:
                return to_json(tasks(registered)), 0
            case _:
                raise PaddockError("python -m paddock.forms form TASK PRESET SIM [FILE...], or: tasks [FILE...]")
    except PaddockError as refusal:
        return json.dumps({"error": str(refusal)}), 2


def converse() -> None:
    """Answer questions as they come, each a list of words in a line of JSON: what takes seconds to import is imported once."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a user's file prints is no answer
    for line in sys.stdin:
        try:
            text, _ = answer(json.loads(line))
        except Exception as fault:  # a user's file may raise anything
            text = json.dumps({"error": f"{type(fault).__name__}: {fault}"})
        print(text, file=out, flush=True)


def main(args: list[str]) -> int:
    """Print an answer, or an error; without a question, answer those that come line by line."""
    if not args:
        converse()
        return 0
    text, code = answer(args)
    print(text)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
