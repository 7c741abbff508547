"""A frame: where chosen worlds are at one moment, as bytes that a browser can use as they are, and what is known of one of them.

Little-endian: PDKF, u8 version, u8 kind, u16 stream, u32 seq, u32 worlds, u32 nq, u32 bytes of the tail, f64 env steps; then
u32 age and u32 number of each world, qpos of each as float32, and the tail, which is JSON.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.errors import PaddockError

HEAD = struct.Struct("<4sBBHIIIId")
MAGIC, VERSION, POSES = b"PDKF", 1, 1


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame as whoever reads it sees it."""

    stream: int
    seq: int
    env_steps: int
    worlds: tuple[int, ...]
    ages: tuple[int, ...]
    qpos: tuple[tuple[float, ...], ...]
    tail: dict[str, object]


def pack(*, seq: int, env_steps: int, worlds: Sequence[int], ages: Sequence[int], qpos: bytes, tail: bytes) -> bytes:
    """`qpos` are float32, one world after another."""
    n = len(worlds)
    head = HEAD.pack(MAGIC, VERSION, POSES, 0, seq, n, len(qpos) // 4 // max(n, 1), len(tail), env_steps)
    return b"".join((head, struct.pack(f"<{2 * n}I", *ages, *worlds), qpos, tail))


def unpack(data: bytes) -> Frame:
    """What `pack` was given."""
    if len(data) < HEAD.size:
        raise PaddockError(f"a frame of {len(data)} bytes is shorter than its head.")
    magic, version, kind, stream, seq, n, nq, tail, env_steps = HEAD.unpack_from(data)
    if (magic, version, kind) != (MAGIC, VERSION, POSES) or len(data) != HEAD.size + 4 * n * (2 + nq) + tail:
        raise PaddockError(f"{len(data)} bytes that begin with {data[:6]!r} are no frame of version {VERSION}.")
    numbers = struct.unpack_from(f"<{2 * n}I", data, HEAD.size)
    poses = struct.unpack_from(f"<{n * nq}f", data, HEAD.size + 8 * n)
    return Frame(
        stream=stream,
        seq=seq,
        env_steps=int(env_steps),
        worlds=numbers[n:],
        ages=numbers[:n],
        qpos=tuple(poses[i * nq : (i + 1) * nq] for i in range(n)),
        tail=json.loads(data[len(data) - tail :]),
    )
