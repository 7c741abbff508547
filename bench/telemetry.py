"""What durable telemetry costs a training, and how many step rows a second it takes. Writes bench/results/telemetry.json.

python bench/telemetry.py     # about a minute, mostly asleep: calls come in real time, as a training would make them
"""

import json
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from paddock import __version__
from paddock.cores import usable_cores
from paddock.platforms import this_platform
from paddock.runs.telemetry import EpisodeBatch, Telemetry
from paddock.runs.telemetry_writer import ScalarSink
from paddock.runs.tensorboard_mirror import TensorBoardSink

RESULT = Path(__file__).parent / "results" / "telemetry.json"
WORLDS, ENV_STEPS_PER_S = 256, 10_000
WATCHED, COLUMNS, TERMS, SCALARS = 4, 60, 8, 40
SCALARS_EVERY, EPISODE_EVERY = 20, 3
"""Control steps between two sets of scalars (twice a second), and between two episodes' ends (20 s each, in 256 worlds)."""
ROUNDS, SECONDS = 3, 8.0
BULK_STEPS = 50_000
BULK_QUEUE = 32 * 2**20


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one training at 10,000 env steps/s, in shares of wall time; medians over rounds."""

    calls: float
    """Time inside calls on the training's thread."""
    writer: float
    """Processor time of the writer thread."""
    longest_call_ms: float
    us_per_control_step: float
    """Time inside calls."""

    @property
    def total(self) -> float:
        return self.calls + self.writer


@dataclass(frozen=True, kw_only=True)
class Bulk:
    """Step rows through chunks until they are durable, as fast as they go; medians over rounds."""

    rows_per_s: float
    bytes_per_row: float
    payload_bytes_per_row: int


def opened(folder: Path, sinks: Sequence[ScalarSink] = ()) -> Telemetry:
    return Telemetry(
        folder / "telemetry.db",
        terms=[f"term_{i}" for i in range(TERMS)],
        causes=("fell", "failed", "truncated"),
        step_columns=[f"column_{i}" for i in range(COLUMNS)],
        worlds=range(WATCHED),
        sinks=sinks,
    )


def ended(rng: np.random.Generator) -> EpisodeBatch:
    return EpisodeBatch(
        world=rng.integers(0, WORLDS, 1),
        episode=rng.integers(0, 99, 1),
        length=rng.integers(1, 1000, 1),
        total=rng.normal(size=1),
        success=np.ones(1, np.int8),
        cause=np.zeros(1, np.int16),
        terms=rng.normal(size=(1, TERMS)).astype(np.float32),
    )


def paced(folder: Path, sinks: Sequence[ScalarSink]) -> Cost:
    """One round of a training in real time that does nothing but record."""
    rng, inside, longest = np.random.default_rng(0), 0.0, 0.0
    rows = rng.normal(size=(WATCHED, COLUMNS)).astype(np.float32)
    values = {f"group/scalar_{i}": float(i) for i in range(SCALARS)}
    batch = ended(rng)

    def timed(call: Callable[..., None], *arguments: object) -> None:
        nonlocal inside, longest
        before = time.perf_counter()
        call(*arguments)
        took = time.perf_counter() - before
        inside, longest = inside + took, max(longest, took)

    with opened(folder, sinks) as run:
        began, cpu = time.perf_counter(), run.health().writer_cpu_s
        control_dt, k = WORLDS / ENV_STEPS_PER_S, 0
        while (now := time.perf_counter() - began) < SECONDS:
            timed(run.step_row, k * WORLDS, rows)
            if k % EPISODE_EVERY == 0:
                timed(run.episodes, k * WORLDS, batch)
            if k % SCALARS_EVERY == 0:
                timed(run.scalars, k * WORLDS, values)
            k += 1
            time.sleep(max(0.0, k * control_dt - now))
        wall, cpu = time.perf_counter() - began, run.health().writer_cpu_s - cpu
        assert run.flush() and run.health().dropped == 0
    return Cost(calls=inside / wall, writer=cpu / wall, longest_call_ms=longest * 1e3, us_per_control_step=inside / k * 1e6)


def bulk(folder: Path) -> Bulk:
    """One round of step rows without a pause, other than for the writer to keep up."""
    rows = np.random.default_rng(0).normal(size=(WATCHED, COLUMNS)).astype(np.float32)
    with opened(folder) as run:
        began = time.perf_counter()
        for k in range(BULK_STEPS):
            run.step_row(k, rows)
            if k % 1024 == 0 and run.health().queued_bytes > BULK_QUEUE:
                assert run.flush()
        assert run.flush() and run.health().dropped == 0
        seconds = time.perf_counter() - began
    count = BULK_STEPS * WATCHED
    size = (folder / "telemetry.db").stat().st_size
    return Bulk(rows_per_s=count / seconds, bytes_per_row=size / count, payload_bytes_per_row=COLUMNS * 4)


def rounds(measure: Callable[[Path], Cost | Bulk]) -> dict[str, float]:
    """Medians of every figure over the rounds, each in a fresh folder."""
    results: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            results.append(asdict(measure(Path(folder))))
    return {name: median(result[name] for result in results) for name in results[0]}


def main() -> None:
    alone = Cost(**rounds(lambda folder: paced(folder, ())))
    mirrored = Cost(**rounds(lambda folder: paced(folder, [TensorBoardSink(folder / "tensorboard")])))
    rows = rounds(bulk)
    found = {
        "paddock": __version__,
        "machine": f"{this_platform().cpu}, {usable_cores()} cores",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "rounds": ROUNDS,
        "seconds_per_round": SECONDS,
        "training": {"worlds": WORLDS, "env_steps_per_s": ENV_STEPS_PER_S, "watched_worlds": WATCHED, "step_columns": COLUMNS},
        "cost": asdict(alone) | {"total": alone.total},
        "cost_with_tensorboard": asdict(mirrored) | {"total": mirrored.total},
        "step_rows": rows,
    }
    RESULT.write_text(json.dumps(found, indent=2) + "\n")
    sys.stdout.write(RESULT.read_text())


if __name__ == "__main__":
    main()
