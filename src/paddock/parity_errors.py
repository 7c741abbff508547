"""How far apart two sides are after one control step from equal states, field by field, and what is tolerated."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import torch
from torch import Tensor

from paddock.messages.parity import FieldError, FlagAgreement
from paddock.parity_sides import Reached

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
SHARE = 0.99
"""Of the states must be within each tolerance: a contact that one side sees a substep earlier is no defect."""
LEAST_SCALE = 1e-3
"""Readings smaller than this, in SI units, count as zero."""
ACC = int(mujoco.mjtStage.mjSTAGE_ACC)


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """What is tolerated of one kind of field, and why."""

    limit: float
    is_relative: bool
    why: str


TOLERANCES = {
    "qpos": Tolerance(limit=1e-5, is_relative=False, why="m and rad: ten times what float32 resolves ten metres from the origin"),
    "qvel": Tolerance(limit=1e-3, is_relative=True, why="a control step adds up the accelerations of several substeps"),
    "act": Tolerance(limit=1e-3, is_relative=True, why="as velocities"),
    "sensor": Tolerance(limit=1e-4, is_relative=True, why="sensors of positions and velocities follow from the state alone"),
    "force sensor": Tolerance(
        limit=1e-3,
        is_relative=True,
        why="accelerations and contact forces are what the constraint solver iterates on, and a penetration that differs by a "
        "rounding error is multiplied by the stiffness of the contact; integrating over a timestep makes it small again",
    ),
    "field": Tolerance(limit=1e-3, is_relative=True, why="what the task reads of MjData beyond the above"),
    "observation": Tolerance(limit=1e-3, is_relative=True, why="may read any of the above"),
    "reward": Tolerance(limit=1e-3, is_relative=True, why="may read any of the above; relative to the largest term of the reward"),
}
"""Relative errors are to the larger of the state's own value and the field's root mean square over all states."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """One field of both sides, with the errors of every state."""

    name: str
    kind: str
    scale: float
    error: Tensor
    """The worst column of each state; (n,)."""

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.kind].limit

    @property
    def beyond(self) -> Tensor:
        """(n,) bool."""
        return self.error > self.tolerance

    def row(self) -> FieldError:
        within = 1.0 - float(self.beyond.double().mean())
        quantiles = tuple(torch.quantile(self.error, torch.tensor(QUANTILES, dtype=torch.float64), interpolation="higher").tolist())
        return FieldError(
            name=self.name,
            kind=self.kind,
            scale=self.scale,
            tolerance=self.tolerance,
            median=quantiles[4],
            p99=quantiles[7],
            max=quantiles[8],
            within=within,
            quantiles=quantiles,
            passed=within >= SHARE,
        )


def compared(model: mujoco.MjModel, reference: Reached, other: Reached) -> list[Field]:
    """Every field of both sides. What is in contact is compared by what it does, never contact by contact."""
    fields = [_field(name, name, reference.raw[name], other.raw[name]) for name in ("qpos", "qvel", "act")]
    for i in range(model.nsensor):
        columns = slice(int(model.sensor_adr[i]), int(model.sensor_adr[i] + model.sensor_dim[i]))
        kind = "force sensor" if model.sensor_needstage[i] == ACC else "sensor"
        name = f"sensor/{model.sensor(i).name or i}"
        fields.append(_field(name, kind, reference.raw["sensordata"][:, columns], other.raw["sensordata"][:, columns]))
    for name, value in reference.raw.items():
        if name.startswith("fields/"):
            fields.append(_field(name, "field", value.flatten(1), other.raw[name].flatten(1)))
    earned = max(_size(value) for name, value in reference.numbers.items() if name.startswith("reward"))
    for name, value in reference.numbers.items():
        is_earned = name.startswith("reward")
        fields.append(
            _field(name, "reward" if is_earned else "observation", value, other.numbers[name], earned if is_earned else None)
        )
    return [field for field in fields if field is not None]


def agreement(reference: Reached, other: Reached, *, by_numbers: Reached, is_near: Tensor) -> tuple[list[FlagAgreement], Tensor]:
    """Each flag, and which states' flags disagree; (n,) bool.

    A flag that differs in a state whose fields are beyond their tolerances is one more sign of that. Where all fields are within
    (`is_near`), it is a boundary case if the task, asked on the CPU about the other side's numbers (`by_numbers`), gives the other
    side's flag: a threshold lies between two numbers that are as good as equal. Of both there may be one in a hundred. What
    remains is a disagreement, as is a world that only one engine gives up on, and one is too many.
    """
    rows: list[FlagAgreement] = []
    wrong = torch.zeros_like(is_near)
    for name, flag in reference.flags.items():
        differs = flag != other.flags[name]
        is_threshold = is_near & (by_numbers.flags[name] == other.flags[name])
        disagreeing = differs if name == "failed" else differs & is_near & ~is_threshold
        wrong |= disagreeing
        boundary, beyond = int((differs & is_threshold & ~disagreeing).sum()), int((differs & ~is_near & ~disagreeing).sum())
        rows.append(
            FlagAgreement(
                name=name,
                set_in_reference=int(flag.sum()),
                set_in_other=int(other.flags[name].sum()),
                boundary=boundary,
                beyond=beyond,
                disagreeing=int(disagreeing.sum()),
                passed=not disagreeing.any() and boundary + beyond <= (1.0 - SHARE) * len(flag),
            )
        )
    return rows, wrong


def _field(name: str, kind: str, reference: Tensor, other: Tensor, scale: float | None = None) -> Field | None:
    """None for a field without columns."""
    if not reference.shape[1]:
        return None
    tolerance = TOLERANCES[kind]
    apart = torch.nan_to_num((reference - other).abs().amax(1), nan=1e30, posinf=1e30)
    apart = torch.where(_same(reference, other), 0.0, apart)
    if not tolerance.is_relative:
        return Field(name=name, kind=kind, scale=0.0, error=apart)
    scale = max(_size(reference), LEAST_SCALE) if scale is None else max(scale, LEAST_SCALE)
    return Field(name=name, kind=kind, scale=scale, error=apart / torch.nan_to_num(reference.abs().amax(1)).clamp(min=scale))


def _same(reference: Tensor, other: Tensor) -> Tensor:
    """Equal, infinities too; (n,) bool."""
    return (reference == other).all(1)


def _size(value: Tensor) -> float:
    """Root mean square over the states of the largest column."""
    finite = value[torch.isfinite(value).all(1)]
    return float(finite.square().mean(0).amax().sqrt()) if finite.numel() else 0.0
