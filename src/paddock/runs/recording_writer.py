"""Recordings on their way to disk: MCAP in small checked chunks, so that a kill loses only the chunk in progress."""

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from mcap.data_stream import RecordBuilder
from mcap.records import Channel, Schema
from mcap.well_known import MessageEncoding, SchemaEncoding

from paddock.errors import PaddockError
from paddock.messages import to_json
from paddock.runs import ros_lane
from paddock.runs.kept_bytes import KeptBytes, Part
from paddock.runs.mcap_file import INDEX_ENTRY, McapFile
from paddock.runs.moments import Moments, message_head
from paddock.runs.recordings import (
    ENCODING,
    EVENTS_TOPIC,
    HEADER_TOPIC,
    MAX_RECORD_BYTES,
    RecordingHeader,
    keyframes_topic,
    steps_topic,
)

CHUNK_BYTES = 64 * 1024
HEADER_SCHEMA = {"type": "object", "title": "paddock.RecordingHeader"}
EVENT_SCHEMA = {"type": "object", "title": "paddock.Event"}
LANES = {"paddock.Keyframe": keyframes_topic, "paddock.Steps": steps_topic}


class RecordingWriter:
    """A new recording. What `end_chunk` has returned for survives the death of this process."""

    def __init__(
        self,
        path: Path,
        header: RecordingHeader,
        *,
        files: Mapping[str, bytes],
        moment: Mapping[str, ros_lane.Message],
        moments: int,
        events: bool = False,
    ) -> None:
        """`files` are the model's, by name; `moment` is what `add_moments` will write, by topic, of so many at a time. With
        `events`, there is a channel for these.
        """
        for name, content in files.items():
            if len(content) > MAX_RECORD_BYTES // 2:
                raise PaddockError(f"{name}, which the model refers to, has {len(content):,} bytes: too many for a recording.")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = path.open("xb")
        except FileExistsError:
            raise PaddockError(f"{path} exists, and recordings are not written over. Choose another name or delete it.") from None
        self._mcap = McapFile(self._file)
        for name, content in files.items():
            self._mcap.attach(name, content)
        self._schemas: dict[str, Schema] = {}
        self._channels: dict[str, Channel] = {}
        self._chunk = KeptBytes(2 * CHUNK_BYTES)
        self._singles: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._moments_added: list[tuple[int, int]] = []
        self._sequence = 0
        self._register(header, moment, events)
        self._moments = Moments([(self._channels[topic].id, message) for topic, message in moment.items()], at_most=moments)
        self.add(HEADER_TOPIC, 0, to_json(header).encode())
        self.end_chunk()

    def add(self, topic: str, time_ns: int, *parts: Part) -> None:
        """Append a message to the chunk in progress."""
        channel = self._channels[topic].id
        self._singles[channel].append((time_ns, self._chunk.size))
        size = sum(memoryview(part).nbytes for part in parts)
        self._chunk.add(message_head(channel, self._sequence, time_ns, size), *parts)
        self._sequence += 1

    def add_moments(self, times_ns: Sequence[int], states: np.ndarray) -> None:
        """Append the messages of some moments; `states` (moments, size) are what their columns count through."""
        rows = self._moments.rows(self._sequence, times_ns, states)
        self._moments_added += [(time_ns, self._chunk.size + i * rows.shape[1]) for i, time_ns in enumerate(times_ns)]
        self._chunk.add(rows.data)
        self._sequence += rows.shape[0] * len(self._moments)

    @property
    def chunk_is_full(self) -> bool:
        return self._chunk.size >= CHUNK_BYTES

    def end_chunk(self) -> None:
        """Hand what was added to the operating system."""
        index = {channel: np.array(own, dtype=INDEX_ENTRY) for channel, own in self._singles.items()}
        if self._moments_added:
            begun = np.array(self._moments_added, dtype=INDEX_ENTRY)
            for channel, begins in self._moments.begins.items():
                index[channel] = begun.copy()
                index[channel]["offset"] += begins
        if index:
            self._mcap.add_chunk(self._chunk[:], index)
        self._chunk.clear()
        self._singles.clear()
        self._moments_added.clear()

    def close(self) -> None:
        """End the file with its index, and see it on the disk."""
        with self._file:
            self.end_chunk()
            self._mcap.finish([*self._schemas.values()], [*self._channels.values()])
            self._file.flush()
            os.fsync(self._file.fileno())

    def _register(self, header: RecordingHeader, moment: Mapping[str, ros_lane.Message], events: bool) -> None:
        """Begin the first chunk with every channel and schema."""
        for topic, schema in {HEADER_TOPIC: HEADER_SCHEMA, **({EVENTS_TOPIC: EVENT_SCHEMA} if events else {})}.items():
            described = json.dumps(schema).encode()
            self._add_channel(topic, MessageEncoding.JSON, schema["title"], SchemaEncoding.JSONSchema, described)
        for name, topic in LANES.items():
            for world in header.worlds:
                self._add_channel(topic(world), ENCODING, name, ENCODING, b"")
        for topic, message in moment.items():
            schema = ros_lane.schema(message.kind).encode()
            self._add_channel(topic, MessageEncoding.CDR, message.kind, SchemaEncoding.ROS2, schema)
        builder = RecordBuilder()
        for record in (*self._schemas.values(), *self._channels.values()):
            record.write(builder)
        self._chunk.add(builder.end())

    def _add_channel(self, topic: str, encoding: str, schema: str, schema_encoding: str, described: bytes) -> None:
        if schema not in self._schemas:
            number = len(self._schemas) + 1
            self._schemas[schema] = Schema(id=number, name=schema, encoding=schema_encoding, data=described)
        self._channels[topic] = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding=encoding,
            metadata={},
            schema_id=self._schemas[schema].id,
        )
