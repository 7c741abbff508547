"""State rows -> ROS 2: what viewers such as Foxglove and Rerun draw of a recording."""

from collections.abc import Iterator, Sequence

import mujoco
import numpy as np

from paddock.env import Environment
from paddock.runs import ros_lane

ROS_HZ = 12.5
SCALAR_JOINTS = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
TO_ROS = np.array([0, 1, 2, 4, 5, 6, 3])
"""A free joint's qpos in ROS's order: MuJoCo has the quaternion's w first."""


class Poses:
    """Joint states of each recorded world, and the poses of what floats freely."""

    def __init__(self, env: Environment, worlds: Sequence[int]) -> None:
        model = env.model
        start = 1  # a row begins with the time, then qpos and qvel
        scalar = [i for i in range(model.njnt) if model.jnt_type[i] in SCALAR_JOINTS]
        free = [i for i in range(model.njnt) if model.jnt_type[i] == FREE]
        self.stride = max(1, round(1 / (ROS_HZ * env.task.control_dt)))
        """Control steps from one message to the next."""
        self._position = start + model.jnt_qposadr[scalar]
        self._velocity = start + model.nq + model.jnt_dofadr[scalar]
        self._free = [start + model.jnt_qposadr[i] + TO_ROS for i in free]
        names = [model.joint(i).name or f"joint_{i}" for i in scalar]
        bodies = [model.body(model.jnt_bodyid[i]).name or f"body_{model.jnt_bodyid[i]}" for i in free]
        self._joints = [(f"/world_{world}/joint_states", ros_lane.joint_state(names)) for world in worlds if names]
        frames = [f"world_{world}/{body}" for world in worlds for body in bodies]
        self._frames = ros_lane.poses(frames, parent="world") if frames else None
        self.topics = {topic: ros_lane.JOINT_STATE for topic, _ in self._joints} | ({"/tf": ros_lane.TF} if free else {})
        """Every topic, and the kind of its messages."""

    def messages(self, times_ns: list[int], rows: np.ndarray) -> Iterator[tuple[int, str, bytes]]:
        """Time, topic and message of all there is to show; `rows` (m, k, size) are those of the recorded worlds."""
        for world, (topic, message) in enumerate(self._joints):
            found = message.at(times_ns, rows[:, world, self._position], rows[:, world, self._velocity])
            yield from zip(times_ns, [topic] * len(found), found, strict=True)
        if self._frames is not None:
            poses = [rows[:, world, columns] for world in range(rows.shape[1]) for columns in self._free]
            yield from zip(times_ns, ["/tf"] * len(times_ns), self._frames.at(times_ns, *poses), strict=True)
