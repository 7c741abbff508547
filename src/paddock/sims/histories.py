"""What delayed and sampled sensors remember: filled when an episode begins, so that none reports of the one before."""

import mujoco
import numpy as np
from mujoco.batch import Batch

ACC = int(mujoco.mjtStage.mjSTAGE_ACC)


class Histories:
    """The engine's buffers of past readings, in all worlds of a batch.

    A buffer holds the time of the last tick, a cursor, the times of its samples, then their values. The engine begins with
    zeros and fills them only as it steps; here a sensor has been reporting the first state all along.
    """

    def __init__(self, model: mujoco.MjModel, batch: Batch) -> None:
        self.expanded = {name: batch.expand(name) for name in ("sensor_delay", "sensor_interval")}
        """The engine's per-world timing, which may be expanded only once."""
        self._batch = batch
        self._history, self._time, self._sensordata = batch.bind("history"), batch.bind("time"), batch.bind("sensordata")
        self._places: list[tuple[slice, np.ndarray]] = []
        for i in np.flatnonzero((model.sensor_history[:, 0] > 0) & (model.sensor_needstage != ACC)):
            samples, columns = int(model.sensor_history[i, 0]), int(model.sensor_dim[i])
            start = int(model.sensor_historyadr[i]) + 2 + samples
            reading = np.arange(columns) + int(model.sensor_adr[i])
            self._places.append((slice(start, start + samples * columns), np.tile(reading, samples)))

    def begin(self, ids: np.ndarray, *, stage: int) -> None:
        """In those of the worlds whose time is 0, let the past be what is so now. Evaluate them once more afterwards."""
        ids = ids[self._time[ids] == 0.0]
        if not len(ids) or not self._places:
            return
        kept = {name: values[ids].copy() for name, values in self.expanded.items()}
        for values in self.expanded.values():
            values[ids] = 0.0  # without a delay or interval the engine reports what is so now
        try:
            self._batch.forward(ids, stage=stage)
        finally:
            for name, values in self.expanded.items():
                values[ids] = kept[name]
        for place, reading in self._places:
            self._history[ids, place] = self._sensordata[ids[:, None], reading]
