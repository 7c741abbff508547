"""What a policy's network is worth: memory where velocities are hidden, a graph of joints, left-right symmetry; seed by seed.

    python bench/policies.py [--comparisons memory blind-walk graph symmetry] [--seeds 0 1 2] [--steps 2000000]
    python bench/policies.py --sim gpu --steps 20000000 --comparisons graph symmetry blind-walk

Each (task, net, seed) is a process of its own and trains by the task's preset with nothing changed but the network, for equal
numbers of environment steps; then 100 episodes of the best checkpoint that training never saw. What is done already is not
done again, so the script can be stopped at any time and called again. Results: bench/results/policies.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from paddock.benchmarking import machine
from paddock.trained import Run, train

ROOT = Path(__file__).parent.parent
DONE = ROOT / "bench" / "runs" / "policies"
TABLE = ROOT / "bench" / "results" / "policies.json"
EPISODES = 100
POINTS = 50
NETS: dict[str, dict[str, object]] = {
    "mlp": {"net": "mlp"},
    "lstm": {"net": "lstm"},
    "graph": {"net": "graph"},
    "mirrored": {"net": "mlp", "symmetry": True},
}
COMPARISONS = {
    "memory": ("cartpole-swingup-blind", ("mlp", "lstm")),
    "blind-walk": ("quadruped-walk-blind", ("mlp", "lstm")),
    "graph": ("quadruped-walk", ("mlp", "graph")),
    "symmetry": ("quadruped-walk", ("mlp", "mirrored")),
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One training."""

    task: str
    net: str
    seed: int
    steps: int
    sim: str

    @property
    def file(self) -> Path:
        return DONE / f"{self.task}-{self.net}-s{self.seed}-{self.steps}-{self.sim}.json"

    @property
    def evaluate_every(self) -> int:
        """Updates; those of a GPU are of many more steps."""
        return 25 if self.sim == "gpu" else 10


def work(job: Job, threads: int) -> None:
    """Do one job, in this process."""
    run = train(
        job.task,
        seed=job.seed,
        steps=job.steps,
        sim=job.sim,
        num_threads=threads,
        evaluate_every=job.evaluate_every,
        ppo=NETS[job.net],
        runs_dir=DONE / "runs",
    )
    score, progress = run.evaluate(episodes=EPISODES), run.card.progress
    assert score.success is not None
    success = _curve(run, "evaluation/success")
    row: dict[str, Any] = {"task": job.task, "net": job.net, "seed": job.seed, "steps": job.steps, "sim": job.sim}
    row |= {"machine": torch.cuda.get_device_name() if job.sim == "gpu" else machine()}
    row |= {"threads": threads, "minutes": round(progress.seconds / 60, 2), "success": score.success.value}
    row |= {"return": round(score.mean_return, 2), "measures": {name: round(value, 4) for name, value in score.measures.items()}}
    row |= {"half_way": next((step for step, share in success if share >= 0.5), None)}
    row |= {"curve": _curve(run, "evaluation/return")}
    DONE.mkdir(parents=True, exist_ok=True)
    job.file.write_text(json.dumps(row) + "\n")


def _curve(run: Run, name: str) -> list[tuple[int, float]]:
    seen = run.curve(name, max_points=POINTS)
    return [(int(step), round(float(mean), 3)) for step, mean in zip(seen.step, seen.mean, strict=True)]


def gather() -> None:
    """Put what is done into the table."""
    rows = [json.loads(file.read_text()) for file in sorted(DONE.glob("*.json"))]
    old = json.loads(TABLE.read_text())["rows"] if TABLE.exists() else []
    kept = {(row["task"], row["net"], row["seed"], row["steps"], row.get("sim", "cpu")): row for row in [*old, *rows]}
    TABLE.write_text(json.dumps({"torch": torch.__version__, "rows": [kept[key] for key in sorted(kept)]}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", nargs="+", choices=list(COMPARISONS), default=list(COMPARISONS))
    parser.add_argument("--nets", nargs="+", choices=list(NETS), default=list(NETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--sim", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="of physics and learning; 0 takes every usable core")
    parser.add_argument("--here", action="store_true", help="do it in this process; for one job")
    asked = parser.parse_args()
    jobs = {
        Job(task=task, net=net, seed=seed, steps=asked.steps, sim=asked.sim): name
        for seed in asked.seeds
        for name, (task, nets) in ((name, COMPARISONS[name]) for name in asked.comparisons)
        for net in nets
        if net in asked.nets
    }
    if asked.here:
        (job,) = jobs
        work(job, asked.threads)
        return
    for job, comparison in jobs.items():
        if not job.file.exists():
            words = ["--comparisons", comparison, "--nets", job.net, "--seeds", str(job.seed), "--steps", str(job.steps)]
            words += ["--threads", str(asked.threads), "--sim", asked.sim, "--here"]
            subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.DEVNULL)
        row = json.loads(job.file.read_text())
        print(f"{job.task:<24} {job.net:<9} seed {job.seed}  success {row['success']:.2f}  in {row['minutes']} min", flush=True)
        gather()


if __name__ == "__main__":
    main()
