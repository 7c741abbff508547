"""Eyes: from a picture to where things are in it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

CHANNELS = (16, 32, 32)
FEATURES = 2 * CHANNELS[-1]
"""Numbers that an eye returns: a place across and down for each of its last channels."""


def as_bytes(group: str, picture: Tensor) -> Tensor:
    """A picture (..., h, w, c) as uint8, which is how a rollout stores it.

    Depth becomes 255 / (1 + metres): 0 is the sky, and nearness has the finer steps. Segmentation keeps the numbers up to 254.
    """
    if picture.dtype == torch.uint8:
        return picture
    is_depth = group.endswith("/depth")
    return (255.0 / (1.0 + picture) if is_depth else (picture + 1).clamp(0, 255)).to(torch.uint8)


class Eye(nn.Module):
    """Three convolutions, then where each channel is brightest: a spatial softmax, which is what reaching needs of a picture."""

    across: Tensor
    down: Tensor

    def __init__(self, height: int, width: int, channels: int) -> None:
        super().__init__()
        sizes = (channels, *CHANNELS)
        kernels = (5, 3, 3)
        found: list[nn.Module] = []
        for before, after, kernel in zip(sizes, sizes[1:], kernels, strict=False):
            layer = nn.Conv2d(before, after, kernel, stride=2, padding=kernel // 2)
            nn.init.orthogonal_(layer.weight, math.sqrt(2))
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
            found += [layer, nn.ELU()]
            height, width = (height + 1) // 2, (width + 1) // 2
        self.layers = nn.Sequential(*found[:-1])
        self.register_buffer("across", torch.linspace(-1, 1, width).repeat(height), persistent=False)
        self.register_buffer("down", torch.linspace(-1, 1, height).repeat_interleave(width), persistent=False)
        self.sharpness = nn.Parameter(torch.zeros(()))

    def forward(self, picture: Tensor) -> Tensor:
        """(..., h, w, c) uint8 to (..., FEATURES)."""
        shape = picture.shape[:-3]
        plain = picture.flatten(0, -4).permute(0, 3, 1, 2).float() * (1 / 127.5) - 1.0
        share = (self.layers(plain).flatten(2) * self.sharpness.exp()).softmax(-1)
        places = torch.cat([(share * self.across).sum(-1), (share * self.down).sum(-1)], dim=-1)
        return places.unflatten(0, shape) if len(shape) > 1 else places
