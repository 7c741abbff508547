"""Where a second of training goes on quadruped-walk, by its preset, with and without a compiled update, in turns.

    python bench/profiles.py [--task quadruped-walk] [--rounds 5]

Medians of the rounds. What everything else costs is said in parts of what the physics costs. Results: bench/results/profiles.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from paddock.benchmarking import machine
from paddock.configuring import configure, settle
from paddock.profiling import Profile, profile
from paddock.tasks.finding import find_task
from paddock.terminal import progress

OUT = Path(__file__).parent / "results" / "profiles.json"


def row(found: list[Profile], *, compiled: bool) -> dict[str, object]:
    parts = {name: [1e6 * one.seconds[name] / one.env_steps for one in found] for name in found[0].seconds}
    return {
        "compiled": compiled,
        "worlds": found[0].num_worlds,
        "us_per_step": {name: round(statistics.median(values), 2) for name, values in parts.items()},
        "over_physics": round(statistics.median(one.over_physics for one in found), 3),
        "over_physics_rounds": [round(one.over_physics, 3) for one in found],
        "env_steps_per_s": round(statistics.median(one.steps_per_s for one in found)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="quadruped-walk")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    task = find_task(asked.task)
    found: dict[bool, list[Profile]] = {False: [], True: []}
    with progress("rounds", 2 * asked.rounds) as done:
        for _ in range(asked.rounds):
            for compiled, profiles in found.items():
                profiles.append(profile(task, settle(configure(task, flags={"ppo": {"compiled": compiled}})), updates=5))
                done(1)
    rows = [row(profiles, compiled=compiled) for compiled, profiles in found.items()]
    OUT.write_text(json.dumps({"machine": machine(), "task": asked.task, "rounds": asked.rounds, "rows": rows}, indent=1) + "\n")
    for one in rows:
        print(one)


if __name__ == "__main__":
    main()
