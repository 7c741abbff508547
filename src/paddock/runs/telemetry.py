"""The durable numbers of a run: scalars, episodes, step rows of chosen worlds and events, in telemetry.db.

The training loop hands rows over and goes on; one thread writes them. What the disk does meanwhile shows in `health`.
"""

import json
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from paddock.errors import PaddockError
from paddock.runs.telemetry_batches import Chunk, EpisodeBatch, Episodes, Event, Scalars
from paddock.runs.telemetry_file import Columns, begin
from paddock.runs.telemetry_queue import BatchQueue
from paddock.runs.telemetry_rewind import rewind
from paddock.runs.telemetry_writer import COMMIT_ROWS, ScalarSink, WriterThread

__all__ = ["EpisodeBatch", "Health", "ScalarSink", "Telemetry", "rewind"]

CHUNK_STEPS = 256
"""Step rows of a world that are stored together; also how many a kill can lose."""
QUEUE_BYTES = 64 * 2**20
CLOSE_S = 10.0
"""How long `close` waits for a disk that does not take what is left."""
STATUS = "status"
"""The kind of event that is made to survive a power cut at once."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """How the writing goes."""

    queued: int
    """Rows handed over and not yet committed."""
    queued_bytes: int
    lag_s: float
    """Age of the oldest of them."""
    dropped: int
    """Rows lost: the queue was full, the run ended before the disk took them, or SQLite cannot hold them."""
    not_finite: int
    """Scalars that were NaN or infinite, and so not stored."""
    errors: int
    """Transactions that failed; what they held was tried again."""
    last_error: str
    since_commit_s: float
    writer_cpu_s: float
    """Processor time of the writer thread so far."""
    lost_sinks: tuple[str, ...]
    """Sinks that raised, with what they said; they are not called again."""


class Telemetry:
    """The writing end, for one run at a time. Steps are env steps and never go back: `rewind` the file first.

    Calls neither wait for the disk nor raise because of it; they raise on arguments that make no sense.
    """

    def __init__(
        self,
        path: Path,
        *,
        terms: Sequence[str] = (),
        causes: Sequence[str] = (),
        step_columns: Sequence[str] = (),
        worlds: Sequence[int] = (),
        sinks: Sequence[ScalarSink] = (),
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        if len(set(worlds)) != len(worlds):
            raise PaddockError(f"the chosen worlds must differ from each other; given: {list(worlds)}.")
        asked = Columns(terms=tuple(terms), causes=tuple(causes), steps=tuple(step_columns))
        begun = begin(path, asked, worlds)
        self._columns, self._last_steps = begun.columns, begun.last_steps
        self._worlds = tuple(int(world) for world in worlds)
        self._block = np.empty((len(worlds), CHUNK_STEPS, len(self._columns.steps)), dtype=np.float32)
        self._t0, self._stride, self._n, self._last_row = 0, 0, 0, begun.last_row
        self._not_finite = 0
        self._door = threading.Lock()  # one call at a time: an event may come from another thread than the loop
        self._queue = BatchQueue(max_bytes=queue_bytes, prompt_rows=COMMIT_ROWS)
        self._writer = WriterThread(path, self._queue, sinks)
        self._writer.start()

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Named numbers of one step. Those that are not finite are counted, not stored."""
        numbers = {name: float(value) for name, value in values.items()}
        finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
        with self._door:
            self._check_open()
            for name in finite:
                if step < (last := self._last_steps.get(name, 0)):
                    raise PaddockError(_went_back(f"scalar '{name}'", step, last))
            self._last_steps.update(dict.fromkeys(finite, int(step)))
            self._not_finite += len(numbers) - len(finite)
            if finite:
                self._queue.put(Scalars(int(step), time.time(), finite))

    def episodes(self, step: int, batch: EpisodeBatch) -> None:
        """Episodes that ended at `step`."""
        batch = _own(batch, self._columns)
        with self._door:
            self._check_open()
            if len(batch.world):
                self._queue.put(Episodes(int(step), time.time(), batch))

    def step_row(self, step: int, rows: np.ndarray) -> None:
        """One control step of the chosen worlds; (worlds, columns) float32. Copied; every 256 of them are handed over."""
        expected = self._block.shape[0], self._block.shape[2]
        if rows.shape != expected:
            raise PaddockError(f"step rows have the shape {rows.shape}; wanted {expected}: chosen worlds, step columns.")
        with self._door:
            self._check_open()
            if step <= self._last_row:
                raise PaddockError(_went_back("step row", step, self._last_row))
            if self._n >= 2 and step != self._t0 + self._n * self._stride:
                self._cut()  # a chunk holds evenly spaced steps
            if self._n == 0:
                self._t0 = int(step)
            elif self._n == 1:
                self._stride = int(step) - self._t0
            self._block[:, self._n] = rows
            self._n, self._last_row = self._n + 1, int(step)
            if self._n == CHUNK_STEPS:
                self._cut()

    def event(self, step: int, kind: str, detail: Mapping[str, object]) -> None:
        """Something that happened. Of the kind `status` it is made to survive a power cut at once."""
        try:
            text = json.dumps(_plain(detail), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise PaddockError(f"the detail of a '{kind}' event cannot be written as JSON: {error}. Give plain values.") from None
        with self._door:
            self._check_open()
            self._queue.put(Event(int(step), time.time(), kind, text), sync=kind == STATUS)

    def health(self) -> Health:
        """How the writing goes, now."""
        queued, queued_bytes, lag_s = self._queue.lag()
        return Health(
            queued=queued,
            queued_bytes=queued_bytes,
            lag_s=lag_s,
            dropped=self._queue.dropped,
            not_finite=self._not_finite,
            errors=self._writer.errors,
            last_error=self._writer.last_error,
            since_commit_s=time.monotonic() - self._writer.committed_at,
            writer_cpu_s=self._writer.cpu_s,
            lost_sinks=self._writer.lost_sinks,
        )

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait; True when all that was handed over so far survives a power cut."""
        with self._door:
            self._check_open()
            self._cut()
        return self._queue.sync(timeout)

    def close(self) -> None:
        """Write what is left, waiting at most ten seconds for a disk that does not take it; `health` still answers."""
        with self._door:
            if not self._queue.closed:
                self._cut()
                self._queue.close(CLOSE_S)
        self._writer.join(CLOSE_S + 1.0)

    def __enter__(self) -> "Telemetry":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._queue.closed:
            raise PaddockError("this telemetry is closed. Open the file again to go on.")

    def _cut(self) -> None:
        """Hand over the step rows so far as one chunk for each chosen world."""
        if self._n and self._block.size:
            stride = self._stride if self._n > 1 else 1
            self._queue.put(Chunk(time.time(), self._t0, stride, self._worlds, self._block[:, : self._n].copy()))
        self._n = 0


def _own(batch: EpisodeBatch, columns: Columns) -> EpisodeBatch:
    """A checked copy in the types that are stored: the loop's own arrays change with the next step."""
    own = EpisodeBatch(
        world=np.array(batch.world, dtype=np.int64),
        episode=np.array(batch.episode, dtype=np.int64),
        length=np.array(batch.length, dtype=np.int64),
        total=np.array(batch.total, dtype=np.float64),
        success=np.array(batch.success, dtype=np.int8),
        cause=np.array(batch.cause, dtype=np.int16),
        terms=np.array(batch.terms, dtype=np.float32, order="C"),
    )
    k = len(own.world)
    for name, value in vars(own).items():
        wanted = (k, len(columns.terms)) if name == "terms" else (k,)
        if value.shape != wanted:
            raise PaddockError(f"'{name}' of an episode batch has the shape {value.shape}; wanted {wanted}.")
    if k and not 0 <= own.cause.min() <= own.cause.max() < len(columns.causes):
        known = ", ".join(columns.causes) or "none"
        raise PaddockError(f"episode causes are {own.cause.tolist()}; wanted places among the causes: {known}.")
    return own


def _went_back(what: str, step: int, last: int) -> str:
    return f"{what} at step {step}, but the record has reached step {last}. After a resume, rewind it to the checkpoint first."


def _plain(value: object) -> object:
    """The value with words for numbers that JSON lacks: an event is often about just those."""
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
