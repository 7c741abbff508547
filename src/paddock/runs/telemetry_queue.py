"""Between the training loop and the writer thread: bounded, in order, and honest about what it drops."""

import threading
import time
from collections import deque
from dataclasses import dataclass

from paddock.runs.telemetry_batches import Batch


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What the writer thread has in hand."""

    batches: tuple[Batch, ...]
    last: int
    """Sequence number of the last of them."""
    sync: bool
    """Somebody waits for these, or for earlier ones, to survive a power cut."""

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.batches)

    @property
    def nbytes(self) -> int:
        return sum(batch.nbytes for batch in self.batches)


class BatchQueue:
    """Batches not yet committed. Putting never waits: past `max_bytes` the oldest batches are dropped and counted."""

    def __init__(self, *, max_bytes: int, prompt_rows: int) -> None:
        self._max_bytes, self._prompt_rows = max_bytes, prompt_rows
        self._changed = threading.Condition()
        self._waiting: deque[Batch] = deque()
        self._in_hand: tuple[Batch, ...] = ()
        self._rows = self._bytes = 0  # waiting and in hand
        self._put = 0  # sequence number of the newest batch; the first one is 1
        self._sync_wanted = self._synced = 0
        self._ends_at = float("inf")  # monotonic, once closed
        self.dropped = 0
        """Rows that were never written."""

    def put(self, batch: Batch, *, sync: bool = False) -> None:
        """Append; with `sync` the writer thread takes it at once."""
        with self._changed:
            self._waiting.append(batch)
            self._put += 1
            self._rows += batch.rows
            self._bytes += batch.nbytes
            self._trim()
            if sync:
                self._sync_wanted = self._put
            if sync or self._rows >= self._prompt_rows:
                self._changed.notify_all()

    def take(self, *, max_rows: int, wait_s: float) -> Taken:
        """The oldest batches, after `wait_s` or as soon as something presses. At least one, where there is one."""
        with self._changed:
            self._changed.wait_for(self._presses, timeout=wait_s)
            batches: list[Batch] = []
            rows = 0
            while self._waiting and rows < max_rows:
                batches.append(self._waiting.popleft())
                rows += batches[-1].rows
            self._in_hand = tuple(batches)
            last = self._put - len(self._waiting)
            return Taken(batches=self._in_hand, last=last, sync=self._synced < self._sync_wanted <= last)

    def done(self, taken: Taken) -> None:
        """What was taken is committed."""
        with self._changed:
            self._forget(taken)
            if taken.sync:
                self._synced = taken.last
                self._changed.notify_all()

    def refuse(self, taken: Taken) -> None:
        """What was taken can never be written."""
        with self._changed:
            self._forget(taken)
            self.dropped += taken.rows

    def give_back(self, taken: Taken) -> None:
        """What was taken could not be written now. It is the oldest, so it is also what a full queue drops first."""
        with self._changed:
            self._in_hand = ()
            self._waiting.extendleft(reversed(taken.batches))
            self._trim()

    def sync(self, timeout: float) -> bool:
        """Wait until all that was put so far survives a power cut; False where it took too long or some was dropped."""
        with self._changed:
            until, dropped = self._put, self.dropped
            self._sync_wanted = max(self._sync_wanted, until)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._synced >= until, timeout) and self.dropped == dropped

    def close(self, patience: float) -> None:
        """Nothing more will be put. What cannot be written within `patience` seconds is dropped."""
        with self._changed:
            self._ends_at = time.monotonic() + patience
            self._sync_wanted = self._put
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._ends_at < float("inf")

    def is_over(self) -> bool:
        """Whether the writer thread may go: closed, and nothing is left or time is up."""
        with self._changed:
            is_late = time.monotonic() > self._ends_at
            if is_late:
                self.dropped += self._rows
                self._waiting.clear()
                self._rows = self._bytes = 0
            return is_late or (self.closed and not self._waiting and self._synced >= self._sync_wanted)

    def lag(self) -> tuple[int, int, float]:
        """Rows and bytes not yet committed, and the age of the oldest in seconds."""
        with self._changed:
            now = time.time()
            oldest = min((batches[0].time for batches in (self._in_hand, self._waiting) if batches), default=now)
            return self._rows, self._bytes, max(0.0, now - oldest)

    def _presses(self) -> bool:
        return self.closed or self._rows >= self._prompt_rows or self._sync_wanted > self._synced

    def _forget(self, taken: Taken) -> None:
        self._in_hand = ()
        self._rows -= taken.rows
        self._bytes -= taken.nbytes

    def _trim(self) -> None:
        while self._bytes > self._max_bytes and len(self._waiting) > 1:
            oldest = self._waiting.popleft()
            self._rows -= oldest.rows
            self._bytes -= oldest.nbytes
            self.dropped += oldest.rows
