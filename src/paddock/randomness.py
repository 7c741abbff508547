"""Counter-based random numbers: every draw is a hash of who asks, so nothing depends on batch, order or device.

A draw is addressed by (seed, world, episode), hashed into one `key` per world, then by a stream (what the number is for),
an index (which of the stream's draws) and a column. Those three move the key along splitmix64's sequence, each by a step
of its own, and the generator's finaliser mixes the sum. It is int64 arithmetic that PyTorch, onnxruntime and the browser
compute bit for bit alike: multiplication wraps, and a logical shift is an arithmetic one with the sign bits masked away.
"""

from functools import cache
from hashlib import blake2b
from statistics import NormalDist

import torch
from torch import Tensor

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 / golden ratio, as a signed integer
INDEX_STEP = 0xD1342543DE82EF95 - (1 << 64)  # an odd multiplier of good spectral quality, apart from GOLDEN
MIX_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
MIX_2 = 0x94D049BB133111EB - (1 << 64)
UNIFORM_BITS = 24
UNIFORM_UNIT = 2.0**-UNIFORM_BITS
CELL_BITS = UNIFORM_BITS // 2  # the quantile table of the normal distribution has 2^12 cells, its first and last 2^12 again
CELLS = 1 << CELL_BITS
COARSE = 1 << 16
"""Different values of a coarse normal draw."""


def _shift_right(x: Tensor, bits: int) -> Tensor:
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mix_high(x: Tensor) -> Tensor:
    """The finaliser without its last line, which leaves the upper 31 bits as they are."""
    x = (x ^ _shift_right(x, 30)) * MIX_1
    return (x ^ _shift_right(x, 27)) * MIX_2


def _mix(x: Tensor) -> Tensor:
    x = _mix_high(x)
    return x ^ _shift_right(x, 31)


def seed_key(seed: int, world: Tensor) -> Tensor:
    """What all episodes of a world have in common; (n,) int64 from (n,) world numbers."""
    return _mix(_mix(torch.full_like(world, _signed(seed + GOLDEN))) + world * GOLDEN)


def episode_key(seed_key: Tensor, episode: Tensor) -> Tensor:
    """The key of each world's episode; (n,) int64."""
    return _mix(seed_key + episode * INDEX_STEP)


@cache
def stream(name: str) -> int:
    """The number of a named stream, the same on every machine and in every process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)


def bits(key: Tensor, name: str, count: int, index: Tensor | int = 0) -> Tensor:
    """`count` random int64 a world; (n, count)."""
    return _mix(_counters(key, name, count, index))


def unit_bits(key: Tensor, name: str, count: int, index: Tensor | int = 0) -> Tensor:
    """The upper 24 bits of `bits`, as many as a float32 holds exactly; (n, count) int64."""
    return _shift_right(_mix_high(_counters(key, name, count, index)), 64 - UNIFORM_BITS)


def uniform(key: Tensor, name: str, count: int, index: Tensor | int = 0) -> Tensor:
    """Uniform on [0, 1) in steps of 2^-24; (n, count) float32."""
    return unit_bits(key, name, count, index) * UNIFORM_UNIT


def choice(key: Tensor, name: str, options: int, count: int = 1, index: Tensor | int = 0) -> Tensor:
    """Integers in [0, options), each equally likely; (n, count) int64."""
    high = _shift_right(bits(key, name, count, index), 32)  # 32 bits times options stays inside int64
    return _shift_right(high * options, 32)


def normal(key: Tensor, name: str, count: int, index: Tensor | int = 0) -> Tensor:
    """Standard normal up to +-5.4; (n, count) float32.

    Interpolates a table of quantiles: no logarithm or cosine, whose last bit differs between devices.
    """
    drawn = unit_bits(key, name, count, index)
    cell, within = drawn >> CELL_BITS, drawn & (CELLS - 1)
    left, rise, low_tail = _quantiles(key.device)
    inside = left[cell] + rise[cell] * (within.to(torch.float32) * (1.0 / CELLS))
    outside = low_tail[within]
    return torch.where(cell == 0, outside, torch.where(cell == CELLS - 1, -outside, inside))


def coarse_normal(key: Tensor, streams: tuple[tuple[str, int], ...], index: Tensor | int = 0) -> Tensor:
    """Standard normal draws of several streams side by side, so many of each; (n, sum) float32.

    What sensors add to many columns in every step has to be cheap: four draws share a hash, and each is one of 65,536 quantiles
    up to +-4.3, scaled to a deviation of exactly 1.
    """
    addresses, order = _quarters(streams, key.device)
    offset = index * INDEX_STEP
    moved = key + (offset if isinstance(offset, Tensor) else _signed(offset))
    hashes = _mix(moved[:, None] + addresses)
    quarters = torch.cat([hashes, hashes >> 16, hashes >> 32, hashes >> 48], dim=1)
    chosen = quarters.index_select(1, order) & (COARSE - 1)
    return _coarse_quantiles(key.device).index_select(0, chosen.flatten()).view_as(chosen)


def _counters(key: Tensor, name: str, count: int, index: Tensor | int) -> Tensor:
    offset = index * INDEX_STEP + stream(name)
    moved = key + (offset if isinstance(offset, Tensor) else _signed(offset))
    return moved[:, None] + _columns(count, key.device)


@cache
def _columns(count: int, device: torch.device) -> Tensor:
    return torch.tensor([_signed(i * GOLDEN) for i in range(1, count + 1)], dtype=torch.int64, device=device)


@cache
def _quantiles(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The normal quantile where each cell begins, its rise over it, and those at the middles of the first cell's own cells."""
    quantile = NormalDist().inv_cdf
    edges = [0.0, *(quantile(i / CELLS) for i in range(1, CELLS)), 0.0]  # the outer edges are infinite and never used
    tail = [quantile((i + 0.5) / CELLS / CELLS) for i in range(CELLS)]
    body = torch.tensor(edges, device=device)
    return body[:-1], body[1:] - body[:-1], torch.tensor(tail, device=device)


@cache
def _quarters(streams: tuple[tuple[str, int], ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Where each hash of some streams begins, and which of all their quarters, the low ones first, are used."""
    addresses: list[int] = []
    used: list[tuple[int, int]] = []
    for name, count in streams:
        used += [divmod(4 * len(addresses) + i, 4) for i in range(count)]
        addresses += [_signed(stream(name) + i * GOLDEN) for i in range(1, -(-count // 4) + 1)]
    order = [quarter * len(addresses) + number for number, quarter in used]
    return torch.tensor(addresses, dtype=torch.int64, device=device), torch.tensor(order, dtype=torch.int64, device=device)


@cache
def _coarse_quantiles(device: torch.device) -> Tensor:
    """The normal quantiles at the middles of equal parts, spread to a variance of 1."""
    quantile = NormalDist().inv_cdf
    middles = torch.tensor([quantile((i + 0.5) / COARSE) for i in range(COARSE)], dtype=torch.float64)
    return (middles / middles.square().mean().sqrt()).to(device, torch.float32)


def _signed(value: int) -> int:
    """A Python integer wrapped into signed 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
