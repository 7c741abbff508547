"""What the task's cameras see of all worlds of a GPU sim, traced ray by ray by MuJoCo Warp, without OpenGL.

The pictures are of the whole model, which the sim does not step: a copy of it is posed from the sim's own qpos and drawn.
Nothing here looks at a value, so that pictures are captured into one graph with the step that they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from torch import Tensor

from paddock.contracts import CAMERA_GROUP, Obs, Sim
from paddock.errors import PaddockError, blame
from paddock.looks import Looks
from paddock.seeing import rows_of
from paddock.sims.gpu import GpuSim
from paddock.sims.gpu_fields import expanded
from paddock.sims.model import compile_text
from paddock.sims.streams import on_stream
from paddock.tasks.cameras import Camera
from paddock.tasks.task import Task
from paddock.worlds import Worlds

GEOM, SITE = int(mujoco.mjtObj.mjOBJ_GEOM), int(mujoco.mjtObj.mjOBJ_SITE)
SHOWN_GROUPS = 3
"""Geoms and sites of groups below are in pictures, as on the CPU."""
SHOWS = ("body_pos", "body_quat", "geom_pos", "geom_quat", "geom_size", "geom_rgba", "geom_matid", "mat_rgba")
"""Fields of the sim's own model, one value per world, that change a picture."""
TRACKING = (int(mujoco.mjtCamLight.mjCAMLIGHT_TRACK), int(mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM))
ORTHOGRAPHIC = int(mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC)
ZOOM = "cam_fovy"
OF_MASSES = (int(mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM), int(mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODYCOM))
NOWHERE = 1e8
"""Height from which a camera of a world that is not wanted looks up into nothing, which costs next to nothing, m."""


class GpuEyes:
    """Draws all worlds at once, each with its own pose and looks."""

    def __init__(self, task: Task, sim: Sim, visual_text: str, looks: Looks) -> None:
        assert isinstance(sim, GpuSim)
        self._cameras, self._sim = task.cameras, sim
        visual = compile_text(visual_text)
        model, objects = _drawable(visual_text)
        _check_drawable(visual)
        lenses = [model.camera(camera.name).id for camera in task.cameras.values()]
        with on_stream(sim.device):
            try:
                self._model = mjw.put_model(model)
            except NotImplementedError as refusal:
                raise PaddockError(f"MuJoCo Warp cannot draw this model: {refusal} Use --sim cpu.") from None
            self._data = mjw.make_data(model, nworld=sim.num_worlds, nconmax=1, njmax=1)  # it is posed, never stepped
            self._context = mjw.create_render_context(
                model,
                nworld=sim.num_worlds,
                cam_res=[(camera.width, camera.height) for camera in task.cameras.values()],
                cam_active=lenses,
                render_rgb=_wanting(task.cameras, "rgb"),
                render_depth=_wanting(task.cameras, "depth"),
                render_seg=_wanting(task.cameras, "segmentation"),
                render_skybox=True,
            )
            self._near = _begin_at_near_plane(self._context)
            self._geoms = torch.from_numpy(np.flatnonzero(objects[:-1, 1] == GEOM)).to(sim.device)
            self._objects = torch.from_numpy(objects).to(sim.device)
            self._has_sites = len(self._geoms) < model.ngeom
            worn = [field for field in looks if field != ZOOM]
            self._worn = {field: self._field(task, field, model, lenses) for field in worn}
            self._is_flat = torch.from_numpy(model.cam_projection == ORTHOGRAPHIC).to(sim.device)
            self._nominal_width = self._width(torch.from_numpy(model.cam_fovy).to(sim.device))
            self._rows = self._rows_of_sim(visual)
            self._data.qpos = wp.from_torch(sim.qpos)
            if model.nmocap:
                self._data.mocap_pos = wp.from_torch(sim.mocap_pos, dtype=wp.vec3)
                self._data.mocap_quat = wp.from_torch(sim.mocap_quat, dtype=wp.quat)
        modes = {*model.cam_mode[lenses].tolist(), *model.light_mode.tolist()}
        self._weighs = bool(modes & set(OF_MASSES))
        self._cam_xpos, self._cam_xmat = wp.to_torch(self._data.cam_xpos), wp.to_torch(self._data.cam_xmat)
        self._nowhere = torch.tensor([0.0, 0.0, NOWHERE], device=sim.device)
        self._upwards = torch.diag(torch.tensor([1.0, -1.0, -1.0])).to(sim.device)  # a camera looks along its -z
        self._colours = wp.to_torch(self._context.rgb_data)
        self._depths = wp.to_torch(self._context.depth_data)
        self._segments = wp.to_torch(self._context.seg_data)

    def look(self, worlds: Worlds, looks: Looks) -> Obs:
        """Pictures of some worlds, in their looks; (n, h, w, channels) by observation group. Those of other worlds show nothing."""
        with on_stream(self._sim.device):
            self._wear(looks)
            mjw.kinematics(self._model, self._data)
            if self._weighs:
                mjw.com_pos(self._model, self._data)
            mjw.camlight(self._model, self._data)
            if ZOOM in looks:
                self._zoom(looks[ZOOM])
            is_wanted = worlds.mask[:, None, None]
            self._cam_xpos.copy_(torch.where(is_wanted, self._cam_xpos, self._nowhere))
            self._cam_xmat.copy_(torch.where(is_wanted[..., None], self._cam_xmat, self._upwards))
            mjw.refit_bvh(self._model, self._data, self._context)
            mjw.render(self._model, self._data, self._context)
            return self._pictures()

    def _zoom(self, fovy: Tensor) -> None:
        """Spread or narrow the rays (n, ncam), which are made for the nominal field of view: they are the same in every world."""
        scale = self._width(fovy) / self._nominal_width
        self._cam_xmat[..., :2].mul_(scale[..., None, None])

    def _width(self, fovy: Tensor) -> Tensor:
        """Half of what a camera sees at a distance of 1 m, or of all that it sees where its rays are parallel."""
        return torch.where(self._is_flat, fovy / 2, torch.tan(torch.deg2rad(fovy) / 2))

    def _pictures(self) -> Obs:
        seen: Obs = {}
        start = dict.fromkeys(("rgb", "depth", "segmentation"), 0)
        for name, camera in self._cameras.items():
            size, shape = camera.width * camera.height, (camera.height, camera.width)
            for kind in camera.kinds:
                pixels = slice(start[kind], start[kind] + size)
                start[kind] += size
                picture = {"rgb": self._rgb, "depth": self._depth, "segmentation": self._segmentation}[kind](pixels)
                seen[f"{CAMERA_GROUP}{name}/{kind}"] = picture.unflatten(1, shape)
        return seen

    def _rgb(self, pixels: slice) -> Tensor:
        packed = self._colours[:, pixels].contiguous().view(torch.uint8)  # blue, green, red, alpha
        return packed.unflatten(1, (-1, 4))[..., :3].flip(-1)

    def _depth(self, pixels: slice) -> Tensor:
        ahead = self._depths[:, pixels, None]
        return (ahead + self._near).masked_fill(ahead <= 0.0, torch.inf)

    def _segmentation(self, pixels: slice) -> Tensor:
        seen = self._segments[:, pixels]
        if not self._has_sites:
            return seen.clone()
        return torch.where(seen[..., 1:] == GEOM, self._objects[seen[..., 0].long()], seen)

    def _wear(self, looks: Looks) -> None:
        """Put on what worlds look like, and what of the physics' own fields is seen."""
        for field, worn in self._worn.items():
            if field not in looks:
                continue
            value = looks[field]
            if field.startswith("geom_") and self._has_sites:
                worn.index_copy_(1, self._geoms, value.to(worn.dtype))
            else:
                worn.copy_(value)
        for field, (own, theirs) in self._rows.items():
            worn = self._worn[field]
            worn.index_copy_(1, theirs, self._sim.model_fields[field].index_select(1, own))

    def _rows_of_sim(self, visual: mujoco.MjModel) -> dict[str, tuple[Tensor, Tensor]]:
        """Which rows of the sim's fields belong to which here, for those that show."""
        found: dict[str, tuple[Tensor, Tensor]] = {}
        for field in self._sim.model_fields:
            rows = rows_of(field, self._sim.model, visual) if field in SHOWS else None
            if rows is not None:
                own, theirs = (torch.from_numpy(part).to(self._sim.device) for part in rows)
                found[field] = own, self._geoms[theirs] if field.startswith("geom_") else theirs
                if field not in self._worn:
                    self._worn[field] = expanded(self._model, field, self._sim.num_worlds)
        return found

    def _field(self, task: Task, field: str, model: mujoco.MjModel, lenses: list[int]) -> Tensor:
        """A field of the drawn model with a value per world, or an error that names the randomiser that asks for it."""
        name = next((name for name, look in task.looks.items() if field in look.look_fields), "")
        follows = {
            "cam_pos": model.cam_mode[lenses],
            "cam_quat": model.cam_mode[lenses],
            "light_pos": model.light_mode,
        }
        try:
            if np.isin(follows.get(field, []), TRACKING).any():
                raise PaddockError(
                    f"'{field}' of what follows a body cannot be drawn on the GPU. Fix it to the body, or use --sim cpu."
                )
            return expanded(self._model, field, self._sim.num_worlds)
        except PaddockError as refusal:
            raise blame(task.name, "randomize", name, refusal) from None


def _wanting(cameras: Mapping[str, Camera], kind: str) -> list[bool]:
    return [kind in camera.kinds for camera in cameras.values()]


def _begin_at_near_plane(context: mjw.RenderContext) -> float:
    """Let rays begin where OpenGL's do, so that a camera does not see the case that it is built into. Returns how far off, m."""
    rays, offsets = wp.to_torch(context.ray), wp.to_torch(context.ray_offset)
    offsets.add_(rays * (context.znear / -rays[:, 2:]))
    context.has_orthographic_camera = True  # what makes the engine look at offsets
    return context.znear


def _drawable(text: str) -> tuple[mujoco.MjModel, np.ndarray]:
    """The model with its visible sites as geoms, which is all that rays meet, and what each geom is; (ngeom + 1, 2) int32.

    The last row is nothing.
    """
    visual, spec = compile_text(text), mujoco.MjSpec.from_string(text)
    sites = [i for i in range(visual.nsite) if visual.site_group[i] < SHOWN_GROUPS and visual.site_rgba[i, 3] > 0.0]
    for i in sites:
        own = spec.sites[i]
        spec.bodies[visual.site_bodyid[i]].add_geom(
            name=f"site {i}",
            type=mujoco.mjtGeom(int(visual.site_type[i])),
            size=visual.site_size[i],
            pos=visual.site_pos[i],
            quat=visual.site_quat[i],
            rgba=visual.site_rgba[i],
            material=own.material,
            group=int(visual.site_group[i]),
            contype=0,
            conaffinity=0,
            mass=0.0,
        )
    model = spec.compile() if sites else visual
    places = {model.geom(f"site {i}").id: i for i in sites}
    kept = iter(range(visual.ngeom))
    objects = [(places[i], SITE) if i in places else (next(kept), GEOM) for i in range(model.ngeom)]
    return model, np.array([*objects, (-1, -1)], dtype=np.int32)


def _check_drawable(model: mujoco.MjModel) -> None:
    """Say what the CPU would draw, and no ray meets."""
    is_shown = (model.tendon_group < SHOWN_GROUPS) & (model.tendon_rgba[:, 3] > 0.0)
    is_spatial = model.wrap_type[model.tendon_adr] != mujoco.mjtWrap.mjWRAP_JOINT if model.ntendon else is_shown
    for kind, count in (
        ("spatial tendons", int((is_shown & is_spatial).sum())),
        ("skins", int((model.skin_group < SHOWN_GROUPS).sum())),
    ):
        if count:
            raise PaddockError(
                f"cameras on the GPU cannot draw the model's {count} {kind}. Put them into group {SHOWN_GROUPS} or higher, "
                "which no picture shows, or use --sim cpu."
            )
