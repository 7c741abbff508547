"""Processes that learn as one: each has worlds of its own, while gradients and statistics are those of all.

A launcher starts them, such as `torchrun --nproc-per-node 4 -m paddock train quadruped-walk --sim gpu`, on one machine or many;
it tells each process its place in environment variables. The first one keeps the run, the others follow it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

PATIENCE = timedelta(days=30)
"""For a word from the first process, which may evaluate or be paused."""


class Crew:
    """A process's place among those that learn together; alone, everything here does nothing."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self._words: dist.ProcessGroup | None = None
        if size > 1:
            group = dist.new_group(backend="gloo", timeout=PATIENCE)
            assert isinstance(group, dist.ProcessGroup)  # every process is a member
            self._words = group

    @property
    def is_alone(self) -> bool:
        return self.size == 1

    def mean_(self, value: Tensor) -> Tensor:
        """The mean over all processes, in place."""
        if not self.is_alone:
            dist.all_reduce(value)
            value /= self.size
        return value

    def pooled(self, mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of what all processes saw, each of them as many samples, from those of one."""
        if self.is_alone:
            return mean, var
        whole = self.mean_(mean.clone())
        return whole, self.mean_(var + (mean - whole).square())

    def own_rows(self, everyone: Tensor) -> Tensor:
        """Of what all draw alike (size * n, ...), what belongs to the worlds of this process; (n, ...)."""
        return everyone.chunk(self.size)[self.rank]

    def say(self, word: object) -> None:
        """From the first process to the others, who `hear` it."""
        if not self.is_alone:
            dist.broadcast_object_list([word], src=0, group=self._words)

    def hear(self) -> Any:
        """What the first process says next."""
        heard = [None]
        dist.broadcast_object_list(heard, src=0, group=self._words)
        return heard[0]

    def gather(self, own: object) -> list[Any]:
        """What every process hands in, in order; nothing for those that are not the first."""
        if self.is_alone:
            return [own]
        found: list[Any] = [None] * self.size
        dist.gather_object(own, found if self.rank == 0 else None, dst=0, group=self._words)
        return found if self.rank == 0 else []

    def deal(self, parts: Sequence[object] | None) -> Any:
        """Hand each process its part, in order, from the first; the others give None."""
        if self.is_alone:
            assert parts is not None
            return parts[0]
        got: list[Any] = [None]
        dist.scatter_object_list(got, None if parts is None else list(parts), src=0, group=self._words)
        return got[0]


ALONE = Crew()


def processes_here() -> int:
    """How many processes of the crew share this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


@cache
def join() -> Crew:
    """This process's place, as a launcher says; alone where there is none."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return ALONE
    place = int(os.environ.get("LOCAL_RANK", "0"))
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    os.environ["CUDA_VISIBLE_DEVICES"] = seen[place] if len(seen) > place and seen[place] else str(place)  # each its own GPU
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    return Crew(dist.get_rank(), size)
