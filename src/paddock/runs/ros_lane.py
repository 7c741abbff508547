"""Joint states and poses as ROS 2 messages, for viewers that know nothing of us.

A message of one model always has the same length and the same names, so it is encoded once, and for many moments together
only the numbers are written anew.
"""

from __future__ import annotations

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
POSE = 7
"""Numbers of a pose: position, then the quaternion, x first as ROS has it."""
_MARK = float.fromhex("0x1.fedcba9876543p+777")
_MARK_SEC = 0x5A5AA5A5


def schema(kind: str) -> str:
    """The definition of a message and of all it contains, as ROS 2 writes it."""
    return _types().generate_msgdef(kind, ros_version=2)[0]


class Message:
    """One message, encoded as CDR, of which only times and numbers change."""

    def __init__(self, kind: str, message: Msg) -> None:
        self._encoded = bytes(_types().serialize_cdr(message, kind))
        self._stamps = _places(self._encoded, np.int32(_MARK_SEC).tobytes())
        self._runs = _runs(_places(self._encoded, np.float64(_MARK).tobytes()))

    def at(self, times_ns: Sequence[int], *runs: np.ndarray) -> list[bytes]:
        """The message at each of those times; `runs` are the numbers that lie together, in its order, (m, ...) each."""
        many = np.frombuffer(bytearray(self._encoded * len(times_ns)), np.uint8).reshape(len(times_ns), -1)
        for at in self._stamps:
            many[:, at : at + 8].view("<u4")[:] = [divmod(time_ns, 10**9) for time_ns in times_ns]
        for (at, count), values in zip(self._runs, runs, strict=True):
            many[:, at : at + 8 * count].view("<f8")[:] = values
        return [one.tobytes() for one in many]


def joint_state(names: Sequence[str]) -> Message:
    """Positions, then velocities, of the named joints."""
    types, marks = _types().types, np.full(len(names), _MARK)
    nothing = np.zeros(0)
    return Message(
        JOINT_STATE,
        types[JOINT_STATE](header=_header(""), name=list(names), position=marks, velocity=marks, effort=nothing),
    )


def poses(frames: Sequence[str], *, parent: str) -> Message:
    """The pose of each frame in `parent`, POSE numbers each."""
    types = _types().types
    vector, turn = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
    transform = types["geometry_msgs/msg/Transform"](
        translation=vector(x=_MARK, y=_MARK, z=_MARK), rotation=turn(x=_MARK, y=_MARK, z=_MARK, w=_MARK)
    )
    stamped = types["geometry_msgs/msg/TransformStamped"]
    transforms: list[Msg] = [stamped(header=_header(parent), child_frame_id=frame, transform=transform) for frame in frames]
    return Message(TF, types[TF](transforms=transforms))


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


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Doubles that lie side by side, as (first byte, how many)."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and place == runs[-1][0] + 8 * runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((place, 1))
    return runs
