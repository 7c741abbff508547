"""Paddock: write a robot task once, then train it, watch it, replay it and put it on the robot."""

import os
from importlib import import_module
from typing import TYPE_CHECKING

from paddock.gl_choice import choose_gl
from paddock.gym_ids import register_with_gymnasium

if TYPE_CHECKING:
    from paddock.contracts import State as State
    from paddock.contracts import Step as Step
    from paddock.env import Environment as Environment
    from paddock.making import make as make
    from paddock.robots import Robot as Robot
    from paddock.sb3_env import sb3_vec_env as sb3_vec_env
    from paddock.tasks import terms as terms
    from paddock.tasks.finding import find_task as find_task
    from paddock.tasks.randomize_presets import with_randomization as with_randomization
    from paddock.tasks.task import Task as Task
    from paddock.trained import Run as Run
    from paddock.trained import load as load
    from paddock.trained import train as train

    __version__: str

os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # PyTorch's threads sleep soon when they wait, so that others may have the core
choose_gl()
register_with_gymnasium()

_WHERE = {
    "Environment": "paddock.env",
    "Robot": "paddock.robots",
    "Run": "paddock.trained",
    "State": "paddock.contracts",
    "Step": "paddock.contracts",
    "Task": "paddock.tasks.task",
    "find_task": "paddock.tasks.finding",
    "load": "paddock.trained",
    "make": "paddock.making",
    "sb3_vec_env": "paddock.sb3_env",
    "terms": "paddock.tasks",
    "train": "paddock.trained",
    "with_randomization": "paddock.tasks.randomize_presets",
}
__all__ = [
    "Environment",
    "Robot",
    "Run",
    "State",
    "Step",
    "Task",
    "__version__",
    "find_task",
    "load",
    "make",
    "sb3_vec_env",
    "terms",
    "train",
    "with_randomization",
]


def __getattr__(name: str) -> object:
    """Public names are imported when first used, so that `import paddock` costs nothing."""
    if name == "__version__":
        from importlib.metadata import version

        return version("paddock")
    if name not in _WHERE:
        raise AttributeError(f"module 'paddock' has no attribute '{name}'")
    if name == "terms":
        return import_module("paddock.tasks.terms")
    return getattr(import_module(_WHERE[name]), name)
