"""Exact left-right symmetry: a network averaged with its mirror image."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from paddock.anatomy import Reflection
from paddock.learn.crew import ALONE, Crew
from paddock.learn.nets.mlp import Mlp
from paddock.learn.nets.tower import Tower
from paddock.learn.normalizer import Normalizer
from paddock.policies import Carried


class Reflected(nn.Module):
    """Numbers as they would be with left and right exchanged."""

    sources: Tensor
    signs: Tensor

    def __init__(self, reflection: Reflection) -> None:
        super().__init__()
        self.register_buffer("sources", torch.tensor(reflection.sources), persistent=False)
        self.register_buffer("signs", torch.tensor(reflection.signs), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x.index_select(-1, self.sources) * self.signs.to(x.dtype)


class Mirrored(nn.Module):
    """The mean of what a network makes of things and, mirrored back, of their mirror image; each has a memory of its own.

    So a mirrored situation has the mirrored answer: always, not only once it has been learned. A value has no left and right,
    and is the plain mean.
    """

    def __init__(self, net: Mlp | Tower, *, seen: Reflection, answer: Reflection | None) -> None:
        super().__init__()
        self.net, self.seen = net, Reflected(seen)
        self.answer = nn.Identity() if answer is None else Reflected(answer)
        self.pictures = net.pictures

    @property
    def remembers(self) -> bool:
        return self.net.remembers

    def begin(self, num_worlds: int) -> Carried:
        return {name: torch.stack([value, value], dim=1) for name, value in self.net.begin(num_worlds).items()}

    def forward(
        self, vector: Tensor, pictures: Mapping[str, Tensor], memory: Carried, began: Tensor | None = None
    ) -> tuple[Tensor, Carried]:
        both, memory = self.net(torch.stack([vector, self.seen(vector)], dim=-2), pictures, memory, began)
        plain, image = both.unbind(-2)
        return 0.5 * (plain + self.answer(image)), memory


class EvenNormalizer(Normalizer):
    """Takes everything it sees for half of the truth, and its mirror image for the other half."""

    def __init__(self, size: int, reflection: Reflection) -> None:
        super().__init__(size)
        self.reflected = Reflected(reflection)

    @torch.no_grad()
    def observe(self, batch: Tensor, *, crew: Crew = ALONE) -> None:
        super().observe(torch.cat([batch, self.reflected(batch)]), crew=crew)
        self.mean.copy_(0.5 * (self.mean + self.reflected(self.mean)))  # rounding too treats both sides alike
        self.var.copy_(0.5 * (self.var + self.var[self.reflected.sources]))
