"""How many contacts and constraints a world of a model may have on the GPU, where their memory is set aside beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from paddock.sims.model import thrashing

MARGIN = 2.0
"""Times the most that was seen."""
LEAST_CONTACTS, LEAST_CONSTRAINTS = 8, 16


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
        counts = [(data.ncon, data.nefc) for data in thrashing(model)]
        return Capacity.seen(*(max(count) for count in zip(*counts, strict=True)))

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
