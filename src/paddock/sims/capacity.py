"""How many contacts and constraints a world of a model may have on the GPU, where their memory is set aside beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

MARGIN = 2.0
"""Times the most that was seen."""
LEAST_CONTACTS, LEAST_CONSTRAINTS = 8, 16
PROBE_STEPS = 300


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Room for one world."""

    contacts: int
    """On average over the worlds: they share one pool."""
    constraints: int
    """For each world."""

    @staticmethod
    def of(model: mujoco.MjModel) -> Capacity:
        """What thrashing and falling in a heap needs, from each keyframe, with a margin."""
        data = mujoco.MjData(model)
        rng = np.random.default_rng(0)
        low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
        contacts = constraints = 0
        for keyframe in range(-1, model.nkey):
            mujoco.mj_resetData(model, data) if keyframe < 0 else mujoco.mj_resetDataKeyframe(model, data, keyframe)
            data.qvel[:] = rng.normal(size=model.nv)
            for _ in range(PROBE_STEPS):
                data.ctrl[:] = rng.uniform(low, high)
                mujoco.mj_step(model, data)
                contacts, constraints = max(contacts, data.ncon), max(constraints, data.nefc)
        return Capacity.seen(contacts, constraints)

    @staticmethod
    def seen(contacts: int, constraints: int) -> Capacity:
        """Room for what was seen, with a margin."""
        return Capacity(
            contacts=max(LEAST_CONTACTS, _rounded(contacts * MARGIN)),
            constraints=max(LEAST_CONSTRAINTS, _rounded(constraints * MARGIN)),
        )

    def grown(self) -> Capacity:
        """Twice the room."""
        return replace(self, contacts=2 * self.contacts, constraints=2 * self.constraints)


def _rounded(count: float) -> int:
    """Up to a multiple of 8, as the engine pads it anyway."""
    return 8 * int(np.ceil(count / 8))
