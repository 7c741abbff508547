"""Pictures as observations: which camera of the model, in what size, and what of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import mujoco

from paddock.contracts import CAMERA_GROUP
from paddock.errors import PaddockError, unknown

PictureKind = Literal["rgb", "depth", "segmentation"]
KINDS: tuple[PictureKind, ...] = get_args(PictureKind)
CHANNELS: Mapping[PictureKind, int] = {"rgb": 3, "depth": 1, "segmentation": 2}


@dataclass(frozen=True, kw_only=True)
class Camera:
    """What a camera of the model sees, once a control step. Each kind is an observation group of its own: `camera/NAME/rgb`.

    `rgb` (n, h, w, 3) uint8. `depth` (n, h, w, 1) float32: metres along the camera's axis, `inf` beyond the far plane.
    `segmentation` (n, h, w, 2) int32: number and `mjtObj` type of what is seen in the visual model, -1 and -1 for the sky.
    """

    name: str
    """Of the camera in the robot's file or the scene."""
    width: int = 64
    height: int = 64
    kinds: tuple[PictureKind, ...] = ("rgb",)

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise PaddockError(f"camera '{self.name}' has {self.width} x {self.height} pixels; give at least one each way.")
        if not self.kinds:
            raise PaddockError(f"camera '{self.name}' sees nothing: give kinds, of {', '.join(KINDS)}.")
        for kind in self.kinds:
            if kind not in KINDS:
                raise unknown("kind of picture", kind, KINDS)


def check_cameras(spec: mujoco.MjSpec, cameras: Mapping[str, Camera]) -> None:
    """Say which camera the model lacks."""
    known = [camera.name for camera in spec.cameras]
    for name, camera in cameras.items():
        if not name or "/" in name:
            raise PaddockError(f"a camera called '{name}': give it a name without '/'.")
        if camera.name not in known:
            raise unknown("camera", camera.name, known)


def picture_shapes(cameras: Mapping[str, Camera]) -> dict[str, tuple[int, int, int]]:
    """Height, width and channels of each picture, by observation group."""
    return {
        f"{CAMERA_GROUP}{name}/{kind}": (camera.height, camera.width, CHANNELS[kind])
        for name, camera in cameras.items()
        for kind in camera.kinds
    }
