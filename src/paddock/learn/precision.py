"""How exactly a GPU multiplies matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

PRECISIONS = ("float32", "tf32", "bfloat16")


@contextmanager
def matmuls(precision: str, device: torch.device) -> Iterator[None]:
    """Matrix products within, also those that are captured: by the tensor cores unless they are to be float32."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision != "float32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
