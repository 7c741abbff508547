"""The workers of a sweep on this machine: processes that are started, watched, and started again where one dies."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paddock.messages import TrialRow
from paddock.sweeping import Sweep

POLL_S = 0.5
LIVES = 3
"""Times that a worker is started at most: one that keeps dying has a reason, and its log says it."""
GRACE_S = 20.0
"""How long a worker may take to save what it is doing when it is asked to stop."""


@dataclass
class _Worker:
    log: Path
    process: subprocess.Popen[bytes]
    lives: int = 1


def run_workers(sweep: Sweep, count: int, *, told: Callable[[TrialRow], None], note: Callable[[str], None]) -> None:
    """Let `count` workers bring the sweep to its end. `told` hears of each trial that ends, once."""
    workers = [_begin(sweep, i) for i in range(count)]
    heard = {row.number for row in sweep.rows() if row.state != "running"}
    try:
        while workers:
            for worker in list(workers):
                if (code := worker.process.poll()) is None:
                    continue
                workers.remove(worker)
                if code and worker.lives < LIVES:
                    note(f"a worker died ({_cause(code)}); another one goes on. Its log: {worker.log}")
                    workers.append(_begin(sweep, int(worker.log.stem.rpartition("-")[2]), lives=worker.lives + 1))
                elif code:
                    note(f"a worker died {LIVES} times ({_cause(code)}). Its log: {worker.log}")
            time.sleep(POLL_S)
            for row in sweep.rows():
                if row.state != "running" and row.number not in heard:
                    heard.add(row.number)
                    told(row)
    finally:
        _end(workers)


def _begin(sweep: Sweep, number: int, *, lives: int = 1) -> _Worker:
    log = sweep.path / f"worker-{number}.log"
    with log.open("ab") as output:
        command = [sys.executable, "-m", "paddock", "sweeps", "work", str(sweep.path)]
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    return _Worker(log, process, lives)


def _end(workers: list[_Worker]) -> None:
    """Ask those that still run to save and stop; end those that do not."""
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + GRACE_S
    for worker in workers:
        try:
            worker.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()


def _cause(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
