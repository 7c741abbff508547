"""Work on a GPU as one CUDA graph: PyTorch's operators and Warp's kernels, launched together."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

import torch


class Graph:
    """Something to do over and over. The first time it is done as it is, which compiles it; then it is captured, and replayed.

    What it makes lies in memory of the graph's own, and is written again by every replay. On a CPU device it is never captured.
    """

    def __init__(self, work: Callable[[], None], device: torch.device, *, generators: Sequence[torch.Generator] = ()) -> None:
        self._work, self._device, self._generators = work, device, generators
        self._graph: torch.cuda.CUDAGraph | None = None
        self._is_warm = device.type != "cuda"

    def __call__(self) -> None:
        if self._device.type != "cuda" or not self._is_warm or is_capturing(self._device):
            self._work()
            self._is_warm = True
            return
        if self._graph is None:
            self._graph = self._captured()
        self._graph.replay()

    def forget(self) -> None:
        """Capture anew before the next time: an array that the graph writes to has been exchanged."""
        self._graph, self._is_warm = None, self._device.type != "cuda"

    def _captured(self) -> torch.cuda.CUDAGraph:
        import warp as wp

        from paddock.sims.streams import shared_stream

        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        stream = shared_stream(self._device)
        torch.cuda.synchronize(self._device)
        gc.collect()
        gc.disable()  # the finaliser of an older graph would be recorded into this one
        try:
            with torch.cuda.graph(graph, stream=stream.torch, capture_error_mode="thread_local"):
                wp.capture_begin(stream=stream.warp, external=True)
                try:
                    self._work()
                finally:
                    wp.capture_end(stream=stream.warp)
        finally:
            gc.enable()
        return graph


def is_capturing(device: torch.device) -> bool:
    """Whether what is launched now is recorded instead of done."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()
