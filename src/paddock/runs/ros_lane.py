"""Joint states and poses as ROS 2 messages, for viewers that know nothing of us.

A message of one model always has the same length and the same names, so it is encoded once, and afterwards only its numbers
are copied in, from where they lie in the engine's state.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

if TYPE_CHECKING:
    from rosbags.typesys.store import Msg

JOINT_STATE = "sensor_msgs/msg/JointState"
TF = "tf2_msgs/msg/TFMessage"
STAMP = struct.Struct("<iI")
_MARK = float.fromhex("0x1.fedcba9876543p+777")
_MARK_SEC = 0x5A5AA5A5


def schema(kind: str) -> str:
    """The definition of a message and of all it contains, as ROS 2 writes it."""
    return _types().generate_msgdef(kind, ros_version=2)[0]


class Message:
    """One message, encoded as CDR, of which only times and numbers change."""

    def __init__(self, kind: str, message: Msg, columns: Sequence[int]) -> None:
        """`columns` are the places in a state (float64) of the message's numbers, in the order of the message."""
        self._encoded = bytes(_types().serialize_cdr(message, kind))
        self._stamps = _places(self._encoded, struct.pack("<i", _MARK_SEC))
        places = _places(self._encoded, struct.pack("<d", _MARK))
        self._copies = _copies(places, [8 * int(column) for column in columns])

    def at(self, time_ns: int, state: memoryview) -> bytes:
        """The message at that time; `state` as bytes."""
        buffer = bytearray(self._encoded)
        stamp = STAMP.pack(*divmod(time_ns, 10**9))
        for place in self._stamps:
            buffer[place : place + STAMP.size] = stamp
        for target, source in self._copies:
            buffer[target] = state[source]
        return bytes(buffer)


def joint_state(names: Sequence[str], *, position: Sequence[int], velocity: Sequence[int]) -> Message:
    """Of the named joints, whose positions and velocities are in those columns of a state."""
    types, marks = _types().types, np.full(len(names), _MARK)
    nothing = np.zeros(0)
    message = types[JOINT_STATE](header=_header(""), name=list(names), position=marks, velocity=marks, effort=nothing)
    return Message(JOINT_STATE, message, [*position, *velocity])


def poses(frames: Sequence[str], *, parent: str, columns: Sequence[int]) -> Message:
    """The pose of each frame in `parent`: columns of the position, then of the quaternion, x first as ROS has it."""
    types = _types().types
    vector, turn = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
    transform = types["geometry_msgs/msg/Transform"](
        translation=vector(x=_MARK, y=_MARK, z=_MARK), rotation=turn(x=_MARK, y=_MARK, z=_MARK, w=_MARK)
    )
    stamped = types["geometry_msgs/msg/TransformStamped"]
    transforms: list[Msg] = [stamped(header=_header(parent), child_frame_id=frame, transform=transform) for frame in frames]
    return Message(TF, types[TF](transforms=transforms), columns)


@cache
def _types() -> Typestore:
    return get_typestore(Stores.ROS2_JAZZY)


def _header(frame: str) -> Msg:
    types = _types().types
    return types["std_msgs/msg/Header"](stamp=types["builtin_interfaces/msg/Time"](sec=_MARK_SEC, nanosec=0), frame_id=frame)


def _places(encoded: bytes, mark: bytes) -> list[int]:
    found, at = [], encoded.find(mark)
    while at >= 0:
        found.append(at)
        at = encoded.find(mark, at + len(mark))
    return found


def _copies(targets: Sequence[int], sources: Sequence[int]) -> list[tuple[slice, slice]]:
    """Which bytes to copy where, numbers that lie together here and there in one go."""
    runs: list[tuple[int, int, int]] = []
    for target, source in zip(targets, sources, strict=True):
        if runs and (target, source) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 8)
        else:
            runs.append((target, source, 8))
    return [(slice(target, target + size), slice(source, source + size)) for target, source, size in runs]
