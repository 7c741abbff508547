"""The cockpit under load: runs that write ten thousand scalars a second, and people who follow them all and look at some.
Then a long list of runs, and a chart with many lines, in Chromium. Writes bench/results/cockpit_load.json.

python bench/cockpit_load.py                 # ten minutes of load, then two of pages
python bench/cockpit_load.py --minutes 0.5   # a look, which writes nothing
"""

import argparse
import json
import math
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

from cockpit_pages import Pages, measure_pages
from cockpit_process import processor_s, resident_bytes, serving
from load_client import Digests
from pretended_runs import pretended

from paddock import __version__
from paddock.cores import usable_cores
from paddock.platforms import this_platform
from paddock.runs.folder import RunFolder

RESULT = Path(__file__).parent / "results" / "cockpit_load.json"
HERE = Path(__file__).parent
RUNS, CLIENTS, POINTS_PER_S, WORLDS, MINUTES = 20, 5, 10_000, 16, 10.0
SLOW_DRAW_S = 0.2
"""How long the last client takes for a picture; the others take none."""
SAMPLE_S = 5.0
SETTLED = 0.2
"""Share of the time after which memory is first looked at."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What came of it."""

    seconds: float
    points_written: int
    """Rows in the databases of all runs."""
    points_per_s: float
    points_told: tuple[int, ...]
    """To each client."""
    unequal_curves: int
    """That a client was told otherwise than they are in the database: a point more or less, another order, another digit."""
    faults: tuple[str, ...]
    """Gaps, doubles and lost connections that clients saw."""
    delay_ms: Mapping[str, float]
    """From a value's writing to its arrival; of the slowest client. Runs commit every 200 ms."""
    frames_per_s: tuple[float, ...]
    """Pictures that each client drew; the last one is slow."""
    dropped_per_s: tuple[float, ...]
    """Pictures that each client was told it had missed."""
    server_cores: float
    """Processor time of the server in a second."""
    server_cores_at_most: float
    """In the busiest stretch of five seconds."""
    memory_mb: tuple[float, float, float]
    """After a fifth of the time, at the end, and at most."""

    @property
    def is_good(self) -> bool:
        lossless = not self.faults and self.unequal_curves == 0 and set(self.points_told) == {self.points_written}
        return lossless and min(self.frames_per_s) > 1.0 and self.server_cores < 1.0


@contextmanager
def child(script: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """A script of this folder, which ends with its input."""
    command = [sys.executable, str(HERE / script), *map(str, words)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stored(runs: list[RunFolder]) -> tuple[int, float, dict[str, str]]:
    """How many points there are, over how many seconds, and digests of the curves."""
    count, digests, first, last = 0, Digests(), math.inf, -math.inf
    for run in runs:
        database = sqlite3.connect(run.telemetry)
        rows = database.execute(
            "SELECT names.name, i, step, time, value FROM scalars JOIN names ON names.id = scalars.name ORDER BY names.name, i"
        )
        for name, *point in rows:
            digests.add(run.path.name, name, tuple(point))
            first, last, count = min(first, point[2]), max(last, point[2]), count + 1
        database.close()
    return count, last - first, digests.hex()


def load(root: Path, *, minutes: float, runs: int = RUNS, clients: int = CLIENTS, rate: float = POINTS_PER_S) -> Load:
    """Let it work for so long over a fresh folder."""
    folders = [RunFolder(path) for path in pretended(root, runs)]
    with ExitStack() as stack:
        served = stack.enter_context(serving(root))
        writers = [
            stack.enter_context(child("load_run.py", run.path, "--rate", rate / runs, "--worlds", WORLDS if k < clients else 0))
            for k, run in enumerate(folders)
        ]
        for run in folders:
            while not (run.path / "live.sock").exists():
                time.sleep(0.05)
        names = [run.path.name for run in folders]
        lookers = []
        for k in range(clients):
            draw_s = SLOW_DRAW_S if k == clients - 1 else 0.0
            words = ("--follow", *names, "--watch", names[k], "--worlds", WORLDS, "--draw-s", draw_s)
            lookers.append(stack.enter_context(child("load_client.py", served.port, served.token, *words)))
        seconds, samples = _watch(served.process.pid, 60 * minutes)
        for looker in lookers:
            _say(looker, "the pictures are over")
        for writer in writers:
            _say(writer, "")
            writer.wait(60)
        written, written_s, digests = stored(folders)
        for looker in lookers:
            _say(looker, str(written))
        told = [json.loads(looker.communicate(timeout=120)[0]) for looker in lookers]
        assert [writer.returncode for writer in writers] == [0] * runs
    memory = [resident / 1e6 for _, resident in samples]
    used = [later - before for (before, _), (later, _) in pairwise(samples)]
    return Load(
        seconds=seconds,
        points_written=written,
        points_per_s=written / written_s,
        points_told=tuple(own["points"] for own in told),
        unequal_curves=sum(own["digests"].get(key) != digest for own in told for key, digest in digests.items()),
        faults=tuple(fault for own in told for fault in own["faults"]),
        delay_ms=max((own["delay_ms"] for own in told), key=lambda delay: delay["p99"]),
        frames_per_s=tuple(own["frames_per_s"] for own in told),
        dropped_per_s=tuple(own["dropped_per_s"] for own in told),
        server_cores=(samples[-1][0] - samples[0][0]) / seconds,
        server_cores_at_most=max(used) / (seconds / len(used)),
        memory_mb=(memory[int(SETTLED * len(memory))], memory[-1], max(memory)),
    )


def _say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def _watch(pid: int, seconds: float) -> tuple[float, list[tuple[float, int]]]:
    """Processor time and memory of the server, every few seconds."""
    samples, began = [(processor_s(pid), resident_bytes(pid))], time.monotonic()
    step = min(SAMPLE_S, seconds / 4)
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(step)
        samples.append((processor_s(pid), resident_bytes(pid)))
    return passed, samples


def rounded(found: Load) -> Load:
    """To what can be believed of it."""
    return replace(
        found,
        seconds=round(found.seconds, 1),
        points_per_s=round(found.points_per_s),
        delay_ms={name: round(value) for name, value in found.delay_ms.items()},
        frames_per_s=tuple(round(value, 1) for value in found.frames_per_s),
        dropped_per_s=tuple(round(value, 1) for value in found.dropped_per_s),
        server_cores=round(found.server_cores, 3),
        server_cores_at_most=round(found.server_cores_at_most, 3),
        memory_mb=(round(found.memory_mb[0], 1), round(found.memory_mb[1], 1), round(found.memory_mb[2], 1)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = rounded(load(Path(name) / "load", minutes=asked.minutes))
        print(json.dumps(asdict(found), indent=2))
        pages: Pages = measure_pages(Path(name))
        print(json.dumps(asdict(pages), indent=2))
    if asked.minutes >= MINUTES:
        setting = {"runs": RUNS, "clients": CLIENTS, "points_per_s": POINTS_PER_S, "worlds": WORLDS, "minutes": asked.minutes}
        machine = {"python": platform.python_version(), "cores": usable_cores(), **asdict(this_platform())}
        result = {"paddock": __version__, "setting": setting, "load": asdict(found), "pages": asdict(pages), "machine": machine}
        RESULT.write_text(json.dumps(result, indent=2) + "\n")
    if not (found.is_good and pages.is_good):
        sys.exit("something was lost, or slow")


if __name__ == "__main__":
    main()
