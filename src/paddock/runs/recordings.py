"""What a recording is made of: an MCAP file whose exact lane re-simulates bit for bit, and a ROS 2 lane to look at.

The first message is the header, as JSON. The models and the files they refer to are attachments, hashed in the header.
Steps are numbered over the whole recording. Each recorded world has two channels, little-endian and unpadded:

`/world_3/keyframes`  int64 step, int64 episode, uint8 reason, uint8 constants, then the engine's whole state row (float64)
                      as it enters that step, then every model field that differs between worlds, in the header's order.
`/world_3/steps`      int64 first step, uint32 steps, uint32 changes, then ctrl of each step, the CRC-32 of the row each step
                      reached, and the changes: uint32 step within the message, uint32 column of the row, float64 value.

A change is any other input that was not what the step before had left. `sequence` counts all messages of the file, so that a
chunk that a flipped bit makes unreadable is missed.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from paddock.messages import Platform

FORMAT = 1
HEADER_TOPIC = "/paddock/header"
EVENTS_TOPIC = "/paddock/events"
"""What somebody did to the worlds while they were recorded, as JSON with the `step` before which it was done. What of it entered
the engine is among the changes, so a re-simulation needs none of these."""
MODEL_FILE = "model.xml"
LOOK_FILE = "look.xml"
"""The same robot with everything that is only there to be looked at; it takes the same qpos."""
ENCODING = "x-paddock"
MAX_RECORD_BYTES = 256 * 2**20
"""Of anything in the file: a reader must not believe every size it reads."""

KEYFRAME_HEAD = struct.Struct("<qqBB")
STEPS_HEAD = struct.Struct("<qII")
CHANGE = np.dtype([("step", "<u4"), ("column", "<u4"), ("value", "<f8")])
INPUTS = ("qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata")
"""What a user may set beside ctrl; the rest of a row is the engine's own."""


@dataclass(frozen=True, kw_only=True)
class RowField:
    """Where an MjData field lies in the engine's state row."""

    name: str
    start: int
    size: int


@dataclass(frozen=True, kw_only=True)
class ModelField:
    """An MjModel field that differs between worlds."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    """Of one world."""


@dataclass(frozen=True, kw_only=True)
class AttachedFile:
    """A file inside another, and the hash of its content."""

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class RecordingHeader:
    """Everything but the steps that a re-simulation needs, and what to blame should it differ."""

    format: int
    task: str
    task_version: int
    seed: int
    first_world: int
    """Number of the environment's first world within the seed."""
    worlds: tuple[int, ...]
    """Rows of the environment that are recorded."""
    control_dt: float
    timestep: float
    substeps: int
    keyframe_every: int
    """Steps between keyframes within an episode."""
    ctrl_size: int
    ctrl_dtype: str
    """Of ctrl in the file; wide enough to be exact."""
    row_size: int
    row: tuple[RowField, ...]
    """What a state row is made of: mjSTATE_INTEGRATION, float64."""
    model_fields: tuple[ModelField, ...]
    files: tuple[AttachedFile, ...]
    """The model's XML, the one that pictures are drawn from, then what they refer to."""
    integrator: str
    solver: str
    cone: str
    enable_flags: int
    disable_flags: int
    platform: Platform
    paddock: str
    numpy: str
    torch: str
    python: str


class Reason(IntEnum):
    """Why there is a keyframe."""

    DUE = 0
    """So that nobody has to begin at the episode's start; a re-simulation must arrive at this very row."""
    BEGUN = 1
    """An episode began, or a save was loaded."""
    WRITTEN = 2
    """Somebody wrote a state or a model field between two steps, or the recording began here."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Keyframe:
    """One world as it enters a step."""

    step: int
    episode: int
    reason: Reason
    constants: bool
    """Whether the engine had derived constants from the model fields."""
    row: np.ndarray
    fields: tuple[np.ndarray, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Steps:
    """Steps of one world, one after another."""

    first: int
    ctrl: np.ndarray
    """(steps, nu)."""
    crc: np.ndarray
    """Of the row that each step reached; (steps,) uint32."""
    changes: np.ndarray
    """CHANGE, in order; steps are counted from `first`."""


def keyframes_topic(world: int) -> str:
    return f"/world_{world}/keyframes"


def steps_topic(world: int) -> str:
    return f"/world_{world}/steps"


def keyframe_parts(keyframe: Keyframe) -> tuple[bytes | memoryview, ...]:
    """What a keyframe's message is made of, one after another."""
    head = KEYFRAME_HEAD.pack(keyframe.step, keyframe.episode, keyframe.reason, keyframe.constants)
    return head, *(np.ascontiguousarray(own).data for own in (keyframe.row, *keyframe.fields))


def unpack_keyframe(data: bytes, header: RecordingHeader) -> Keyframe:
    """The keyframe of a message; ValueError or struct.error where `data` is none."""
    step, episode, reason, constants = KEYFRAME_HEAD.unpack_from(data)
    layout = [("<f8", (header.row_size,)), *((field.dtype, field.shape) for field in header.model_fields)]
    row, *fields = _split(data, KEYFRAME_HEAD.size, layout)
    return Keyframe(step=step, episode=episode, reason=Reason(reason), constants=bool(constants), row=row, fields=tuple(fields))


def steps_parts(steps: Steps) -> tuple[bytes | memoryview, ...]:
    """What a message of steps is made of, one after another."""
    head = STEPS_HEAD.pack(steps.first, len(steps.crc), len(steps.changes))
    return head, *(np.ascontiguousarray(own).data for own in (steps.ctrl, steps.crc, steps.changes.view(np.uint8)))


def unpack_steps(data: bytes, header: RecordingHeader) -> Steps:
    """The steps of a message; ValueError or struct.error where `data` is none."""
    first, count, changes = STEPS_HEAD.unpack_from(data)
    layout = [(header.ctrl_dtype, (count, header.ctrl_size)), ("<u4", (count,)), (CHANGE, (changes,))]
    ctrl, crc, changed = _split(data, STEPS_HEAD.size, layout)
    if (changed["step"] >= count).any() or (changed["column"] >= header.row_size).any():
        raise ValueError("a change lies outside its message or its row")
    return Steps(first=first, ctrl=ctrl, crc=crc, changes=changed)


def _split(data: bytes, offset: int, layout: Sequence[tuple[str | np.dtype, tuple[int, ...]]]) -> list[np.ndarray]:
    """Arrays that lie one after another and fill the rest of `data` exactly; read-only views."""
    arrays: list[np.ndarray] = []
    for kind, shape in layout:
        dtype, count = np.dtype(kind), int(np.prod(shape, dtype=object))
        if offset + count * dtype.itemsize > len(data):
            raise ValueError("a message is shorter than it says")
        arrays.append(np.frombuffer(data, dtype, count, offset).reshape(shape))
        offset += count * dtype.itemsize
    if offset != len(data):
        raise ValueError("a message is longer than it says")
    return arrays
