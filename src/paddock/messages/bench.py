"""Benchmarks of a machine."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """One contender in a comparison."""

    name: str
    """What stepped the worlds."""
    worlds: int
    env_steps_per_s: float
    physics_steps_per_s: float
    ratio: float
    """Env steps per second against the comparison's first row, the median over rounds."""


@dataclass(frozen=True, kw_only=True)
class BenchComparison:
    """What was measured in turns."""

    task: str
    rows: tuple[BenchRow, ...]


@dataclass(frozen=True, kw_only=True)
class BenchRun:
    """A benchmark of one machine."""

    paddock: str
    mujoco: str
    torch: str
    python: str
    machine: str
    rounds: int
    seconds_per_round: float
    kib_per_world: float
    comparisons: tuple[BenchComparison, ...]
