"""What joints resist with: damping, friction and the inertia of rotors. Each is nominal times a factor, and something more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import mujoco
import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError, unknown
from paddock.tasks.ranges import RangeLike, check_positive, range_of


@dataclass(frozen=True)
class _OfJoints:
    """Nominal x factor + plus, of some joints or all that are not free; with `each`, drawn for every one by itself."""

    factor: RangeLike = 1.0
    plus: RangeLike = 0.0
    joints: tuple[str, ...] = ()
    each: bool = False
    field: ClassVar[str]
    changes_constants = False

    @property
    def model_fields(self) -> tuple[str, ...]:
        return (self.field,)

    def __post_init__(self) -> None:
        check_positive(self.factor, self)
        check_positive(self.plus, self)
        if isinstance(self.joints, str):
            raise PaddockError(f"{self}: joints is one text; wanted a tuple of names, ('{self.joints}',).")
        if self.factor == 1.0 and self.plus == 0.0:
            raise PaddockError(f"{self} changes nothing: give a factor, or plus.")

    def draw(self, state: State) -> Tensor:
        """Factors and what is added, side by side; (n, 2), or with `each` (n, 2 k)."""
        count = len(_dofs(state.layout, self.joints)) if self.each else 1
        factor = range_of(self.factor, self).draw(state, count)
        return torch.cat([factor, range_of(self.plus, self).draw(state, count, label="plus")], dim=1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        rows = _dofs(layout, self.joints)
        if self.plus == 0.0 and not getattr(layout.model, self.field)[rows].any():
            raise PaddockError(
                f"{self}: the model has no {self.field} there, so no factor changes it. Say plus=(low, high) instead."
            )
        value = values[self.field].clone()
        factor, plus = drawn.chunk(2, dim=1)
        value[:, rows] = value[:, rows] * factor + plus
        return {self.field: value}


@dataclass(frozen=True)
class Damping(_OfJoints):
    """Scales, or adds to, the damping of joints [N m s/rad or N s/m]."""

    field = "dof_damping"


@dataclass(frozen=True)
class Armature(_OfJoints):
    """Scales, or adds to, the armature of joints: what the motor's rotor adds to the inertia [kg m^2 or kg]."""

    field = "dof_armature"
    changes_constants = True


@dataclass(frozen=True)
class FrictionLoss(_OfJoints):
    """Scales, or adds to, the dry friction of joints [N m or N]."""

    field = "dof_frictionloss"


def _dofs(layout: Layout, joints: tuple[str, ...]) -> list[int]:
    """Columns of qvel that belong to the joints named, or to all that are not free."""
    for name in joints:
        if name not in layout.qvel:
            raise unknown("joint", name, layout.qvel)
    model = layout.model
    free = int(mujoco.mjtJoint.mjJNT_FREE)
    if joints:
        return [column for name in joints for column in range(layout.qvel[name].start, layout.qvel[name].stop)]
    return [i for i in range(model.nv) if model.jnt_type[model.dof_jntid[i]] != free]
