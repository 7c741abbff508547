"""Bytes in memory that is kept.

Asking for a kilobyte or more makes glibc first put in order all the small pieces that the steps of the physics have given back:
a third of a millisecond, which the recorder would pay in the place of others. So between two steps it asks for none.
"""

Part = bytes | memoryview
"""In one piece; an array's is its `data`."""


class KeptBytes:
    """Parts one after another, with room for `capacity` bytes, and for more where it has to be."""

    def __init__(self, capacity: int) -> None:
        self.size = 0
        self._bytes = memoryview(bytearray(capacity))  # a bytearray itself would copy what is put into it twice

    def add(self, *parts: Part) -> None:
        for part in parts:
            content = memoryview(part)
            if content.nbytes:  # which cannot be cast where there are none
                begin, self.size = self.size, self.size + content.nbytes
                if self.size > len(self._bytes):
                    self._bytes = memoryview(bytearray(self._bytes).ljust(2 * self.size))
                self._bytes[begin : self.size] = content.cast("B")

    def __getitem__(self, part: slice) -> memoryview:
        """A part, until more is added."""
        return self._bytes[: self.size][part]

    def clear(self) -> None:
        self.size = 0
