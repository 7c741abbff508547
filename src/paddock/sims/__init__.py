"""Sims: physics for n worlds, knowing no task. A backend is imported when it is asked for."""

from collections.abc import Sequence

import mujoco

from paddock.contracts import Sim
from paddock.errors import unknown
from paddock.sims.capacity import Capacity

SIM_NAMES = ("cpu", "gpu", "warp-cpu")
"""`warp-cpu` is the GPU sim's engine on the CPU: for tests, and slow."""


def make_sim(
    name: str,
    model: mujoco.MjModel,
    num_worlds: int,
    *,
    num_threads: int | None = None,
    stage: str = "velocity",
    fields: Sequence[str] = (),
    capacity: Capacity | None = None,
) -> Sim:
    """The sim of that name, holding `num_worlds` worlds of `model`. On a GPU each has room for as much as `capacity` says."""
    if name == "cpu":
        from paddock.sims.cpu import CpuSim

        return CpuSim(model, num_worlds, num_threads=num_threads, stage=stage, fields=fields)
    if name in ("gpu", "warp-cpu"):
        from paddock.sims.warp_device import warp_sim

        return warp_sim(name, model, num_worlds, stage=stage, fields=fields, capacity=capacity)
    raise unknown("sim", name, SIM_NAMES)
