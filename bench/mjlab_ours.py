"""Paddock's side of against_mjlab.py: the walking task on the GPU sim, stepped at random. Measured as bench/gpu_env.py does."""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from gpu_env import Bare
from mjlab_turns import SETTLING, arguments, memory_gb, rates, tell

import paddock
from paddock.contracts import Step
from paddock.sims.capacity import Capacity
from paddock.sims.gpu import GpuSim
from paddock.sims.model import compile_text, model_text
from paddock.tasks.finding import find_task


def measure(settings: dict[str, Any], num_worlds: int, asked: argparse.Namespace) -> None:
    sim = "gpu" if asked.device.startswith("cuda") else "warp-cpu"
    env = paddock.make(settings["task"], num_worlds=num_worlds, seed=0, sim=sim)
    env.reset(stagger=True)
    action = torch.empty(num_worlds, env.action_size, device=env.device)

    def step() -> Step:
        return env.step(action.uniform_(-1.0, 1.0))

    again = env.repeated(lambda: _ignore(env.step(env.sample())))
    for _ in range(SETTLING):
        again()
    bare = Bare(env)
    works = {"env": again, "env called from Python": lambda: _ignore(step()), "physics": bare.again}
    found = rates(works, num_worlds, asked, before=lambda name: bare.follow() if name == "physics" else None)
    reward, ends, contacts = 0.0, 0.0, 0.0
    for _ in range(asked.steps):
        reached = step()
        reward, ends = reward + float(reached.reward.mean()), ends + float(reached.terminated.float().mean())
        bare.follow()
        bare.again()
        contacts += bare.contacts()
    assert isinstance(env.sim, GpuSim)
    tell(
        num_worlds=num_worlds,
        rates=found,
        reward=round(reward / asked.steps, 4),
        falls_per_1000_steps=round(1000 * ends / asked.steps, 3),
        contacts=round(contacts / asked.steps, 2),
        overflows=int(env.sim.crowded),
        failures=env.failures,
        gpu_memory_gb=memory_gb(asked.device),
    )


def move(settings: dict[str, Any], asked: argparse.Namespace) -> None:
    """From given states under given controls, one physics step after another."""
    given = {name: torch.from_numpy(value).float().to(asked.device) for name, value in np.load(asked.motion[0]).items()}
    model = compile_text(model_text(find_task(settings["task"]).spec(), lean=True))
    contacts, constraints = settings["room"]
    room = Capacity(contacts=contacts, constraints=constraints)
    sim, found = GpuSim(model, len(given["qpos"]), device=asked.device, capacity=room), []
    for name in ("qpos", "qvel"):
        sim.write(name, given[name])
    for ctrl in given["ctrl"]:
        sim.step(ctrl, 1)
        found.append(sim.qpos.clone())
    np.save(asked.motion[1], torch.stack(found).cpu().numpy())


def _ignore(_: object) -> None:
    pass


def main() -> None:
    asked = arguments(__doc__).parse_args()
    settings = json.loads(asked.settings.read_text())
    tell(versions={name: version(name) for name in ("mujoco", "mujoco-warp", "warp-lang", "torch")})
    if asked.motion is not None:
        move(settings, asked)
    for num_worlds in asked.worlds:
        measure(settings, num_worlds, asked)


if __name__ == "__main__":
    main()
