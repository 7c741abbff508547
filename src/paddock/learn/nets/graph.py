"""Attention along the robot's kinematic tree: one node per driven joint and one for the rest, for any robot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

HEADS = 4
NEAR_HEADS = 2
"""So many heads see only their own node and its neighbours; the others see all, and learn what distance means to them."""
FAR = -1e4
"""Added to the attention of what must not be seen: its share is then exactly zero, and nothing is infinite."""
FADING = 0.5
"""How much attention loses per joint in between, at the start."""


class Nodes(nn.Module):
    """From a vector to what each node feels, by its own columns alone; (..., columns) to (..., nodes, size)."""

    mask: Tensor

    def __init__(self, owners: Sequence[int], nodes: int, size: int) -> None:
        super().__init__()
        self.nodes = nodes
        owned = torch.tensor(owners)[None] == torch.arange(nodes)[:, None]
        self.register_buffer("mask", owned.repeat_interleave(size, 0).float(), persistent=False)
        self.weight = nn.Parameter(torch.zeros(nodes * size, len(owners)))
        self.bias = nn.Parameter(0.1 * torch.randn(nodes * size))  # a node without columns is still somebody
        with torch.no_grad():
            for node, columns in enumerate(owned):
                if columns.any():
                    block = torch.empty(size, int(columns.sum()))
                    self.weight[node * size : (node + 1) * size, columns] = nn.init.orthogonal_(block)

    def forward(self, vector: Tensor) -> Tensor:
        return functional.linear(vector, self.weight * self.mask, self.bias).unflatten(-1, (self.nodes, -1))


class Attention(nn.Module):
    """Every node asks the others, with a bias by how many joints lie between; then a small network of its own."""

    hops: Tensor
    near: Tensor

    def __init__(self, hops: Sequence[Sequence[int]], size: int) -> None:
        super().__init__()
        self.ask_norm, self.own_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.ask, self.answer = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.own = nn.Sequential(nn.Linear(size, 2 * size), nn.ELU(), nn.Linear(2 * size, size))
        for linear, gain in ((self.ask, 1.0), (self.answer, 0.5), (self.own[0], math.sqrt(2)), (self.own[2], 0.5)):
            assert isinstance(linear, nn.Linear)
            nn.init.orthogonal_(linear.weight, gain)
            nn.init.zeros_(linear.bias)
        apart = torch.tensor(hops)
        self.register_buffer("hops", apart, persistent=False)
        near = torch.where(apart[None] <= 1, 0.0, FAR).repeat(NEAR_HEADS, 1, 1)
        self.register_buffer("near", torch.cat([near, torch.zeros(HEADS - NEAR_HEADS, *apart.shape)]), persistent=False)
        self.fading = nn.Parameter(-FADING * torch.arange(int(apart.max()) + 1).float().repeat(HEADS, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(..., nodes, size)."""
        question, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(-3, -2) for part in self.ask(self.ask_norm(x)).chunk(3, dim=-1)
        )
        bias = self.fading[:, self.hops] + self.near
        share = (question @ key.transpose(-2, -1) / math.sqrt(question.shape[-1]) + bias).softmax(-1)
        x = x + self.answer((share @ value).transpose(-3, -2).flatten(-2))
        return x + self.own(self.own_norm(x))


class JointHead(nn.Module):
    """Each action from the node of its joint; (..., nodes, size) to (..., actions)."""

    owners: Tensor

    def __init__(self, owners: Sequence[int], size: int, *, gain: float) -> None:
        super().__init__()
        self.register_buffer("owners", torch.tensor(owners), persistent=False)
        self.own = nn.Sequential(nn.Linear(size, size), nn.ELU())
        self.weight = nn.Parameter(torch.empty(len(owners), size))
        self.bias = nn.Parameter(torch.zeros(len(owners)))
        nn.init.normal_(self.weight, 0.0, gain / math.sqrt(size))

    def forward(self, x: Tensor) -> Tensor:
        return (self.own(x).index_select(-2, self.owners) * self.weight).sum(-1) + self.bias


class BodyHead(nn.Module):
    """One answer of the whole body, from the mean of its nodes; (..., nodes, size) to (..., out)."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x.mean(-2))
