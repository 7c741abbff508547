"""From the name of a task to an environment, on the sim that was asked for."""

from __future__ import annotations

from paddock.captured_env import CapturedEnvironment
from paddock.env import Environment
from paddock.tasks.finding import find_task
from paddock.tasks.task import Task


def make(
    task: str | Task,
    *,
    num_worlds: int = 1,
    seed: int = 0,
    sim: str = "cpu",
    num_threads: int | None = None,
    first_world: int = 0,
    curriculum: bool = False,
) -> Environment:
    """An environment of `num_worlds` worlds.

    `task` is a table name, `file.py[:NAME]`, an installed entry point or a Task. World i of one seed is the same world
    in any batch; `first_world` numbers the first, so that several processes can share one set of worlds. With `curriculum`,
    a task that has one begins easy, as in training; without, it is the whole task.
    """
    kind = Environment if sim == "cpu" else CapturedEnvironment
    return kind(
        find_task(task),
        num_worlds=num_worlds,
        seed=seed,
        sim=sim,
        num_threads=num_threads,
        first_world=first_world,
        curriculum=curriculum,
    )
