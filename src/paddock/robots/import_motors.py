"""Actuators of an imported robot: named by their joints, added where a file has none, ranged and given gains for positions."""

import math

import mujoco
import numpy as np

from paddock.errors import BrokenModel
from paddock.robots.anatomy import bounds, legs, limbs, subtree
from paddock.robots.import_draft import ON_JOINT, Draft, at
from paddock.robots.import_scene import tendon_bodies
from paddock.robots.robot import on_joint

HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)
SINGLE = (HINGE, int(mujoco.mjtJoint.mjJNT_SLIDE))
STRETCH = {int(mujoco.mjtJoint.mjJNT_HINGE): 0.5, int(mujoco.mjtJoint.mjJNT_SLIDE): 0.05}
"""Radians or metres of error at which a guessed servo asks for all its motor has. Legs are soft, to land on."""
STEADY = 0.25
"""A servo's frequency times the timestep, squared, at most; at 4 it explodes."""
SAG = 0.1
"""Radians that a leg's joint gives way at most under the robot's weight at home."""
ARM_STIFFNESS = 10.0
"""Times as stiff as that is an arm, which has to be where it was told."""
SPEED = {int(mujoco.mjtJoint.mjJNT_HINGE): 20.0, int(mujoco.mjtJoint.mjJNT_SLIDE): 1.0}
"""Velocity limit where a file has none, rad/s or m/s."""
SPIN_UP_S = 0.02
"""A motor takes at least so long to reach its velocity limit: what its rotor weighs, seen from the joint, is guessed from it."""
DRAG = 0.1
"""Share of a motor's force that is lost at its velocity limit, where a file has no damping."""
HOLD = 3.0
"""A motor of unknown strength lifts so many times the worst load among random poses."""
LEAST = 0.5
"""N m or N of a guessed motor."""
ABSURD = 30.0
"""Times the largest load at rest: an effort limit above it was never measured."""
POSES = 64


def name_actuators(draft: Draft) -> None:
    """Call every actuator by the joint it drives, which is how tasks find it. One joint has one motor."""
    taken: set[str] = set()
    for index, actuator in enumerate(list(draft.spec.actuators)):
        own, name = actuator.name, actuator.target if on_joint(actuator) else actuator.name or f"actuator_{index}"
        if name in taken:
            draft.note("dropped", f"actuator '{own}'", f"'{name}' has an actuator already, and a robot names each once")
            draft.spec.delete(actuator)
            continue
        taken.add(name)
        if own and own != name:
            for sensor in draft.spec.sensors:
                if sensor.objtype == mujoco.mjtObj.mjOBJ_ACTUATOR and sensor.objname == own:
                    sensor.objname = name
            draft.note("changed", f"actuator '{own}' is now '{name}'", "an actuator has the name of the joint it drives")
        actuator.name = name


def add_motors(draft: Draft, model: mujoco.MjModel) -> None:
    """A torque motor for every joint that can be driven, as strong as the file says."""
    tied = {mimic.joint for mimic in draft.mimics} | {model.joint(j).name for j in followers(model)}
    wanted = [j for j in range(model.njnt) if model.jnt_type[j] in SINGLE and model.joint(j).name not in tied]
    if not wanted:
        raise BrokenModel("the model has no joint that a motor could drive, so there is nothing to control.")
    loads = _loads(model, set(wanted))
    limits = _believable(draft, model, wanted, loads)
    guessed: dict[str, float] = {}
    for j in wanted:
        joint, force = draft.spec.joint(model.joint(j).name), limits.get(j)
        if force is None:
            force = _rounded(max(HOLD * _carried(model, loads, j, wanted), LEAST))
            guessed[joint.name] = force
        draft.spec.add_actuator(
            name=joint.name,
            target=joint.name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
            ctrlrange=[-force, force],
        )
        _add_rotor(draft, joint, model, j, force)
    draft.note("added", f"{len(wanted)} motors", "the file has none" + "; they are as strong as its effort limits" * bool(limits))
    if guessed:
        draft.note(
            "guessed",
            f"strength of {_some([f'{name} {force:g}' for name, force in guessed.items()])}",
            f"the file has no limit: {HOLD:g} times the worst load at rest, and no weaker than a joint further out",
        )


def _believable(draft: Draft, model: mujoco.MjModel, wanted: list[int], loads: np.ndarray) -> dict[int, float]:
    """The file's own limits of effort; not those of hinges that could lift the robot many times over."""
    said = {j: float(model.jnt_actfrcrange[j, 1]) for j in wanted if model.jnt_actfrclimited[j]}
    found = {j: force for j, force in said.items() if force > 0}
    hinges = [j for j in wanted if model.jnt_type[j] == HINGE]
    most = ABSURD * max((float(loads[model.jnt_dofadr[j]]) for j in hinges), default=0.0)
    absurd = [j for j in hinges if most > 0 and found.get(j, 0.0) > most]
    for j in absurd:
        draft.spec.joint(model.joint(j).name).actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
    if absurd:
        listed = _some([f"{model.joint(j).name} {found[j]:g}" for j in absurd])
        why = f"more than {ABSURD:g} times what any joint has to hold: this looks like a placeholder"
        draft.note("dropped", f"effort limit of {listed}", why)
    return {j: force for j, force in found.items() if j not in absurd}


def _carried(model: mujoco.MjModel, loads: np.ndarray, j: int, wanted: list[int]) -> float:
    """The largest load of a joint and of those of its kind further out: one about the vertical bears none by itself."""
    inside = set(subtree(model, int(model.jnt_bodyid[j])))
    further = [k for k in wanted if int(model.jnt_bodyid[k]) in inside and model.jnt_type[k] == model.jnt_type[j]]
    return max(float(loads[model.jnt_dofadr[k]]) for k in further)


def _add_rotor(draft: Draft, joint: mujoco.MjsJoint, model: mujoco.MjModel, j: int, force: float) -> None:
    """Rotor inertia and damping, which descriptions leave out and without which a strong motor on a light link explodes."""
    kind, dof = int(model.jnt_type[j]), int(model.jnt_dofadr[j])
    speed = draft.velocities.get(joint.name, SPEED[kind])
    if model.dof_armature[dof] == 0:
        joint.armature = _rounded(force * SPIN_UP_S / speed)
    if model.dof_damping[dof] == 0:
        joint.damping[0] = _rounded(DRAG * force / speed)
    if model.dof_armature[dof] == 0 and not any("rotor inertia" in note.what for note in draft.notes):
        draft.note(
            "guessed",
            "rotor inertia and damping of the joints",
            f"the file has none: full force needs {SPIN_UP_S * 1000:g} ms to the velocity limit, and loses {DRAG:.0%} there",
        )


def followers(model: mujoco.MjModel) -> dict[int, int]:
    """Joints that an equality ties to another, and which."""
    tied = [e for e in range(model.neq) if model.eq_type[e] == int(mujoco.mjtEq.mjEQ_JOINT) and model.eq_obj2id[e] >= 0]
    return {int(model.eq_obj1id[e]): int(model.eq_obj2id[e]) for e in tied}


def _loads(model: mujoco.MjModel, driven: set[int]) -> np.ndarray:
    """The largest force that weight puts on each degree of freedom, over random poses within the joints' ranges.

    A leg carries the whole robot, half of its length off to the side at worst.
    """
    rng = np.random.default_rng(0)
    worst = np.zeros(model.nv)
    limited = model.jnt_limited.astype(bool)
    low = np.where(limited, model.jnt_range[:, 0], -math.pi)
    high = np.where(limited, model.jnt_range[:, 1], math.pi)
    data = mujoco.MjData(model)
    for _ in range(POSES):
        data.qpos[:] = model.qpos0
        for j in range(model.njnt):
            if model.jnt_type[j] in SINGLE:
                data.qpos[model.jnt_qposadr[j]] = rng.uniform(low[j], high[j])
        mujoco.mj_forward(model, data)
        worst = np.maximum(worst, np.abs(data.qfrc_bias))
    upright = at(model, model.qpos0)
    for leg in legs(model, upright, limbs(model, driven)):
        first = leg.joints[len(leg.joints) - leg.own]
        length = float(upright.xanchor[first, 2] - bounds(model, upright, subtree(model, leg.end)).low[2])
        carried = float(model.body_mass.sum()) * -float(model.opt.gravity[2]) * length / 2
        for j in leg.joints[len(leg.joints) - leg.own :]:
            worst[model.jnt_dofadr[j]] = max(worst[model.jnt_dofadr[j]], carried / HOLD)
    return worst


def add_ranges(draft: Draft, model: mujoco.MjModel) -> None:
    """A control range for every actuator whose limits are known from elsewhere: actions need a scale."""
    for actuator in draft.spec.actuators:
        i = actuator.id
        if model.actuator_ctrllimited[i]:
            continue
        ends = _known_range(model, i)
        if ends is None:
            draft.note(
                "warning",
                f"actuator '{actuator.name or actuator.target}' has no control range",
                'give it ctrlrange="low high" in the XML',
            )
            continue
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
        actuator.ctrlrange = ends
        draft.note(
            "added",
            f"control range {ends[0]:g} to {ends[1]:g} of '{actuator.name or actuator.target}'",
            "from the limits of what it drives",
        )


def _known_range(model: mujoco.MjModel, i: int) -> tuple[float, float] | None:
    if model.actuator_dyntype[i] == int(mujoco.mjtDyn.mjDYN_MUSCLE):
        return 0.0, 1.0
    if model.actuator_trntype[i] not in ON_JOINT:
        return None
    j = int(model.actuator_trnid[i, 0])
    if is_servo(model, i):
        low, high = model.jnt_range[j]
        return (float(low), float(high)) if model.jnt_limited[j] else None
    force = force_of(model, i)
    gain = abs(model.actuator_gainprm[i, 0] * model.actuator_gear[i, 0])
    plain = model.actuator_gaintype[i] == int(mujoco.mjtGain.mjGAIN_FIXED) and gain > 0
    return (-force / gain, force / gain) if force is not None and plain else None


def force_of(model: mujoco.MjModel, i: int) -> float | None:
    """The largest force or torque of an actuator at its joint, where something limits it."""
    gear = abs(float(model.actuator_gear[i, 0])) or 1.0
    limits: list[float] = []
    if model.actuator_forcelimited[i]:
        limits.append(float(np.abs(model.actuator_forcerange[i]).max()) * gear)
    if model.actuator_trntype[i] == int(mujoco.mjtTrn.mjTRN_JOINT) and model.jnt_actfrclimited[model.actuator_trnid[i, 0]]:
        limits.append(float(np.abs(model.jnt_actfrcrange[model.actuator_trnid[i, 0]]).max()))
    if model.actuator_ctrllimited[i] and not is_servo(model, i) and model.actuator_gaintype[i] == int(mujoco.mjtGain.mjGAIN_FIXED):
        limits.append(float(np.abs(model.actuator_ctrlrange[i]).max() * abs(model.actuator_gainprm[i, 0])) * gear)
    return min(limits) if limits else None


def is_servo(model: mujoco.MjModel, i: int) -> bool:
    """Whether an actuator pulls towards the position it is told."""
    return bool(model.actuator_biasprm[i, 1] < 0)


def gains(model: mujoco.MjModel, home: np.ndarray, *, is_arm: bool) -> dict[str, tuple[float, float]]:
    """Stiffness and damping by joint: the file's own, or as stiff as the motor allows and critically damped at home."""
    weights, held = _weights(model, home), _held(model, home)
    found: dict[str, tuple[float, float]] = {}
    for i in range(model.nu):
        if model.actuator_trntype[i] not in ON_JOINT:
            continue
        j = int(model.actuator_trnid[i, 0])
        if model.jnt_type[j] not in SINGLE:
            continue
        if is_servo(model, i):
            found[model.actuator(i).name] = (-float(model.actuator_biasprm[i, 1]), 0.0 - float(model.actuator_biasprm[i, 2]))
            continue
        weight = float(weights[model.jnt_dofadr[j]])
        force = force_of(model, i)
        stiffer = ARM_STIFFNESS if is_arm else 1.0
        stiffness = stiffer * force / STRETCH[int(model.jnt_type[j])] if force else 100.0 * weight
        stiffness = max(stiffness, float(held[model.jnt_dofadr[j]]) / SAG)
        stiffness = _rounded(min(stiffness, STEADY * weight / model.opt.timestep**2))
        found[model.actuator(i).name] = (stiffness, _rounded(2.0 * math.sqrt(stiffness * weight)))
    return found


def _held(model: mujoco.MjModel, home: np.ndarray) -> np.ndarray:
    """What each degree of freedom bears of a robot's weight that stands at home on its legs, N m."""
    data, force = at(model, home), np.zeros(model.nv)
    floats = model.njnt > 0 and model.jnt_type[0] == int(mujoco.mjtJoint.mjJNT_FREE)
    standing = legs(model, data, limbs(model, driven_joints(model))) if floats else []
    for leg in standing:
        body = leg.end
        foot = bounds(model, data, subtree(model, body))
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, np.append(foot.middle[:2], foot.low[2]), body)
        weight = float(model.body_mass.sum()) * -float(model.opt.gravity[2]) / len(standing)
        force = np.maximum(force, np.abs(jacobian[2]) * weight)
    return force


def stiffest(model: mujoco.MjModel, home: np.ndarray) -> float:
    """The largest square of a frequency, 1/s^2, at which a servo would swing its own joint alone."""
    weights = _weights(model, home)
    held = gains(model, home, is_arm=False)
    dofs = {model.actuator(i).name: int(model.jnt_dofadr[model.actuator_trnid[i, 0]]) for i in range(model.nu)}
    return max((stiffness / float(weights[dofs[name]]) for name, (stiffness, _) in held.items()), default=0.0)


def _weights(model: mujoco.MjModel, home: np.ndarray) -> np.ndarray:
    """Inertia that each degree of freedom moves at home, kg m^2 or kg."""
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, at(model, home), inertia)
    return np.diag(inertia)


def driven_joints(model: mujoco.MjModel) -> set[int]:
    """Hinges and slides that an actuator moves, directly or by a tendon."""
    found: set[int] = set()
    for i in range(model.nu):
        kind, target = model.actuator_trntype[i], int(model.actuator_trnid[i, 0])
        if kind in ON_JOINT:
            found.add(target)
        elif kind == int(mujoco.mjtTrn.mjTRN_TENDON):
            bodies = tendon_bodies(model, target)
            found |= {j for j in range(model.njnt) if int(model.jnt_bodyid[j]) in bodies and model.jnt_type[j] in SINGLE}
    return {j for j in found if model.jnt_type[j] != int(mujoco.mjtJoint.mjJNT_FREE)}


def _some(items: list[str], most: int = 4) -> str:
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def _rounded(value: float) -> float:
    """Two digits: a guess should look like one."""
    return float(f"{value:.2g}")
