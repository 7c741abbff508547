"""From what a user typed to a Task: a name of the table, a file, or an installed entry point."""

import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from paddock.errors import PaddockError, unknown
from paddock.tasks import ENTRY_POINTS, TASK_NAMES
from paddock.tasks.task import Task


def find_task(wanted: str | Path | Task) -> Task:
    """The task named `wanted`: `quadruped-walk`, `my_task.py`, `my_task.py:LEAN`, or one that a package installed."""
    if isinstance(wanted, Task):
        return wanted
    wanted = str(wanted)
    if wanted in TASK_NAMES:
        constant = wanted.replace("-", "_")
        return getattr(import_module(f"paddock.tasks.{constant}"), constant.upper())
    path, _, constant = (wanted, "", "") if wanted.endswith(".py") else wanted.rpartition(":")
    if path.endswith(".py"):
        return task_in_file(Path(path), constant)
    installed = installed_tasks()
    if wanted in installed:
        return _checked(entry_points(group=ENTRY_POINTS)[wanted].load(), f"entry point '{wanted}'")
    raise unknown("task", wanted, [*TASK_NAMES, *installed])


def installed_tasks() -> list[str]:
    """Names that other packages offer under the entry point group `paddock.tasks`."""
    return sorted(entry_points(group=ENTRY_POINTS).names)


def task_in_file(path: Path, constant: str = "", *, neighbours: Path | None = None) -> Task:
    """The Task named `constant` in a Python file, or the only one there. It may import what lies beside it, or in `neighbours`."""
    if not path.is_file():
        raise PaddockError(f"no task file {path} (looked in {path.absolute().parent}).")
    module = _module(path, neighbours or path.absolute().parent)
    tasks = {name: value for name, value in vars(module).items() if isinstance(value, Task)}
    if constant:
        if constant not in tasks:
            raise unknown(f"task in {path}:", constant, tasks)
        return tasks[constant]
    if len(tasks) != 1:
        found = f"{len(tasks)} tasks ({', '.join(tasks)}). Pick one: {path}:NAME" if tasks else "no Task at its top level."
        raise PaddockError(f"{path} has {found}")
    return next(iter(tasks.values()))


def _module(path: Path, neighbours: Path) -> ModuleType:
    """The file as a module, under a name of its own so that dataclasses in it work, with its neighbours importable."""
    name = f"paddock_file_{path.absolute().as_posix().replace('/', '_').removesuffix('.py')}"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    module.__file__ = str(neighbours / path.name)  # where a robot's XML would be looked for
    sys.modules[name] = module
    sys.path.insert(0, str(neighbours))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a user's file raises is about that file
        del sys.modules[name]
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path}, line {lines[-1]}," if lines else str(path)
        raise PaddockError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(neighbours))
    return module


def _checked(value: object, origin: str) -> Task:
    if not isinstance(value, Task):
        raise PaddockError(f"{origin} is a {type(value).__name__}, not a paddock.Task.")
    return value
