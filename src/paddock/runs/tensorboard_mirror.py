"""Scalars as TensorBoard event files, for those who have it open anyway. tensorboardX writes the same files without grpc."""

import itertools
import os
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

FLUSH_S = 2.0
_COUNTER = itertools.count()


class TensorBoardSink:
    """A `ScalarSink` that writes one event file. Two sinks may share a folder.

    `purge_step` hides what earlier files of the folder hold from that step on: one more than the step a run was rewound to.
    """

    def __init__(self, folder: Path, *, purge_step: int | None = None) -> None:
        # here, because tensorboardX takes a second to import; its SummaryWriter would add a thread and a queue to ours
        from tensorboardX.event_file_writer import EventsWriter

        events = import_module("tensorboardX.proto.event_pb2")  # classes made at run time, which no type checker can see
        folder.mkdir(parents=True, exist_ok=True)
        self._event, self._summary = events.Event, import_module("tensorboardX.proto.summary_pb2").Summary
        # two files begun within a second would be one without the suffix, and TensorBoard reads files in the order of their names
        before = len(list(folder.iterdir()))
        self._file = EventsWriter(str(folder / "events"), f".{before:06d}.{os.getpid()}.{next(_COUNTER)}")
        self._flushed_at = time.monotonic()
        if purge_step is not None:
            start = events.SessionLog(status=events.SessionLog.START)
            self._file.write_event(self._event(wall_time=time.time(), step=purge_step, session_log=start))
            self._file.flush()

    def scalars(self, step: int, wall_time: float, values: Mapping[str, float]) -> None:
        """Write the numbers of one step as one event."""
        numbers = [self._summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._file.write_event(self._event(wall_time=wall_time, step=step, summary=self._summary(value=numbers)))
        if time.monotonic() - self._flushed_at >= FLUSH_S:
            self._file.flush()
            self._flushed_at = time.monotonic()

    def close(self) -> None:
        """Write what is left and close the file."""
        self._file.close()
