"""Task + model -> mirror: which joints are each other's image, and what that makes of every observation.

Joints are paired by where they lie and turn at home. What sensors make of it is seen in the physics: two copies of the robot
move as mirror images, and each column of one must be a column of the other. Then the task's terms are asked in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock.anatomy import Mirror, Reflection, beside
from paddock.contracts import Layout, State, Term
from paddock.errors import PaddockError
from paddock.tasks.readings import columns
from paddock.tasks.task import Reflecting, Task

ACROSS = np.array([1.0, -1.0, 1.0])
"""What left and right exchanged make of a place or a velocity; of an axis to turn about, the opposite."""
FREE = ((1, -1, 1, 1, -1, 1, -1), (1, -1, 1, -1, 1, -1))
"""Signs of a free joint's qpos and qvel."""
BALL = ((1, -1, 1, -1), (-1, 1, -1))
NEAR = 2e-3
"""Metres by which a joint may miss the place of its image; as a share, masses and ranges too."""
EPISODES, STEPS, STATES = 8, 10, 64
SAME = 2e-3
"""Difference between images, as a share of the largest number in a column: contacts are not solved to the last digit."""

Sides = tuple[Tensor, Tensor]
"""Numbers and, row by row, those of the mirror image; (rows, k) each."""


def mirror_of(task: Task, state: State) -> Mirror:
    """The mirror of a task's robot; an error says what is not symmetric."""
    layout = state.layout
    pairs = _pairs(task, layout.model)
    action = _of_actions(task, layout.model, pairs, state.action.shape[1])
    states = _states(task, state, pairs, action)

    def of(terms: Mapping[str, Term], times: Mapping[str, int]) -> Reflection:
        parts: list[Reflection] = []
        for name, term in terms.items():
            part = _matched(*(columns(term(side)).cpu() for side in states))
            if part is None:
                raise _asymmetric(task, f"nobody knows what its observation '{name}' is in a mirror")
            parts += [part] * times.get(name, 1)
        return beside(parts)

    groups = {"policy": of(task.observe, task.history)} | ({"privileged": of(task.privileged, {})} if task.privileged else {})
    return Mirror(obs=groups, action=action)


def _asymmetric(task: Task, what: str) -> PaddockError:
    return PaddockError(f"task '{task.name}' cannot be learned with ppo.symmetry: {what}. Leave it off.")


def _pairs(task: Task, model: mujoco.MjModel) -> dict[int, tuple[int, float]]:
    """Each joint's image and whether it turns the other way."""
    if task.robot.base is None:
        raise _asymmetric(task, f"robot '{task.robot.name}' has no base that floats, so nothing says which side is its left")
    data = mujoco.MjData(model)
    _go_home(model, data)
    base = model.body(task.robot.base).id
    turned, at = data.xmat[base].reshape(3, 3), data.xpos[base]
    pairs: dict[int, tuple[int, float]] = {}
    for joint in range(model.njnt):
        kind = model.jnt_type[joint]
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            pairs[joint] = (joint, 1.0)
            continue
        place = ACROSS * ((data.xanchor[joint] - at) @ turned)
        axis = ACROSS * (data.xaxis[joint] @ turned) * (-1.0 if kind == mujoco.mjtJoint.mjJNT_HINGE else 1.0)
        images = [
            (other, float(np.sign(along)))
            for other in range(model.njnt)
            if model.jnt_type[other] == kind
            and np.abs((data.xanchor[other] - at) @ turned - place).max() < NEAR
            and abs(along := float((data.xaxis[other] @ turned) @ axis)) > 1 - NEAR
        ]
        fitting = [image for image in images if _are_alike(model, joint, *image)]
        if not fitting:
            name = model.joint(joint).name
            raise _asymmetric(task, f"joint '{name}' of robot '{task.robot.name}' has no counterpart on the other side")
        pairs[joint] = fitting[0]
    return pairs


def _are_alike(model: mujoco.MjModel, joint: int, other: int, sign: float) -> bool:
    """Whether two joints move equal masses through mirrored ranges."""
    masses = model.body_mass[model.jnt_bodyid[[joint, other]]]
    low, high = sorted(sign * model.jnt_range[joint])
    is_limited = bool(model.jnt_limited[joint])
    ranges = not is_limited or np.allclose(model.jnt_range[other], (low, high), atol=NEAR)
    return bool(np.isclose(*masses, rtol=NEAR)) and ranges and is_limited == bool(model.jnt_limited[other])


def _of_actions(task: Task, model: mujoco.MjModel, pairs: Mapping[int, tuple[int, float]], size: int) -> Reflection:
    """One action per joint's actuator, exchanged as the joints are."""
    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    if size != model.nu or not np.isin(model.actuator_trntype, on_joint).all():
        raise _asymmetric(task, "its actions are not one for each joint")
    joints, gears = model.actuator_trnid[:, 0].tolist(), model.actuator_gear[:, 0]
    sources = [joints.index(pairs[joint][0]) if pairs[joint][0] in joints else -1 for joint in joints]
    if -1 in sources:
        raise _asymmetric(task, f"robot '{task.robot.name}' drives joints on one side only")
    signs = [
        pairs[joint][1] * float(np.sign(gears[i] * gears[source]))
        for i, (joint, source) in enumerate(zip(joints, sources, strict=True))
    ]
    return Reflection(sources=tuple(sources), signs=tuple(signs))


def _of_joints(model: mujoco.MjModel, pairs: Mapping[int, tuple[int, float]]) -> tuple[Reflection, Reflection]:
    """Of qpos and qvel."""
    found: list[Reflection] = []
    for stage, (first, size) in enumerate(((model.jnt_qposadr, model.nq), (model.jnt_dofadr, model.nv))):
        sources, signs = list(range(size)), [1.0] * size
        for joint, (other, sign) in pairs.items():
            kind, at = model.jnt_type[joint], int(first[joint])
            many = {int(mujoco.mjtJoint.mjJNT_FREE): FREE, int(mujoco.mjtJoint.mjJNT_BALL): BALL}.get(int(kind))
            if many is None:
                sources[at], signs[at] = int(first[other]), sign
            else:
                signs[at : at + len(many[stage])] = [float(s) for s in many[stage]]
        found.append(Reflection(sources=tuple(sources), signs=tuple(signs)))
    return found[0], found[1]


def _reflect(reflection: Reflection, values: Tensor) -> Tensor:
    return values[:, list(reflection.sources)] * values.new_tensor(reflection.signs)


def _states(task: Task, state: State, pairs: Mapping[int, tuple[int, float]], action: Reflection) -> tuple[State, State]:
    """Made-up states of one world each, and their mirror images; not a number is what has no image that anybody knows."""
    layout, random = state.layout, torch.Generator().manual_seed(0)
    qpos, qvel = _of_joints(layout.model, pairs)
    flat = {name: value[:1].expand(STATES, *value.shape[1:]).clone() for name, value in state.tensors().items()}
    drawn = ("qpos", "qvel", "ctrl", "action", "last_action", "sensordata")
    flat |= {name: 3.0 * torch.randn(flat[name].shape, generator=random).to(flat[name]) for name in drawn}
    image = {name: value * torch.nan if value.is_floating_point() else value for name, value in flat.items()}
    image |= {"qpos": _reflect(qpos, flat["qpos"]), "qvel": _reflect(qvel, flat["qvel"])}
    image |= {name: _reflect(action, flat[name]) for name in ("action", "last_action")}
    for group, memories in (("command", task.command), ("memory", task.memory)):
        for name, memory in memories.items():
            was = flat[f"{group}/{name}"]
            flat[f"{group}/{name}"] = values = torch.rand(was.shape, generator=random).to(was.device)
            if isinstance(memory, Reflecting) and (reflected := memory.reflected(values)) is not None:
                image[f"{group}/{name}"] = reflected
    sides = State.from_tensors(layout, flat), State.from_tensors(layout, image)
    image["ctrl"] = task.act(sides[1].replaced(memory=sides[0].memory))
    flat["ctrl"] = task.act(sides[0])
    image["sensordata"] = _seen_in_a_mirror(task, layout, flat, image, qpos, qvel)
    return State.from_tensors(layout, flat), State.from_tensors(layout, image)


def _seen_in_a_mirror(
    task: Task, layout: Layout, flat: Mapping[str, Tensor], image: Mapping[str, Tensor], qpos: Reflection, qvel: Reflection
) -> Tensor:
    """The image of made-up readings, learned from robots that move as images of each other under the controls of both."""
    model, random = layout.model, torch.Generator().manual_seed(1)
    substeps = round(layout.control_dt / model.opt.timestep)
    seen: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for episode in range(EPISODES):
        start, speed = layout.home_qpos.double().cpu()[None].clone(), torch.randn(1, model.nv, generator=random).double()
        free = [j for j, kind in enumerate(model.jnt_type) if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL)]
        hinges = [int(model.jnt_qposadr[j]) for j in range(model.njnt) if j not in free]
        start[:, hinges] += 0.1 * torch.randn(1, len(hinges), generator=random).double()
        for side, (q, v, tensors) in enumerate(((start, speed, flat), (_reflect(qpos, start), _reflect(qvel, speed), image))):
            data = mujoco.MjData(model)
            data.qpos[:], data.qvel[:] = q[0].numpy(), 0.3 * v[0].numpy()
            for step in range(STEPS):
                data.ctrl[:] = 0.3 * tensors["ctrl"][(episode * STEPS + step) % STATES].double().cpu().numpy()
                mujoco.mj_step(model, data, substeps)
                seen[side].append(data.sensordata.copy())
    one, other = (torch.from_numpy(np.stack(side)) for side in seen)
    found = [_image_of(one, other[:, i], prefer=i) for i in range(one.shape[1])]
    readings = flat["sensordata"]
    if not found:
        return readings
    return torch.stack([readings[:, 0] * torch.nan if f is None else f[1] * readings[:, f[0]] for f in found], dim=1)


def _matched(one: Tensor, other: Tensor) -> Reflection | None:
    """How the columns of one become those of the other, or None where that is unknown."""
    found = [_image_of(one, other[:, i], prefer=i) for i in range(one.shape[1])]
    known = [f for f in found if f is not None]
    return None if len(known) < len(found) else Reflection(sources=tuple(j for j, _ in known), signs=tuple(s for _, s in known))


def _image_of(one: Tensor, column: Tensor, *, prefer: int) -> tuple[int, float] | None:
    """The column of `one`, and the sign, that `column` is."""
    for j in sorted(range(one.shape[1]), key=lambda j: j != prefer):
        for sign in (1.0, -1.0):
            scale = one[:, j].abs().max()
            if bool(((column - sign * one[:, j]).abs() <= SAME * scale).all()):
                return j, sign
    return None


def _go_home(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    if "home" in (model.key(i).name for i in range(model.nkey)):
        mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
