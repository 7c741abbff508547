"""What cameras see: light, the camera's own pose and view, colours. Physics knows nothing of it and pays nothing for it."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from torch import Tensor, cat

from paddock.contracts import State
from paddock.errors import PaddockError, unknown
from paddock.tasks.ranges import RangeLike, check_factor, check_positive, range_of

Values = Mapping[str, np.ndarray]


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

    def look(self, drawn: np.ndarray, values: Values, model: mujoco.MjModel) -> dict[str, np.ndarray]:
        rows = _named(self, "light", self.lights, [model.light(i).name for i in range(model.nlight)])
        if self.offset_m != 0.0 and (model.light_type[rows] == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL).all():
            raise PaddockError(f"{self}: the light shines from infinitely far, so no offset changes it. Name a spot light.")
        changed = {name: values[name].copy() for name in self.look_fields}
        for name in self.look_fields[:3]:
            changed[name][rows] *= drawn[0]
        changed["light_pos"][rows] += drawn[1:]
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

    def look(self, drawn: np.ndarray, values: Values, model: mujoco.MjModel) -> dict[str, np.ndarray]:
        rows = _named(self, "camera", self.cameras, [model.camera(i).name for i in range(model.ncam)])
        pos, quat, fovy = (values[name].copy() for name in self.look_fields)
        pos[rows] += drawn[:3]
        fovy[rows] = np.minimum(fovy[rows] * drawn[6], 170.0)
        turn = np.zeros(4)
        mujoco.mju_euler2Quat(turn, np.radians(drawn[3:6], dtype=np.float64), "xyz")
        for row in rows:
            mujoco.mju_mulQuat(quat[row], values["cam_quat"][row], turn)
        return {"cam_pos": pos, "cam_quat": quat, "cam_fovy": fovy}


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

    def look(self, drawn: np.ndarray, values: Values, model: mujoco.MjModel) -> dict[str, np.ndarray]:
        colours = {name: values[name].copy() for name in self.look_fields}
        for kind, wanted, names in (
            ("material", self.materials, [model.mat(i).name for i in range(model.nmat)]),
            ("geom", self.geoms, [model.geom(i).name for i in range(model.ngeom)]),
        ):
            if wanted or not (self.materials or self.geoms):
                rows = _named(self, kind, wanted, names) if wanted else list(range(len(names)))
                rgba = colours["mat_rgba" if kind == "material" else "geom_rgba"]
                rgba[rows, :3] = np.clip(rgba[rows, :3] * drawn, 0.0, 1.0)
        return colours


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

    def look(self, drawn: np.ndarray, values: Values, model: mujoco.MjModel) -> dict[str, np.ndarray]:
        rows = _named(self, "material", self.materials, [model.mat(i).name for i in range(model.nmat)])
        changed = {name: values[name].copy() for name in self.look_fields}
        for name, factor in zip(self.look_fields, (drawn[0], drawn[0], drawn[1]), strict=True):
            changed[name][rows] = np.clip(changed[name][rows] * factor, 0.0, 1.0)
        return changed


def _named(owner: object, kind: str, wanted: tuple[str, ...], names: list[str]) -> list[int]:
    """Rows of those named, or of all; an error where there is none."""
    if not names:
        raise PaddockError(f"{owner}: the scene has no {kind} that could look different.")
    for name in wanted:
        if name not in names:
            raise unknown(kind, name, filter(None, names))
    return [names.index(name) for name in wanted] or list(range(len(names)))
