"""From what a user typed to a Task: a name of the table, a file, an installed entry point, or a family with a robot."""

from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from paddock.errors import PaddockError, unknown
from paddock.robots.finding import find_robot
from paddock.robots.robot import Robot
from paddock.tasks import ENTRY_POINTS, FAMILY_NAMES, TASK_NAMES
from paddock.tasks.task import Task
from paddock.user_files import split_name, value_in_file


def find_task(wanted: str | Path | Task) -> Task:
    """The task named `wanted`: `quadruped-walk`, `walk@my_robot.py`, `my_task.py`, `my_task.py:LEAN`, or an installed one."""
    if isinstance(wanted, Task):
        return wanted
    wanted = str(wanted)
    if wanted in TASK_NAMES:
        constant = wanted.replace("-", "_")
        return getattr(import_module(f"paddock.tasks.{constant}"), constant.upper())
    family, at, robot = wanted.partition("@")
    if at and family in FAMILY_NAMES:
        return of_family(family, find_robot(robot))
    if wanted in FAMILY_NAMES:
        raise PaddockError(f"'{wanted}' is a task for any robot. Say which: {wanted}@quadruped, {wanted}@my_robot.py")
    path, constant = split_name(wanted)
    if path:
        return value_in_file(Task, Path(path), constant)
    installed = installed_tasks()
    if wanted in installed:
        return _checked(entry_points(group=ENTRY_POINTS)[wanted].load(), f"entry point '{wanted}'")
    raise unknown("task", wanted, [*TASK_NAMES, *(f"{family}@ROBOT" for family in FAMILY_NAMES), *installed])


def of_family(family: str, robot: Robot) -> Task:
    """The task that a family makes of a robot."""
    return getattr(import_module(f"paddock.tasks.{family}"), family)(robot)


def installed_tasks() -> list[str]:
    """Names that other packages offer under the entry point group `paddock.tasks`."""
    return sorted(entry_points(group=ENTRY_POINTS).names)


def _checked(value: object, origin: str) -> Task:
    if not isinstance(value, Task):
        raise PaddockError(f"{origin} is a {type(value).__name__}, not a paddock.Task.")
    return value
