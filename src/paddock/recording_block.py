"""A few steps of the recorded worlds, copied while they happen and written together afterwards.

Between two steps of the physics there is only time to copy and to compare, and that on bytes: NumPy would take three times as
long to begin. Messages wait until the block is full: made for many steps in a row they cost a fraction of what they would cost
one by one, in between, with cold caches.
"""

import zlib
from collections.abc import Sequence
from itertools import starmap
from operator import eq

import numpy as np

from paddock.contracts import Sim
from paddock.runs.recordings import CHANGE, INPUTS, RecordingHeader

BLOCK_STEPS = 64
NO_CHANGES = np.empty(0, dtype=CHANGE)

Pair = tuple[memoryview, memoryview]


class Block:
    """Up to BLOCK_STEPS steps of k worlds: what they were given, what they reached, and what was changed in between."""

    def __init__(self, sim: Sim, header: RecordingHeader) -> None:
        worlds, k = header.worlds, len(header.worlds)
        self.first = 0
        """Step of the recording that the block begins with."""
        self.steps = 0
        self.ctrl = np.zeros((BLOCK_STEPS, k, header.ctrl_size), dtype=header.ctrl_dtype)
        self._reached = np.zeros((BLOCK_STEPS + 1, k, header.row_size))  # begins with what the step before the block reached
        self._changes: list[list[np.ndarray]] = [[] for _ in worlds]

        self._worlds, self._rows = worlds, sim.rows.numpy()
        self._inputs = {i for own in header.row if own.name in INPUTS for i in range(own.start, own.start + own.size)}
        self._fields = [field.numpy() for field in sim.model_fields.values()]
        self._fields_left = [field[list(worlds)] for field in self._fields]
        fields = [pair for own in zip(self._fields, self._fields_left, strict=True) for pair in _pairs(*own, worlds)]
        rows = [_pairs(self._rows, reached, worlds) for reached in self._reached]
        self._watched = [[*rows[step], *fields] for step in range(BLOCK_STEPS)]
        self._copied = [[*rows[step + 1], *_pairs(sim.ctrl.numpy(), self.ctrl[step], worlds)] for step in range(BLOCK_STEPS)]
        self._row_bytes = [[row.data for row in rows] for rows in self._reached[1:]]

    @property
    def reached(self) -> np.ndarray:
        """What each step reached; (steps, k, size)."""
        return self._reached[1 : self.steps + 1]

    def is_as_left(self) -> bool:
        """Whether every world is, to the last bit, where the last step left it; to a checksum, -0.0 is not 0.0."""
        return all(starmap(eq, self._watched[self.steps]))

    def reach(self) -> None:
        """Copy what the step was given, and the worlds as they are after it."""
        for source, target in self._copied[self.steps]:
            target[:] = source
        self.steps += 1

    def crc(self) -> np.ndarray:
        """Of each row reached; (steps, k) uint32."""
        return np.array([[zlib.crc32(row) for row in rows] for rows in self._row_bytes[: self.steps]], dtype=np.uint32)

    def entering(self, place: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """The row and the model fields of a world as they enter the next step."""
        world = self._worlds[place]
        return self._rows[world], tuple(field[world] for field in self._fields)

    def note_changes(self, place: int) -> bool:
        """Note the inputs of a world that were changed since the last step. False if anything else was."""
        row, fields = self.entering(place)
        for field, left in zip(fields, self._fields_left, strict=True):
            if _words(field) != _words(left[place]):
                return False
        before = self._reached[self.steps, place]
        if _words(row) == _words(before):
            return True
        columns = np.flatnonzero(row.view(np.int64) != before.view(np.int64)).tolist()
        if not self._inputs.issuperset(columns):
            return False
        change = np.empty(len(columns), dtype=CHANGE)
        change["step"], change["column"], change["value"] = self.steps, columns, row[columns]
        self._changes[place].append(change)
        return True

    def note_fields(self, place: int) -> None:
        """Expect the model fields of a world to stay as they are now."""
        for field, left in zip(self._fields, self._fields_left, strict=True):
            left[place] = field[self._worlds[place]]

    def changes(self, place: int) -> np.ndarray:
        """The changes of one world's inputs, as CHANGE."""
        return np.concatenate(self._changes[place]) if self._changes[place] else NO_CHANGES

    def clear(self) -> None:
        """Begin the next block where this one ends."""
        self._reached[0] = self._reached[self.steps]
        for changes in self._changes:
            changes.clear()
        self.first += self.steps
        self.steps = 0


def _pairs(source: np.ndarray, target: np.ndarray, worlds: Sequence[int]) -> list[Pair]:
    """Some worlds of `source` beside `target`, as bytes: all at once where they lie together, else one by one."""
    is_run = list(worlds) == list(range(worlds[0], worlds[0] + len(worlds)))
    length = len(worlds) if is_run else 1
    return [
        (_words(source[worlds[place] : worlds[place] + length]), _words(target[place : place + length]))
        for place in range(0, len(worlds), length)
        if source.size
    ]


def _words(array: np.ndarray) -> memoryview:
    """The bytes of an array, eight at a time where that goes: comparing them is eight times as fast."""
    return array.data.cast("B").cast("q" if array.nbytes % 8 == 0 else "B")
