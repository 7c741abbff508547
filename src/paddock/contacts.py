"""What a world touches right now, for whoever watches it: computed anew beside the sim, which is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import mujoco
import numpy as np

from paddock.env import Environment
from paddock.playback import set_field

MOST = 64
"""Contacts told of a world."""

Contact = tuple[float, ...]
"""Position, normal and force along it: x, y, z, nx, ny, nz, N."""


class Contacts:
    """An engine of its own, put where a world is."""

    def __init__(self, env: Environment) -> None:
        self._env, self._model = env, copy(env.model)
        self._data = mujoco.MjData(self._model)
        self._force = np.zeros(6)

    def of(self, world: int) -> list[Contact]:
        """Contacts of a world that press, in its state as it is."""
        state, sim, data = self._env.state, self._env.sim, self._data
        for name, values in sim.model_fields.items():
            set_field(self._model, name, values[world].cpu().numpy())
        for name in ("qpos", "qvel", "act", "ctrl"):
            getattr(data, name)[:] = getattr(state, name)[world].cpu().numpy()
        if self._model.nmocap:
            data.mocap_pos[:], data.mocap_quat[:] = sim.mocap_pos[world].cpu().numpy(), sim.mocap_quat[world].cpu().numpy()
        try:
            mujoco.mj_forwardSkip(self._model, data, mujoco.mjtStage.mjSTAGE_NONE, 1)  # without sensors, which may be many
        except mujoco.FatalError:  # a state that the engine cannot evaluate has no contacts to show
            return []
        return list(self._pressing())

    def _pressing(self) -> Iterator[Contact]:
        contacts, force = self._data.contact, self._force  # each look at a column of it copies the column
        rows, pos, normal = contacts.efc_address.tolist(), contacts.pos.round(4).tolist(), contacts.frame[:, :3].round(4).tolist()
        for i in range(min(self._data.ncon, MOST)):
            if rows[i] >= 0:
                mujoco.mj_contactForce(self._model, self._data, i, force)
                yield *pos[i], *normal[i], round(float(force[0]), 3)
