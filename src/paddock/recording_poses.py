"""State rows -> ROS 2: what viewers such as Foxglove and Rerun draw of a recording."""

from collections.abc import Sequence

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
        model, row_size = env.model, env.sim.rows.shape[1]
        qpos, qvel = 1, 1 + model.nq  # a row begins with the time
        scalar = [i for i in range(model.njnt) if model.jnt_type[i] in SCALAR_JOINTS]
        free = [i for i in range(model.njnt) if model.jnt_type[i] == FREE]
        names = [model.joint(i).name or f"joint_{i}" for i in scalar]
        bodies = [model.body(model.jnt_bodyid[i]).name or f"body_{model.jnt_bodyid[i]}" for i in free]
        self.stride = max(1, round(1 / (ROS_HZ * env.task.control_dt)))
        """Control steps from one message to the next."""
        self.messages: dict[str, ros_lane.Message] = {}
        """By topic; their columns count through the rows of all recorded worlds."""
        for place, world in enumerate(worlds):
            row = place * row_size
            position, velocity = row + qpos + model.jnt_qposadr[scalar], row + qvel + model.jnt_dofadr[scalar]
            if names:
                message = ros_lane.joint_state(names, position=position.tolist(), velocity=velocity.tolist())
                self.messages[f"/world_{world}/joint_states"] = message
        if free:
            frames = [f"world_{world}/{body}" for world in worlds for body in bodies]
            rows = [place * row_size + qpos for place in range(len(worlds))]
            columns = [column for row in rows for i in free for column in (row + model.jnt_qposadr[i] + TO_ROS).tolist()]
            self.messages["/tf"] = ros_lane.poses(frames, parent="world", columns=columns)
