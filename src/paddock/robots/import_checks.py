"""What looks wrong in an imported robot. Nothing is changed here: each finding is a warning with a reason."""

import mujoco
import numpy as np

from paddock.robots.anatomy import bounds
from paddock.robots.import_draft import Draft, at
from paddock.robots.import_motors import SINGLE

LIGHT, HEAVY = 0.02, 20.0
"""Inertia of a body against that of a solid box with its mass and outline: outside of this range somebody slipped with units."""
DENSE_HULL = 500
"""Vertices of a convex hull above which contacts get slow."""
DENSE_FACES = 20_000
DEEP = 0.002
"""Metres of penetration at home that are worth a word."""
PLACEHOLDER_MASS = 1.0
LET_GO_STEPS = 100
GIVEN_UP = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
STEP_HINT = 0.005
"""Seconds. Above it, contacts of a light robot are soft and its servos ring."""


def check(draft: Draft, model: mujoco.MjModel, home: np.ndarray, *, floats: bool) -> None:
    """Add a warning for everything that looks wrong with the finished model in its home pose."""
    data = at(model, home)
    _check_inertias(draft, model)
    _check_meshes(draft, model)
    _check_joints(draft, model, home)
    _check_contacts(draft, model, data)
    if floats:
        clearance = float(bounds(model, data).low[2])
        if abs(clearance) > 0.02:
            where = "above" if clearance > 0 else "below"
            draft.note(
                "warning", f"the lowest part is {abs(clearance):.3f} m {where} the ground at home", "the keyframe is the file's own"
            )
    _check_motion(draft, model, data)
    if model.opt.timestep > STEP_HINT:
        draft.note(
            "warning",
            f"the timestep is {model.opt.timestep * 1000:g} ms",
            f"{STEP_HINT * 1000:g} ms or less suits robots with contacts",
        )


def _check_inertias(draft: Draft, model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    odd: dict[str, list[str]] = {}
    placeholders: list[str] = []
    for body in range(1, model.nbody):
        name, mass = model.body(body).name, float(model.body_mass[body])
        if mass <= 0:
            continue
        moments = np.sort(model.body_inertia[body])
        if moments[0] + moments[1] < moments[2] * (1 - 1e-6):
            odd.setdefault("its moments violate the triangle inequality", []).append(name)
        if mass == PLACEHOLDER_MASS and np.ptp(moments) == 0:
            placeholders.append(name)
        if not model.body_geomnum[body]:
            continue
        box = bounds(model, data, [body]).size
        solid = mass / 12 * float((box**2).sum() - (box**2).min())
        if solid > 0 and not LIGHT <= float(moments[2]) / solid <= HEAVY:
            much = "tiny" if moments[2] < solid else "huge"
            odd.setdefault(f"{much} against a solid of the same mass and outline", []).append(name)
    for why, names in odd.items():
        draft.note("warning", f"inertia of {_listed(names)}", why)
    if placeholders:
        draft.note("warning", f"{_listed(placeholders)} has 1 kg and the inertia of a ball", "this looks like a placeholder")


def _check_meshes(draft: Draft, model: mujoco.MjModel) -> None:
    """Collision meshes that cost more than a capsule would."""
    dense: list[str] = []
    for geom in range(model.ngeom):
        mesh = int(model.geom_dataid[geom])
        if model.geom_type[geom] != int(mujoco.mjtGeom.mjGEOM_MESH) or not (
            model.geom_contype[geom] or model.geom_conaffinity[geom]
        ):
            continue
        hull = int(model.mesh_graph[model.mesh_graphadr[mesh]]) if model.mesh_graphadr[mesh] >= 0 else 0
        faces = int(model.mesh_facenum[mesh])
        if hull > DENSE_HULL or faces > DENSE_FACES:
            dense.append(f"{model.mesh(mesh).name} ({hull} hull vertices, {faces:,} faces)")
    if dense:
        draft.note(
            "warning",
            f"dense collision meshes: {_listed(sorted(set(dense)))}",
            "capsules, spheres and boxes are faster and more stable",
        )


def _check_joints(draft: Draft, model: mujoco.MjModel, home: np.ndarray) -> None:
    endless = [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] in SINGLE and not model.jnt_limited[j]]
    if endless:
        draft.note("warning", f"no range: {_listed(endless)}", "positions are commanded around home without an end")
    outside = []
    for j in range(model.njnt):
        if model.jnt_type[j] in SINGLE and model.jnt_limited[j]:
            low, high = model.jnt_range[j]
            if not low - 1e-6 <= home[model.jnt_qposadr[j]] <= high + 1e-6:
                outside.append(model.joint(j).name)
    if outside:
        draft.note("warning", f"home is outside the range of {_listed(outside)}", "the robot jumps at the start of every episode")


def _check_contacts(draft: Draft, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    pairs = {bodies for bodies, depth in penetrations(model, data).items() if depth > DEEP}
    if pairs:
        listed = _listed(sorted(f"{a} and {b}" for a, b in pairs))
        draft.note("warning", f"at home {listed} touch", "thin them out, or add <exclude body1 body2> to <contact>")


def _check_motion(draft: Draft, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Let it go at home with no control: what the engine gives up on now, no task can use."""
    for _ in range(LET_GO_STEPS):
        mujoco.mj_step(model, data)
        if any(data.warning[int(kind)].number for kind in GIVEN_UP):
            why = "look at masses, inertias and what overlaps, or take a smaller timestep"
            draft.note("warning", f"the engine gives up after {data.time:g} s at home without control", why)
            return


def penetrations(model: mujoco.MjModel, data: mujoco.MjData) -> dict[tuple[str, str], float]:
    """How deep bodies of the robot lie in each other; pairs of names to metres."""
    found: dict[tuple[str, str], float] = {}
    for contact in data.contact[: data.ncon]:
        first, second = sorted(int(model.geom_bodyid[g]) for g in contact.geom)
        pair = model.body(first).name, model.body(second).name
        found[pair] = max(found.get(pair, 0.0), -float(contact.dist))
    return found


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
