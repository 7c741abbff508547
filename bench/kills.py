"""Kill trainings with SIGKILL at every named point of their writing: all files stay readable, and they end with the same bits.

    python bench/kills.py            # over a hundred kills, some minutes; writes bench/results/kills.json
    python bench/kills.py --quick    # a dozen, within a minute; writes nothing

Kills at random times hit almost nothing, so a process is armed to kill itself the k-th time it passes a point; a few are killed
at any moment all the same. What is left behind is read, all of it; then the run is resumed, perhaps killed again, until it is
finished; then it is compared with a run that nobody killed: weights, optimiser, worlds, telemetry and recordings, bit for bit.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from kill_yard import ANY_MOMENT, CARTPOLE, GOING_BACK, QUADRUPED, SUBJECTS, WRITING, Aim, Outcome, Yard, write_json

from paddock import __version__
from paddock.benchmarking import machine

RESULT = Path(__file__).parent / "results" / "kills.json"
FIRST = ("folder.before_rename", 7)
"""Where a training is killed in order to be killed again while it is resumed: a checkpoint is half-written by then."""


def spread(count: int, shots: int) -> list[int]:
    """Which passings of so many to kill at: the first, the last but one, and others evenly between."""
    last = max(1, count - 1)
    return sorted({1 + round(i * (last - 1) / max(1, shots - 1)) for i in range(shots)})


def middle(count: int) -> int:
    return max(1, count // 2)


def campaign(passed: Mapping[str, Counter[str]], *, quick: bool) -> list[Aim]:
    """All aims. Where a training is killed twice, the second process is killed at the point itself, or while it goes back."""
    aims: list[Aim] = []
    for i, point in enumerate(WRITING):
        if quick:
            aims += [Aim(subject=CARTPOLE, shots=((point, middle(passed[CARTPOLE.name][point])),))] if i % 2 else []
            continue
        for passing in spread(passed[CARTPOLE.name][point], 4):
            aims.append(Aim(subject=CARTPOLE, shots=((point, passing),)))
        aims.append(Aim(subject=QUADRUPED, shots=((point, middle(passed[QUADRUPED.name][point])), (point, 1))))
    for i in range(1 if quick else 10):
        aims.append(Aim(subject=CARTPOLE, shots=((ANY_MOMENT, 120 + 45 * i), (ANY_MOMENT, 100 + 40 * i))))
    for point in GOING_BACK[:: 2 if quick else 1]:
        for subject in SUBJECTS[: 1 if quick else 2]:
            aims.append(Aim(subject=subject, shots=(FIRST, (point, 1))))
    return aims


def run_campaign(yard: Yard, *, quick: bool, tell: Callable[[str], None]) -> list[Outcome]:
    wholes: dict[str, Path] = {}
    passed: dict[str, Counter[str]] = {}
    for subject in SUBJECTS:
        wholes[subject.name], passed[subject.name] = yard.whole(subject)
        yard.check_forks(subject, wholes[subject.name])
    aims = campaign(passed, quick=quick)
    outcomes: list[Outcome] = []
    for i, aim in enumerate(aims):
        outcomes.append(yard.shoot(aim, wholes[aim.subject.name]))
        shots = ", ".join(f"{point} #{passing}" for point, passing in aim.shots)
        found = "; ".join([*outcomes[-1].unreadable, *outcomes[-1].differing]) or "equal"
        missed = "" if len(outcomes[-1].killed) == len(aim.shots) else " (missed)"
        tell(f"{i + 1}/{len(aims)} {aim.subject.name}: {shots}{missed}: {found}")
    return outcomes


def by_point(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """For each point: kills, files that were unreadable after them, and runs that ended otherwise."""
    rows = {point: {"kills": 0, "unreadable": 0, "differing": 0} for point in (*WRITING, *GOING_BACK, ANY_MOMENT)}
    for outcome in outcomes:
        for point in outcome.killed:
            rows[point]["kills"] += 1
        point = outcome.aim.shots[-1][0]
        rows[point]["unreadable"] += len(outcome.unreadable)
        rows[point]["differing"] += bool(outcome.differing)
    return rows


def table(rows: Mapping[str, Mapping[str, int]]) -> str:
    lines = [f"{'point':<26}{'kills':>7}{'unreadable':>12}{'differing':>11}"]
    lines += [f"{point:<26}{row['kills']:>7}{row['unreadable']:>12}{row['differing']:>11}" for point, row in rows.items()]
    sums = {name: sum(row[name] for row in rows.values()) for name in ("kills", "unreadable", "differing")}
    return "\n".join([*lines, f"{'all':<26}{sums['kills']:>7}{sums['unreadable']:>12}{sums['differing']:>11}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about a dozen kills")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_campaign(Yard(Path(folder)), quick=asked.quick, tell=lambda line: print(line, flush=True))
    rows = by_point(outcomes)
    print(table(rows))
    found = {
        "paddock": __version__,
        "machine": machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "subjects": {subject.name: dict(subject.settings) for subject in SUBJECTS},
        "minutes": round((time.monotonic() - began) / 60, 1),
        "trainings": len(outcomes),
        "sittings": sum(outcome.sittings for outcome in outcomes),
        "kills": sum(len(outcome.killed) for outcome in outcomes),
        "unreadable_files": sum(len(outcome.unreadable) for outcome in outcomes),
        "differing_runs": sum(bool(outcome.differing) for outcome in outcomes),
        "points": rows,
    }
    if not asked.quick:
        write_json(RESULT, found)
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
