"""What viewers draw at a moment, for many moments at once.

At every moment there is one message on each channel, always of the same length, so that the records of all moments are one
table of bytes, into whose rows only times and numbers are put. That is done in slices, and never with another type of number
than the table has: indexing by arrays and converting ask for memory (see kept_bytes.py).
"""

import struct
from collections.abc import Sequence

import numpy as np
from mcap.opcode import Opcode

from paddock.runs.ros_lane import Message

MESSAGE_HEAD = struct.Struct("<BQHIQQ")
"""Of a record: opcode, length of the rest, channel, sequence, and the times of logging and publishing."""
REST = MESSAGE_HEAD.size - 9
SEQUENCE, TIMES = 11, 15
"""Where those begin."""


def message_head(channel: int, sequence: int, time_ns: int, size: int) -> bytes:
    """What precedes the `size` bytes of a message in a chunk."""
    return MESSAGE_HEAD.pack(Opcode.MESSAGE, REST + size, channel, sequence, time_ns, time_ns)


class Moments:
    """The records of `messages`, a channel's number and an example each, in this order at each of `at_most` moments."""

    def __init__(self, messages: Sequence[tuple[int, Message]], *, at_most: int) -> None:
        self.begins: dict[int, int] = {}
        """Where the record of each channel begins within a row."""
        example = b""
        for channel, message in messages:
            self.begins[channel] = len(example)
            example += message_head(channel, 0, 0, len(message.encoded)) + message.encoded
        self._table = np.empty((at_most, len(example)), dtype=np.uint8)
        self._table[:] = np.frombuffer(example, np.uint8)
        self._sequences = [self._at(begin + SEQUENCE, "<u4", 1)[:, 0] for begin in self.begins.values()]
        self._times = [self._at(begin + TIMES, "<u8", 2) for begin in self.begins.values()]
        data = [begin + MESSAGE_HEAD.size for begin in self.begins.values()]
        examples = [*zip(data, (message for _, message in messages), strict=True)]
        self._stamps = [self._at(begin + place, "<u4", 2) for begin, message in examples for place in message.stamps]
        self._copies = [
            (self._at(begin + place, "<f8", count), slice(column, column + count))
            for begin, message in examples
            for place, column, count in message.copies
        ]

    def __len__(self) -> int:
        """Messages at a moment."""
        return len(self.begins)

    def rows(self, first_sequence: int, times_ns: Sequence[int], states: np.ndarray) -> np.ndarray:
        """One row of records for each moment, good until the next call; `states` (moments, size) are float64."""
        n, end = len(times_ns), first_sequence + len(times_ns) * len(self)
        for place, sequences in enumerate(self._sequences):
            sequences[:n] = np.arange(first_sequence + place, end, len(self), dtype="<u4")
        times = np.array(times_ns, dtype="<u8")[:, None]
        for own in self._times:
            own[:n] = times
        stamps = np.array([divmod(time_ns, 10**9) for time_ns in times_ns], dtype="<u4")
        for own in self._stamps:
            own[:n] = stamps
        for own, columns in self._copies:
            own[:n] = states[:, columns]
        return self._table[:n]

    def _at(self, place: int, dtype: str, count: int) -> np.ndarray:
        """`count` numbers of each row as they lie in the table, from byte `place` on."""
        strides = (self._table.strides[0], np.dtype(dtype).itemsize)
        return np.ndarray((len(self._table), count), dtype, self._table.data, place, strides)
