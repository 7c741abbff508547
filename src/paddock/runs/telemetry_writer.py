"""The one thread that writes telemetry.db. Whatever the disk does ends here: training never hears of it, health does."""

import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from paddock.runs.faults import point
from paddock.runs.telemetry_batches import Batch, Scalars
from paddock.runs.telemetry_queue import BatchQueue, Taken
from paddock.runs.telemetry_store import Store

COMMIT_S = 0.2
COMMIT_ROWS = 2_000
"""A transaction is committed this often, or as soon as so many rows wait."""
RETRY_S = 0.2


class ScalarSink(Protocol):
    """Something else that wants the scalars, such as TensorBoard. Called on the writer thread with what was committed."""

    def scalars(self, step: int, wall_time: float, values: Mapping[str, float], /) -> None: ...

    def close(self) -> None: ...


class WriterThread(threading.Thread):
    """Takes batches from the queue, commits them, and tells the sinks. A daemon: a disk that hangs keeps no process alive."""

    def __init__(self, path: Path, queue: BatchQueue, sinks: Sequence[ScalarSink]) -> None:
        super().__init__(name="telemetry", daemon=True)
        self._path, self._queue, self._sinks = path, queue, list(sinks)
        self._store: Store | None = None
        self._singly = 0  # batches to write one by one, because one of them cannot be written at all
        self.errors = 0
        self.last_error = ""
        self.lost_sinks: tuple[str, ...] = ()
        self.committed_at = time.monotonic()
        self.cpu_s = 0.0

    def run(self) -> None:
        while not self._queue.is_over():
            taken = self._queue.take(max_rows=1 if self._singly else COMMIT_ROWS, wait_s=COMMIT_S)
            if taken.batches or taken.sync:
                self._write(taken)
            self.cpu_s = time.thread_time()
        self._end()
        for sink in self._sinks:
            self._tell(sink, None)
        self.cpu_s = time.thread_time()

    def _end(self) -> None:
        try:
            if self._store is not None:
                self._store.tidy()
        except sqlite3.Error as error:
            self._note(error)
        self._drop_store()

    def _write(self, taken: Taken) -> None:
        self._singly = max(0, self._singly - len(taken.batches))
        try:
            if self._store is None:
                self._store = Store(self._path)
            self._store.write(taken.batches, sync=taken.sync)
        except Exception as error:  # every kind: if this thread died, nobody would notice until the run was over
            self._drop_store()
            self._recover(taken, error)
            return
        self.committed_at = time.monotonic()
        self._queue.done(taken)
        point("telemetry.after_commit")
        self._mirror(taken.batches)

    def _recover(self, taken: Taken, error: Exception) -> None:
        self._note(error)
        if _may_pass(error):
            self._queue.give_back(taken)
            time.sleep(RETRY_S)
        elif len(taken.batches) > 1:
            self._queue.give_back(taken)
            self._singly = len(taken.batches)
        else:
            self._queue.refuse(taken)

    def _note(self, error: Exception) -> None:
        self.errors += 1
        self.last_error = f"{type(error).__name__}: {error}"

    def _drop_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _mirror(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            if isinstance(batch, Scalars):
                for sink in self._sinks:
                    self._tell(sink, batch)

    def _tell(self, sink: ScalarSink, batch: Scalars | None) -> None:
        """Pass scalars on, or with None the end. A sink that raises is not called again."""
        try:
            if batch is None:
                sink.close()
            else:
                sink.scalars(batch.step, batch.time, batch.values)
        except Exception as error:  # a stranger's code: it may cost the mirror, never the record
            self._sinks = [other for other in self._sinks if other is not sink]
            self.lost_sinks += (f"{type(sink).__name__}: {type(error).__name__}: {error}",)


def _may_pass(error: Exception) -> bool:
    """Whether trying again can help: a lock, a full disk, an I/O error; not a value that SQLite cannot hold."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError
