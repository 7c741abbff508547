"""Environment + recorder = a file from which the physics of chosen worlds can be run again, bit for bit."""

from __future__ import annotations

import hashlib
import platform
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock import __version__
from paddock.contracts import Sim, Worlds
from paddock.env import Environment, make
from paddock.errors import PaddockError
from paddock.platforms import this_platform
from paddock.runs import ros_lane
from paddock.runs.portable_model import portable
from paddock.runs.recording_writer import RecordingWriter
from paddock.runs.recordings import (
    CHANGE,
    FORMAT,
    INPUTS,
    MODEL_FILE,
    AttachedFile,
    Keyframe,
    ModelField,
    Reason,
    RecordingHeader,
    RowField,
    Steps,
    keyframes_topic,
    pack_keyframe,
    pack_steps,
    steps_topic,
)
from paddock.tasks.task import Task

BLOCK_STEPS = 32
"""Steps of a world in one message."""
PATIENCE_S = 1.0
"""How long a step may be in memory alone while others follow."""
ROS_HZ = 12.5
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
NOTHING = -1


class Recorder:
    """Records some worlds of an environment while it is used as ever. A context manager; `written` steps survive a kill.

    What a step began with is compared with what the step before reached: where somebody else wrote a state or a model field
    in between, there is a keyframe, so that whatever is done to an environment can be run again.
    """

    def __init__(self, env: Environment, path: Path, *, worlds: Sequence[int] = (0,), keyframe_every: int = 100) -> None:
        _check(env, worlds, keyframe_every)
        self.path = path
        self.steps = 0
        """Control steps heard of."""
        self.written = 0
        """Control steps that are in the file, whatever happens to this process."""
        self._env, self._every = env, keyframe_every
        self._worlds = np.array(worlds)
        self._rows, self._ctrl = env.sim.rows.numpy(), env.sim.ctrl.numpy()
        self._fields = {name: value.numpy() for name, value in env.sim.model_fields.items()}
        text, files = portable(env.model_text)
        self._header = _header(env, worlds, keyframe_every, {MODEL_FILE: text.encode()} | files)
        self._poses = _Poses(env, worlds)
        self._file = RecordingWriter(path, self._header, files={MODEL_FILE: text.encode()} | files, ros=self._poses.topics)
        self._inputs = _input_columns(self._header)

        k, size = len(worlds), self._header.row_size
        self._reached = np.zeros((k, size))
        self._reached_rows = list(self._reached)
        self._reached_bytes = b""
        self._model_bytes: list[bytes] = []
        self._reason = np.full(k, int(Reason.WRITTEN))  # nothing is known of how they came to be where they are
        self._keyed = np.zeros(k, dtype=np.int64)
        self._next_due = 0
        self._block_ctrl = np.zeros((k, BLOCK_STEPS, self._header.ctrl_size), dtype=self._header.ctrl_dtype)
        self._block_crc = np.zeros((k, BLOCK_STEPS), dtype=np.uint32)
        self._changes: list[list[np.ndarray]] = [[] for _ in worlds]
        self._filled = 0
        self._flushed_at = time.monotonic()

    def __enter__(self) -> Self:
        self._env.tap = self
        return self

    def __exit__(self, *_: object) -> None:
        self._env.tap = None
        self._end_block()
        self._file.close()
        self.written = self.steps

    def flush(self) -> None:
        """Write everything heard of so far."""
        self._end_block()
        self._file.end_chunk()
        self.written = self.steps
        self._flushed_at = time.monotonic()

    def begun(self, sim: Sim, worlds: Worlds) -> None:
        self._reason[worlds.mask.numpy()[self._worlds]] = Reason.BEGUN
        self._next_due = self.steps

    def stepping(self, sim: Sim) -> None:
        now = self._rows.take(self._worlds, axis=0)
        model = [field.take(self._worlds, axis=0).tobytes() for field in self._fields.values()]
        if self.steps >= self._next_due or now.tobytes() != self._reached_bytes or model != self._model_bytes:
            self._note(now, model)

    def stepped(self, sim: Sim) -> None:
        at = self._filled
        self._rows.take(self._worlds, axis=0, out=self._reached, mode="clip")
        self._reached_bytes = self._reached.tobytes()
        self._block_ctrl[:, at] = self._ctrl.take(self._worlds, axis=0)
        for world, row in enumerate(self._reached_rows):
            self._block_crc[world, at] = zlib.crc32(row)
        self._filled += 1
        self.steps += 1
        if self.steps % self._poses.stride == 0:
            self._poses.write(self._file, self._time_ns, self._reached)
        if self._filled == BLOCK_STEPS:
            self._end_block()
            if self._file.chunk_is_full:
                self.flush()
        if time.monotonic() - self._flushed_at > PATIENCE_S:
            self.flush()

    @property
    def _time_ns(self) -> int:
        """Simulated time since the recording began."""
        return round(self.steps * self._header.control_dt * 1e9)

    def _note(self, now: np.ndarray, model: list[bytes]) -> None:
        """Write keyframes where they are due or where more than an input changed, and remember the inputs that did."""
        changed = now.view(np.int64) != self._reached.view(np.int64)  # bits: -0.0 is not 0.0 to a checksum
        written = changed[:, ~self._inputs].any(axis=1)
        if model != self._model_bytes:
            self._check_fields()
            written |= self._model_changed(model)
        reason = self._reason
        reason[(reason == NOTHING) & written] = Reason.WRITTEN
        reason[(reason == NOTHING) & (self.steps - self._keyed >= self._every)] = Reason.DUE
        for world in np.flatnonzero(reason != NOTHING):
            self._write_keyframe(int(world), now[world])
        changed[(reason == Reason.BEGUN) | (reason == Reason.WRITTEN)] = False  # their keyframe has it all
        for world in np.flatnonzero((changed & self._inputs).any(axis=1)):
            columns = np.flatnonzero(changed[world] & self._inputs)
            change = np.empty(len(columns), dtype=CHANGE)
            change["step"], change["column"], change["value"] = self._filled, columns, now[world, columns]
            self._changes[world].append(change)
        self._model_bytes = model
        reason[:] = NOTHING
        self._next_due = int(self._keyed.min()) + self._every

    def _model_changed(self, model: list[bytes]) -> np.ndarray:
        """Worlds whose model is not what it was; (k,) bool."""
        changed = np.ones(len(self._worlds), dtype=bool)
        if self._model_bytes:
            pairs = [np.frombuffer(a + b, np.uint8).reshape(2, len(self._worlds), -1) for a, b in zip(model, self._model_bytes, strict=True)]
            changed = np.any([(now != before).any(axis=1) for now, before in pairs], axis=0)
        return changed

    def _check_fields(self) -> None:
        if len(self._env.sim.model_fields) != len(self._fields):
            late = ", ".join(name for name in self._env.sim.model_fields if name not in self._fields)
            raise PaddockError(f"the model field {late} was expanded while {self.path} was being recorded. Expand it before.")

    def _write_keyframe(self, world: int, row: np.ndarray) -> None:
        index = int(self._worlds[world])
        keyframe = Keyframe(
            step=self.steps,
            episode=int(self._env.episode[index]),
            reason=Reason(int(self._reason[world])),
            constants=self._env.sim.derives_constants,
            row=row,
            fields=tuple(field[index] for field in self._fields.values()),
        )
        self._file.add(keyframes_topic(index), self._time_ns, pack_keyframe(keyframe))
        self._keyed[world] = self.steps

    def _end_block(self) -> None:
        if not self._filled:
            return
        for world, index in enumerate(self._worlds):
            steps = Steps(
                first=self.steps - self._filled,
                ctrl=self._block_ctrl[world, : self._filled],
                crc=self._block_crc[world, : self._filled],
                changes=np.concatenate(self._changes[world]) if self._changes[world] else np.empty(0, dtype=CHANGE),
            )
            self._file.add(steps_topic(int(index)), self._time_ns, pack_steps(steps))
            self._changes[world].clear()
        self._filled = 0
