"""Small meshes in the place of large ones while a robot is put together: the engine takes seconds over what is only looked at."""

import mujoco
import numpy as np

from paddock.robots.stl import stl_of

CORNERS = np.array([[0, 0, 0], [0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
OBJ = "".join([f"v {x:g} {y:g} {z:g}\n" for x, y, z in CORNERS] + [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES])
STAND_INS = {".stl": stl_of(CORNERS[FACES]), ".obj": OBJ.encode()}
FROM_GEOMS = 1
"""Of `inertiafromgeom`: the masses that a file states are not used."""


def stand_ins(spec: mujoco.MjSpec) -> dict[str, bytes]:
    """A small content for each file whose shape changes neither mass nor contact; empty for a robot without any collision."""
    if spec.compiler.inertiafromgeom == FROM_GEOMS or not any(geom.contype or geom.conaffinity for geom in spec.geoms):
        return {}
    needed = {geom.meshname for geom in spec.geoms if geom.meshname and not _is_only_seen(geom)}
    return {
        mesh.file: STAND_INS[suffix]
        for mesh in spec.meshes
        if mesh.file and mesh.name not in needed and (suffix := f".{mesh.file.rpartition('.')[2]}") in STAND_INS
    }


def _is_only_seen(geom: mujoco.MjsGeom) -> bool:
    weightless = geom.mass == 0 or geom.density == 0 or geom.parent.explicitinertial
    return geom.type == mujoco.mjtGeom.mjGEOM_MESH and not (geom.contype or geom.conaffinity) and bool(weightless)
