"""The machine that something ran on, as far as results can depend on it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What decides the last bit of a floating-point result: the processor, its C library and the engine."""

    machine: str
    """Instruction set, such as x86_64."""
    system: str
    cpu: str
    cpu_flags: tuple[str, ...]
    libc: str
    libm: str
    """A digest of what the C library's sine, exponential and others return: it may choose other code for a processor."""
    mujoco: str
