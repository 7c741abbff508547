"""Where a run's task came from: its file is copied into the run, and only a copy with the right hash is ever imported."""

import hashlib
import inspect
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import paddock.robots
import paddock.tasks
from paddock.errors import PaddockError
from paddock.messages import TaskSource
from paddock.robots import Robot
from paddock.robots.finding import find_robot
from paddock.runs.folder import RunFolder
from paddock.tasks import ENTRY_POINTS, FAMILY_NAMES, TASK_NAMES
from paddock.tasks.finding import find_task, of_family
from paddock.tasks.randomize_presets import with_randomization
from paddock.tasks.task import Task
from paddock.user_files import name_in_file, split_name, value_in_file


def source_of(wanted: str | Path | Task) -> tuple[TaskSource, bytes | None]:
    """What to write down about a task that was asked for, and the bytes of its file; None for one made on the spot."""
    if isinstance(wanted, Task):
        return TaskSource(typed=wanted.name, constant="", folder="", sha256=""), None
    file, constant = _file_of(str(wanted))
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return TaskSource(typed=str(wanted), constant=constant, folder=str(file.absolute().parent), sha256=digest), content


def task_of(run: RunFolder) -> Task:
    """The task of a run, from the copy that the run keeps."""
    source = run.card().setup.source
    if not source.sha256:
        raise PaddockError(
            f"the task of {run.path.name} was made on the spot and has no file, so it cannot be found again. "
            "Write tasks that you want to keep into a file: paddock train my_task.py"
        )
    if not run.task_file.is_file():
        raise PaddockError(f"{run.task_file} is gone, so the task of this run is not known.")
    digest = hashlib.sha256(run.task_file.read_bytes()).hexdigest()
    if digest != source.sha256:
        raise PaddockError(
            f"{run.task_file} has changed since the run began: its hash is {digest[:12]}, run.json says {source.sha256[:12]}. "
            "Put the old file back, or train anew with the new one."
        )
    family, at, constant = source.constant.rpartition("@")
    if at:
        task = of_family(family, value_in_file(Robot, run.task_file, constant, neighbours=Path(source.folder)))
    else:
        task = value_in_file(Task, run.task_file, constant, neighbours=Path(source.folder))
    return with_randomization(task, str(run.card().setup.config.get("randomize", "")))


def _file_of(wanted: str) -> tuple[Path, str]:
    """The file in which the task is, and its name there: `walk@MY_ROBOT` where a family takes a robot out of it."""
    if wanted in TASK_NAMES:
        constant = wanted.replace("-", "_").upper()
        return Path(paddock.tasks.__file__).with_name(f"{constant.lower()}.py"), constant
    family, at, robot = wanted.partition("@")
    if at and family in FAMILY_NAMES:
        file, constant = _robot_file(robot)
        return file, f"{family}@{constant}"
    path, constant = split_name(wanted)
    if path:
        return Path(path), constant or name_in_file(value_in_file(Task, Path(path)))
    find_task(wanted)  # which says what is known where this is not
    entry = entry_points(group=ENTRY_POINTS)[wanted]
    return Path(inspect.getfile(import_module(entry.module))), entry.attr


def _robot_file(wanted: str) -> tuple[Path, str]:
    path, constant = split_name(wanted)
    if path:
        return Path(path), constant or name_in_file(value_in_file(Robot, Path(path)))
    find_robot(wanted)
    return Path(paddock.robots.__file__).with_name(f"{wanted.replace('-', '_')}.py"), wanted.replace("-", "_").upper()
