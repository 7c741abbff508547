"""What the parts of a machine are, guessed from its model: legs and feet, the end of an arm, how large it is."""

import re
from dataclasses import dataclass

import mujoco
import numpy as np

LEG_JOINTS = 2
"""Motors of its own that a leg has at least. A wheel has one."""
LEG_REACH = 0.15
"""A leg's end is this near to the robot's lowest point, as a share of its height."""
ARM_JOINTS = 3
MOST_ARMS = 2
HAND_FINGERS = 3
"""Limbs that part before the third joint make a hand, not an arm."""
TOOL_NAMES = re.compile(r"tool|tcp|grasp|pinch|attachment|grip|end_?effector|\bee|_ee|ee_|eef", re.IGNORECASE)
JAW_NAMES = re.compile(r"jaw|finger|grip|claw|pinch", re.IGNORECASE)
SCENE_SHAPES = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD))
SAME_LEVEL = 0.02
"""Metres: parts of a foot that are this near to its lowest one touch the ground too."""


@dataclass(frozen=True, kw_only=True)
class Limb:
    """A chain of driven joints, from the robot's root to a link that drives nothing further."""

    end: int
    """The last body that a driven joint moves."""
    joints: tuple[int, ...]
    own: int
    """How many of the joints move no other limb."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """An axis-aligned box in the world, metres."""

    low: np.ndarray
    high: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        return (self.low + self.high) / 2

    @property
    def size(self) -> np.ndarray:
        return self.high - self.low


def limbs(model: mujoco.MjModel, driven: set[int]) -> list[Limb]:
    """Every limb, in the order of the model's bodies."""
    chains: dict[int, tuple[int, ...]] = {}
    inner: set[int] = set()
    for body in range(1, model.nbody):
        own = [j for j in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]) if j in driven]
        if not own:
            continue
        above = next((b for b in ancestors(model, body) if b in chains), None)
        chains[body] = (*(chains[above] if above is not None else ()), *own)
        if above is not None:
            inner.add(above)
    ends = {body: joints for body, joints in chains.items() if body not in inner}
    users = {joint: sum(joint in joints for joints in ends.values()) for joint in driven}
    return [Limb(end=body, joints=joints, own=sum(users[j] == 1 for j in joints)) for body, joints in ends.items()]


def legs(model: mujoco.MjModel, data: mujoco.MjData, found: list[Limb]) -> list[Limb]:
    """The limbs that reach the ground when the robot stands in the pose of `data`."""
    whole = bounds(model, data)
    limit = whole.low[2] + LEG_REACH * whole.size[2]
    return [limb for limb in found if limb.own >= LEG_JOINTS and bounds(model, data, subtree(model, limb.end)).low[2] <= limit]


def foot_geoms(model: mujoco.MjModel, data: mujoco.MjData, leg: Limb) -> list[int]:
    """The lowest colliding geoms of a leg's last link, all on one body."""
    bodies = subtree(model, leg.end)
    geoms = [g for g in solid_geoms(model) if int(model.geom_bodyid[g]) in bodies]
    if not geoms:
        return []
    floor = {g: float(geom_box(model, data, g).low[2]) for g in geoms}
    lowest = min(geoms, key=floor.__getitem__)
    body = model.geom_bodyid[lowest]
    return [g for g in geoms if model.geom_bodyid[g] == body and floor[g] <= floor[lowest] + SAME_LEVEL]


def is_arm(model: mujoco.MjModel, found: list[Limb]) -> bool:
    """Whether the robot is one arm or two: bolted down, moved by motors from the first joint on, and no hand."""
    longest = max(found, key=lambda limb: len(limb.joints), default=None)
    if longest is None or len(longest.joints) < ARM_JOINTS:
        return False
    first = int(model.jnt_bodyid[longest.joints[0]])
    loose = any(model.body_jntnum[body] for body in ancestors(model, first))
    arms = {limb.joints[0] for limb in found if len(limb.joints) >= ARM_JOINTS}
    fingers = [limb for limb in found if limb.joints[0] == longest.joints[0] and _shared(limb, longest) < ARM_JOINTS]
    return not loose and len(arms) <= MOST_ARMS and len(fingers) < HAND_FINGERS


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Where an arm works: a site that the model has, or a place on one of its bodies."""

    site: int | None
    body: int
    pos: np.ndarray
    """In the body's frame."""
    why: str


def tool(model: mujoco.MjModel, data: mujoco.MjData, found: list[Limb]) -> Tool:
    """The end of the longest limb; between the fingers, where it ends in several or in a jaw."""
    longest = max(found, key=lambda limb: len(limb.joints))
    fingers = [limb for limb in found if limb is longest or _shared(limb, longest) >= ARM_JOINTS]
    shared = min(_shared(limb, longest) for limb in fingers)
    jaw = len(fingers) == 1 and shared > ARM_JOINTS and _is_jaw(model, longest.joints[-1])
    body = int(model.jnt_bodyid[longest.joints[shared - 1 - jaw]])
    below = subtree(model, body)
    named = [s for s in range(model.nsite) if int(model.site_bodyid[s]) in below and TOOL_NAMES.search(model.site(s).name)]
    if named:
        return Tool(site=named[-1], body=int(model.site_bodyid[named[-1]]), pos=np.zeros(3), why="the file's own site")
    if len(fingers) > 1:
        tips = np.mean([bounds(model, data, subtree(model, limb.end)).middle for limb in fingers], axis=0)
        return Tool(site=None, body=body, pos=_local(data, body, tips), why=f"between {len(fingers)} fingers")
    rigid = [b for b in below if model.body_weldid[b] == model.body_weldid[body]]
    if jaw:
        moving = subtree(model, longest.end)
        tips = [_tip(model, data, body, rigid), _tip(model, data, longest.end, moving)]
        return Tool(site=None, body=body, pos=_local(data, body, np.mean(tips, axis=0)), why="between the jaws")
    frames = [b for b in rigid if TOOL_NAMES.search(model.body(b).name)]
    if frames:
        return Tool(site=None, body=frames[-1], pos=np.zeros(3), why="the frame of that name")
    tip = _tip(model, data, body, below)
    return Tool(site=None, body=body, pos=_local(data, body, tip), why="the end of the longest chain of joints")


def _is_jaw(model: mujoco.MjModel, joint: int) -> bool:
    """Whether a joint opens a gripper, by its name: its body may be a wrist that is named for what it carries."""
    return JAW_NAMES.search(model.joint(joint).name) is not None


def _tip(model: mujoco.MjModel, data: mujoco.MjData, body: int, carried: list[int]) -> np.ndarray:
    """The far side of what a body carries, seen from its own joint."""
    box = bounds(model, data, carried)
    away = box.middle - data.xpos[body]
    axis = int(np.argmax(np.abs(away)))
    point = box.middle.copy()
    point[axis] += np.sign(away[axis]) * box.size[axis] / 2
    return point


def _local(data: mujoco.MjData, body: int, point: np.ndarray) -> np.ndarray:
    return data.xmat[body].reshape(3, 3).T @ (point - data.xpos[body])


def _shared(limb: Limb, other: Limb) -> int:
    return len(set(limb.joints) & set(other.joints))


def ancestors(model: mujoco.MjModel, body: int) -> list[int]:
    """From a body's parent up to the world, which is left out."""
    chain: list[int] = []
    while (body := int(model.body_parentid[body])) != 0:
        chain.append(body)
    return chain


def subtree(model: mujoco.MjModel, body: int) -> list[int]:
    """A body and all below it."""
    inside = {body}
    for other in range(body + 1, model.nbody):
        if int(model.body_parentid[other]) in inside:
            inside.add(other)
    return sorted(inside)


def solid_geoms(model: mujoco.MjModel) -> list[int]:
    """Geoms that collide; all of them where none does. Endless planes are no part of a robot."""
    shaped = [g for g in range(model.ngeom) if model.geom_type[g] not in SCENE_SHAPES]
    return [g for g in shaped if model.geom_contype[g] or model.geom_conaffinity[g]] or shaped


def geom_box(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> Box:
    """The box around a geom, tight for everything a foot may be made of."""
    turn, size, kind = data.geom_xmat[geom].reshape(3, 3), model.geom_size[geom], mujoco.mjtGeom(int(model.geom_type[geom]))
    middle = data.geom_xpos[geom].copy()
    axis = np.abs(turn[:, 2])
    match kind:
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            half = np.full(3, size[0])
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            half = axis * size[1] + size[0]
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            half = axis * size[1] + size[0] * np.sqrt(np.maximum(0.0, 1.0 - axis**2))
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            half = np.sqrt(((turn * size) ** 2).sum(axis=1))
        case mujoco.mjtGeom.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first = int(model.mesh_vertadr[mesh])
            corners = middle + model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])] @ turn.T
            return Box(low=corners.min(axis=0), high=corners.max(axis=0))
        case _:
            middle, half = middle + turn @ model.geom_aabb[geom, :3], np.abs(turn) @ model.geom_aabb[geom, 3:]
    return Box(low=middle - half, high=middle + half)


def bounds(model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int] | None = None) -> Box:
    """The box around some bodies, or all. A body without geoms is a point."""
    chosen = set(range(1, model.nbody)) if bodies is None else set(bodies)
    boxes = [geom_box(model, data, g) for g in solid_geoms(model) if int(model.geom_bodyid[g]) in chosen]
    if not boxes:
        points = data.xpos[sorted(chosen)] if chosen else np.zeros((1, 3))
        return Box(low=points.min(axis=0), high=points.max(axis=0))
    return Box(low=np.min([box.low for box in boxes], axis=0), high=np.max([box.high for box in boxes], axis=0))
