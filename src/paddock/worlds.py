"""Some worlds of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Worlds:
    """Some worlds of a batch, and how to read and write only those.

    With `rows`, what concerns them is computed for them alone: cheap where few of many worlds begin anew. Without, it is
    computed for all and kept where `mask` holds: the static shapes that a captured graph needs.
    """

    mask: Tensor
    """(n,) bool."""
    rows: Tensor | None
    """(k,) int64, ascending."""

    @staticmethod
    def where(mask: Tensor, *, by_rows: bool) -> Worlds:
        """The worlds in which `mask` holds."""
        return Worlds(mask, mask.nonzero()[:, 0] if by_rows else None)

    def take(self, tensor: Tensor) -> Tensor:
        """The part of a batch tensor that belongs to these worlds; (k, ...), or (n, ...) without rows."""
        return tensor if self.rows is None else tensor.index_select(0, self.rows)

    def clear(self, tensor: Tensor) -> None:
        """Write zeros for these worlds into a batch tensor, in place."""
        if self.rows is None:
            tensor.masked_fill_(self.mask.view(-1, *[1] * (tensor.ndim - 1)), 0)
        else:
            tensor.index_fill_(0, self.rows, 0)

    def put(self, tensor: Tensor, value: Tensor) -> None:
        """Write what was computed for these worlds into a batch tensor, in place: others hold on to that tensor."""
        if self.rows is None:
            torch.where(self.mask.view(-1, *[1] * (tensor.ndim - 1)), value.to(tensor.dtype), tensor, out=tensor)
        else:
            tensor.index_copy_(0, self.rows, value)
