"""A search for better settings."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SweepCard:
    """What is searched; sweep.json in the sweep's folder."""

    name: str
    task: str
    preset: str
    settings: dict[str, object]
    """What every trial is told, beside what is searched; dotted names."""
    vary: dict[str, str]
    """What is searched, by dotted name: `1e-4:1e-2:log`, `8,16,32` or `64,64|128,128`."""
    objective: str
    """Name of the scalar that judges a trial, by its last value."""
    minimize: bool
    trials: int
    prune: bool
    seed: int
    runs_dir: str
    created: str


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One trial of a sweep."""

    number: int
    state: str
    """`running`, `complete`, `pruned` or `failed`."""
    value: float | None
    """Of the objective: the last one so far, or in the end."""
    run: str
    """Id of its run; empty before there is one."""
    settings: dict[str, object]
    """What was drawn for it, by dotted name."""
    env_steps: int
    detail: str
