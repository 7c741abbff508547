"""From the name of a sim to a GPU sim on a device that can run it, or an error that says what is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import torch

from paddock.errors import PaddockError

if TYPE_CHECKING:
    from paddock.sims.capacity import Capacity
    from paddock.sims.gpu import GpuSim

DEVICES = {"gpu": "cuda:0", "warp-cpu": "cpu"}
OLDEST_DRIVER = (12, 4)
"""CUDA version of the oldest driver that can capture what the engine does into one graph."""


def warp_sim(
    name: str, model: mujoco.MjModel, num_worlds: int, *, stage: str, fields: Sequence[str], capacity: Capacity | None
) -> GpuSim:
    """The GPU sim on the device that `name` asks for."""
    check_packages()
    _hush()
    if name == "gpu":
        check_gpu()
    from paddock.sims.gpu import GpuSim

    return GpuSim(model, num_worlds, device=DEVICES[name], stage=stage, fields=fields, capacity=capacity)


def _hush() -> None:
    """Warp tells of every kernel that it loads, where only trouble is of interest."""
    import warp as wp

    wp.config.log_level = wp.LOG_WARNING


def check_packages() -> None:
    """MuJoCo Warp is an extra."""
    if importlib.util.find_spec("mujoco_warp") is None:
        raise PaddockError("--sim gpu needs MuJoCo Warp: pip install 'paddock[gpu]'. Without an NVIDIA GPU, use --sim cpu.")


def check_gpu() -> None:
    """A GPU that PyTorch and Warp both see, with a driver that can capture graphs."""
    if not torch.cuda.is_available():
        kind = "this PyTorch was built without CUDA" if torch.version.cuda is None else "PyTorch finds no NVIDIA GPU"
        raise PaddockError(f"--sim gpu needs an NVIDIA GPU, and {kind}. `paddock doctor` says more; --sim cpu runs everywhere.")
    import warp as wp

    wp.init()
    if not wp.is_cuda_available():
        raise PaddockError("--sim gpu: PyTorch finds a GPU and Warp does not. Update the NVIDIA driver, or use --sim cpu.")
    driver = wp.get_cuda_driver_version()
    if driver is not None and tuple(driver) < OLDEST_DRIVER:
        found, asked = ".".join(map(str, driver)), ".".join(map(str, OLDEST_DRIVER))
        raise PaddockError(f"--sim gpu needs a driver of CUDA {asked} or newer to capture graphs; this one has {found}. Update it.")
    if not wp.get_device("cuda:0").is_mempool_enabled:
        raise PaddockError("--sim gpu needs CUDA memory pools to capture graphs, and they are off on this device. Use --sim cpu.")
