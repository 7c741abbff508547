"""Train every task by its preset, three seeds each, on this machine; evaluate, and draw the curves.

    python bench/learning.py [--tasks cartpole-balance ...] [--seeds 3] [--runs-dir bench/runs]

Each training is the command a user would type, `paddock train TASK --seed S`, in a process of its own, one after another.
Results go to bench/results/learning.json, curves to docs/learning-TASK.png. A run that is there already is not trained again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(BARS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs-dir", type=Path, default=ROOT / "bench" / "runs")
    asked = parser.parse_args()
    file = ROOT / "bench" / "results" / "learning.json"
    rows = {(row["task"], row["seed"]): row for row in json.loads(file.read_text())["rows"]} if file.exists() else {}
    for task in asked.tasks:
        for seed in range(asked.seeds):
            row = measured(trained(task, seed, asked.runs_dir), task)
            rows[task, seed] = row
            print(json.dumps(row), flush=True)
            file.write_text(json.dumps({"machine": machine(), "rows": [rows[key] for key in sorted(rows)]}, indent=2) + "\n")
        runs = [trained(task, seed, asked.runs_dir) for seed in range(asked.seeds)]
        plot_runs(runs, ROOT / "docs" / f"learning-{task}.png", names=("evaluation/success", "evaluation/return", "episode/return"))


def trained(task: str, seed: int, runs_dir: Path) -> Run:
    """The finished run of a task and seed, trained now unless it exists."""
    ids = [path.parent.name for path in runs_dir.glob(f"*-{task}-s{seed}-*/run.json")]
    done = [run for run in (find(name, runs_dir=runs_dir) for name in ids) if run.status == "finished"]
    if done:
        return done[-1]
    words = ["train", task, "--seed", str(seed), "--runs-dir", str(runs_dir)]
    subprocess.run([sys.executable, "-m", "paddock", *words], check=True)
    return trained(task, seed, runs_dir)


def measured(run: Run, task: str) -> dict[str, object]:
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
