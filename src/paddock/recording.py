"""Environment + recorder = a file from which the physics of chosen worlds can be run again, bit for bit."""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from torch import Tensor

from paddock.contracts import Sim
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.making import make
from paddock.recording_block import BLOCK_STEPS, Block
from paddock.recording_header import check, header_of
from paddock.recording_poses import Poses
from paddock.runs.kept_bytes import KeptBytes
from paddock.runs.portable_model import portable
from paddock.runs.recording_writer import RecordingWriter
from paddock.runs.recordings import (
    EVENTS_TOPIC,
    Keyframe,
    Reason,
    Steps,
    keyframe_parts,
    keyframes_topic,
    steps_parts,
    steps_topic,
)
from paddock.sims.model import model_text
from paddock.tasks.task import Task
from paddock.worlds import Worlds

PATIENCE_S = 1.0
"""How long a step may be in memory alone while others follow."""


class Recorder:
    """Records some worlds of an environment while it is used as ever. A context manager; `written` steps survive a kill.

    What a step began with is compared with what the step before reached: where somebody else wrote a state or a model field
    in between, there is a keyframe, so that whatever is done to an environment can be run again.
    """

    def __init__(
        self, env: Environment, path: Path, *, worlds: Sequence[int] = (0,), keyframe_every: int = 100, events: bool = False
    ) -> None:
        """`events` makes room for what is noted."""
        check(env, worlds=worlds, keyframe_every=keyframe_every)
        files = portable(model=env.model_text, look=model_text(env.task.spec(), lean=False))
        self.path = path
        self.steps = 0
        """Control steps heard of."""
        self.written = 0
        """Control steps that are in the file, whatever happens to this process."""
        self._env, self._every = env, keyframe_every
        self._header = header_of(env, worlds=worlds, keyframe_every=keyframe_every, files=files)
        self._block = Block(env.sim, self._header)
        self._poses = Poses(env, worlds)
        self._file = RecordingWriter(
            path, self._header, files=files, moment=self._poses.messages, moments=BLOCK_STEPS, events=events
        )
        self._fresh = dict.fromkeys(range(len(worlds)), Reason.WRITTEN)  # nobody knows how they came to be where they are
        self._keyed = [0] * len(worlds)
        self._due = 0
        self._singles: list[tuple[int, str, slice]] = []
        self._packed = KeptBytes(64 * 1024)
        self._next_moment = self._poses.stride
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

    def note(self, event: Mapping[str, object]) -> None:
        """Keep what somebody does before the next step, for whoever reads the recording."""
        begin = self._packed.size
        self._packed.add(json.dumps({"step": self.steps, **event}).encode())
        self._singles.append((self.steps, EVENTS_TOPIC, slice(begin, self._packed.size)))

    def begun(self, sim: Sim, worlds: Worlds) -> None:
        mask = worlds.mask.numpy()
        for place, world in enumerate(self._header.worlds):
            if mask[world]:
                self._fresh[place] = Reason.BEGUN
                self._due = self.steps

    def stepping(self, sim: Sim) -> None:
        if self.steps >= self._due or not self._block.is_as_left():
            self._note()

    def stepped(self, sim: Sim) -> None:
        self._block.reach()
        self.steps += 1
        self._fresh.clear()
        if self._block.steps == BLOCK_STEPS:
            self._end_block()
            if self._file.chunk_is_full:
                self.flush()
        if time.monotonic() - self._flushed_at > PATIENCE_S:
            self.flush()

    def _note(self) -> None:
        """A keyframe for each world that begins anew, is due for one or was written to; else the inputs that changed."""
        for place in range(len(self._header.worlds)):
            reason = self._fresh.get(place)
            if reason is None and not self._block.note_changes(place):
                reason = Reason.WRITTEN
            if reason is None and self.steps - self._keyed[place] >= self._every:
                reason = Reason.DUE
            if reason is not None:
                self._add_keyframe(place, reason)
        self._due = min(self._keyed) + self._every

    def _add_keyframe(self, place: int, reason: Reason) -> None:
        world, (row, fields) = self._header.worlds[place], self._block.entering(place)
        if len(fields) != len(self._env.sim.model_fields):
            raise PaddockError(f"a model field was expanded while {self.path} was being recorded. Expand it before.")
        keyframe = Keyframe(
            step=self.steps,
            episode=int(self._env.episode[world]),
            reason=reason,
            constants=self._env.sim.derives_constants,
            row=row,
            fields=fields,
        )
        begin = self._packed.size
        self._packed.add(*keyframe_parts(keyframe))
        self._singles.append((self.steps, keyframes_topic(world), slice(begin, self._packed.size)))
        self._block.note_fields(place)
        self._keyed[place] = self.steps

    def _end_block(self) -> None:
        """Write the messages of the block, in the order of their times."""
        block = self._block
        if not block.steps:
            return
        moments = range(block.first + block.steps + 1)[self._next_moment :: self._poses.stride]
        begin = 0
        for step, topic, packed in self._singles:
            end = bisect_left(moments, step)
            self._add_moments(moments[begin:end])
            self._file.add(topic, self._time_ns(step), self._packed[packed])
            begin = end
        self._add_moments(moments[begin:])
        ctrl, crc, end_ns = block.ctrl[: block.steps], block.crc(), self._time_ns(self.steps)
        for place, world in enumerate(self._header.worlds):
            steps = Steps(first=block.first, ctrl=ctrl[:, place], crc=crc[:, place], changes=block.changes(place))
            self._file.add(steps_topic(world), end_ns, *steps_parts(steps))
        self._next_moment += self._poses.stride * len(moments)
        self._singles.clear()
        self._packed.clear()
        block.clear()

    def _add_moments(self, steps: range) -> None:
        """What viewers draw of the states that those steps begin with."""
        if steps and self._poses.messages:
            places = slice(steps[0] - 1 - self._block.first, steps[-1] - self._block.first, self._poses.stride)
            times_ns = [self._time_ns(step) for step in steps]
            self._file.add_moments(times_ns, self._block.reached[places].reshape(len(steps), -1))

    def _time_ns(self, step: int) -> int:
        """Simulated time from the recording's beginning to where that step begins."""
        return round(step * self._header.control_dt * 1e9)


def record_episodes(
    task: str | Task | Environment,
    act: Callable[[Environment], Tensor],
    path: Path,
    *,
    seconds: float | None = None,
    episodes: int | None = None,
    worlds: Sequence[int] = (0,),
    seed: int = 0,
    keyframe_every: int = 100,
    advance: Callable[[int], None] = lambda steps: None,
) -> int:
    """Play `act` from a reset for `seconds` of simulated time, or until `episodes` have ended in each recorded world.

    An environment is used as it is, and `seed` is then its own affair. Returns the control steps recorded; `advance` hears of
    each.
    """
    if (seconds is None) == (episodes is None) or (seconds or episodes or 0) <= 0:
        raise PaddockError(f"seconds is {seconds} and episodes is {episodes}; give one of them, more than 0.")
    env = task if isinstance(task, Environment) else make(task, num_worlds=max(worlds, default=0) + 1, seed=seed)
    limit = None if seconds is None else max(1, round(seconds / env.task.control_dt))
    ended = np.zeros(len(worlds), dtype=np.int64)
    with Recorder(env, path, worlds=worlds, keyframe_every=keyframe_every) as recorder:
        env.reset()
        while recorder.steps < limit if limit is not None else ended.min() < (episodes or 0):
            ended += env.step(act(env)).ended.cpu().numpy()[list(worlds)]
            advance(1)
    return recorder.steps
