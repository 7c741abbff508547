"""Gymnasium ids of the tasks, such as `paddock/QuadrupedWalk-v0`. Imports nothing heavy, so that the package can.

Gymnasium 1.x loads no plugins: ids exist once the package that owns them is imported.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from paddock.tasks import TASK_NAMES

VERSION = 0


def gym_id(task: str) -> str:
    """`quadruped-walk` as `paddock/QuadrupedWalk-v0`."""
    return f"paddock/{''.join(word.capitalize() for word in task.split('-'))}-v{VERSION}"


def register() -> None:
    """Tell Gymnasium every task of the table.

    Environments truncate by themselves, so no `max_episode_steps` is given: with one, `make` would truncate again.
    """
    import gymnasium

    for task in TASK_NAMES:
        if gym_id(task) not in gymnasium.registry:
            gymnasium.register(
                id=gym_id(task),
                entry_point="paddock.gymnasium_env:WorldEnv",
                vector_entry_point="paddock.gymnasium_env:WorldsVectorEnv",
                kwargs={"task": task},
            )


def register_with_gymnasium() -> None:
    """Register now if Gymnasium is loaded, otherwise as soon as it is: importing it takes three times as long as we do."""
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _AfterGymnasium())


class _AfterGymnasium(MetaPathFinder):
    """Lets the other finders find Gymnasium, and registers the ids once it has run."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in others if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                sys.meta_path.remove(self)
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register
        return spec
