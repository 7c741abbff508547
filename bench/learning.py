"""Train every task by its preset, three seeds each, on this machine; evaluate, and draw the curves.

    python bench/learning.py [--tasks cartpole-balance ...] [--seeds 0 1 2] [--runs-dir bench/runs] [--out FILE]
    python bench/learning.py --join FILE ...

Each training is the command a user would type, `paddock train TASK --seed S`, in a process of its own, one after another.
Results go to bench/results/learning.json, curves to docs/learning-TASK.png. A run that is there already is not trained again.
Where several of these run side by side, each on cores of its own (`taskset -c 0,1`), each writes its rows to an --out of its own
and draws nothing; --join puts their rows into the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from paddock.benchmarking import machine
from paddock.plots import plot_runs
from paddock.trained import Run, find

ROOT = Path(__file__).parent.parent
BARS = {
    "cartpole-balance": {"minutes": 0.5, "success": 0.95},
    "cartpole-swingup": {"minutes": 3.0, "success": 0.95},
    "quadruped-balance": {"minutes": 15.0, "success": 0.95},
    "quadruped-walk": {"minutes": 20.0, "tracking_error": 0.25},
    "arm-reach": {"minutes": 5.0, "success": 0.95},
    "creature-goal": {"minutes": 5.0, "success": 0.95},
    "humanoid-stand": {"success": 0.95},
}
"""What is asked of each task: minutes of training on two cores, and what its policy must reach."""
EPISODES = 100
TABLE = ROOT / "bench" / "results" / "learning.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(BARS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--runs-dir", type=Path, default=ROOT / "bench" / "runs")
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--join", nargs="+", type=Path, default=[])
    asked = parser.parse_args()
    if asked.join:
        for file in asked.join:
            add(json.loads(file.read_text())["rows"], TABLE)
        return
    for task in asked.tasks:
        runs = []
        for seed in asked.seeds:
            runs.append(trained(task, seed, asked.runs_dir))
            row = measured(runs[-1], task)
            print(json.dumps(row), flush=True)
            add([row], asked.out)
        if asked.out == TABLE:
            names = ("evaluation/success", "evaluation/return", "episode/return")
            plot_runs(runs, ROOT / "docs" / f"learning-{task}.png", names=names)


def add(rows: list[dict[str, Any]], table: Path) -> None:
    """Put rows into a table; what it held of the same task and seed is replaced."""
    old = json.loads(table.read_text())["rows"] if table.exists() else []
    kept = {(row["task"], row["seed"]): row for row in [*old, *rows]}
    table.write_text(json.dumps({"rows": [kept[key] for key in sorted(kept)]}, indent=2) + "\n")


def trained(task: str, seed: int, runs_dir: Path) -> Run:
    """The finished run of a task and seed, trained now unless it exists."""
    ids = [path.parent.name for path in runs_dir.glob(f"*-{task}-s{seed}-*/run.json")]
    done = [run for run in (find(name, runs_dir=runs_dir) for name in ids) if run.status == "finished"]
    if done:
        return done[-1]
    words = ["train", task, "--seed", str(seed), "--runs-dir", str(runs_dir)]
    subprocess.run([sys.executable, "-m", "paddock", *words], check=True)
    return trained(task, seed, runs_dir)


def measured(run: Run, task: str) -> dict[str, Any]:
    """How long it took, and how well it does on episodes it never saw."""
    score = run.evaluate(episodes=EPISODES)
    progress = run.card.progress
    bar = BARS.get(task, {})
    assert score.success is not None
    reached = {"success": score.success.value, **score.measures}
    met = progress.seconds <= 60 * bar.get("minutes", float("inf"))
    met &= reached["success"] >= bar.get("success", 0.0)
    met &= reached.get("tracking_error", 0.0) <= bar.get("tracking_error", float("inf"))
    return {
        "task": task,
        "seed": run.card.setup.seed,
        "machine": machine(),
        "minutes": round(progress.seconds / 60, 2),
        "env_steps": progress.env_steps,
        "episodes": EPISODES,
        "success": score.success.value,
        "success_interval": [round(end, 3) for end in score.success.interval],
        "mean_return": score.mean_return,
        "measures": score.measures,
        "bar": bar,
        "met": bool(met),
    }


if __name__ == "__main__":
    main()
