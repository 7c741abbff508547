"""The pose that an imported robot starts from: the file's own, or a guess in which it stands on its feet."""

import math
import re

import mujoco
import numpy as np

from paddock.robots.anatomy import Limb, ancestors, bounds, geom_box, legs, limbs, solid_geoms, subtree, tool
from paddock.robots.import_checks import DEEP, penetrations
from paddock.robots.import_draft import Draft, at
from paddock.robots.import_motors import HINGE, SINGLE

STANDING = ("home", "stand", "knees_bent", "ready", "rest", "default", "init", "neutral")
"""Names of keyframes, the likelier first."""
SAMPLES = 121
SIDEWAYS = 0.8
"""Cosine to the robot's left, at least, of an axis that swings a leg forth and back."""
STRAIGHT = 0.97
"""Distance of foot and hip, as a share of the leg's length, above which it stands as on a stilt."""
FOLD, FOLD_UPRIGHT = 1.2, 0.5
"""Radians that such a knee is bent at home: of a robot on many legs, and on two."""
ARM_POSES = 500
ARM_SPREAD = 1.6
"""Radians that a joint of an arm is at most away from the middle pose in the search for a good one."""
AHEAD, ASIDE, ABOVE = (0.3, 0.8), 0.2, (0.1, 0.7)
"""Where an arm's tool is at home, as shares of its reach: ahead of the foot, not far aside, above it."""


def home_keyframe(draft: Draft, model: mujoco.MjModel) -> np.ndarray | None:
    """qpos of the keyframe that looks most like a start, which is `home` from now on; None where the file has none."""
    keys = [model.key(i).name for i in range(model.nkey)]
    if not keys:
        return None
    ranks = [_rank(name) for name in keys]
    chosen = ranks.index(min(ranks))
    if keys[chosen] != "home":
        draft.note("changed", f"keyframe '{keys[chosen] or chosen}' is now 'home'", "it is the pose that episodes start from")
    draft.spec.keys[chosen].name = "home"
    return model.key_qpos[chosen].copy()


def _rank(name: str) -> int:
    return next((i for i, word in enumerate(STANDING) if re.search(word, name, re.IGNORECASE)), len(STANDING))


def guessed_pose(model: mujoco.MjModel, driven: set[int]) -> np.ndarray:
    """Zero where the joint's range has it, else the middle of the range; then the legs are put under the body."""
    qpos = model.qpos0.copy()
    bent: set[int] = set()
    for j in range(model.njnt):
        if model.jnt_type[j] in SINGLE and model.jnt_limited[j]:
            low, high = model.jnt_range[j]
            if not low <= qpos[model.jnt_qposadr[j]] <= high:
                qpos[model.jnt_qposadr[j]] = (low + high) / 2
                bent.add(j)
    _follow(model, qpos)
    standing_on = legs(model, at(model, qpos), limbs(model, driven))
    for leg in standing_on:
        pitching = _pitching(model, at(model, qpos), leg)
        if not bent & set(leg.joints) and _is_straight(model, at(model, qpos), leg, pitching):
            _fold(model, qpos, pitching[1], FOLD if len(standing_on) > 2 else FOLD_UPRIGHT)
            bent.add(pitching[1][0])
        _put_under(model, qpos, leg, bent, [joint for joint, _ in pitching])
        _level_sole(model, qpos, pitching)
    return qpos


def _pitching(model: mujoco.MjModel, data: mujoco.MjData, leg: Limb) -> list[tuple[int, float]]:
    """Hinges of a leg that swing it forth and back, from the hip on, and 1 where they turn about the left, -1 about the right."""
    own = leg.joints[len(leg.joints) - leg.own :]
    hinges = [j for j in own if model.jnt_type[j] == HINGE and abs(data.xaxis[j, 1]) > SIDEWAYS]
    return [(j, float(np.sign(data.xaxis[j, 1]))) for j in hinges]


def _is_straight(model: mujoco.MjModel, data: mujoco.MjData, leg: Limb, pitching: list[tuple[int, float]]) -> bool:
    """Whether hip, knee and foot are on a line: no motion of the joints shortens such a leg, so it cannot begin a step."""
    if len(pitching) < 2:
        return False
    hip, knee = (data.xanchor[joint] for joint, _ in pitching[:2])
    foot = data.xanchor[pitching[2][0]] if len(pitching) > 2 else bounds(model, data, subtree(model, leg.end)).middle
    hip, knee, foot = (point[[0, 2]] for point in (hip, knee, foot))
    whole = np.linalg.norm(knee - hip) + np.linalg.norm(foot - knee)
    return bool(np.linalg.norm(foot - hip) > STRAIGHT * whole)


def _fold(model: mujoco.MjModel, qpos: np.ndarray, knee: tuple[int, float], angle: float) -> None:
    """Bend a knee the way that it bends further; one that bends both ways points backwards, as most quadrupeds' do."""
    joint, side = knee
    low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-math.pi, math.pi)
    way = -side if math.isclose(high, -low, rel_tol=0.2) else 1.0 if high > -low else -1.0
    qpos[model.jnt_qposadr[joint]] = np.clip(way * angle, low, high)


def _level_sole(model: mujoco.MjModel, qpos: np.ndarray, pitching: list[tuple[int, float]]) -> None:
    """Turn an ankle back by as much as hip and knee have turned."""
    if len(pitching) == 3:
        (hip, knee), (ankle, side) = pitching[:2], pitching[2]
        turned = sum(way * qpos[model.jnt_qposadr[joint]] for joint, way in (hip, knee))
        low, high = model.jnt_range[ankle] if model.jnt_limited[ankle] else (-math.pi, math.pi)
        qpos[model.jnt_qposadr[ankle]] = np.clip(0.0 - side * turned, low, high)


def _put_under(model: mujoco.MjModel, qpos: np.ndarray, leg: Limb, bent: set[int], pitching: list[int]) -> None:
    """Where a knee is bent, swing the hip until the foot is under it: the hinge above that turns alike, or the joint above."""
    knees = [i for i, j in enumerate(leg.joints) if j in bent and i > 0]
    if not knees:
        return
    knee = leg.joints[knees[0]]
    swing = pitching[pitching.index(knee) - 1] if knee in pitching[1:] else leg.joints[knees[0] - 1]
    hip = pitching[0] if pitching else leg.joints[len(leg.joints) - leg.own]
    column = model.jnt_qposadr[swing]
    low, high = qpos[column] - math.pi / 2, qpos[column] + math.pi / 2
    if model.jnt_limited[swing]:
        low, high = np.clip((low, high), *model.jnt_range[swing])
    data = at(model, qpos)
    inside = subtree(model, leg.end)
    far = [g for g in solid_geoms(model) if int(model.geom_bodyid[g]) in inside]
    if not far:
        return
    foot = max(far, key=lambda g: float(np.linalg.norm(geom_box(model, data, g).middle - data.xanchor[hip])))

    def astray(angle: float) -> float:
        data.qpos[:] = qpos
        data.qpos[column] = angle
        mujoco.mj_kinematics(model, data)
        away = geom_box(model, data, foot).middle - data.xanchor[hip]
        return abs(float(away[0])) + max(0.0, 10.0 * float(away[2]))

    qpos[column] = min(np.linspace(low, high, SAMPLES), key=astray)


def arm_pose(model: mujoco.MjModel, qpos: np.ndarray, found: list[Limb]) -> np.ndarray:
    """Of many poses with the tool in front of the arm, the one from which it moves most easily in every direction.

    At zero most arms are stretched out, where no motion of the joints brings the tool nearer.
    """
    data = at(model, qpos)
    tip = tool(model, data, found)
    point = np.zeros(3) if tip.site is None else model.site_pos[tip.site]
    joints = [
        j for j in max(found, key=lambda limb: len(limb.joints)).joints if int(model.jnt_bodyid[j]) in _above(model, tip.body)
    ]
    columns, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    limited = model.jnt_limited[joints].astype(bool)
    low = np.maximum(np.where(limited, model.jnt_range[joints, 0], -np.inf), qpos[columns] - ARM_SPREAD)
    high = np.minimum(np.where(limited, model.jnt_range[joints, 1], np.inf), qpos[columns] + ARM_SPREAD)
    touching = set(penetrations(model, data))
    foot = data.xanchor[joints[0]].copy()
    ranked: list[tuple[float, np.ndarray, np.ndarray]] = []
    jacobian = np.zeros((3, model.nv))
    for drawn in np.random.default_rng(0).uniform(low, high, size=(ARM_POSES, len(joints))):
        pose = qpos.copy()
        pose[columns] = drawn
        _follow(model, pose)
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        place = data.xpos[tip.body] + data.xmat[tip.body].reshape(3, 3) @ (point + tip.pos)
        mujoco.mj_jac(model, data, jacobian, None, place, tip.body)
        moves = jacobian[:, dofs]
        ranked.append((float(np.linalg.det(moves @ moves.T)), place - foot, pose))
    reach = max(float(np.linalg.norm(place)) for _, place, _ in ranked)
    shallowest, best = math.inf, qpos
    for _, place, pose in sorted(ranked, key=lambda row: -row[0]):
        ahead, aside, above = place / reach
        if not (AHEAD[0] < ahead < AHEAD[1] and abs(aside) < ASIDE and ABOVE[0] < above < ABOVE[1]):
            continue
        depths = penetrations(model, at(model, pose))
        if sum(depths.values()) < DEEP:
            return pose
        if set(depths) <= touching and sum(depths.values()) < shallowest - DEEP:  # as some shapes overlap whatever the pose
            shallowest, best = sum(depths.values()), pose
    return best


def _above(model: mujoco.MjModel, body: int) -> set[int]:
    return {body, *ancestors(model, body)}


def _follow(model: mujoco.MjModel, qpos: np.ndarray) -> None:
    """Put joints that follow others where those ask them to be."""
    for e in range(model.neq):
        if model.eq_type[e] == int(mujoco.mjtEq.mjEQ_JOINT) and model.eq_obj2id[e] >= 0:
            follower, leader = (model.jnt_qposadr[int(j[e])] for j in (model.eq_obj1id, model.eq_obj2id))
            x = qpos[leader] - model.qpos0[leader]
            qpos[follower] = model.qpos0[follower] + sum(model.eq_data[e, k] * x**k for k in range(5))


def standing(model: mujoco.MjModel, qpos: np.ndarray, base: int) -> np.ndarray:
    """The pose with the floating base so high that the lowest part touches the ground."""
    lifted = qpos.copy()
    free = next(
        j for j in range(model.njnt) if model.jnt_bodyid[j] == base and model.jnt_type[j] == int(mujoco.mjtJoint.mjJNT_FREE)
    )
    lifted[model.jnt_qposadr[free] + 2] -= bounds(model, at(model, qpos)).low[2]
    return lifted
