"""One network from parts: eyes and an embedding, attention along the body, memory, a head. Any of the middle may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor, nn

from paddock.learn.nets.lstm import Lstm
from paddock.learn.nets.pictures import Eye, as_bytes
from paddock.policies import Carried


class Net(Protocol):
    """What an actor or a critic is made of."""

    @property
    def pictures(self) -> tuple[str, ...]:
        """The groups of pictures it looks at."""
        ...

    @property
    def remembers(self) -> bool: ...

    def begin(self, num_worlds: int, /) -> Carried:
        """What it remembers when an episode begins."""
        ...

    def __call__(
        self, vector: Tensor, pictures: Mapping[str, Tensor], memory: Carried, began: Tensor | None = None, /
    ) -> tuple[Tensor, Carried]:
        """What it makes of normalised numbers (n, k) and pictures, and its memory after that.

        With `began` (n, steps), of sequences (n, steps, k), from the memory before their first step; then the memory returned
        is that after each step, and it forgets where an episode begins.
        """
        ...


class Tower(nn.Module):
    """Numbers and pictures -> embedding (..., nodes, size) -> body -> memory -> head."""

    def __init__(
        self, *, eyes: Mapping[str, Eye], embed: nn.Module, body: nn.Module, lstm: Lstm | None, head: nn.Module, nodes: int
    ) -> None:
        super().__init__()
        self.pictures = tuple(eyes)
        self.nodes = nodes
        self.eyes = nn.ModuleList(eyes.values())
        self.embed, self.body, self.lstm, self.head = embed, body, lstm, head

    @property
    def remembers(self) -> bool:
        return self.lstm is not None

    def begin(self, num_worlds: int) -> Carried:
        return {} if self.lstm is None else self.lstm.begin(num_worlds, self.nodes)

    def forward(
        self, vector: Tensor, pictures: Mapping[str, Tensor], memory: Carried, began: Tensor | None = None
    ) -> tuple[Tensor, Carried]:
        seen = [eye(as_bytes(group, pictures[group])) for group, eye in zip(self.pictures, self.eyes, strict=True)]
        x = self.body(self.embed(torch.cat([vector, *seen], dim=-1)))
        if self.lstm is not None:
            remembered, memory = self.lstm(x, memory, began)
            x = torch.cat([x, remembered], dim=-1)  # what is seen now need not pass through the memory
        return self.head(x), memory


class OneNode(nn.Module):
    """Layers on the whole, seen as a body of one node."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, vector: Tensor) -> Tensor:
        return self.layers(vector).unsqueeze(-2)
