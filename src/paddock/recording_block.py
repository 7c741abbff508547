"""A few steps of the recorded worlds, copied while they happen and looked at together afterwards.

Between two steps of the physics there is only time to copy. Comparing, checksums and messages wait until a block is full: done
for 32 steps in a row they cost a fraction of what they would cost one by one, in between, with cold caches.
"""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from paddock.contracts import Sim
from paddock.runs.recordings import CHANGE, INPUTS, Reason, RecordingHeader

BLOCK_STEPS = 32
NOTHING = -1
"""In place of a Reason: no keyframe."""


class Block:
    """Up to BLOCK_STEPS steps of k worlds: as they were entered, what they were given, what they reached."""

    def __init__(self, sim: Sim, header: RecordingHeader) -> None:
        first, last, k = min(header.worlds), max(header.worlds), len(header.worlds)
        is_run = header.worlds == tuple(range(first, last + 1))
        self._worlds = slice(first, last + 1) if is_run else np.array(header.worlds)  # a slice costs a third of an index
        self._inputs = np.zeros(header.row_size, dtype=bool)
        for field in header.row:
            self._inputs[field.start : field.start + field.size] = field.name in INPUTS
        self.first = 0
        """Step of the recording that the block begins with."""
        self.steps = 0
        self.entered = np.zeros((BLOCK_STEPS, k, header.row_size))
        self.ctrl = np.zeros((BLOCK_STEPS, k, header.ctrl_size), dtype=header.ctrl_dtype)
        self.fields = [np.zeros((BLOCK_STEPS, k, *field.shape), dtype=field.dtype) for field in header.model_fields]
        self._reached = np.zeros((BLOCK_STEPS + 1, k, header.row_size))  # first what the step before the block reached
        self._fields_before = [np.zeros_like(field[0]) for field in self.fields]
        self.reason = np.full((BLOCK_STEPS, k), NOTHING)
        self.episode = np.zeros((BLOCK_STEPS, k), dtype=np.int64)
        self._crcs = [[row.data for row in rows] for rows in self._reached[1:]]
        sources = [(sim.rows.numpy(), self.entered), *zip(_arrays(sim.model_fields), self.fields, strict=True)]
        self._before = [[(source, target[step]) for source, target in sources] for step in range(BLOCK_STEPS)]
        sources = [(sim.rows.numpy(), self._reached[1:]), (sim.ctrl.numpy(), self.ctrl)]
        self._after = [[(source, target[step]) for source, target in sources] for step in range(BLOCK_STEPS)]

    @property
    def reached(self) -> np.ndarray:
        """What each step reached; (steps, k, size)."""
        return self._reached[1 : self.steps + 1]

    def enter(self) -> None:
        """Copy the worlds as they are before a step."""
        for source, target in self._before[self.steps]:
            target[:] = source[self._worlds]

    def reach(self) -> None:
        """Copy what the step was given, and the worlds as they are after it."""
        for source, target in self._after[self.steps]:
            target[:] = source[self._worlds]
        self.steps += 1

    def clear(self) -> None:
        """Begin the next block where this one ends."""
        self.first += self.steps
        self._reached[0] = self._reached[self.steps]
        for before, field in zip(self._fields_before, self.fields, strict=True):
            before[:] = field[self.steps - 1]
        self.reason.fill(NOTHING)
        self.steps = 0

    def crc(self) -> np.ndarray:
        """Of each row reached; (steps, k) uint32."""
        return np.array([[zlib.crc32(row) for row in rows] for rows in self._crcs[: self.steps]], dtype=np.uint32)

    def changes(self, keyed: np.ndarray, every: int) -> list[np.ndarray]:
        """Decide where keyframes are, in `reason`, and return each world's changes of inputs, as CHANGE.

        `keyed` is the step of each world's last keyframe, brought up to date.
        """
        n, k = self.reason[: self.steps].shape
        reason = self.reason[:n]
        # bits are compared, not numbers: -0.0 is not 0.0 to a checksum
        changed = self.entered[:n].view(np.int64) != self._reached[:n].view(np.int64)
        has_changed = bool(changed.any())
        if has_changed:
            reason[(reason == NOTHING) & changed[:, :, ~self._inputs].any(axis=2)] = Reason.WRITTEN
        for field, before in zip(self.fields, self._fields_before, strict=True):
            now, earlier = _bytes(field[:n]), _bytes(before[None])
            if (now != earlier).any():
                written = (now != np.concatenate([earlier, now[:-1]])).any(axis=2)
                reason[(reason == NOTHING) & written] = Reason.WRITTEN
        for world in range(k):
            self._mark_due(world, keyed, every)
        if not has_changed:
            return [np.empty(0, dtype=CHANGE)] * k
        changed &= self._inputs
        changed[(reason == Reason.BEGUN) | (reason == Reason.WRITTEN)] = False  # their keyframe has it all
        return [self._changes_of(world, changed[:, world]) for world in range(k)]

    def _mark_due(self, world: int, keyed: np.ndarray, every: int) -> None:
        last = int(keyed[world]) - self.first
        for mark in (*np.flatnonzero(self.reason[: self.steps, world] != NOTHING), self.steps):
            while last + every < mark:
                last += every
                self.reason[last, world] = Reason.DUE
            if mark < self.steps:
                last = int(mark)
        keyed[world] = last + self.first

    def _changes_of(self, world: int, changed: np.ndarray) -> np.ndarray:
        steps, columns = np.nonzero(changed)
        changes = np.empty(len(steps), dtype=CHANGE)
        changes["step"], changes["column"], changes["value"] = steps, columns, self.entered[steps, world, columns]
        return changes


def _arrays(tensors: Mapping[str, object]) -> Sequence[np.ndarray]:
    return [np.asarray(tensor) for tensor in tensors.values()]


def _bytes(array: np.ndarray) -> np.ndarray:
    """(steps, k, ...) as (steps, k, bytes)."""
    return array.view(np.uint8).reshape(*array.shape[:2], -1)
