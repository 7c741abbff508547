"""Task + model -> anatomy: what a learner may know of how the robot is built."""

from __future__ import annotations

from paddock.anatomy import BodyPlan, Mirror
from paddock.body_plans import body_plan_of
from paddock.contracts import State
from paddock.mirroring import mirror_of
from paddock.tasks.task import Task


class RobotAnatomy:
    """Found out when a network asks for it: most do not."""

    def __init__(self, task: Task, state: State) -> None:
        self._task, self._state = task, state
        self._plan: BodyPlan | None = None
        self._mirror: Mirror | None = None

    @property
    def plan(self) -> BodyPlan:
        self._plan = self._plan or body_plan_of(self._task, self._state)
        return self._plan

    @property
    def mirror(self) -> Mirror:
        self._mirror = self._mirror or mirror_of(self._task, self._state)
        return self._mirror
