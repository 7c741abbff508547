"""Environment + recorder = a file from which the physics of chosen worlds can be run again, bit for bit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Self

import numpy as np
from torch import Tensor

from paddock.contracts import Sim, Worlds
from paddock.env import Environment, make
from paddock.errors import PaddockError
from paddock.recording_block import BLOCK_STEPS, Block
from paddock.recording_header import check, header_of
from paddock.recording_poses import Poses
from paddock.runs.portable_model import portable
from paddock.runs.recording_writer import RecordingWriter
from paddock.runs.recordings import (
    Keyframe,
    Reason,
    Steps,
    keyframes_topic,
    pack_keyframe,
    pack_steps,
    steps_topic,
)
from paddock.sims.model import model_text
from paddock.tasks.task import Task

PATIENCE_S = 1.0
"""How long a step may be in memory alone while others follow."""


class Recorder:
    """Records some worlds of an environment while it is used as ever. A context manager; `written` steps survive a kill.

    What a step began with is compared with what the step before reached: where somebody else wrote a state or a model field
    in between, there is a keyframe, so that whatever is done to an environment can be run again.
    """

    def __init__(self, env: Environment, path: Path, *, worlds: Sequence[int] = (0,), keyframe_every: int = 100) -> None:
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
        self._file = RecordingWriter(path, self._header, files=files, ros=self._poses.topics)
        self._fresh = dict.fromkeys(range(len(worlds)), Reason.WRITTEN)  # nobody knows how they came to be where they are
        self._begun: list[dict[int, int]] = [{0: int(env.episode[world])} for world in worlds]  # step of the block -> episode
        self._keyed = [0] * len(worlds)
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
        mask = worlds.mask.numpy()
        for place, world in enumerate(self._header.worlds):
            if mask[world]:
                self._fresh[place] = Reason.BEGUN

    def stepping(self, sim: Sim) -> None:
        block = self._block
        block.enter()
        for place, reason in self._fresh.items():
            block.marks[place][block.steps] = reason
            self._begun[place][block.steps] = int(self._env.episode[self._header.worlds[place]])

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

    def _end_block(self) -> None:
        """Make messages of the block, in the order of their times."""
        block = self._block
        if not block.steps:
            return
        if len(self._env.sim.model_fields) != len(self._header.model_fields):
            raise PaddockError(f"a model field was expanded while {self.path} was being recorded. Expand it before.")
        changes = block.mark(self._keyed, self._every)
        messages = [*self._keyframes(), *self._moments()]
        crc = block.crc()
        for world, index in enumerate(self._header.worlds):
            ctrl = block.ctrl[: block.steps, world]
            steps = Steps(first=block.first, ctrl=ctrl, crc=crc[:, world], changes=changes[world])
            messages.append((self._time_ns(self.steps), steps_topic(index), pack_steps(steps)))
        messages.sort(key=itemgetter(0))
        for time_ns, topic, data in messages:
            self._file.add(topic, time_ns, data)
        block.clear()

    def _keyframes(self) -> Iterator[tuple[int, str, bytes]]:
        block = self._block
        for place, world in enumerate(self._header.worlds):
            begun = self._begun[place]
            for step, reason in sorted(block.marks[place].items()):
                keyframe = Keyframe(
                    step=block.first + step,
                    episode=begun[max(own for own in begun if own <= step)],
                    reason=reason,
                    constants=self._env.sim.derives_constants,
                    row=block.entered[step, place],
                    fields=block.fields(step, place),
                )
                yield self._time_ns(keyframe.step), keyframes_topic(world), pack_keyframe(keyframe)
            self._begun[place] = {0: begun[max(begun)]}

    def _moments(self) -> Iterator[tuple[int, str, bytes]]:
        """What viewers draw."""
        block, stride = self._block, self._poses.stride
        skipped = -(block.first + 1) % stride
        times = [self._time_ns(step) for step in range(block.first + 1 + skipped, block.first + block.steps + 1, stride)]
        if times:
            yield from self._poses.messages(times, block.reached[skipped::stride])

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
