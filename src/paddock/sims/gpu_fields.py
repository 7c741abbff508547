"""Fields of MuJoCo Warp's model that differ between worlds."""

from __future__ import annotations

import mujoco_warp as mjw
import warp as wp
from torch import Tensor

from paddock.errors import PaddockError


def expanded(model: mjw.Model, name: str, num_worlds: int) -> Tensor:
    """Give a field a value per world, all as it is now; (n, ...), shared with the engine."""
    owner = model.opt if name.startswith("opt.") else model
    shared = getattr(owner, name.removeprefix("opt."), None)
    if not isinstance(shared, wp.array) or not getattr(shared, "_is_batched", False):
        raise PaddockError(f"the model field '{name}' cannot differ between worlds on the GPU. Use --sim cpu.")
    own = wp.to_torch(shared)[:1].expand(num_worlds, *[-1] * (wp.to_torch(shared).ndim - 1)).clone()
    setattr(owner, name.removeprefix("opt."), batched(wp.from_torch(own, dtype=shared.dtype)))
    return own


def batched(values: wp.array) -> wp.array:
    """The array, marked as the engine marks what has a value per world."""
    setattr(values, "_is_batched", True)  # noqa: B010, the engine's own mark, which its array type does not declare
    return values
