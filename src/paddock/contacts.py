"""What a world touches right now, for whoever watches it: computed anew beside the sim, which is left alone."""

from __future__ import annotations

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
            mujoco.mj_forward(self._model, data)
        except mujoco.FatalError:  # a state that the engine cannot evaluate has no contacts to show
            return []
        return [self._contact(i) for i in range(min(data.ncon, MOST)) if data.contact.efc_address[i] >= 0]

    def _contact(self, i: int) -> Contact:
        mujoco.mj_contactForce(self._model, self._data, i, self._force)
        contact = self._data.contact
        return tuple(round(value, 4) for value in (*contact.pos[i].tolist(), *contact.frame[i, :3].tolist(), self._force[0].item()))
