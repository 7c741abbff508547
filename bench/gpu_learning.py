"""Train tasks on a GPU by their presets, judge them on the CPU sim, and watch the memory of GPU and process meanwhile.

    python bench/gpu_learning.py [--tasks quadruped-walk humanoid-walk arm-reach-vision] [--minutes 1 8 8] [--seed 0]

Each training is `paddock train TASK --sim gpu --minutes M`; where a run of the task lies in --runs-dir already, it goes on with
`paddock resume` up to as many minutes, so that a machine that is lent for minutes at a time can be called again. The evaluation
is of the CPU sim. Results: a row of bench/results/gpu_learning.json for each task, and curves in docs/gpu-learning-TASK.png.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from paddock.benchmarking import machine
from paddock.plots import plot_runs
from paddock.trained import Run, find

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "bench" / "results" / "gpu_learning.json"
EPISODES = 100
SAMPLE_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a training held at a moment, MiB."""

    seconds: float
    host: int
    gpu: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["quadruped-walk", "humanoid-walk", "arm-reach-vision"])
    parser.add_argument("--minutes", nargs="+", type=float, default=[1.0, 8.0, 8.0], help="of training, of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sim", default="gpu", help="another one to try this script without a GPU")
    parser.add_argument("--runs-dir", type=Path, default=ROOT / "bench" / "runs" / "gpu")
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--plots", type=Path, default=ROOT / "docs")
    asked = parser.parse_args()
    for task, minutes in zip(asked.tasks, asked.minutes, strict=True):
        run, command, memory = trained(task, minutes, asked)
        add(measured(run, task, command, memory), asked.out)
        plot_runs(
            [run], asked.plots / f"gpu-learning-{task}.png", names=("evaluation/success", "episode/return", "episode/success")
        )


def trained(task: str, minutes: float, asked: argparse.Namespace) -> tuple[Run, str, list[Memory]]:
    """The run after so many minutes of training, with the command that began it, and its memory in this call."""
    words = ["train", task, "--sim", asked.sim, "--minutes", f"{minutes:g}", "--seed", str(asked.seed)]
    before = newest(task, asked)
    left = minutes - before.card.progress.seconds / 60 if before else minutes
    if before and left <= 0.05:
        return before, f"paddock {' '.join(words)}", []
    goes_on = ["resume", before.path.name, "--minutes", f"{left:.2f}"] if before else words
    memory = watched([sys.executable, "-m", "paddock", *goes_on, "--runs-dir", str(asked.runs_dir)])
    run = newest(task, asked)
    assert run is not None
    return run, f"paddock {' '.join(words)}", memory


def newest(task: str, asked: argparse.Namespace) -> Run | None:
    found = sorted(path.parent.name for path in asked.runs_dir.glob(f"*-{task}-s{asked.seed}-*/run.json"))
    return find(found[-1], runs_dir=asked.runs_dir) if found else None


def watched(command: list[str]) -> list[Memory]:
    """Run a command; what it and the GPU held every few seconds."""
    began, samples = time.monotonic(), []
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            time.sleep(SAMPLE_S)
            samples.append(Memory(seconds=round(time.monotonic() - began, 1), host=host_mib(process.pid), gpu=gpu_mib()))
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return [sample for sample in samples if sample.host]


def host_mib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)


def gpu_mib() -> int:
    if shutil.which("nvidia-smi") is None:
        return 0
    words = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0])


def measured(run: Run, task: str, command: str, memory: list[Memory]) -> dict[str, Any]:
    progress, setup = run.card.progress, run.card.setup
    score = run.evaluate(episodes=EPISODES, checkpoint="latest")
    rates = run.curve("steps_per_s")
    return {
        "task": task,
        "seed": setup.seed,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "machine": machine(),
        "commit": setup.git.commit[:7] if setup.git else "",
        "mujoco_warp": version("mujoco-warp"),
        "command": command,
        "resumed": progress.resumed,
        "num_worlds": setup.num_worlds,
        "seconds": round(progress.seconds),
        "env_steps": progress.env_steps,
        "steps_per_s": round(float(sorted(rates.mean)[len(rates.mean) // 2])),
        "evaluated_on": "cpu",
        "episodes": EPISODES,
        "success": score.success.value if score.success else None,
        "success_interval": [round(end, 3) for end in score.success.interval] if score.success else None,
        "mean_return": score.mean_return,
        "measures": score.measures,
        "memory": [asdict(sample) for sample in memory[:: max(1, len(memory) // 40)]],
    }


def add(row: dict[str, Any], table: Path) -> None:
    """Put a row into the table; what it held of the same task and seed is replaced."""
    print(json.dumps({name: value for name, value in row.items() if name != "memory"}), flush=True)
    old = json.loads(table.read_text())["rows"] if table.exists() else []
    kept = {(one["task"], one["seed"]): one for one in [*old, row]}
    table.write_text(json.dumps({"rows": [kept[key] for key in sorted(kept)]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
