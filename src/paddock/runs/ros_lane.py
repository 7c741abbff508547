"""Joint states and poses as ROS 2 messages, for viewers that know nothing of us.

A message of one model always has the same length and the same names, so it is encoded once, and afterwards only its times and
numbers are put in, the numbers from where they lie in the engine's state.
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
_MARK = float.fromhex("0x1.fedcba9876543p+777")
_MARK_SEC = 0x5A5AA5A5


def schema(kind: str) -> str:
    """The definition of a message and of all it contains, as ROS 2 writes it."""
    return _types().generate_msgdef(kind, ros_version=2)[0]


class Message:
    """One message, encoded as CDR, of which only times and numbers change."""

    def __init__(self, kind: str, message: Msg, columns: Sequence[int]) -> None:
        """`columns` are the places in a state (float64) of the message's numbers, in the order of the message."""
        self.kind = kind
        self.encoded = bytes(_types().serialize_cdr(message, kind))
        self.stamps = _places(self.encoded, struct.pack("<i", _MARK_SEC))
        """Where its times are: seconds and nanoseconds, four bytes each."""
        self.copies = _copies(_places(self.encoded, struct.pack("<d", _MARK)), columns)
        """Where its numbers are, float64: place in the message, first column, and how many lie together here and there."""


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


def _copies(places: Sequence[int], columns: Sequence[int]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for place, column in zip(places, columns, strict=True):
        if runs and (place, column) == (runs[-1][0] + 8 * runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((place, int(column), 1))
    return runs
