"""From a compiled model to a Layout: names to slices, resolved once."""

from collections.abc import Iterable
from copy import copy
from typing import Any

import mujoco
import numpy as np
import torch

from paddock.contracts import Layout

FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
QPOS_SIZE = {FREE: 7, BALL: 4}
QVEL_SIZE = {FREE: 6, BALL: 3}


def layout_of(model: mujoco.MjModel, *, control_dt: float, device: torch.device) -> Layout:
    """Names and constants of `model`; its keyframe `home`, where it has one, is the home pose."""
    sensors = [(model.sensor(i).name, model.sensor_adr[i], model.sensor_dim[i]) for i in range(model.nsensor)]
    joints = [model.joint(i) for i in range(model.njnt)]
    actuators = [model.actuator(i) for i in range(model.nu)]
    home = _home_qpos(model)
    limited = model.actuator_ctrllimited[:, None].astype(bool)
    low, high = np.where(limited, model.actuator_ctrlrange, [-np.inf, np.inf]).T
    scaled_low, scaled_high = np.where(limited, model.actuator_ctrlrange, [-1.0, 1.0]).T
    driven = _driven_joints(model)
    middle, half = (scaled_high + scaled_low) / 2, (scaled_high - scaled_low) / 2
    home_joint = [middle[i] if j is None else home[model.jnt_qposadr[j]] for i, j in enumerate(driven)]

    def constant(values: object) -> torch.Tensor:
        return torch.as_tensor(np.asarray(values), dtype=torch.float32, device=device)

    return Layout(
        sensors={name: slice(int(adr), int(adr + dim)) for name, adr, dim in sensors} | _groups(sensors),
        qpos={_name(j): slice(int(j.qposadr[0]), int(j.qposadr[0]) + QPOS_SIZE.get(int(j.type[0]), 1)) for j in joints},
        qvel={_name(j): slice(int(j.dofadr[0]), int(j.dofadr[0]) + QVEL_SIZE.get(int(j.type[0]), 1)) for j in joints},
        actuators={a.name: slice(i, i + 1) for i, a in enumerate(actuators)},
        bodies={model.body(i).name: i for i in range(model.nbody)},
        home_qpos=constant(home),
        home_room=_home_room(model, home),
        home_joint=constant(home_joint),
        on_joint=torch.tensor([j is not None for j in driven], dtype=torch.bool, device=device),
        home_sensordata=constant(_sensordata_at(model, home)),
        max_range=constant(np.repeat(np.where(model.sensor_cutoff > 0, model.sensor_cutoff, np.inf), model.sensor_dim)),
        ctrl_low=constant(low),
        ctrl_high=constant(high),
        ctrl_middle=constant(middle),
        ctrl_half=constant(half),
        nv=model.nv,
        control_dt=control_dt,
        model=model,
    )


def _home_qpos(model: mujoco.MjModel) -> np.ndarray:
    keys = [model.key(i).name for i in range(model.nkey)]
    return model.key("home").qpos if "home" in keys else model.qpos0


def _home_room(model: mujoco.MjModel, home: np.ndarray) -> tuple[tuple[float, float], ...]:
    room = [(np.inf, np.inf)] * model.nq
    for joint in np.flatnonzero(model.jnt_limited):
        column, (low, high) = model.jnt_qposadr[joint], model.jnt_range[joint]
        if model.jnt_type[joint] not in QPOS_SIZE:
            room[column] = max(0.0, float(home[column] - low)), max(0.0, float(high - home[column]))
    return tuple(room)


def _driven_joints(model: mujoco.MjModel) -> list[int | None]:
    """The joint each actuator drives, or None where it drives something else."""
    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return [int(model.actuator_trnid[i, 0]) if model.actuator_trntype[i] in on_joint else None for i in range(model.nu)]


def _sensordata_at(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    prompt = copy(model)
    prompt.sensor_delay[:] = prompt.sensor_interval[:] = 0.0  # a sensor that reports late has nothing to report yet
    data = mujoco.MjData(prompt)
    data.qpos[:] = qpos
    mujoco.mj_forward(prompt, data)
    return data.sensordata


def _name(joint: Any) -> str:
    """Joints without a name still have a place: free joints of objects often lack one."""
    return joint.name or f"joint {joint.id}"


def _groups(sensors: Iterable[tuple[str, int, int]]) -> dict[str, slice]:
    """`a/b` and `a/c` side by side make a group `a`; members that lie apart make none."""
    groups: dict[str, slice] = {}
    scattered: set[str] = set()
    for name, adr, dim in sensors:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            group = "/".join(parts[:depth])
            start, stop = (groups[group].start, groups[group].stop) if group in groups else (int(adr), int(adr))
            if stop != adr:
                scattered.add(group)
            groups[group] = slice(start, int(adr + dim))
    return {name: columns for name, columns in groups.items() if name not in scattered}
