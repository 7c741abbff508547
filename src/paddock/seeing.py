"""From the worlds of an environment to what the task's cameras see of them. The CPU opens OpenGL at the first picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock.contracts import CAMERA_GROUP, Obs, Sim
from paddock.looks import Looks, looks_of
from paddock.rendering import Camera as Lens
from paddock.sims.model import compile_text, model_text
from paddock.tasks.cameras import Camera, picture_shapes
from paddock.worlds import Worlds

if TYPE_CHECKING:
    from paddock.env import Environment

DTYPES: Mapping[str, torch.dtype] = {"rgb": torch.uint8, "depth": torch.float32, "segmentation": torch.int32}
LOOKS = ("geom", "mat", "light", "cam", "site", "body")
"""What a model field that shows in a picture belongs to, by the first word of its name."""


class Eyes(Protocol):
    """What takes the pictures of a task's cameras."""

    def look(self, worlds: Worlds, looks: Looks) -> Obs:
        """Pictures of some worlds, in their looks; (k, h, w, channels) by observation group, or (n, ...) without rows."""
        ...


def eyes_of(env: Environment) -> Eyes:
    """Those that suit the environment's sim, on a model of their own: worlds may look different."""
    text = model_text(env.task.spec(), lean=False)
    if env.sim.by_rows:
        return CpuEyes(env.task.cameras, env.sim, compile_text(text))
    from paddock.gpu_seeing import GpuEyes

    return GpuEyes(env.task, env.sim, text, looks_of(env, Worlds(torch.ones_like(env.sim.failed), None)))


class CpuEyes:
    """Draws the worlds one after another, each with its own pose and looks, from its own copy of the visual model."""

    def __init__(self, cameras: Mapping[str, Camera], sim: Sim, visual_model: mujoco.MjModel) -> None:
        self._cameras, self._sim = cameras, sim
        self._model = visual_model
        width, height = (max(getattr(camera, side) for camera in cameras.values()) for side in ("width", "height"))
        quality, buffer = visual_model.vis.quality, visual_model.vis.global_
        quality.shadowsize = quality.offsamples = 0  # drawn in software, these cost nine times as much as all else
        buffer.offwidth, buffer.offheight = width, height
        self._lens = Lens(visual_model, width=width, height=height)
        self._rows = {name: rows for name in sim.model_fields if (rows := rows_of(name, sim.model, visual_model)) is not None}

    def look(self, worlds: Worlds, looks: Looks) -> Obs:
        """Pictures of some worlds, in their looks; (k, h, w, channels) by observation group."""
        qpos, mocap_pos, mocap_quat = (
            worlds.take(value).numpy() for value in (self._sim.qpos, self._sim.mocap_pos, self._sim.mocap_quat)
        )
        fields = {name: worlds.take(self._sim.model_fields[name]).numpy() for name in self._rows}
        seen: dict[str, Tensor] = {}
        for group, shape in picture_shapes(self._cameras).items():
            seen[group] = torch.empty(len(qpos), *shape, dtype=DTYPES[group.rsplit("/", 1)[1]])
        for world in range(len(qpos)):
            look = {field: value[world].numpy() for field, value in looks.items()}
            for field, (own, theirs) in self._rows.items():
                values = np.array(look.get(field, getattr(self._model, field)))
                values[theirs] = fields[field][world][own]
                look[field] = values
            self._lens.pose(qpos[world], look, mocap=(mocap_pos[world], mocap_quat[world]))
            for name, camera in self._cameras.items():
                self._lens.point(camera.name, camera.width, camera.height)
                for kind in camera.kinds:
                    picture = torch.from_numpy(self._lens.shoot(kind))
                    seen[f"{CAMERA_GROUP}{name}/{kind}"][world] = picture
        return seen

    def close(self) -> None:
        self._lens.close()


def rows_of(field: str, lean: mujoco.MjModel, visual: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray] | None:
    """Which rows of the field in the lean model belong to which in the visual one, by name, or None where it does not show.

    What has no name is matched where both models have equally many.
    """
    kind = field.split("_")[0]
    if kind not in LOOKS:
        return None
    own, theirs = getattr(lean, field), getattr(visual, field)
    if len(own) == len(theirs):
        return np.arange(len(own)), np.arange(len(own))
    named = {getattr(visual, kind)(i).name: i for i in range(len(theirs))}
    pairs = [(i, named[name]) for i in range(len(own)) if (name := getattr(lean, kind)(i).name) and name in named]
    return np.array([i for i, _ in pairs], dtype=int), np.array([j for _, j in pairs], dtype=int)
