"""Task + model -> mirror."""

from paddock.anatomy import Mirror
from paddock.contracts import State
from paddock.tasks.task import Task


def mirror_of(task: Task, state: State) -> Mirror:
    raise NotImplementedError
