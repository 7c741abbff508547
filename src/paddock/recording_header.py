"""Environment -> header: what a re-simulation must know beside the steps."""

import hashlib
import platform
from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
import torch

from paddock import __version__
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.platforms import this_platform
from paddock.runs.recordings import FORMAT, AttachedFile, ModelField, RecordingHeader, RowField

ROW_FIELDS = {
    "time": mujoco.mjtState.mjSTATE_TIME,
    "qpos": mujoco.mjtState.mjSTATE_QPOS,
    "qvel": mujoco.mjtState.mjSTATE_QVEL,
    "act": mujoco.mjtState.mjSTATE_ACT,
    "history": mujoco.mjtState.mjSTATE_HISTORY,
    "qacc_warmstart": mujoco.mjtState.mjSTATE_WARMSTART,
    "ctrl": mujoco.mjtState.mjSTATE_CTRL,
    "qfrc_applied": mujoco.mjtState.mjSTATE_QFRC_APPLIED,
    "xfrc_applied": mujoco.mjtState.mjSTATE_XFRC_APPLIED,
    "eq_active": mujoco.mjtState.mjSTATE_EQ_ACTIVE,
    "mocap_pos": mujoco.mjtState.mjSTATE_MOCAP_POS,
    "mocap_quat": mujoco.mjtState.mjSTATE_MOCAP_QUAT,
    "userdata": mujoco.mjtState.mjSTATE_USERDATA,
    "plugin_state": mujoco.mjtState.mjSTATE_PLUGIN,
}
"""What mjSTATE_INTEGRATION is made of, in the engine's order."""
INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)


def header_of(env: Environment, *, worlds: Sequence[int], keyframe_every: int, files: Mapping[str, bytes]) -> RecordingHeader:
    """The header of a recording that begins now."""
    model, fields = env.model, env.sim.model_fields
    return RecordingHeader(
        format=FORMAT,
        task=env.task.name,
        task_version=env.task.version,
        seed=env.seed,
        first_world=env.first_world,
        worlds=tuple(worlds),
        control_dt=env.task.control_dt,
        timestep=model.opt.timestep,
        substeps=env.substeps,
        keyframe_every=keyframe_every,
        ctrl_size=model.nu,
        ctrl_dtype=env.sim.ctrl.numpy().dtype.str,
        row_size=env.sim.rows.shape[1],
        row=row_fields(model),
        model_fields=tuple(
            ModelField(name=name, dtype=value.numpy().dtype.str, shape=tuple(value.shape[1:])) for name, value in fields.items()
        ),
        files=tuple(AttachedFile(name=name, sha256=hashlib.sha256(content).hexdigest()) for name, content in files.items()),
        integrator=mujoco.mjtIntegrator(model.opt.integrator).name,
        solver=mujoco.mjtSolver(model.opt.solver).name,
        cone=mujoco.mjtCone(model.opt.cone).name,
        enable_flags=int(model.opt.enableflags),
        disable_flags=int(model.opt.disableflags),
        platform=this_platform(),
        paddock=__version__,
        numpy=np.__version__,
        torch=torch.__version__,
        python=platform.python_version(),
    )


def row_fields(model: mujoco.MjModel) -> tuple[RowField, ...]:
    """Where each field lies in the engine's state row."""
    fields: list[RowField] = []
    start = 0
    for name, part in ROW_FIELDS.items():
        size = mujoco.mj_stateSize(model, int(part))
        fields.append(RowField(name=name, start=start, size=size))
        start += size
    return tuple(fields)


def check(env: Environment, *, worlds: Sequence[int], keyframe_every: int) -> None:
    """Say what stands in the way of a recording."""
    if env.tap is not None:
        raise PaddockError("this environment is being recorded already; one recorder at a time.")
    if env.device.type != "cpu":
        raise PaddockError(f"only the CPU sim repeats bit for bit; this environment runs on {env.device}. Make it with sim='cpu'.")
    if env.model.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP):
        raise PaddockError(
            f"task '{env.task.name}' lets bodies fall asleep, and what the engine remembers of that cannot be restored: "
            "a recording would not repeat. Remove sleep from the model's flags."
        )
    if keyframe_every < 1:
        raise PaddockError(f"keyframe_every is {keyframe_every}; give a number of steps, at least 1.")
    if not worlds or len(set(worlds)) != len(worlds) or not all(0 <= world < env.num_worlds for world in worlds):
        raise PaddockError(f"worlds is {tuple(worlds)}; name some of the {env.num_worlds} worlds from 0 on, each once.")
