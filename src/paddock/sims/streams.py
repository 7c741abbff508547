"""The one CUDA stream that PyTorch and Warp share, so that neither waits for the other and both fit into one graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache

import torch
import warp as wp


@dataclass(frozen=True, eq=False)
class SharedStream:
    """One stream, as each of them knows it. Warp finds a capture by its own object, so there must be only one."""

    torch: torch.cuda.Stream
    warp: wp.Stream


@cache
def shared_stream(device: torch.device) -> SharedStream:
    """Made PyTorch's current one, too: everything of an environment runs on it, and nothing has to wait."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    torch.cuda.set_stream(stream)
    return SharedStream(stream, wp.stream_from_torch(stream))


@contextmanager
def on_stream(device: torch.device) -> Iterator[None]:
    """PyTorch and Warp on the device, and on a GPU on the shared stream."""
    if device.type != "cuda":
        with wp.ScopedDevice(str(device)):
            yield
        return
    shared = shared_stream(device)
    is_current = torch.cuda.current_stream(device) == shared.torch
    ours = nullcontext() if is_current else torch.cuda.stream(shared.torch)
    # waiting for another stream would break a capture
    with ours, wp.ScopedDevice(str(device)), wp.ScopedStream(shared.warp, sync_enter=False):
        yield
