"""A robot while it is being imported: the model, what is known about it beside the model, and what a person should be told."""

import re
from dataclasses import dataclass, field

import mujoco
import numpy as np

from paddock.errors import BrokenModel, broken_model
from paddock.messages import ImportNote, MimicJoint, ModelSize

ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
"""Kinds of actuators that drive a joint."""
MAX_REPAIRS = 60
SHELL = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
ROUNDING = 1e-4
"""A written model has six digits, and a thin rod is on the very edge of what is possible."""
TINY_MASS, TINY_INERTIA = 1e-3, 1e-6
"""Of a link without mass between two joints: too light to matter, heavy enough to be simulated."""


@dataclass(kw_only=True)
class Draft:
    """The model on its way from a stranger's file to a robot."""

    spec: mujoco.MjSpec
    format: str
    notes: list[ImportNote]
    mimics: tuple[MimicJoint, ...] = ()
    velocities: dict[str, float] = field(default_factory=dict)
    """Velocity limits that the model itself does not hold."""

    def note(self, kind: str, what: str, why: str) -> None:
        self.notes.append(ImportNote(kind=kind, what=what, why=why))

    def compile(self) -> mujoco.MjModel:
        """The model as it stands, repaired where the engine refuses a part of it."""
        for _ in range(MAX_REPAIRS):
            try:
                return self.spec.compile()
            except (ValueError, mujoco.FatalError) as refusal:
                if not self.repair(str(refusal)):
                    raise broken_model(f"'{self.spec.modelname}'", refusal) from None
        raise BrokenModel(f"'{self.spec.modelname}' needs more than {MAX_REPAIRS} repairs before it compiles.")

    def repair(self, refusal: str) -> bool:
        """Drop a mesh that cannot be read, give a moving link some mass, make an inertia possible; False where nothing helps."""
        named = re.search(r"Element name '(.+?)'", refusal)
        name = named[1] if named else ""
        reason = refusal.splitlines()[0].removeprefix("Error: ")
        if "moving bodies must be larger" in refusal and (body := self.spec.body(name)) is not None:
            body.explicitinertial = True
            body.mass, body.inertia = TINY_MASS, [TINY_INERTIA] * 3
            body.ipos, body.iquat = [0, 0, 0], [1, 0, 0, 0]
            self.note("added", f"{TINY_MASS * 1000:g} g to body '{name}'", "it moves and has no mass")
            return True
        if "balanceinertia" in refusal and (body := self.spec.body(name)) is not None:
            _balance(body)
            self.note("changed", f"inertia of body '{name}'", "no body has its principal moments: " + reason.partition(";")[0])
            return True
        if "volume is too small" in refusal and (mesh := self.spec.mesh(name)) is not None and mesh.inertia != SHELL:
            mesh.inertia = SHELL
            self.note("changed", f"mesh '{name}' is a shell", "it encloses no volume to weigh")
            return True
        if (mesh := self.spec.mesh(name)) is not None:
            geoms = [geom for geom in self.spec.geoms if geom.meshname == name]
            for geom in geoms:
                self.spec.delete(geom)
            self.spec.delete(mesh)
            self.note("dropped", f"mesh '{name}', used {len(geoms)} times", reason)
            return True
        return False


def _balance(body: mujoco.MjsBody) -> None:
    """Add to all principal moments alike until the two small ones together reach the large one."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    full = not np.isnan(xx)
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) if full else np.sort(body.inertia)
    lacking = max(0.0, float(moments[2] - moments[0] - moments[1])) + ROUNDING * float(moments[2])
    if full:
        body.fullinertia[:3] += lacking
    else:
        body.inertia += lacking


def at(model: mujoco.MjModel, qpos: np.ndarray) -> mujoco.MjData:
    """The model's data in a pose."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    return data


def size_of(model: mujoco.MjModel) -> ModelSize:
    """What the model is made of."""
    return ModelSize(
        bodies=model.nbody - 1,
        joints=model.njnt,
        dof=model.nv,
        actuators=model.nu,
        geoms=model.ngeom,
        meshes=model.nmesh,
        tendons=model.ntendon,
        equalities=model.neq,
        sensors=model.nsensor,
        keyframes=model.nkey,
        mass=round(float(model.body_mass[1:].sum()), 6),
    )
