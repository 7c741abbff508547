"""What pictures cost on a GPU: bare rays, pictures as the environment gives them, and steps of an environment with cameras.

    python bench/gpu_cameras.py [--task arm-reach-vision] [--worlds 512 2048 4096] [--rounds 5] [--out FILE]
    python bench/gpu_cameras.py --sim warp-cpu --worlds 2 --rounds 1       # only to see that it runs; writes nothing

Every camera of the task takes colour and depth, 64 x 64. Contenders take turns in one process, each captured into a graph:
`rays` is MuJoCo Warp's refit and render of poses that stand; `pictures` adds the poses and the arrays that learners get;
`nobody` is a look at no world, which is what a step pays besides for worlds that begin anew; `step` and `step and pictures` are
the environment under random actions, without and with its cameras. A frame is a picture of one camera in one world, in both kinds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco_warp as mjw
import torch

import paddock
from paddock.env import Environment
from paddock.gpu_seeing import GpuEyes
from paddock.sims.gpu import GpuSim
from paddock.sims.streams import on_stream
from paddock.tasks.finding import find_task
from paddock.worlds import Worlds

ROOT = Path(__file__).parent.parent
SIZE = 64
TURN = 24
"""Times that a contender does its work before the next has its turn."""
SETTLING = 40
"""Control steps before anything is timed."""


def contenders_of(env: Environment, blind: Environment) -> dict[str, Callable[[], None]]:
    eyes, sim = env._eyes, env.sim
    assert isinstance(eyes, GpuEyes) and isinstance(sim, GpuSim)
    everyone = Worlds(torch.ones(env.num_worlds, dtype=torch.bool, device=env.device), None)
    nobody = Worlds(torch.zeros_like(everyone.mask), None)

    def rays() -> None:
        with on_stream(sim.device):
            mjw.refit_bvh(eyes._model, eyes._data, eyes._context)
            mjw.render(eyes._model, eyes._data, eyes._context)

    def step(of: Environment) -> Callable[[], None]:
        def work() -> None:
            of.step(of.sample())

        return work

    works: dict[str, Callable[[], None]] = {
        "nobody": lambda: _ignore(eyes.look(nobody, {})),
        "pictures": lambda: _ignore(eyes.look(everyone, {})),
        "rays": rays,  # after pictures of everyone, so that the cameras are where they belong
        "step": step(blind),
        "step and pictures": step(env),
    }
    return {name: env.repeated(work) for name, work in works.items()}


def timed(work: Callable[[], None], device: torch.device, turn: int) -> float:
    """Seconds that one `work` takes."""
    _wait(device)
    began = time.perf_counter()
    for _ in range(turn):
        work()
    _wait(device)
    return (time.perf_counter() - began) / turn


def measure(task: str, sim: str, num_worlds: int, rounds: int) -> dict[str, Any]:
    began, is_gpu = time.perf_counter(), sim == "gpu"
    found = find_task(task)
    cameras = {name: replace(camera, width=SIZE, height=SIZE, kinds=("rgb", "depth")) for name, camera in found.cameras.items()}
    free = _free_memory(is_gpu)
    blind = paddock.make(replace(found, cameras={}), num_worlds=num_worlds, seed=0, sim=sim)
    blind.reset(stagger=True)
    free_before_eyes = _free_memory(is_gpu)
    env = paddock.make(replace(found, cameras=cameras), num_worlds=num_worlds, seed=0, sim=sim)
    env.reset(stagger=True)
    works = contenders_of(env, blind)
    turn, settling = (TURN, SETTLING) if is_gpu else (1, 1)
    for _ in range(settling):
        works["step"]()
        works["step and pictures"]()
    for work in works.values():
        timed(work, env.device, turn)
    ready_s = time.perf_counter() - began
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(timed(work, env.device, turn))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    frames = num_worlds * len(cameras)
    row = {
        "task": task,
        "num_worlds": num_worlds,
        "cameras": len(cameras),
        "size": SIZE,
        "ms": {name: round(value * 1e3, 4) for name, value in medians.items()},
        "rounds_ms": {name: [round(value * 1e3, 4) for value in values] for name, values in seconds.items()},
        "frames_per_s": {name: round(frames / medians[name]) for name in ("rays", "pictures", "step and pictures")},
        "env_steps_per_s": {name: round(num_worlds / medians[name]) for name in ("step", "step and pictures")},
        "ready_s": round(ready_s, 1),
        "memory_gb": {"without": round(free - free_before_eyes, 2), "with": round(free_before_eyes - _free_memory(is_gpu), 2)},
    }
    print(json.dumps(row), flush=True)
    return row


def _free_memory(is_gpu: bool) -> float:
    return torch.cuda.mem_get_info()[0] / 2**30 if is_gpu else 0.0


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _ignore(value: object) -> None:
    del value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="arm-reach-vision")
    parser.add_argument("--sim", choices=("gpu", "warp-cpu"), default="gpu")
    parser.add_argument("--worlds", nargs="+", type=int, default=[512, 2048, 4096])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "gpu_cameras.json")
    asked = parser.parse_args()
    packages = {name: version(name) for name in ("mujoco", "mujoco-warp", "warp-lang", "torch")}
    rows: list[dict[str, Any]] = []
    for num_worlds in asked.worlds:
        rows.append(measure(asked.task, asked.sim, num_worlds, asked.rounds))
        if asked.sim == "gpu":
            found = {"gpu": torch.cuda.get_device_name(0), "versions": packages, "turn": TURN, "rows": rows}
            asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
