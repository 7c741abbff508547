"""What cameras see: light, the camera's own pose and view, colours. Physics knows nothing of it and pays nothing for it.

A look returns the fields that it changes, and only those: what a range leaves alone need not be drawn by every renderer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import torch
from torch import Tensor, cat

from paddock.contracts import State
from paddock.errors import PaddockError, unknown
from paddock.tasks.ranges import RangeLike, check_factor, check_positive, range_of

Values = Mapping[str, Tensor]
NEUTRAL = {"factor": (1.0, 1.0), "offset": (0.0, 0.0)}
"""Ends of ranges that change nothing."""
UNCOLOURED = (0.5, 0.5, 0.5, 1.0)
"""What the engine takes for no colour."""


@dataclass(frozen=True)
class Light:
    """Scales the brightness of lights, and adds an offset [m] to where they are, drawn for each axis."""

    brightness: RangeLike = 1.0
    offset_m: RangeLike = 0.0
    lights: tuple[str, ...] = ()
    """All, if none is named."""
    look_fields = ("light_diffuse", "light_specular", "light_ambient", "light_pos")

    def __post_init__(self) -> None:
        check_positive(self.brightness, self)
        range_of(self.offset_m, self)

    def draw(self, state: State) -> Tensor:
        brightness = range_of(self.brightness, self).draw(state, 1)
        return cat([brightness, range_of(self.offset_m, self).draw(state, 3, label="offset")], dim=1)

    def look(self, drawn: Tensor, values: Values, model: mujoco.MjModel) -> dict[str, Tensor]:
        rows = _named(self, "light", self.lights, [model.light(i).name for i in range(model.nlight)])
        moves = _changes(self, self.offset_m, "offset")
        if moves and (model.light_type[rows] == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL).all():
            raise PaddockError(f"{self}: the light shines from infinitely far, so no offset changes it. Name a spot light.")
        changed: dict[str, Tensor] = {}
        if _changes(self, self.brightness, "factor"):
            for name in self.look_fields[:3]:
                changed[name] = _in_rows(rows, values[name], lambda colour: colour * drawn[:, None, :1])
        if moves:
            changed["light_pos"] = _in_rows(rows, values["light_pos"], lambda pos: pos + drawn[:, None, 1:])
        return changed


@dataclass(frozen=True)
class View:
    """Adds an offset [m] to a camera's place and a turn [deg] to its attitude, for each axis, and scales its field of view."""

    offset_m: RangeLike = 0.0
    turn_deg: RangeLike = 0.0
    fovy: RangeLike = 1.0
    cameras: tuple[str, ...] = ()
    """All, if none is named."""
    look_fields = ("cam_pos", "cam_quat", "cam_fovy")

    def __post_init__(self) -> None:
        range_of(self.offset_m, self)
        range_of(self.turn_deg, self)
        check_factor(self.fovy, self)

    def draw(self, state: State) -> Tensor:
        offset = range_of(self.offset_m, self).draw(state, 3)
        turn = range_of(self.turn_deg, self).draw(state, 3, label="turn")
        return cat([offset, turn, range_of(self.fovy, self).draw(state, 1, label="fovy")], dim=1)

    def look(self, drawn: Tensor, values: Values, model: mujoco.MjModel) -> dict[str, Tensor]:
        rows = _named(self, "camera", self.cameras, [model.camera(i).name for i in range(model.ncam)])
        changed: dict[str, Tensor] = {}
        if _changes(self, self.offset_m, "offset"):
            changed["cam_pos"] = _in_rows(rows, values["cam_pos"], lambda pos: pos + drawn[:, None, :3])
        if _changes(self, self.turn_deg, "offset"):
            turn = _turn(torch.deg2rad(drawn[:, None, 3:6]))
            changed["cam_quat"] = _in_rows(rows, values["cam_quat"], lambda quat: _product(quat, turn))
        if _changes(self, self.fovy, "factor"):
            changed["cam_fovy"] = _in_rows(rows, values["cam_fovy"], lambda fovy: (fovy * drawn[:, 6:]).clamp(max=170.0))
        return changed


@dataclass(frozen=True)
class Tint:
    """Scales red, green and blue of materials and geoms, each colour by a factor of its own."""

    factor: RangeLike
    materials: tuple[str, ...] = ()
    geoms: tuple[str, ...] = ()
    """Everything, if neither materials nor geoms are named."""
    look_fields = ("mat_rgba", "geom_rgba")

    def __post_init__(self) -> None:
        check_positive(self.factor, self)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, 3)

    def look(self, drawn: Tensor, values: Values, model: mujoco.MjModel) -> dict[str, Tensor]:
        materials, geoms = range(model.nmat), [row for row in range(model.ngeom) if not _wears_material(model, row)]
        if self.materials or self.geoms:  # otherwise everything, and what has its material's colour is tinted with the material
            materials = _rows("material", self.materials, [model.mat(i).name for i in range(model.nmat)])
            geoms = _rows("geom", self.geoms, [model.geom(i).name for i in range(model.ngeom)])
        changed: dict[str, Tensor] = {}
        if not _changes(self, self.factor, "factor"):
            return changed
        if materials:
            changed["mat_rgba"] = _in_rows(materials, values["mat_rgba"], lambda rgba: self._tinted(rgba, drawn))
        if geoms:
            colours = list(values["geom_rgba"].split(1, dim=1))
            for row in geoms:
                material = int(model.geom_matid[row])
                worn = values["mat_rgba"][:, material : material + 1] if _wears_material(model, row) else colours[row]
                colours[row] = self._tinted(worn, drawn)
            changed["geom_rgba"] = cat(colours, dim=1)
        return changed

    def _tinted(self, rgba: Tensor, drawn: Tensor) -> Tensor:
        return cat([(rgba[..., :3] * drawn[:, None]).clamp(0.0, 1.0), rgba[..., 3:]], dim=-1)


@dataclass(frozen=True)
class Finish:
    """Scales how materials shine and mirror."""

    shininess: RangeLike = 1.0
    reflectance: RangeLike = 1.0
    materials: tuple[str, ...] = ()
    """All, if none is named."""
    look_fields = ("mat_shininess", "mat_specular", "mat_reflectance")

    def __post_init__(self) -> None:
        check_positive(self.shininess, self)
        check_positive(self.reflectance, self)

    def draw(self, state: State) -> Tensor:
        shininess = range_of(self.shininess, self).draw(state, 1)
        return cat([shininess, range_of(self.reflectance, self).draw(state, 1, label="reflectance")], dim=1)

    def look(self, drawn: Tensor, values: Values, model: mujoco.MjModel) -> dict[str, Tensor]:
        rows = _named(self, "material", self.materials, [model.mat(i).name for i in range(model.nmat)])
        shine, mirror = drawn[:, :1], drawn[:, 1:]
        factors = {"mat_shininess": shine, "mat_specular": shine} if _changes(self, self.shininess, "factor") else {}
        factors |= {"mat_reflectance": mirror} if _changes(self, self.reflectance, "factor") else {}
        changed: dict[str, Tensor] = {}
        for name, factor in factors.items():
            changed[name] = _in_rows(rows, values[name], lambda value, factor=factor: (value * factor).clamp(0.0, 1.0))
        return changed


def _wears_material(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom is drawn in its material's colour: it has one, and no colour of its own."""
    return bool(model.geom_matid[geom] >= 0 and (model.geom_rgba[geom] == UNCOLOURED).all())


def _changes(owner: object, range_like: RangeLike, kind: str) -> bool:
    """Whether a range of factors or offsets may draw anything but the neutral one."""
    return range_of(range_like, owner).ends != NEUTRAL[kind]


def _in_rows(rows: Sequence[int], values: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """A field (n, rows, ...) with some of its rows changed."""
    if len(rows) == values.shape[1]:
        return change(values)
    return cat([change(part) if row in rows else part for row, part in enumerate(values.split(1, dim=1))], dim=1)


def _turn(angles: Tensor) -> Tensor:
    """The quaternion of turns about x, then the new y, then the new z; (..., 3) rad to (..., 4)."""
    cos, sin = torch.cos(angles / 2), torch.sin(angles / 2)
    none = torch.zeros_like(cos[..., 0])
    x = torch.stack([cos[..., 0], sin[..., 0], none, none], dim=-1)
    y = torch.stack([cos[..., 1], none, sin[..., 1], none], dim=-1)
    z = torch.stack([cos[..., 2], none, none, sin[..., 2]], dim=-1)
    return _product(_product(x, y), z)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Of two quaternions (..., 4): the turn `right` in the frame of `left`."""
    w, x, y, z = left.unbind(-1)
    a, b, c, d = right.unbind(-1)
    parts = (
        w * a - x * b - y * c - z * d,
        w * b + x * a + y * d - z * c,
        w * c - x * d + y * a + z * b,
        w * d + x * c - y * b + z * a,
    )
    return torch.stack(parts, dim=-1)


def _named(owner: object, kind: str, wanted: tuple[str, ...], names: list[str]) -> list[int]:
    """Rows of those named, or of all; an error where there is none."""
    if not names:
        raise PaddockError(f"{owner}: the scene has no {kind} that could look different.")
    return _rows(kind, wanted, names) or list(range(len(names)))


def _rows(kind: str, wanted: tuple[str, ...], names: list[str]) -> list[int]:
    """Rows of those named."""
    for name in wanted:
        if name not in names:
            raise unknown(kind, name, filter(None, names))
    return [names.index(name) for name in wanted]
