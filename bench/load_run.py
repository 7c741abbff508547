"""A run that learns nothing and records much: scalars at a steady rate, and worlds for whoever looks. It ends with its input.

python bench/load_run.py runs/ID --rate 500 --worlds 16
"""

import argparse
import math
import os
import select
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from paddock.runs.folder import RunFolder, now
from paddock.runs.live import Live
from paddock.runs.telemetry import Telemetry

SCALARS = 50
STEPS_PER_S = 50
"""Control steps of the worlds, which are offered to whoever looks."""
HEARTBEAT_S = 2.0
NQ = 19


def values(step: int) -> dict[str, float]:
    """Noisy curves, as a learner's are."""
    return {
        f"group_{i % 5}/scalar_{i}": math.sin(0.001 * step + i) + 0.1 * math.sin(997.0 * step * (i + 1)) for i in range(SCALARS)
    }


def worlds_of(count: int) -> Callable[[Live, int], None]:
    """What offers the worlds of a step; none are, where there are none."""
    if count == 0:
        return lambda live, step: None
    import torch  # which a run that only records does without

    from paddock.runs.viewers import Shot

    phase = torch.arange(count * NQ, dtype=torch.float64).reshape(count, NQ)

    def offer(live: Live, step: int) -> None:
        if live.wanted:
            live.frame(Shot(env_steps=step, qpos=torch.sin(phase + 0.1 * step), age=torch.full((count,), step % 1000)))

    return offer


def record(run: RunFolder, *, rate: float, worlds: int) -> None:
    card, step, told, beaten = run.card(), 0, 0, 0.0
    offer = worlds_of(worlds)
    progress = replace(card.progress, status="running", pid=os.getpid())
    with Telemetry(run.telemetry) as telemetry, Live(run.path / "live.sock", num_worlds=max(worlds, 1)) as live:
        began = time.monotonic()
        while not select.select([sys.stdin], [], [], max(0.0, began + step / STEPS_PER_S - time.monotonic()))[0]:
            step += 1
            offer(live, step)
            while told * SCALARS < rate * step / STEPS_PER_S:
                telemetry.scalars(step, values(told))
                told += 1
            if (at := time.monotonic()) - beaten > HEARTBEAT_S:
                beaten = at
                run.write(replace(card, progress=replace(progress, heartbeat=now(), env_steps=step)))
        telemetry.flush()
        assert telemetry.health().dropped == 0
    run.write(replace(card, progress=replace(progress, status="finished", heartbeat=now(), env_steps=step)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rate", type=float, default=500.0, help="scalar points a second")
    parser.add_argument("--worlds", type=int, default=0, help="to look at")
    asked = parser.parse_args()
    record(RunFolder(asked.run), rate=asked.rate, worlds=asked.worlds)


if __name__ == "__main__":
    main()
