"""What bodies are made of: mass, inertia, centre of mass, size, and the gravity that pulls at them."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError, unknown
from paddock.tasks.ranges import RangeLike, check_factor, range_of

GEOM = mujoco.mjtGeom
PRIMITIVES = tuple(
    int(g) for g in (GEOM.mjGEOM_SPHERE, GEOM.mjGEOM_CAPSULE, GEOM.mjGEOM_ELLIPSOID, GEOM.mjGEOM_CYLINDER, GEOM.mjGEOM_BOX)
)


@dataclass(frozen=True)
class Mass:
    """Scales the mass of a body, or of all, and the inertia with it: one factor a world, or with `each` one a body."""

    factor: RangeLike
    body: str | None = None
    each: bool = False
    model_fields = ("body_mass", "body_inertia")
    changes_constants = True

    def __post_init__(self) -> None:
        check_factor(self.factor, self)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, len(_bodies(state.layout, self.body)) if self.each else 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        rows = _bodies(layout, self.body)
        mass, inertia = values["body_mass"].clone(), values["body_inertia"].clone()
        mass[:, rows] *= drawn
        inertia[:, rows] *= drawn[:, :, None]
        return {"body_mass": mass, "body_inertia": inertia}


@dataclass(frozen=True)
class Inertia:
    """Scales the inertia of a body, or of all, at an unchanged mass: the same weight further out, or nearer."""

    factor: RangeLike
    body: str | None = None
    model_fields = ("body_inertia",)
    changes_constants = True

    def __post_init__(self) -> None:
        check_factor(self.factor, self)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        inertia = values["body_inertia"].clone()
        inertia[:, _bodies(layout, self.body)] *= drawn[:, :, None]
        return {"body_inertia": inertia}


@dataclass(frozen=True)
class CentreOfMass:
    """Adds an offset [m] to the centre of mass of a body, drawn for each of the body's own axes."""

    offset_m: RangeLike
    body: str
    model_fields = ("body_ipos",)
    changes_constants = True

    def __post_init__(self) -> None:
        range_of(self.offset_m, self)

    def fit(self, spec: mujoco.MjSpec) -> None:
        """The engine steps a body centred on its own frame by a shortcut that no offset may be under."""
        body = spec.body(self.body)
        if body is not None:
            body.simple = False

    def draw(self, state: State) -> Tensor:
        return range_of(self.offset_m, self).draw(state, 3)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        centre = values["body_ipos"].clone()
        centre[:, _bodies(layout, self.body)] += drawn[:, None]
        return {"body_ipos": centre}


@dataclass(frozen=True)
class Size:
    """Scales geoms about their own centres: spheres, capsules, ellipsoids, cylinders and boxes.

    With `keeps_density`, mass grows with the third and inertia with the fifth power of the factor. That holds for a body of
    one geom around its centre of mass, and is refused for others.
    """

    factor: RangeLike
    geoms: tuple[str, ...]
    keeps_density: bool = False
    model_fields = ("geom_size", "body_mass", "body_inertia")
    changes_constants = True  # the engine derives bounding volumes from the size

    def __post_init__(self) -> None:
        check_factor(self.factor, self)
        if isinstance(self.geoms, str) or not self.geoms:
            raise PaddockError(f"{self}: geoms is {self.geoms!r}; wanted the names of some.")

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        model = layout.model
        rows = [self._row(model, name) for name in self.geoms]
        size = values["geom_size"].clone()
        size[:, rows] *= drawn[:, :, None]
        changed = {"geom_size": size}
        if self.keeps_density:
            bodies = [_body_of(self, model, row) for row in rows]
            mass, inertia = values["body_mass"].clone(), values["body_inertia"].clone()
            mass[:, bodies] *= drawn * drawn * drawn
            inertia[:, bodies] *= (drawn * drawn * drawn * drawn * drawn)[:, :, None]
            changed |= {"body_mass": mass, "body_inertia": inertia}
        return changed

    def _row(self, model: mujoco.MjModel, name: str) -> int:
        names = [model.geom(i).name for i in range(model.ngeom)]
        if name not in names:
            raise unknown("geom that collides", name, filter(None, names))
        row = names.index(name)
        if int(model.geom_type[row]) not in PRIMITIVES:
            raise PaddockError(
                f"{self}: geom '{name}' is a {GEOM(model.geom_type[row]).name}, whose size is not a number to scale."
            )
        return row


@dataclass(frozen=True)
class Gravity:
    """Scales gravity."""

    factor: RangeLike
    model_fields = ("opt.gravity",)
    changes_constants = False

    def __post_init__(self) -> None:
        range_of(self.factor, self)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        return {"opt.gravity": values["opt.gravity"] * drawn}


def _bodies(layout: Layout, name: str | None) -> list[int]:
    """The row of a body, or those of all but the world."""
    if name is None:
        return sorted(row for row in layout.bodies.values() if row)
    if name not in layout.bodies:
        raise unknown("body", name, layout.bodies)
    return [layout.bodies[name]]


def _body_of(size: Size, model: mujoco.MjModel, geom: int) -> int:
    """The body that is this geom and nothing else."""
    body = int(model.geom_bodyid[geom])
    centred = np.allclose(model.geom_pos[geom], model.body_ipos[body], atol=1e-6)
    if model.body_geomnum[body] != 1 or not centred:
        raise PaddockError(
            f"{size}: body '{model.body(body).name}' is more than its geom '{model.geom(geom).name}', so its mass does not follow "
            "from that geom's size. Leave keeps_density out, and scale the mass with Mass."
        )
    return body
