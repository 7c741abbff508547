"""A piece of work on tensors, in as few kernels as PyTorch's compiler can make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import torch
from torch.fx.experimental.proxy_tensor import make_fx

T = TypeVar("T")


class Fused(Generic[T]):
    """Work that reads and writes tensors it holds on to, and returns tensors in dicts and tuples.

    It is done once as it is, while what it does to tensors is written down; from then on that is compiled and repeated. So the work
    may be any Python, if only it does the same every time.
    """

    def __init__(self, work: Callable[[], T], device: torch.device) -> None:
        self._work, self._device = work, device
        self._compiled: Callable[[], T] | None = None

    def __call__(self) -> T:
        if self._compiled is not None:
            with _one_precision():
                return self._compiled()
        done: list[T] = []

        def written() -> T:
            done.append(self._work())
            return done[-1]

        graph = make_fx(written)()
        for name, value in graph.named_buffers():
            if value.device != self._device:  # such as an index made of a list: copying it to a GPU could not be captured
                setattr(graph, name, value.to(self._device))
        self._compiled = torch.compile(graph, fullgraph=True, dynamic=False)
        return done[-1]


@contextmanager
def _one_precision() -> Iterator[None]:
    """A setting that the compiler watches: if it changed between two calls it would compile anew, which no capture survives."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
