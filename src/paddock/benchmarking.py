"""Steps per second, interleaved in one run on the same cores: ratios survive a noisy machine, times do not."""

from __future__ import annotations

import platform
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import mujoco
import torch
from rich.table import Table

from paddock import __version__
from paddock.contenders import Contender, envpool_ant, gymnasium_ant, gymnasium_async_ant, paddock_env, raw_batch
from paddock.cores import usable_cores
from paddock.messages import BenchComparison, BenchRow, BenchRun, to_json
from paddock.terminal import progress, screen

WALK = "quadruped-walk"
ANT = "gym-ant"
STRETCH = 20  # control steps between two preparations


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured."""

    sizes: tuple[int, ...]
    """Numbers of worlds of the scaling curve; the largest also tells the memory a world takes."""
    rounds: int
    seconds: float
    """Of each contender in each round."""
    ants: int
    """Worlds of the comparison with other systems."""


FULL = Effort(sizes=(1, 4, 16, 64, 256, 1024, 4096), rounds=9, seconds=1.0, ants=256)
QUICK = Effort(sizes=(1, 256), rounds=3, seconds=0.3, ants=256)


def run(*, quick: bool = False, out: Path | None = None) -> BenchRun:
    """Measure everything, print tables and write JSON to `out`."""
    effort = QUICK if quick else FULL
    comparisons: list[BenchComparison] = []
    with progress("comparisons", len(effort.sizes) + 2) as advance:
        for worlds in effort.sizes:
            env, ours = paddock_env(WALK, worlds)
            comparisons.append(compare(WALK, [raw_batch(env, lean=False), raw_batch(env, lean=True), ours], effort))
            advance(1)
        comparisons.append(compare(ANT, _ants(effort.ants), effort))
        advance(1)
        comparisons.append(compare(ANT, [gymnasium_ant(), paddock_env(ANT, 1)[1]], effort))
        advance(1)
    bench = BenchRun(
        paddock=__version__,
        mujoco=mujoco.__version__,
        torch=torch.__version__,
        python=platform.python_version(),
        machine=machine(),
        rounds=effort.rounds,
        seconds_per_round=effort.seconds,
        kib_per_world=memory_per_world(WALK, max(effort.sizes)),
        comparisons=tuple(comparisons),
    )
    show(bench)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(to_json(bench) + "\n")
        print(f"wrote {out}")
    return bench


def compare(task: str, contenders: list[Contender], effort: Effort) -> BenchComparison:
    """Measure in turns. Each round gives every contender a ratio to the first; a row has the median of those."""
    rates: list[list[float]] = [[] for _ in contenders]
    for _ in range(effort.rounds):
        for contender, mine in zip(contenders, rates, strict=True):
            mine.append(_rate(contender, effort.seconds))
    for contender in contenders:
        contender.close()
    rows = (
        BenchRow(
            name=contender.name,
            worlds=contender.worlds,
            env_steps_per_s=median(mine),
            physics_steps_per_s=median(mine) * contender.substeps,
            ratio=median(a / b for a, b in zip(mine, rates[0], strict=True)),
        )
        for contender, mine in zip(contenders, rates, strict=True)
    )
    return BenchComparison(task=task, rows=tuple(rows))


def _rate(contender: Contender, seconds: float) -> float:
    """Env steps per second, over short stretches that each start from a prepared state."""
    steps, spent = 0, 0.0
    while spent < seconds:
        contender.prepare()
        start = time.perf_counter()
        contender.run(STRETCH)
        spent += time.perf_counter() - start
        steps += STRETCH
    return contender.worlds * steps / spent


def memory_per_world(task: str, worlds: int) -> float:
    """KiB that one more world takes, everything included, seen in a fresh process; 0 where the system does not tell."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_grown_kib, task, worlds).result() / worlds


def _grown_kib(task: str, worlds: int) -> int:
    paddock_env(task, 1)  # what is needed once
    before = _resident_kib()
    paddock_env(task, worlds)
    return _resident_kib() - before


def show(bench: BenchRun) -> None:
    """Tables for people."""
    console = screen()
    table = Table(title=f"Steps per second, median of {bench.rounds} interleaved rounds", title_justify="left")
    for column in ("task", "what steps it", "worlds", "env steps/s", "physics steps/s", "ratio"):
        table.add_column(column, justify="left" if column in ("task", "what steps it") else "right")
    for comparison in bench.comparisons:
        table.add_section()
        for row in comparison.rows:
            rates = f"{row.env_steps_per_s:,.0f}", f"{row.physics_steps_per_s:,.0f}"
            table.add_row(comparison.task, row.name, f"{row.worlds:,}", *rates, f"{row.ratio:.2f}")
    console.print(table)
    console.print(
        f"{bench.machine}; paddock {bench.paddock}, mujoco {bench.mujoco}, torch {bench.torch}, python {bench.python}.\n"
        f"{WALK} takes {bench.kib_per_world:,.0f} KiB a world."
    )


def _ants(worlds: int) -> list[Contender]:
    """EnvPool where it is installed; raw physics first, because everything is compared with it."""
    env, ours = paddock_env(ANT, worlds)
    cores = usable_cores()
    rival = envpool_ant(worlds, cores)
    if rival is None:
        print("EnvPool is left out: pip install 'paddock[bench]'")
    known = [raw_batch(env, lean=False), raw_batch(env, lean=True), ours] + ([rival] if rival else [])
    return [*known, gymnasium_async_ant(cores), gymnasium_async_ant(4 * cores)]


def _resident_kib() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS:"))


def machine() -> str:
    """The hardware that figures belong to, in words."""
    return f"{_processor()}, {usable_cores()} cores"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    return models[0] if models else platform.processor() or platform.machine()
