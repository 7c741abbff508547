"""An MCAP file that is given whole chunks. The library's own writer takes messages one at a time, ten microseconds each.

What is in a record and how it is written is the library's affair: here is only the order of the file, and what leads to what.
"""

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Protocol

import lz4.frame
import numpy as np
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import Attachment, AttachmentIndex, Channel, Chunk, ChunkIndex, DataEnd, Footer, Header, Schema, Statistics
from mcap.records import SummaryOffset as Group
from mcap.writer import LIBRARY_IDENTIFIER, MCAP0_MAGIC

INDEX_ENTRY = np.dtype([("time", "<u8"), ("offset", "<u8")])
"""Of a message within its chunk."""
FOOTER_SIZE = 8 + 8 + 4
MESSAGE_INDEX_HEAD = 1 + 8 + 2 + 4


class Record(Protocol):
    def write(self, stream: RecordBuilder) -> None: ...


class McapFile:
    """A file in the making: attachments and chunks, then `finish`. It counts what it is given, for the index at its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._crc = 0
        self._attachments: list[AttachmentIndex] = []
        self._chunks: list[ChunkIndex] = []
        self._messages: Counter[int] = Counter()
        self._write(MCAP0_MAGIC + _bytes(Header("", LIBRARY_IDENTIFIER)))

    def attach(self, name: str, content: bytes) -> None:
        kind = "application/octet-stream"
        offset = self._file.tell()
        size = self._write(_bytes(Attachment(create_time=0, log_time=0, name=name, media_type=kind, data=content)))
        self._attachments.append(
            AttachmentIndex(
                offset=offset, length=size, create_time=0, log_time=0, data_size=len(content), name=name, media_type=kind
            )
        )

    def add_chunk(self, content: memoryview, index: Mapping[int, np.ndarray]) -> None:
        """Records, and where the messages of each channel begin in them, as INDEX_ENTRY; then nothing waits in this process."""
        packed = lz4.frame.compress(content)
        times = [int(time) for entries in index.values() for time in (entries["time"].min(), entries["time"].max())]
        chunk = Chunk(
            compression="lz4",
            data=packed,
            message_start_time=min(times),
            message_end_time=max(times),
            uncompressed_crc=zlib.crc32(content),
            uncompressed_size=len(content),
        )
        start = self._file.tell()
        size = self._write(_bytes(chunk))
        entries = {channel: _message_index(channel, own) for channel, own in index.items()}
        ends = np.cumsum([0, *(len(own) for own in entries.values())]).tolist()
        self._write(b"".join(entries.values()))
        self._file.flush()
        self._messages.update({channel: len(own) for channel, own in index.items()})
        self._chunks.append(
            ChunkIndex(
                message_start_time=chunk.message_start_time,
                message_end_time=chunk.message_end_time,
                chunk_start_offset=start,
                chunk_length=size,
                message_index_offsets={channel: start + size + end for channel, end in zip(entries, ends, strict=False)},
                message_index_length=ends[-1],
                compression=chunk.compression,
                compressed_size=len(packed),
                uncompressed_size=len(content),
            )
        )

    def finish(self, schemas: Sequence[Schema], channels: Sequence[Channel]) -> None:
        """End the data, and say what is where."""
        self._write(_bytes(DataEnd(self._crc)))
        statistics = Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(channels),
            channel_message_counts=dict(self._messages),
            chunk_count=len(self._chunks),
            message_count=self._messages.total(),
            metadata_count=0,
            message_start_time=min(chunk.message_start_time for chunk in self._chunks),
            message_end_time=max(chunk.message_end_time for chunk in self._chunks),
            schema_count=len(schemas),
        )
        start = self._file.tell()
        groups: dict[Opcode, Sequence[Record]] = {
            Opcode.SCHEMA: schemas,
            Opcode.CHANNEL: channels,
            Opcode.STATISTICS: [statistics],
            Opcode.CHUNK_INDEX: self._chunks,
            Opcode.ATTACHMENT_INDEX: self._attachments,
        }
        summary, offsets = b"", b""
        for opcode, records in groups.items():
            content = b"".join(map(_bytes, records))
            offsets += _bytes(Group(group_opcode=opcode, group_start=start + len(summary), group_length=len(content)))
            summary += content
        footer = Footer(summary_start=start, summary_offset_start=start + len(summary), summary_crc=0)
        footer.summary_crc = zlib.crc32(summary + offsets + _bytes(footer)[:-4])
        self._file.write(summary + offsets + _bytes(footer) + MCAP0_MAGIC)

    def _write(self, content: bytes) -> int:
        self._crc = zlib.crc32(content, self._crc)
        return self._file.write(content)


def _bytes(record: Record) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()


def _message_index(channel: int, entries: np.ndarray) -> bytes:
    content = entries.tobytes()
    sizes = (MESSAGE_INDEX_HEAD - 9 + len(content)).to_bytes(8, "little"), channel.to_bytes(2, "little")
    return b"".join((bytes([Opcode.MESSAGE_INDEX]), *sizes, len(content).to_bytes(4, "little"), content))
