"""Rays that turn with a body but stay plumb: what the engine's own rangefinders cannot do, once a control step."""

import mujoco
import numpy as np
from mujoco.batch import Batch

DOWN = np.array([0.0, 0.0, -1.0])


class HeadingScans:
    """The level height scans of a model. The engine leaves their columns of sensordata empty; they are filled in here."""

    def __init__(self, model: mujoco.MjModel, batch: Batch, sensordata: np.ndarray) -> None:
        """`sensordata` (n, size) is what the terms read."""
        self._batch, self._sensordata = batch, sensordata
        self._pos, self._mat = batch.bind("xpos"), batch.bind("xmat")
        self._scans = [_scan(model, i) for i in range(model.nsensor) if _is_scan(model, i)]

    def __bool__(self) -> bool:
        return bool(self._scans)

    def look(self, ids: np.ndarray | None = None) -> None:
        """Read them in some worlds, or all, from the poses that the engine has just worked out."""
        rows = slice(None) if ids is None else ids
        for columns, body, points, max_range in self._scans:
            pos, x_axis = self._pos[rows, body], self._mat[rows, body].reshape(-1, 3, 3)[:, :2, 0]
            forward = x_axis / np.maximum(np.linalg.norm(x_axis, axis=1, keepdims=True), 1e-6)
            begin = np.repeat(pos[:, None], len(points), axis=1)
            begin[:, :, 0] += forward[:, :1] * points[:, 0] - forward[:, 1:] * points[:, 1]
            begin[:, :, 1] += forward[:, 1:] * points[:, 0] + forward[:, :1] * points[:, 1]
            begin[:, :, 2] += points[:, 2]
            distance, _ = self._batch.ray(begin, DOWN, bodyexclude=body, ids=ids)
            self._sensordata[rows, columns] = np.minimum(distance, max_range)


def _is_scan(model: mujoco.MjModel, i: int) -> bool:
    """Whether a sensor is one of ours; a robot's file may have sensors that some other program fills in."""
    is_ours = model.sensor_type[i] == mujoco.mjtSensor.mjSENS_USER and model.sensor_objtype[i] == mujoco.mjtObj.mjOBJ_XBODY
    return bool(is_ours and model.nuser_sensor >= 3 * model.sensor_dim[i])


def _scan(model: mujoco.MjModel, i: int) -> tuple[slice, int, np.ndarray, float]:
    """Columns of sensordata, body, where rays begin in its heading frame (k, 3), and the range."""
    start, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
    points = model.sensor_user[i, : 3 * size].reshape(size, 3)
    return slice(start, start + size), int(model.sensor_objid[i]), points, float(model.sensor_cutoff[i])
