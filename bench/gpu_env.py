"""What an environment costs on a GPU beside its physics: bare MuJoCo Warp, the environment alone, with a policy, and in training.

    python bench/gpu_env.py [--tasks ant-walk quadruped-walk] [--worlds 4096 16384] [--rounds 7] [--out FILE] [--profile]

Bare is a CUDA graph of plain `step`, as often as the task has substeps, of the same model with the same room for contacts: no
observation, no reward, no reset. At every round it starts from the states that the environment is in, under the same controls.
All take turns in one process. An env step is a control step of one world; physics steps count its substeps.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco_warp as mjw
import torch
import warp as wp
from torch import Tensor, nn

import paddock
from paddock.env import Environment
from paddock.learn.ppo import Ppo
from paddock.learn.ppo_config import PpoConfig
from paddock.sims.gpu import STATE, GpuSim
from paddock.sims.graphs import Graph
from paddock.sims.streams import on_stream

ROOT = Path(__file__).parent.parent
STEPS = 24
"""Control steps of a turn, as a rollout has."""
SETTLING = 60
"""Control steps before anything is timed, so that worlds lie about as they do in training."""


class Bare:
    """The engine and nothing else."""

    def __init__(self, env: Environment) -> None:
        assert isinstance(env.sim, GpuSim)
        self.sim, self.substeps = env.sim, env.substeps
        with on_stream(self.sim.device):
            self.model = mjw.put_model(self.sim.model)
            self.model.opt.warn_overflow = 0
            room = self.sim.capacity
            self.data = mjw.make_data(self.sim.model, nworld=env.num_worlds, nconmax=room.contacts, njmax=room.constraints)
        self.again = Graph(self.steps, env.device)

    def steps(self) -> None:
        with on_stream(self.sim.device):
            for _ in range(self.substeps):
                mjw.step(self.model, self.data)

    def follow(self) -> None:
        """Go to where the environment is."""
        saved = self.sim.save()
        for name in STATE:
            wp.to_torch(getattr(self.data, name)).copy_(saved[name])

    def contacts(self) -> float:
        """Of a world, on average."""
        return float(wp.to_torch(self.data.nacon)[0]) / self.data.nworld


class Acting:
    """A policy of two hidden layers of 256, and the noise of training."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        seen = env.obs_sizes["policy"]
        self.net = nn.Sequential(nn.Linear(seen, 256), nn.ELU(), nn.Linear(256, 256), nn.ELU(), nn.Linear(256, env.action_size))
        self.net.to(env.device)
        self.obs = torch.zeros(env.num_worlds, seen, device=env.device)
        self.random = torch.Generator(env.device).manual_seed(0)

    def step(self) -> None:
        with torch.no_grad():
            mean = self.net(self.obs)
            noise = torch.randn(mean.shape, generator=self.random, device=mean.device)
            self.obs.copy_(self.env.step(mean + noise).obs["policy"])


class Training:
    """PPO with networks as wide as those that others train walkers with, a rollout and its update at a time."""

    def __init__(self, env: Environment) -> None:
        self.env, self.config = env, PpoConfig(horizon=STEPS, hidden=(512, 256, 128))
        self.learner = Ppo(env, self.config, seed=0)

    def update(self) -> None:
        self.env.settle()
        self.learner.update(self.env)


def timed(work: Callable[[], None], device: torch.device, times: int = STEPS) -> float:
    """Seconds that a turn of `work` takes."""
    torch.cuda.synchronize(device)
    began = time.perf_counter()
    for _ in range(times):
        work()
    torch.cuda.synchronize(device)
    return time.perf_counter() - began


def measure(task: str, num_worlds: int, rounds: int, *, train: bool, profile: bool) -> dict[str, Any]:
    began = time.perf_counter()
    env = paddock.make(task, num_worlds=num_worlds, seed=0, sim="gpu")
    env.reset(stagger=True)
    randomly = env.repeated(lambda: _ignore(env.step(env.sample()).reward))
    for _ in range(SETTLING):
        randomly()
    acting = Acting(env)
    with_policy = env.repeated(acting.step, generators=(acting.random,))
    bare, training = Bare(env), Training(env) if train else None
    contenders: dict[str, Callable[[], None]] = {"bare": bare.again, "env": randomly, "env and policy": with_policy}
    for work in contenders.values():
        timed(work, env.device)
    if training is not None:
        timed(training.update, env.device, 3)
    print(f"{task} {num_worlds}: ready after {time.perf_counter() - began:.0f} s", flush=True)
    seconds: dict[str, list[float]] = {name: [] for name in (*contenders, *(["training"] if training else []))}
    for _ in range(rounds):
        bare.follow()
        for name, work in contenders.items():
            seconds[name].append(timed(work, env.device))
        if training is not None:
            seconds["training"].append(timed(training.update, env.device, 1))
    if profile:
        for name, work in contenders.items():
            show_kernels(name, work)
    rates = {name: [num_worlds * STEPS / s for s in times] for name, times in seconds.items()}
    ratios = {name: [b / s for s, b in zip(times, seconds["bare"], strict=True)] for name, times in seconds.items()}
    row = {
        "task": task,
        "num_worlds": num_worlds,
        "substeps": env.substeps,
        "contacts": round(bare.contacts(), 2),
        "room": [env.sim.capacity.contacts, env.sim.capacity.constraints] if isinstance(env.sim, GpuSim) else [],
        "env_steps_per_s": {name: round(statistics.median(values)) for name, values in rates.items()},
        "ratio_to_bare": {name: round(statistics.median(values), 3) for name, values in ratios.items()},
        "rounds": {name: [round(value, 3) for value in values] for name, values in ratios.items()},
        "failures": env.failures,
        "gpu_memory_gb": round(torch.cuda.mem_get_info()[1] / 2**30 - torch.cuda.mem_get_info()[0] / 2**30, 2),
    }
    print(json.dumps(row), flush=True)
    return row


def show_kernels(name: str, work: Callable[[], None], turns: int = 5) -> None:
    """Where the GPU's time goes, kernel by kernel."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(turns):
            work()
        torch.cuda.synchronize()
    found = sorted(seen.key_averages(), key=lambda e: -e.self_device_time_total)
    total, count = sum(e.self_device_time_total for e in found), sum(e.count for e in found)
    ours = [e for e in found if "at::" in e.key or "triton" in e.key or "cub" in e.key or "Memcpy" in e.key or "Memset" in e.key]
    own, own_count = sum(e.self_device_time_total for e in ours), sum(e.count for e in ours)
    torchs = f"PyTorch's {own / turns:,.0f} us in {own_count / turns:.0f}"
    print(f"  {name}: {total / turns:,.0f} us of kernels a step in {count / turns:.0f} launches, of them {torchs}")
    for e in found[:25]:
        print(f"    {e.self_device_time_total / turns:9.1f} us {e.count / turns:6.1f} x  {e.key[:110]}")


def _ignore(value: Tensor) -> None:
    del value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["ant-walk", "quadruped-walk"])
    parser.add_argument("--worlds", nargs="+", type=int, default=[4096, 16384])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "gpu_env.json")
    parser.add_argument("--training", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--profile", action="store_true", help="also say where the time of a step goes, kernel by kernel")
    asked = parser.parse_args()
    packages = {name: version(name) for name in ("mujoco", "mujoco-warp", "warp-lang", "torch")}
    rows: list[dict[str, Any]] = []
    for task in asked.tasks:
        for num_worlds in asked.worlds:
            rows.append(measure(task, num_worlds, asked.rounds, train=asked.training, profile=asked.profile))
            found = {"gpu": torch.cuda.get_device_name(0), "versions": packages, "steps": STEPS, "rows": rows}
            asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
