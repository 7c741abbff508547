"""Running mean and spread of numbers seen so far."""

import torch
from torch import Tensor, nn

from paddock.learn.crew import ALONE, Crew

CLIP = 10.0
EPSILON = 1e-8


class Normalizer(nn.Module):
    """Centres and scales columns by what was seen; statistics in float64, merged batch by batch."""

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("var", torch.ones(size, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    @torch.no_grad()
    def observe(self, batch: Tensor, *, crew: Crew = ALONE) -> None:
        """Merge a batch (m, size), and those of the crew, into the statistics, as if everything had been seen at once."""
        var, mean = torch.var_mean(batch.double(), dim=0, correction=0)
        mean, var = crew.pooled(mean, var)
        seen = len(batch) * crew.size
        total = self.count + seen
        shift = mean - self.mean
        spread = self.var * self.count + var * seen + shift.square() * self.count * seen / total
        self.mean += shift * seen / total
        self.var.copy_(spread / total)
        self.count.copy_(total)

    def forward(self, x: Tensor) -> Tensor:
        scale = (self.var + EPSILON).rsqrt().to(x.dtype)
        return ((x - self.mean.to(x.dtype)) * scale).clamp(-CLIP, CLIP)
