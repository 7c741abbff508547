"""Memory: a layer of LSTM that steps through a rollout in one go, and forgets where an episode begins inside it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from paddock.policies import Carried


class Lstm(nn.Module):
    """One layer of long short-term memory over the last axis. Axes between world and feature, such as nodes, share it.

    What the inputs contribute to the gates is one product over all steps at once; only the small product with what is
    remembered is left in the loop over time.
    """

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.into = nn.Linear(features, 4 * size)
        self.again = nn.Parameter(torch.empty(4 * size, size))
        for weight in (self.into.weight, self.again):
            for gate in weight.detach().split(size):
                nn.init.orthogonal_(gate)
        nn.init.zeros_(self.into.bias)

    def begin(self, *shape: int) -> Carried:
        """Nothing, for so many worlds and whatever shares the layer."""
        empty = self.again.new_zeros(*shape, self.size)
        return {"hidden": empty, "cell": empty.clone()}

    def forward(self, x: Tensor, memory: Carried, began: Tensor | None = None) -> tuple[Tensor, Carried]:
        """One step (n, ..., features); or with `began` (n, steps), true where an episode begins, a sequence (n, steps, ...).

        Returns what it remembers, and the memory after the step, or after each step of the sequence.
        """
        gates = self.into(x)
        if began is None:
            hidden, cell = _step(gates + memory["hidden"] @ self.again.T, memory["cell"])
        else:
            shape = gates.transpose(0, 1).shape[:-1]  # (steps, n, ...)
            keep = (~began).T.view(*shape[:2], *[1] * (len(shape) - 2)).expand(shape).to(x.dtype)
            hidden, cell = _Sequence.apply(
                gates.transpose(0, 1).reshape(shape[0], -1, 4 * self.size),
                self.again,
                memory["hidden"].flatten(0, -2),
                memory["cell"].flatten(0, -2),
                keep.reshape(shape[0], -1, 1),
            )
            hidden, cell = (value.view(*shape, self.size).transpose(0, 1) for value in (hidden, cell))
        return hidden, {"hidden": hidden, "cell": cell}


def _step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden and cell state that come of the gates' inputs: what to take, keep and show, and the news."""
    size = cell.shape[-1]
    take, keep, show = gates[..., : 3 * size].sigmoid().split(size, dim=-1)
    cell = keep * cell + take * gates[..., 3 * size :].tanh()
    return show * cell.tanh(), cell


class _Sequence(torch.autograd.Function):
    """`_step` through time, and its gradient by hand: what a gate's slope is computed for all steps at once, and the product
    for the weights is one at the end instead of one each step. All (steps, m, ...), the memory before them (m, size)."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, again: Tensor, hidden: Tensor, cell: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        size = again.shape[1]
        opened = torch.empty_like(gates)
        hiddens, cells, seen = (gates.new_empty(*gates.shape[:-1], size) for _ in range(3))
        start_hidden, start_cell = hidden, cell
        for t in range(len(gates)):
            torch.addmm(gates[t], hidden * keep[t], again.T, out=opened[t])
            opened[t, :, : 3 * size].sigmoid_()
            opened[t, :, 3 * size :].tanh_()
            take, kept, show, news = opened[t].split(size, dim=1)
            torch.mul(cell, kept * keep[t], out=cells[t])
            cell = cells[t].addcmul_(take, news)
            torch.tanh(cell, out=seen[t])
            hidden = torch.mul(show, seen[t], out=hiddens[t])
        ctx.save_for_backward(again, keep, hiddens, cells, opened, seen, start_hidden, start_cell)
        return hiddens, cells

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        again, keep, hiddens, cells, opened, seen, start_hidden, start_cell = ctx.saved_tensors
        size = again.shape[1]
        before_hidden = torch.cat([start_hidden[None], hiddens[:-1]]) * keep
        before_cell = torch.cat([start_cell[None], cells[:-1]]) * keep
        take, kept, show, news = opened.split(size, dim=-1)
        to_cell = torch.addcmul(show, show * seen, seen, value=-1)
        of_take, of_keep, of_show = news * take * (1 - take), before_cell * kept * (1 - kept), seen * show * (1 - show)
        of_news = torch.addcmul(take, take * news, news, value=-1)
        # still to be multiplied with what arrives at the cell, and at the hidden state
        grad_gates = torch.cat([of_take, of_keep, of_show, of_news], dim=-1)
        of_gate = grad_gates.unflatten(-1, (4, size))
        passed = kept * keep
        grad_hidden, grad_cell = torch.zeros_like(start_hidden), torch.zeros_like(start_cell)
        for t in range(len(opened) - 1, -1, -1):
            grad_hidden = grads[0][t] + grad_hidden
            grad_cell = torch.addcmul(grads[1][t] + grad_cell, grad_hidden, to_cell[t])
            of_gate[t, :, :2].mul_(grad_cell[:, None])
            of_gate[t, :, 2].mul_(grad_hidden)
            of_gate[t, :, 3].mul_(grad_cell)
            grad_hidden = (grad_gates[t] @ again) * keep[t]
            grad_cell = grad_cell * passed[t]
        grad_again = grad_gates.flatten(0, -2).T @ before_hidden.flatten(0, -2)
        return grad_gates, grad_again, grad_hidden, grad_cell, None
