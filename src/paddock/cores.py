"""How many cores there are to use, and how many PyTorch uses. Whoever only counts them does not load PyTorch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def usable_cores() -> int:
    """Cores this process may use: its affinity, cut down by a container's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota_file = Path("/sys/fs/cgroup/cpu.max")
    if quota_file.exists():
        quota, period = quota_file.read_text().split()
        if quota != "max":
            cores = min(cores, max(1, round(int(quota) / int(period))))
    return cores


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """PyTorch on `count` threads within; 0 changes nothing. Around a whole loop, because each change costs a pool its sleep."""
    import torch

    before = torch.get_num_threads()
    if count and count != before:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


class Exact:
    """No gradients, and one thread for terms: a few PyTorch operators change their last bit with the thread count."""

    def __enter__(self) -> None:
        import torch

        self._threads, self._gradients = torch.get_num_threads(), torch.is_grad_enabled()
        if self._threads != 1:
            torch.set_num_threads(1)
        torch.set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        import torch

        if self._threads != 1:
            torch.set_num_threads(self._threads)
        torch.set_grad_enabled(self._gradients)
