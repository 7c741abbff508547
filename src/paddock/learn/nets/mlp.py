"""Plain layers on numbers."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from torch import Tensor, nn

from paddock.policies import Carried


class Mlp(nn.Sequential):
    """Layers on a vector, as a tower: it sees no pictures and remembers nothing."""

    pictures: tuple[str, ...] = ()
    remembers = False

    def begin(self, num_worlds: int) -> Carried:
        return {}

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, vector: Tensor, pictures: Mapping[str, Tensor] | None = None, memory: Carried | None = None, *_: object
    ) -> tuple[Tensor, Carried]:
        return super().forward(vector), {}


def mlp(sizes: Sequence[int], *, last_gain: float) -> Mlp:
    """Linear layers with ELU between."""
    return Mlp(*layers(sizes, last_gain=last_gain))


def layers(sizes: Sequence[int], *, last_gain: float) -> list[nn.Module]:
    """Linear layers with ELU between, orthogonal weights and zero biases."""
    found: list[nn.Module] = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        linear = nn.Linear(before, after)
        nn.init.orthogonal_(linear.weight, last_gain if i == len(sizes) - 2 else math.sqrt(2))
        nn.init.zeros_(linear.bias)
        found += [linear, nn.ELU()]
    return found[:-1]
