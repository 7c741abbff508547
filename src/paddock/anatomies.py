"""Task + model -> anatomy: what a learner may know of how the robot is built."""

from __future__ import annotations

from functools import cached_property

from paddock.anatomy import BodyPlan, Mirror
from paddock.body_plans import body_plan_of
from paddock.contracts import State
from paddock.mirroring import mirror_of
from paddock.tasks.task import Task


class RobotAnatomy:
    """Found out when a network asks for it: most do not."""

    def __init__(self, task: Task, state: State) -> None:
        self._task, self._state = task, state

    @cached_property
    def plan(self) -> BodyPlan:
        return body_plan_of(self._task, self._state)

    @cached_property
    def mirror(self) -> Mirror:
        return mirror_of(self._task, self._state)
