"""What rays cost: quadruped-walk with a ring of 64 rays or a height scan, against none, looking every substep or every step.

Rounds are interleaved, and the figure is the ratio of the processor's time, so that other work on the machine cancels out.
"""

import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import paddock
from paddock import terms as t
from paddock.env import Environment
from paddock.tasks.finding import find_task

WORLDS, STEPS, ROUNDS = 256, 10, 7
RESULTS = Path(__file__).parent / "results" / "rays_cost.json"


def variants() -> dict[str, Environment]:
    walk = find_task("quadruped-walk")
    ring = {"rays": t.Lidar(body="trunk", rays=64)}
    scan = {"rays": t.HeightScan(body="trunk", size=(1.6, 1.0), spacing=0.2)}
    once = {"rays": t.Timing(every_s=walk.control_dt)}
    tasks = {
        "none": walk,
        "64 rays": replace(walk, sensors=ring),
        "64 rays, once a control step": replace(walk, sensors=ring, timing=once),
        "height scan of 54": replace(walk, sensors=scan),
        "height scan of 54, once a control step": replace(walk, sensors=scan, timing=once),
    }
    return {name: paddock.make(task, num_worlds=WORLDS, num_threads=1) for name, task in tasks.items()}


def main() -> None:
    envs = variants()
    spent: dict[str, list[float]] = {name: [] for name in envs}
    for env in envs.values():
        env.reset()
        env.step(env.sample())
    for _ in range(ROUNDS):
        for name, env in envs.items():
            actions = [env.sample() for _ in range(STEPS)]
            start = time.process_time()
            for action in actions:
                env.step(action)
            spent[name].append((time.process_time() - start) / STEPS * 1000)
    rows = {
        name: {
            "ms_per_step": round(statistics.median(times), 2),
            "times_none": round(statistics.median(a / b for a, b in zip(times, spent["none"], strict=True)), 3),
        }
        for name, times in spent.items()
    }
    RESULTS.write_text(
        json.dumps({"worlds": WORLDS, "threads": 1, "steps": STEPS, "rounds": ROUNDS, "rows": rows}, indent=2) + "\n"
    )
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
