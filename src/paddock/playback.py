"""Recording + engine = the motion again: one world, from any step, with plain MuJoCo and nothing of the task."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from paddock.errors import PaddockError, broken_model
from paddock.runs.portable_model import check_contained
from paddock.runs.recording_reader import Recording
from paddock.runs.recordings import MODEL_FILE, Keyframe, Reason
from paddock.sims.model import get_field

INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """The state in which a step begins."""

    step: int
    """Counted over the recording."""
    episode: int
    qpos: np.ndarray
    qvel: np.ndarray


class Playback:
    """One world of a recording, run again. It stands between steps, at `position`."""

    def __init__(self, recording: Recording, world: int | None = None) -> None:
        """`world` may be left out where only one was recorded."""
        header = recording.header
        world = header.worlds[0] if world is None and len(header.worlds) == 1 else world
        if world not in recording.tracks:
            raise PaddockError(f"world {world} is not in {recording.path}. Recorded: {', '.join(map(str, header.worlds))}.")
        self.world, self.track = world, recording.tracks[world]
        self._header = header
        self.model = recorded_model(recording, MODEL_FILE)
        """As the engine has it now: model fields follow the episodes."""
        self.data = mujoco.MjData(self.model)
        self.position = -1
        self.episode = -1
        self.executed = 0
        """Control steps run so far, for whatever reason."""
        self.row = np.zeros(header.row_size)
        """The engine's state. A buffer: copy what you keep."""
        self.difference: tuple[str, float] | None = None
        """The field that was furthest from the last keyframe that found us elsewhere, and how far."""
        self._row_bytes = self.row.data
        self._has_entered = False
        self._keys = [keyframe.step for keyframe in self.track.keyframes]
        if self.track.steps:
            self.seek(0)

    @property
    def steps(self) -> int:
        return self.track.steps

    def seek(self, step: int) -> bool:
        """Stand where step `step` begins: from the nearest keyframe, or from here where that is nearer.

        Whether every step that had to be run on the way was, to the last bit, the recorded one.
        """
        if not 0 <= step <= self.steps or not self._keys:
            raise PaddockError(f"step {step} is not in the recording of world {self.world}, which has {self.steps} steps.")
        keyframe = self.track.keyframes[bisect_right(self._keys, step) - 1]
        if not keyframe.step <= self.position <= step:
            self._restore(keyframe)
        matched = True
        while self.position < step:
            matched &= self.advance()
        return self.enter() and matched

    def advance(self) -> bool:
        """Run one step. Whether it began and ended, to the last bit, where the recorded one did."""
        began = self.enter()
        self.data.ctrl[:] = self.track.ctrl[self.position]
        before = self.row.copy()
        try:
            mujoco.mj_step(self.model, self.data, self._header.substeps)
        except mujoco.FatalError:  # the recorded world kept its state when the engine gave up on it
            mujoco.mj_resetData(self.model, self.data)
            mujoco.mj_setState(self.model, self.data, before, INTEGRATION)
            self.data.ctrl[:] = self.track.ctrl[self.position]
        self._read()
        self._has_entered = False
        self.position += 1
        self.executed += 1
        return began and zlib.crc32(self._row_bytes) == self.track.crc[self.position - 1]

    def enter(self) -> bool:
        """Set what was set from outside before the step at `position`. Whether a keyframe found us where it had to.

        Where it did not, `difference` says by how much, and its row is taken: a motion that drifts apart on another platform
        is led back.
        """
        if self._has_entered or self.position == self.steps:
            return True
        self._has_entered = True
        self._apply_changes()
        keyframe = self.keyframe
        if keyframe is None:
            return True
        if keyframe.reason == Reason.DUE:
            if keyframe.row.tobytes() == self.row.tobytes():
                return True
            self.difference = self._largest_difference(keyframe.row)
        self._restore(keyframe)
        return keyframe.reason != Reason.DUE

    @property
    def keyframe(self) -> Keyframe | None:
        """The keyframe of the step at `position`, if it has one."""
        index = bisect_right(self._keys, self.position) - 1
        return self.track.keyframes[index] if index >= 0 and self._keys[index] == self.position else None

    def part(self, name: str) -> np.ndarray:
        """A part of the row, such as `qpos`."""
        field = next(field for field in self._header.row if field.name == name)
        return self.row[field.start : field.start + field.size]

    def _apply_changes(self) -> None:
        first, last = np.searchsorted(self.track.change_steps, (self.position, self.position + 1))
        if first < last:
            self.row[self.track.change_columns[first:last]] = self.track.change_values[first:last]
            mujoco.mj_setState(self.model, self.data, self.row, INTEGRATION)

    def _restore(self, keyframe: Keyframe) -> None:
        for field, value in zip(self._header.model_fields, keyframe.fields, strict=True):
            set_field(self.model, field.name, value)
        if keyframe.constants:
            mujoco.mj_setConst(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, keyframe.row, INTEGRATION)
        self._read()
        self.position, self.episode = keyframe.step, keyframe.episode
        self._has_entered = True  # the row is that of the step's beginning, inputs and all

    def _largest_difference(self, row: np.ndarray) -> tuple[str, float]:
        apart = np.abs(row - self.row)
        apart[row.view(np.int64) == self.row.view(np.int64)] = 0.0  # equal infinities
        sizes = {field.name: float(apart[field.start : field.start + field.size].max(initial=0.0)) for field in self._header.row}
        name = max(sizes, key=lambda own: np.nan_to_num(sizes[own], nan=np.inf))
        return name, sizes[name]

    def _read(self) -> None:
        mujoco.mj_getState(self.model, self.data, self.row, INTEGRATION)


def frames(
    recording: Recording, *, world: int | None = None, first: int = 0, last: int | None = None, every: int = 1
) -> Iterator[Frame]:
    """Every `every`-th state from step `first` to step `last`, for pictures."""
    playback = Playback(recording, world)
    for step in range(first, (playback.steps if last is None else last) + 1, every):
        playback.seek(step)
        yield Frame(step=step, episode=playback.episode, qpos=playback.part("qpos").copy(), qvel=playback.part("qvel").copy())


def recorded_model(recording: Recording, name: str) -> mujoco.MjModel:
    """MODEL_FILE or LOOK_FILE, compiled from what is in the recording alone."""
    if not recording.is_model_intact or name in recording.changed_files:
        raise PaddockError(f"{name} in {recording.path} is not the one that was recorded. {recording.missing}")
    mujoco.set_mju_user_warning(lambda message: None)  # or the engine starts a log file in the working folder
    check_contained(recording.models[name], recording.assets)
    try:
        model = mujoco.MjModel.from_xml_string(recording.models[name], recording.assets)
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken_model(f"the model in {recording.path}", refusal) from None
    header = recording.header
    fits = mujoco.mj_stateSize(model, INTEGRATION) == header.row_size and model.nu == header.ctrl_size
    if name == MODEL_FILE:  # the other may have more geoms
        fits &= all(np.shape(get_field(model, field.name)) == field.shape for field in header.model_fields)
    if not fits:
        raise PaddockError(f"the model in {recording.path} has other sizes with MuJoCo {mujoco.__version__} than the recording.")
    return model


def set_field(model: mujoco.MjModel, name: str, value: np.ndarray) -> None:
    owner = model.opt if name.startswith("opt.") else model
    own = name.removeprefix("opt.")
    if value.ndim:
        getattr(owner, own)[:] = value
    else:
        setattr(owner, own, value.item())
