"""Recordings on their way to disk: MCAP in small checked chunks, so that a kill loses only the chunk in progress."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from mcap.well_known import MessageEncoding, SchemaEncoding
from mcap.writer import CompressionType, Writer

from paddock.errors import PaddockError
from paddock.messages import to_json
from paddock.runs import ros_lane
from paddock.runs.recordings import ENCODING, HEADER_TOPIC, MAX_RECORD_BYTES, RecordingHeader, keyframes_topic, steps_topic

CHUNK_BYTES = 64 * 1024
MESSAGE_BYTES = 31
"""What MCAP adds to a message."""
HEADER_SCHEMA = {"type": "object", "title": "paddock.RecordingHeader"}
LANES = {"paddock.Keyframe": keyframes_topic, "paddock.Steps": steps_topic}


class RecordingWriter:
    """A new recording. What `end_chunk` has returned for survives the death of this process."""

    def __init__(self, path: Path, header: RecordingHeader, *, files: Mapping[str, bytes], ros: Mapping[str, str]) -> None:
        """`files` are the model's, by name; `ros` are topics with the kind of their messages."""
        for name, content in files.items():
            if len(content) > MAX_RECORD_BYTES // 2:
                raise PaddockError(f"{name}, which the model refers to, has {len(content):,} bytes: too many for a recording.")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = path.open("xb")
        except FileExistsError:
            raise PaddockError(f"{path} exists, and recordings are not written over. Choose another name or delete it.") from None
        # the library ends chunks by size and does not tell; here they end only where `end_chunk` says
        self._mcap = Writer(self._file, chunk_size=2**62, compression=CompressionType.LZ4, enable_data_crcs=True)
        self._mcap.start()
        for name, content in files.items():
            self._mcap.add_attachment(0, 0, name, "application/octet-stream", content)
        self._channels = self._registered(header, ros)
        self._sequence = 0
        self._pending = 0
        self.add(HEADER_TOPIC, 0, to_json(header).encode())
        self.end_chunk()

    def add(self, topic: str, time_ns: int, data: bytes) -> None:
        """Append a message to the chunk in progress."""
        self._mcap.add_message(self._channels[topic], time_ns, data, time_ns, self._sequence)
        self._sequence += 1
        self._pending += MESSAGE_BYTES + len(data)

    @property
    def chunk_is_full(self) -> bool:
        return self._pending >= CHUNK_BYTES

    def end_chunk(self) -> None:
        """Hand what was added to the operating system."""
        self._mcap.flush()
        self._pending = 0

    def close(self) -> None:
        """End the file with its index, and see it on the disk."""
        with self._file:
            self._mcap.finish()
            self._file.flush()
            os.fsync(self._file.fileno())

    def _registered(self, header: RecordingHeader, ros: Mapping[str, str]) -> dict[str, int]:
        """The number of each topic's channel."""
        mcap = self._mcap
        own: dict[str, int] = {}
        described = mcap.register_schema(HEADER_SCHEMA["title"], SchemaEncoding.JSONSchema, json.dumps(HEADER_SCHEMA).encode())
        own[HEADER_TOPIC] = mcap.register_channel(HEADER_TOPIC, MessageEncoding.JSON, described)
        for name, topic in LANES.items():
            schema = mcap.register_schema(name, ENCODING, b"")
            own |= {topic(world): mcap.register_channel(topic(world), ENCODING, schema) for world in header.worlds}
        schemas: dict[str, int] = {}
        for topic, kind in ros.items():
            if kind not in schemas:
                schemas[kind] = mcap.register_schema(kind, SchemaEncoding.ROS2, ros_lane.schema(kind).encode())
            own[topic] = mcap.register_channel(topic, MessageEncoding.CDR, schemas[kind])
        return own
