"""Task + model -> body plan: a node for each driven joint, and for each observed number the node that it comes from.

Terms are any functions of the state, so they are asked: sensors, actions and controls are changed one number at a time, and
what changes with those of one joint alone belongs to that joint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import mujoco
import torch
from torch import Tensor

from paddock.anatomy import BodyPlan
from paddock.contracts import State, Term
from paddock.tasks.readings import columns
from paddock.tasks.task import Task

ROOT = 0
ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
SHAKES = (0.1, 10.0)
"""By how much a number is changed: a little, and enough for what has a threshold."""
BASES = 3
"""States around which it is changed."""
NOTICED = 1e-4
"""Change of an observation, relative to it where it is above 1."""

Number = tuple[str, int]
"""A tensor of a State, and a column of it."""


def body_plan_of(task: Task, state: State) -> BodyPlan:
    """The plan of a task's robot, the same whatever the state."""
    model = state.layout.model
    pulled = _pulled(model)
    driven = list(dict.fromkeys(joint for joint in pulled if joint is not None))
    if len(driven) < 2:
        return _of_one_node(task, state)
    of_actuator = [ROOT if joint is None else 1 + driven.index(joint) for joint in pulled]
    actions = [("action", i) for i in range(state.action.shape[1])]
    reached = influence(task.act, state, actions)
    action = [_only(of_actuator, row) for row in reached]
    nodes: dict[Number, int] = {}
    for name, owners in (_owners(model, driven, of_actuator) | {"action": action, "last_action": action}).items():
        nodes |= {(name, column): node for column, node in enumerate(owners)}

    def of(terms: Mapping[str, Term], times: Mapping[str, int]) -> tuple[int, ...]:
        found: list[int] = []
        for name, term in terms.items():
            changed = influence(lambda state, term=term: columns(term(state)), state, list(nodes))
            found += [_only(list(nodes.values()), changed[:, i]) for i in range(changed.shape[1])] * times.get(name, 1)
        return tuple(found)

    groups = {"policy": of(task.observe, task.history)} | ({"privileged": of(task.privileged, {})} if task.privileged else {})
    names = ("root", *(model.joint(joint).name for joint in driven))
    return BodyPlan(nodes=names, hops=_hops(model, driven), obs=groups, action=tuple(action))


def influence(function: Callable[[State], Tensor], state: State, numbers: Sequence[Number]) -> Tensor:
    """Which columns change with which number; (numbers, columns) bool."""
    found = torch.zeros(())
    for seed in range(BASES):
        value = function(_shaken(state, numbers, seed)).cpu()
        changed = (value[1:] - value[:1]).abs() > NOTICED * (1 + value[:1].abs())
        found = changed.view(len(SHAKES), len(numbers), -1).any(0) | found.bool()
    return found


def _shaken(state: State, numbers: Sequence[Number], seed: int) -> State:
    """A made-up state, home for the seed 0, and beside it one for each number and shake that differs in this alone."""
    rows, random = 1 + len(SHAKES) * len(numbers), torch.Generator().manual_seed(seed)
    flat = {name: value[:1].expand(rows, *value.shape[1:]).clone() for name, value in state.tensors().items()}
    flat |= {"sensordata": state.layout.home_sensordata.repeat(rows, 1), "qpos": state.layout.home_qpos.repeat(rows, 1)}
    for name in ("sensordata", "qpos", "qvel", "ctrl", "action", "last_action", *(f"command/{name}" for name in state.command)):
        flat[name] = flat[name] + min(seed, 1) * torch.randn(1, *flat[name].shape[1:], generator=random).to(flat[name])
    for row, (shake, (name, column)) in enumerate(((shake, number) for shake in SHAKES for number in numbers), start=1):
        flat[name][row, column] += shake
    return State.from_tensors(state.layout, flat)


def _of_one_node(task: Task, state: State) -> BodyPlan:
    sizes = {group: value.shape[1] for group, value in task.observations(state).items()}
    nowhere = {group: (ROOT,) * size for group, size in sizes.items()}
    return BodyPlan(nodes=("root",), hops=((0,),), obs=nowhere, action=(ROOT,) * state.action.shape[1])


def _pulled(model: mujoco.MjModel) -> list[int | None]:
    """The joint that each actuator drives: of a tendon the first that it pulls, of anything else none."""
    found: list[int | None] = []
    for i in range(model.nu):
        target = int(model.actuator_trnid[i, 0])
        if model.actuator_trntype[i] in ON_JOINT:
            found.append(target)
        elif model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON:
            wraps = range(model.tendon_adr[target], model.tendon_adr[target] + model.tendon_num[target])
            pulled = [int(model.wrap_objid[w]) for w in wraps if model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT]
            found.append(pulled[0] if pulled else None)
        else:
            found.append(None)
    return found


def _node_of_body(model: mujoco.MjModel, driven: list[int], body: int, *, before: int | None = None) -> int:
    """The node of the last driven joint that moves a body, of those before a joint of its own where one is given; else the root."""
    while body:
        first = int(model.body_jntadr[body])
        own = [joint for joint in range(first, first + int(model.body_jntnum[body])) if before is None or joint < before]
        for joint in reversed(own):
            if joint in driven:
                return 1 + driven.index(joint)
        body, before = int(model.body_parentid[body]), None
    return ROOT


def _node_of_joint(model: mujoco.MjModel, driven: list[int], joint: int) -> int:
    return 1 + driven.index(joint) if joint in driven else _node_of_body(model, driven, int(model.jnt_bodyid[joint]), before=joint)


def _hops(model: mujoco.MjModel, driven: list[int]) -> tuple[tuple[int, ...], ...]:
    """Joints between any two nodes of the tree."""
    ways: list[list[int]] = [[ROOT]]  # from each node up to the root
    parents = [_node_of_body(model, driven, int(model.jnt_bodyid[joint]), before=joint) for joint in driven]
    for node in range(1, len(driven) + 1):
        way = [node]
        while way[-1] != ROOT:
            way.append(parents[way[-1] - 1])
        ways.append(way)
    return tuple(tuple(len(set(one) ^ set(other)) for other in ways) for one in ways)


def _owners(model: mujoco.MjModel, driven: list[int], of_actuator: list[int]) -> dict[str, list[int]]:
    """The nodes of what a term may read of the robot, column by column."""
    objects = mujoco.mjtObj
    sensors: list[int] = []
    for i in range(model.nsensor):
        kind, target = int(model.sensor_objtype[i]), int(model.sensor_objid[i])
        if kind == objects.mjOBJ_JOINT:
            node = _node_of_joint(model, driven, target)
        elif kind == objects.mjOBJ_ACTUATOR:
            node = of_actuator[target]
        elif kind in (objects.mjOBJ_SITE, objects.mjOBJ_GEOM):
            bodies = model.site_bodyid if kind == objects.mjOBJ_SITE else model.geom_bodyid
            node = _node_of_body(model, driven, int(bodies[target]))
        else:
            node = _node_of_body(model, driven, target) if kind in (objects.mjOBJ_BODY, objects.mjOBJ_XBODY) else ROOT
        sensors += [node] * int(model.sensor_dim[i])
    of_joint = [_node_of_joint(model, driven, joint) for joint in range(model.njnt)]
    qpos = [ROOT] * model.nq
    for joint in range(model.njnt):
        if model.jnt_type[joint] in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            qpos[int(model.jnt_qposadr[joint])] = of_joint[joint]
    qvel = [of_joint[int(joint)] for joint in model.dof_jntid]
    return {"sensordata": sensors, "ctrl": of_actuator, "qpos": qpos, "qvel": qvel}


def _only(nodes: Sequence[int], reached: Tensor) -> int:
    """The node, if it is one alone."""
    found = {node for node, is_reached in zip(nodes, reached.tolist(), strict=True) if is_reached}
    return found.pop() if len(found) == 1 else ROOT
