"""Returns on Gymnasium's tasks after a million steps: Paddock, Stable-Baselines3 and a PPO in one file, seed by seed.

    python bench/returns.py [--libraries paddock sb3 single-file] [--tasks gym-ant ...] [--seeds 0 1 2] [--steps 1000000]

Each (library, task, seed) is a process of its own; what is done already is not done again, so the script can be stopped at any
time and called again. All learn the same -v5 environments, Ant and Humanoid without contact forces, and are judged alike: the mean
return of the last policy (not the best) over 100 episodes without exploration, in Gymnasium's own environment.

Paddock trains by the task's preset `million`; Stable-Baselines3 by the tuned hyperparameters of its zoo where that has some, with
one environment as there; the single file by the settings that such files share. Results: bench/results/returns.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import single_file_ppo
import torch
from gym_parity import FAMILY
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from paddock.benchmarking import machine
from paddock.trained import train

ROOT = Path(__file__).parent.parent
DONE = ROOT / "bench" / "runs" / "returns"
TABLE = ROOT / "bench" / "results" / "returns.json"
TASKS = ("gym-half-cheetah", "gym-hopper", "gym-walker2d", "gym-ant", "gym-humanoid")
EPISODES = 100
RECENT = 100
"""Training episodes that a point of a curve averages."""
POINTS = 50
WIDE = {"log_std_init": -2.0, "ortho_init": False, "activation_fn": nn.ReLU, "net_arch": [256, 256]}
ZOO: dict[str, dict[str, Any]] = {
    "gym-half-cheetah": {
        "batch_size": 64,
        "n_steps": 512,
        "gamma": 0.98,
        "learning_rate": 2.0633e-05,
        "ent_coef": 0.000401762,
        "clip_range": 0.1,
        "n_epochs": 20,
        "gae_lambda": 0.92,
        "max_grad_norm": 0.8,
        "vf_coef": 0.58096,
        "policy_kwargs": WIDE,
    },
    "gym-hopper": {
        "batch_size": 32,
        "n_steps": 512,
        "gamma": 0.999,
        "learning_rate": 9.80828e-05,
        "ent_coef": 0.00229519,
        "clip_range": 0.2,
        "n_epochs": 5,
        "gae_lambda": 0.99,
        "max_grad_norm": 0.7,
        "vf_coef": 0.835671,
        "policy_kwargs": WIDE,
    },
    "gym-walker2d": {
        "batch_size": 32,
        "n_steps": 512,
        "gamma": 0.99,
        "learning_rate": 5.05041e-05,
        "ent_coef": 0.000585045,
        "clip_range": 0.1,
        "n_epochs": 20,
        "gae_lambda": 0.95,
        "max_grad_norm": 1.0,
        "vf_coef": 0.871923,
        "policy_kwargs": WIDE,
    },
    "gym-ant": {},
    "gym-humanoid": {
        "batch_size": 256,
        "n_steps": 512,
        "gamma": 0.95,
        "learning_rate": 3.56987e-05,
        "ent_coef": 0.00238306,
        "clip_range": 0.3,
        "n_epochs": 5,
        "gae_lambda": 0.9,
        "max_grad_norm": 2.0,
        "vf_coef": 0.431892,
        "policy_kwargs": WIDE,
    },
}
"""What the zoo publishes for the -v4 tasks; it trains Ant by the library's defaults."""

Policy = Callable[[np.ndarray], np.ndarray]
"""From one raw observation to an action in the environment's own units."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One training."""

    library: str
    task: str
    seed: int
    steps: int

    @property
    def file(self) -> Path:
        return DONE / f"{self.library}-{self.task}-s{self.seed}-{self.steps}.json"


class Curve:
    """Means of the last training episodes, over steps."""

    def __init__(self, steps: int) -> None:
        self._every, self._due = steps // POINTS, 0
        self._recent: deque[float] = deque(maxlen=RECENT)
        self.points: list[tuple[int, float]] = []

    def told(self, step: int, episode_return: float) -> None:
        self._recent.append(episode_return)
        if step >= self._due:
            self.points.append((step, round(float(np.mean(self._recent)), 2)))
            self._due = step + self._every


def paddock(job: Job, curve: Curve) -> Policy:
    run = train(job.task, preset="million", seed=job.seed, steps=job.steps, runs_dir=DONE / "runs")
    seen = run.curve("episode/return", max_points=POINTS)
    curve.points = [(int(step), round(float(mean), 2)) for step, mean in zip(seen.step, seen.mean, strict=True)]
    policy, largest = run.load("latest").policy, _actions(job.task).high

    def act(raw: np.ndarray) -> np.ndarray:
        return policy.act({"policy": torch.as_tensor(raw, dtype=torch.float32)[None]})[0].numpy() * largest

    return act


def sb3(job: Job, curve: Curve) -> Policy:
    torch.set_num_threads(1)
    name, flags = FAMILY[job.task]
    settings = dict(ZOO[job.task])
    env = VecNormalize(make_vec_env(name, n_envs=1, seed=job.seed, env_kwargs=dict(flags)), gamma=settings.get("gamma", 0.99))

    class Listener(BaseCallback):
        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    curve.told(self.num_timesteps, float(info["episode"]["r"]))
            return True

    settings["policy_kwargs"] = dict(settings.get("policy_kwargs", {}))
    learner = PPO("MlpPolicy", env, seed=job.seed, device="cpu", **settings)
    learner.learn(job.steps, callback=Listener())
    return lambda raw: learner.predict(env.normalize_obs(raw), deterministic=True)[0]


def single_file(job: Job, curve: Curve) -> Policy:
    name, flags = FAMILY[job.task]
    return single_file_ppo.train(name, steps=job.steps, seed=job.seed, told=curve.told, **flags)


LIBRARIES: dict[str, Callable[[Job, Curve], Policy]] = {"paddock": paddock, "sb3": sb3, "single-file": single_file}


def judge(task: str, policy: Policy) -> tuple[float, float]:
    """Mean return and mean length over Gymnasium's own episodes, on seeds that nobody trained on."""
    name, flags = FAMILY[task]
    env, space = gymnasium.make(name, **flags), _actions(task)
    totals, lengths = [], []
    for episode in range(EPISODES):
        obs, _ = env.reset(seed=1_000_000 + episode)
        total, length, over = 0.0, 0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(np.clip(policy(obs), space.low, space.high))
            total, length, over = total + float(reward), length + 1, terminated or truncated
        totals.append(total)
        lengths.append(length)
    return float(np.mean(totals)), float(np.mean(lengths))


def _actions(task: str) -> gymnasium.spaces.Box:
    """What Gymnasium's environment takes; it is symmetric, so that its upper end is the scale of ours."""
    name, flags = FAMILY[task]
    space = gymnasium.make(name, **flags).action_space
    assert isinstance(space, gymnasium.spaces.Box) and np.array_equal(space.low, -space.high)
    return space


def work(job: Job) -> None:
    """Do one job, in this process."""
    curve, began = Curve(job.steps), time.perf_counter()
    policy = LIBRARIES[job.library](job, curve)
    minutes = (time.perf_counter() - began) / 60
    mean_return, length = judge(job.task, policy)
    row = {"library": job.library, "task": job.task, "seed": job.seed, "steps": job.steps, "machine": machine()}
    row |= {"return": round(mean_return, 1), "length": round(length, 1), "minutes": round(minutes, 2), "curve": curve.points}
    DONE.mkdir(parents=True, exist_ok=True)
    job.file.write_text(json.dumps(row) + "\n")


def table() -> list[dict[str, Any]]:
    """What was done before, here or elsewhere."""
    return json.loads(TABLE.read_text())["rows"] if TABLE.exists() else []


def gather() -> None:
    """Put what is done into the table."""
    rows = [json.loads(file.read_text()) for file in sorted(DONE.glob("*.json"))]
    kept = {(row["library"], row["task"], row["seed"], row["steps"]): row for row in [*table(), *rows]}
    versions = {"gymnasium": gymnasium.__version__, "torch": torch.__version__}
    TABLE.write_text(json.dumps({"versions": versions, "rows": [kept[key] for key in sorted(kept)]}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--here", action="store_true", help="do it in this process; for one job")
    asked = parser.parse_args()
    jobs = [
        Job(library=library, task=task, seed=seed, steps=asked.steps)
        for seed in asked.seeds
        for task in asked.tasks
        for library in asked.libraries
    ]
    if asked.here:
        (job,) = jobs
        work(job)
        return
    known = {(row["library"], row["task"], row["seed"], row["steps"]): row for row in table()}
    for job in jobs:
        row = known.get((job.library, job.task, job.seed, job.steps))
        if row is None and not job.file.exists():
            words = ["--libraries", job.library, "--tasks", job.task, "--seeds", str(job.seed), "--steps", str(job.steps)]
            subprocess.run([sys.executable, __file__, *words, "--here"], check=True, stdout=subprocess.DEVNULL)
        row = row or json.loads(job.file.read_text())
        print(f"{job.library:<12} {job.task:<18} seed {job.seed}  return {row['return']:8.1f}  in {row['minutes']} min", flush=True)
        gather()


if __name__ == "__main__":
    main()
