"""How both sides of against_mjlab.py are measured: nothing here knows either."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

STEPS = 100
"""Control steps of a turn."""
SETTLING = 100
"""Control steps before anything is timed, so that worlds lie about as they do in training."""
Work = Callable[[], None]


def arguments(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("settings", type=Path, help="what mjlab_settings.py says of the task, as JSON")
    parser.add_argument("--worlds", nargs="+", type=int, default=[4096, 16384])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--motion", nargs=2, type=Path, metavar=("FROM", "TO"), help="states and controls, and where they lead")
    return parser


def rates(
    works: Mapping[str, Work], num_worlds: int, asked: argparse.Namespace, *, before: Callable[[str], None]
) -> dict[str, list[float]]:
    """Control steps of all worlds a second, of each of the works, turn by turn; `before` a turn it is told whose it is."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for name, work in works.items():
        before(name)
        timed(work, 3, asked.device)
    for _ in range(asked.rounds):
        for name, work in works.items():
            before(name)
            found[name].append(round(num_worlds * asked.steps / timed(work, asked.steps, asked.device)))
    return found


def timed(work: Work, times: int, device: str) -> float:
    """Seconds."""
    finish(device)
    began = time.perf_counter()
    for _ in range(times):
        work()
    finish(device)
    return time.perf_counter() - began


def finish(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def memory_gb(device: str) -> float:
    """What is in use of the GPU's memory."""
    if not device.startswith("cuda"):
        return 0.0
    free, total = torch.cuda.mem_get_info()
    return round((total - free) / 2**30, 2)


def tell(**row: Any) -> None:
    """For the driver, among whatever else is printed."""
    print("ROW " + json.dumps(row), flush=True)
