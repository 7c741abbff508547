"""A few steps of the recorded worlds, copied while they happen and looked at together afterwards.

Between two steps of the physics there is only time to copy. Comparing, checksums and messages wait until a block is full: done
for 32 steps in a row they cost a fraction of what they would cost one by one, in between, with cold caches. For the same reason
bytes are copied and compared here, not arrays: most blocks hold no surprise, and NumPy takes its time to say so.
"""

import zlib
from collections.abc import Sequence

import numpy as np

from paddock.contracts import Sim
from paddock.runs.recordings import CHANGE, INPUTS, Reason, RecordingHeader

BLOCK_STEPS = 32
NO_CHANGES = np.empty(0, dtype=CHANGE)


class Block:
    """Up to BLOCK_STEPS steps of k worlds: as they were entered, what they were given, what they reached."""

    def __init__(self, sim: Sim, header: RecordingHeader) -> None:
        k = len(header.worlds)
        self.first = 0
        """Step of the recording that the block begins with."""
        self.steps = 0
        self.entered = np.zeros((BLOCK_STEPS, k, header.row_size))
        self.ctrl = np.zeros((BLOCK_STEPS, k, header.ctrl_size), dtype=header.ctrl_dtype)
        self.marks: list[dict[int, Reason]] = [{} for _ in range(k)]
        """For each world, the steps of the block that have a keyframe."""
        # these begin with what the step before the block left
        self._reached = np.zeros((BLOCK_STEPS + 1, k, header.row_size))
        self._fields = [np.zeros((BLOCK_STEPS + 1, k, *field.shape), dtype=field.dtype) for field in header.model_fields]

        self._inputs = {i for own in header.row if own.name in INPUTS for i in range(own.start, own.start + own.size)}
        self._pairs = [(field[1:], field) for field in self._fields if field.size]
        self._crcs = [[row.data for row in rows] for rows in self._reached[1:]]
        rows, fields = sim.rows.numpy(), [value.numpy() for value in sim.model_fields.values()]
        before = [(rows, self.entered), *((source, field[1:]) for source, field in zip(fields, self._fields, strict=True))]
        after = [(rows, self._reached[1:]), (sim.ctrl.numpy(), self.ctrl)]
        self._before = [_copies(before, header.worlds, step) for step in range(BLOCK_STEPS)]
        self._after = [_copies(after, header.worlds, step) for step in range(BLOCK_STEPS)]

    @property
    def reached(self) -> np.ndarray:
        """What each step reached; (steps, k, size)."""
        return self._reached[1 : self.steps + 1]

    def fields(self, step: int, world: int) -> tuple[np.ndarray, ...]:
        """The model fields of one world as they entered a step."""
        return tuple(field[step + 1, world] for field in self._fields)

    def enter(self) -> None:
        """Copy the worlds as they are before a step."""
        for source, target in self._before[self.steps]:
            target[:] = source

    def reach(self) -> None:
        """Copy what the step was given, and the worlds as they are after it."""
        for source, target in self._after[self.steps]:
            target[:] = source
        self.steps += 1

    def clear(self) -> None:
        """Begin the next block where this one ends."""
        for array in (self._reached, *self._fields):
            array[0] = array[self.steps]
        for marks in self.marks:
            marks.clear()
        self.first += self.steps
        self.steps = 0

    def crc(self) -> np.ndarray:
        """Of each row reached; (steps, k) uint32."""
        return np.array([[zlib.crc32(row) for row in rows] for rows in self._crcs[: self.steps]], dtype=np.uint32)

    def mark(self, keyed: list[int], every: int) -> list[np.ndarray]:
        """Decide which steps have a keyframe, and return each world's changes of inputs, as CHANGE.

        `keyed` is the step of each world's last keyframe, brought up to date.
        """
        found: list[list[np.ndarray]] = [[] for _ in self.marks]
        for now, before in self._pairs:
            for step, world in self._unequal(now, before):
                self.marks[world].setdefault(step, Reason.WRITTEN)
        for step, world in self._unequal(self.entered, self._reached):
            if step not in self.marks[world]:
                change = self._change(step, world)
                if self._inputs.issuperset(change["column"].tolist()):
                    found[world].append(change)
                else:
                    self.marks[world][step] = Reason.WRITTEN
        for world, marks in enumerate(self.marks):
            keyed[world] = self._mark_due(marks, keyed[world] - self.first, every) + self.first
        return [np.concatenate(own) if own else NO_CHANGES for own in found]

    def _unequal(self, now: np.ndarray, before: np.ndarray) -> list[tuple[int, int]]:
        """Steps and worlds that differ in any bit: to a checksum, -0.0 is not 0.0."""
        a, b = now[: self.steps].tobytes(), before[: self.steps].tobytes()
        if a == b:
            return []
        width = len(a) // (self.steps * len(self.marks))
        places = range(0, len(a), width)
        return [divmod(at // width, len(self.marks)) for at in places if a[at : at + width] != b[at : at + width]]

    def _change(self, step: int, world: int) -> np.ndarray:
        """Every column in which a step was entered otherwise than the step before had left it."""
        entered, left = self.entered[step, world], self._reached[step, world]
        pairs = zip(entered.view(np.int64).tolist(), left.view(np.int64).tolist(), strict=True)
        columns = [column for column, (now, before) in enumerate(pairs) if now != before]
        change = np.empty(len(columns), dtype=CHANGE)
        change["step"], change["column"], change["value"] = step, columns, entered[columns]
        return change

    def _mark_due(self, marks: dict[int, Reason], last: int, every: int) -> int:
        """Fill the gaps between keyframes that are longer than `every`. Returns the last one's step, from the block's first."""
        for mark in (*sorted(marks), self.steps):
            while last + every < mark:
                last += every
                marks[last] = Reason.DUE
            if mark < self.steps:
                last = mark
        return last


def _copies(
    arrays: Sequence[tuple[np.ndarray, np.ndarray]], worlds: Sequence[int], step: int
) -> list[tuple[memoryview, memoryview]]:
    """What to copy where in one step: the worlds at once where they lie together, else one by one."""
    is_run = list(worlds) == list(range(worlds[0], worlds[0] + len(worlds)))
    length = len(worlds) if is_run else 1
    return [
        (source[worlds[place] : worlds[place] + length].data.cast("B"), target[step, place : place + length].data.cast("B"))
        for source, target in arrays
        for place in range(0, len(worlds), length)
        if source.size
    ]
