"""States from which two sides go further apart than is tolerated, with what touched there, for somebody to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

import mujoco
import torch
from torch import Tensor

from paddock.messages.parity import ContactRow, Outlier
from paddock.parity_errors import Field
from paddock.parity_sides import Reached
from paddock.parity_states import OF_SIM, States
from paddock.robots import Robot
from paddock.tasks.task import Task

OF_MODEL = f"{OF_SIM}model/"
NEARER = 0.1
"""Part of the distance that is left where the reference's solver was what kept the sides apart."""


def outliers(
    model: mujoco.MjModel,
    states: States,
    fields: Sequence[Field],
    reference: Reached,
    other: Reached,
    *,
    disagreeing: Tensor,
    finished: Callable[[States], Reached],
    most: int,
) -> tuple[list[Outlier], int]:
    """The worst of them, at most so many, and how many there are; `finished` is the reference with a solver that takes its time."""
    excess = torch.stack([field.error / field.tolerance for field in fields])
    is_far = (excess > 1.0).any(0) | disagreeing
    ranked = is_far.nonzero()[:, 0]
    ranked = ranked[excess[:, ranked].amax(0).argsort(descending=True)]
    rows = ranked[:most]
    found: list[Outlier] = []
    before = _excess(reference.of(rows), other.of(rows), fields)
    after = _excess(finished(states.of(rows)), other.of(rows), fields) if len(rows) else before
    unfinished = (after <= 1.0) & (after < NEARER * before)
    for row, is_unfinished in zip(rows.tolist(), unfinished.tolist(), strict=True):
        worst = fields[int(excess[:, row].argmax())]
        beyond = [field.name for field, by in zip(fields, excess[:, row].tolist(), strict=True) if by > 1.0]
        beyond += [name for name, flag in reference.flags.items() if flag[row] != other.flags[name][row]]
        found.append(
            Outlier(
                state=row,
                agent=states.agents[row],
                age=int(states.saved["state/age"][row]),
                worst=worst.name,
                error=float(worst.error[row]),
                tolerance=worst.tolerance,
                beyond=tuple(beyond),
                contacts=contacts_of(states, row, model),
                contacts_after=contacts_of(states, row, model, reference.raw["qpos"][row]),
                is_unfinished=is_unfinished,
            )
        )
    return found, len(ranked)


def patient(task: Task) -> Task:
    """The task with a constraint solver that goes on until nothing changes any more."""

    def scene(robot: Robot) -> mujoco.MjSpec:
        spec = task.scene(robot)
        spec.option.iterations, spec.option.ls_iterations = 200, 100
        spec.option.tolerance, spec.option.ls_tolerance = 0.0, 1e-6
        return spec

    return replace(task, scene=scene)


def contacts_of(states: States, row: int, model: mujoco.MjModel, qpos: Tensor | None = None) -> tuple[ContactRow, ...]:
    """What touches in one state, or where the step from it led, by the reference engine; the nearest first."""
    own = copy(model)
    for name, value in states.saved.items():
        if name.startswith(OF_MODEL) and not name.startswith(f"{OF_MODEL}opt."):
            getattr(own, name.removeprefix(OF_MODEL))[:] = value[row].numpy()
    data = mujoco.MjData(own)
    data.qpos[:] = (states.saved["sim/qpos"][row] if qpos is None else qpos).numpy()
    for name in ("mocap_pos", "mocap_quat"):
        getattr(data, name).flat[:] = states.saved[OF_SIM + name][row].numpy()
    mujoco.mj_fwdPosition(own, data)
    rows = [
        ContactRow(first=_geom(own, contact.geom[0]), second=_geom(own, contact.geom[1]), distance=float(contact.dist))
        for contact in data.contact
    ]
    return tuple(sorted(rows, key=lambda contact: contact.distance))


def _excess(here: Reached, there: Reached, fields: Sequence[Field]) -> Tensor:
    """How far apart the motion is, in tolerances; (n,)."""
    parts: list[Tensor] = []
    for field in fields:
        if field.name in ("qpos", "qvel"):
            own = here.raw[field.name]
            unit = own.abs().amax(1).clamp(min=field.scale) if field.scale else 1.0
            parts.append((own - there.raw[field.name]).abs().amax(1) / unit / field.tolerance)
    return torch.stack(parts).amax(0)


def _geom(model: mujoco.MjModel, number: int) -> str:
    geom = model.geom(int(number))
    return geom.name or f"{model.body(int(geom.bodyid[0])).name}/geom {number}"
