"""Which machine this is, as far as the last bit of a result can depend on it."""

import math
import platform
import struct
import zlib
from functools import cache
from pathlib import Path

import mujoco

from paddock.messages import Platform

CPU_INFO = Path("/proc/cpuinfo")
PROBES = 4000


@cache
def this_platform() -> Platform:
    """The platform of this process."""
    info = _cpu_info()
    return Platform(
        machine=platform.machine(),
        system=platform.system(),
        cpu=info.get("model name") or platform.processor() or "unknown",
        cpu_flags=tuple(sorted((info.get("flags") or info.get("Features") or "").split())),
        libc=" ".join(platform.libc_ver()) or "unknown",
        libm=libm_digest(),
        mujoco=mujoco.__version__,
    )


def differences(recorded: Platform, here: Platform) -> tuple[str, ...]:
    """What of `recorded` is otherwise here, a sentence each."""
    found = [
        f"{name} was {getattr(recorded, name)}, here it is {getattr(here, name)}"
        for name in ("mujoco", "machine", "system", "cpu", "libc")
        if getattr(recorded, name) != getattr(here, name)
    ]
    if recorded.libm != here.libm:
        found.append(f"sine, exponential and the like end in other bits here (digest {here.libm}, was {recorded.libm})")
    lost = sorted(set(recorded.cpu_flags) - set(here.cpu_flags))
    gained = sorted(set(here.cpu_flags) - set(recorded.cpu_flags))
    if lost:
        found.append(f"this processor lacks {', '.join(lost)}")
    if gained:
        found.append(f"only this processor has {', '.join(gained)}")
    return tuple(found)


def libm_digest() -> str:
    """A hash of what the C library's functions return at fixed points.

    The engine calls the same functions, and the library picks their code by processor: with fused multiply-adds or without,
    the last bit of one result in thousands differs, and after a few hundred contacts so does the whole motion.
    """
    digest = 0
    for i in range(1, PROBES + 1):
        x = i * 0.7548776662466927 % 8.0 + 1e-3  # scattered over (0, 8)
        values = math.sin(x), math.cos(x), math.tan(x), math.exp(x), math.log(x), math.atan2(x, 3.0), math.pow(x, 1.7), math.tanh(x)
        digest = zlib.crc32(struct.pack("<8d", *values), digest)
    return f"{digest:08x}"


def _cpu_info() -> dict[str, str]:
    """What the kernel says of the first processor; empty where it says nothing."""
    if not CPU_INFO.exists():
        return {}
    pairs = (line.split(":", 1) for line in CPU_INFO.read_text().split("\n\n")[0].splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}
