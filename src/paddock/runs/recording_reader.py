"""Recordings from disk: everything up to the first damage, and a sentence about what is missing.

Files are read from front to back with every checksum checked: a recording cut by a kill has no index, and MCAP's own readers
check nothing unless told to. Nothing in a file is trusted before its checksum and its size were looked at.
"""

import hashlib
import json
import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import lz4.frame
import numpy as np
from mcap.exceptions import McapError
from mcap.records import Attachment, Channel, Chunk, DataEnd, Footer, Message
from mcap.stream_reader import MAGIC_SIZE, StreamReader, breakup_chunk
from mcap.writer import MCAP0_MAGIC

from paddock.errors import PaddockError
from paddock.messages import from_json
from paddock.runs.recordings import (
    CHANGE,
    EVENTS_TOPIC,
    FORMAT,
    HEADER_TOPIC,
    LOOK_FILE,
    MAX_RECORD_BYTES,
    MODEL_FILE,
    Keyframe,
    RecordingHeader,
    Steps,
    keyframes_topic,
    steps_topic,
    unpack_keyframe,
    unpack_steps,
)

MAX_CHUNK_BYTES = 64 * 2**20
DAMAGE = (McapError, ValueError, RuntimeError, OverflowError, MemoryError, struct.error)
"""What reading damaged bytes raises, in MCAP, lz4 and here."""

DTYPES = {np.dtype(kind).str for kind in (np.float32, np.float64, np.int32, np.int64, np.uint8)}

Condition = Literal["complete", "cut", "damaged"]


class BrokenRecording(PaddockError):
    """A file of which not even the header can be read."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Track:
    """All of one world that could be read."""

    ctrl: np.ndarray
    """(steps, nu)."""
    crc: np.ndarray
    """(steps,) uint32."""
    change_steps: np.ndarray
    """The step before which each change was made, ascending; int64."""
    change_columns: np.ndarray
    change_values: np.ndarray
    keyframes: tuple[Keyframe, ...]
    """Ascending by step; the first at step 0."""

    @property
    def steps(self) -> int:
        return len(self.crc)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """A recording in memory."""

    path: Path
    header: RecordingHeader
    models: dict[str, str]
    """MODEL_FILE and LOOK_FILE, as XML."""
    assets: dict[str, bytes]
    """Files that the models refer to, by name."""
    tracks: dict[int, Track]
    """By world."""
    condition: Condition
    missing: str
    """What could not be read, in a sentence; empty for a complete recording."""
    events: tuple[dict[str, object], ...]
    """What somebody did meanwhile, each with the `step` before which it was done."""
    changed_files: tuple[str, ...]
    """Models and their files that do not have the hashes that the header gives."""

    @property
    def steps(self) -> int:
        """Control steps that every recorded world has."""
        return min(track.steps for track in self.tracks.values())

    @property
    def is_model_intact(self) -> bool:
        """Whether it can be simulated again. How it looks matters to a film alone."""
        return set(self.changed_files) <= {LOOK_FILE}


def open_recording(path: Path) -> Recording:
    """Read a recording, whole or broken. BrokenRecording where nothing can be made of it."""
    if not path.is_file():
        raise PaddockError(f"there is no recording {path}.")
    if path.stat().st_size == 0:
        raise BrokenRecording(f"{path} is empty.")
    found = _Found()
    condition: Condition = "complete"
    missing = ""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            for record in _records(content):
                found.take(record)
        except DAMAGE as error:
            was_finished = content[-MAGIC_SIZE:] == MCAP0_MAGIC
            condition = "cut" if content.tell() == len(content) and not was_finished else "damaged"
            missing = _missing(condition, found, at=content.tell(), size=len(content), error=error)
    if found.header is None:
        raise BrokenRecording(f"{path} is no recording, or its beginning is lost: {missing or 'it has no header.'}")
    return _recording(path, found, found.header, condition, missing)


def _records(content: mmap.mmap) -> Iterator[Attachment | Channel | Message]:
    """What a file holds, each record checked; one of DAMAGE at the first that is not as it was written."""
    checked_data = False
    for record in StreamReader(content, emit_chunks=True, validate_crcs=True, record_size_limit=MAX_RECORD_BYTES).records:  # pyright: ignore[reportArgumentType]
        if isinstance(record, Chunk):
            yield from (part for part in breakup_chunk(_unpacked(record)) if isinstance(part, Channel | Message))
        elif isinstance(record, Attachment):
            yield record
        elif isinstance(record, DataEnd):
            checked_data = record.data_section_crc != 0
        elif isinstance(record, Footer):
            _check_index(content, record)
    if not checked_data or content.tell() != len(content):
        raise ValueError("the end is not where it was")


def _unpacked(chunk: Chunk) -> Chunk:
    """The chunk without compression, its checksum checked. A checksum of zero means none to MCAP, and damage to us."""
    if chunk.compression != "lz4" or chunk.uncompressed_size > MAX_CHUNK_BYTES:
        raise ValueError(f"a chunk of {chunk.uncompressed_size} bytes in '{chunk.compression}' is none of ours")
    data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=chunk.uncompressed_size + 1)
    if len(data) != chunk.uncompressed_size or zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError("a chunk has the wrong checksum")
    return Chunk(
        compression="",
        data=data,
        message_start_time=chunk.message_start_time,
        message_end_time=chunk.message_end_time,
        uncompressed_crc=chunk.uncompressed_crc,
        uncompressed_size=len(data),
    )


def _check_index(content: mmap.mmap, footer: Footer) -> None:
    """The index at the end is for other readers; ours checks it so that no flipped bit goes unseen."""
    if zlib.crc32(content[footer.summary_start : content.tell() - 4]) != footer.summary_crc:
        raise ValueError("the index has the wrong checksum")


@dataclass
class _Found:
    """What was read so far."""

    header: RecordingHeader | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    sequence: int = 0
    keyframes: dict[str, list[Keyframe]] = field(default_factory=dict)
    steps: dict[str, list[Steps]] = field(default_factory=dict)
    events: list[dict[str, object]] = field(default_factory=list)

    def take(self, record: Attachment | Channel | Message) -> None:
        if isinstance(record, Attachment):
            self.files[record.name] = record.data
        elif isinstance(record, Channel):
            self.topics[record.id] = record.topic
        else:
            if record.sequence != self.sequence or record.channel_id not in self.topics:
                raise ValueError(f"message {self.sequence} is missing")
            self.sequence += 1
            self._take_message(self.topics[record.channel_id], record.data)

    def _take_message(self, topic: str, data: bytes) -> None:
        if self.header is None:
            self.header = _read_header(topic, data)
            self.keyframes = {keyframes_topic(world): [] for world in self.header.worlds}
            self.steps = {steps_topic(world): [] for world in self.header.worlds}
        elif topic in self.keyframes:
            own, keyframe = self.keyframes[topic], unpack_keyframe(data, self.header)
            if keyframe.step != 0 if not own else keyframe.step < own[-1].step:
                raise ValueError(f"keyframes before step {keyframe.step} are missing")
            own.append(keyframe)
        elif topic in self.steps:
            own, steps = self.steps[topic], unpack_steps(data, self.header)
            if steps.first != (own[-1].first + len(own[-1].crc) if own else 0):
                raise ValueError(f"steps before {steps.first} are missing")
            own.append(steps)
        elif topic == EVENTS_TOPIC:
            self.events.append(json.loads(data))

    def track(self, world: int) -> Track:
        assert self.header is not None
        blocks, keyframes = self.steps[steps_topic(world)], self.keyframes[keyframes_topic(world)]
        steps = sum(len(block.crc) for block in blocks)
        ctrl = np.zeros((0, self.header.ctrl_size), dtype=self.header.ctrl_dtype)
        changed = [(0, np.zeros(0, CHANGE)), *((block.first, block.changes) for block in blocks)]
        by_step = {keyframe.step: keyframe for keyframe in keyframes if keyframe.step < steps}
        return Track(
            ctrl=np.concatenate([ctrl, *(block.ctrl for block in blocks)]),
            crc=np.concatenate([np.zeros(0, np.uint32), *(block.crc for block in blocks)]),
            change_steps=np.concatenate([changes["step"].astype(np.int64) + first for first, changes in changed]),
            change_columns=np.concatenate([changes["column"] for _, changes in changed]),
            change_values=np.concatenate([changes["value"] for _, changes in changed]),
            keyframes=tuple(by_step[step] for step in sorted(by_step)),
        )


def _read_header(topic: str, data: bytes) -> RecordingHeader:
    """The header; a PaddockError for a file that is intact and yet not ours to read."""
    if topic != HEADER_TOPIC:
        raise BrokenRecording(f"this MCAP file is no recording of Paddock's: it begins with {topic}.")
    known = json.loads(data).get("format")
    if known != FORMAT:
        raise BrokenRecording(f"the recording has format {known}; this Paddock reads format {FORMAT}.")
    header = from_json(RecordingHeader, data.decode())
    sizes = header.row_size, header.ctrl_size, *(size for own in header.model_fields for size in own.shape)
    dtypes = header.ctrl_dtype, *(own.dtype for own in header.model_fields)
    if not header.worlds or min(sizes) < 0 or not set(dtypes) <= DTYPES or header.substeps < 1:
        raise BrokenRecording("the recording's header contradicts itself.")
    return header


def _recording(path: Path, found: _Found, header: RecordingHeader, condition: Condition, missing: str) -> Recording:
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in found.files.items()}
    wrong = [file.name for file in header.files if hashes.get(file.name) != file.sha256]
    if wrong:
        condition, missing = "damaged", f"{missing} The content of {', '.join(wrong)} is not what was recorded.".strip()
    intact = {file.name: found.files[file.name] for file in header.files if file.name not in wrong}
    models = {name: intact.pop(name, b"").decode(errors="replace") for name in (MODEL_FILE, LOOK_FILE)}
    return Recording(
        path=path,
        header=header,
        models=models,
        assets=intact,
        tracks={world: found.track(world) for world in header.worlds},
        condition=condition,
        missing=missing,
        events=tuple(found.events),
        changed_files=tuple(wrong),
    )


def _missing(condition: Condition, found: _Found, *, at: int, size: int, error: BaseException) -> str:
    kept = min((sum(len(block.crc) for block in own) for own in found.steps.values()), default=0)
    if condition == "cut":
        return f"The file ends in the middle, at byte {size:,}: {kept:,} steps could be read."
    why = str(error) or type(error).__name__
    return f"The file is damaged before byte {at:,} of {size:,} ({why}): {kept:,} steps could be read."
