"""What delayed and sampled sensors remember on the GPU, filled when an episode begins."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp

from paddock.sims.gpu_fields import batched
from paddock.worlds import Worlds

ACC = int(mujoco.mjtStage.mjSTAGE_ACC)


class GpuHistories:
    """The engine's buffers of past readings; a sensor has been reporting an episode's first state all along."""

    def __init__(self, model: mujoco.MjModel, warp_model: mjw.Model, warp_data: mjw.Data) -> None:
        self._model = warp_model
        self._history, self._sensors = wp.to_torch(warp_data.history), wp.to_torch(warp_data.sensordata)
        kept, reading = [], []
        for i in np.flatnonzero((model.sensor_history[:, 0] > 0) & (model.sensor_needstage != ACC)):
            samples, columns = int(model.sensor_history[i, 0]), int(model.sensor_dim[i])
            start = int(model.sensor_historyadr[i]) + 2 + samples
            kept.append(np.arange(start, start + samples * columns))
            reading.append(np.tile(np.arange(columns) + int(model.sensor_adr[i]), samples))
        device = self._history.device
        self._places = torch.from_numpy(np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)).to(device)
        self._readings = torch.from_numpy(np.concatenate(reading) if reading else np.zeros(0, dtype=np.int64)).to(device)

    def begin(self, worlds: Worlds, sense: Callable[[], None]) -> None:
        """In worlds just reset, let the past be what is so now; the others keep theirs."""
        if not len(self._places):
            return
        before = self._history.clone()
        timing = self._model.sensor_delay, self._model.sensor_interval
        # without a delay or interval the engine reports what is so now
        self._model.sensor_delay, self._model.sensor_interval = (batched(wp.zeros_like(values)) for values in timing)
        try:
            sense()
        finally:
            self._model.sensor_delay, self._model.sensor_interval = timing
        filled = before.index_copy(1, self._places, self._sensors.index_select(1, self._readings))
        self._history.copy_(before)
        worlds.put(self._history, filled)
