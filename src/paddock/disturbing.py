"""The forces that a task's disturbances put on bodies, before every step."""

from __future__ import annotations

from functools import reduce

import torch

from paddock.contracts import Layout, Sim, State
from paddock.errors import blame, unknown
from paddock.tasks.randomizers import Disturbance
from paddock.tasks.task import Task


class Pushes:
    """The task's disturbances by the body they act on: several may act on one, and add up."""

    def __init__(self, task: Task, layout: Layout) -> None:
        self._by_body: dict[int, list[tuple[str, Disturbance]]] = {}
        for name, disturbance in task.disturbances.items():
            if disturbance.body not in layout.bodies:
                raise blame(task.name, "randomize", name, unknown("body", disturbance.body, layout.bodies))
            self._by_body.setdefault(layout.bodies[disturbance.body], []).append((f"randomize/{name}", disturbance))

    def apply(self, state: State, sim: Sim) -> None:
        for body, pushes in self._by_body.items():
            wrenches = [push.wrench(state.scoped(name)) for name, push in pushes]
            sim.write("xfrc_applied", reduce(torch.add, wrenches), index=body)
