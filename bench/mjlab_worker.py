# pyright: reportMissingImports=false
"""mjlab's side of against_mjlab.py: our walking task as an environment of theirs, stepped at random. Runs in mjlab's package set.

As its training steps it: physics, forward pass and resets as CUDA graphs, its managers' PyTorch between them; nothing is drawn.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from typing import Any

import mjlab_task
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.utils.torch import configure_torch_backends
from mjlab_turns import SETTLING, arguments, memory_gb, rates, tell
from torch import Tensor


def measure(settings: dict[str, Any], num_worlds: int, draw_friction: str, asked: argparse.Namespace) -> None:
    env = mjlab_task.make_env(settings, num_worlds, device=asked.device, draw_friction=draw_friction)
    if asked.device.startswith("cuda") and not env.sim.use_cuda_graph:
        raise SystemExit("mjlab did not make CUDA graphs of its physics; this machine would be unfair to it.")
    env.reset()
    env.episode_length_buf = torch.randint_like(env.episode_length_buf, env.max_episode_length)  # as its training begins
    action = torch.empty(num_worlds, env.action_manager.total_action_dim, device=asked.device)
    full = torch.zeros(3, dtype=torch.int64, device=asked.device)

    def step() -> tuple[Tensor, Tensor]:
        _, reward, terminated, _, _ = env.step(action.uniform_(-1.0, 1.0))
        return reward, terminated

    def physics() -> None:
        for _ in range(env.cfg.decimation):
            env.sim.step()

    def before(name: str) -> None:
        """Physics alone begins where the environment is, and what it does to the worlds is undone."""
        see(env, full)
        if name == "physics":
            where[:] = [env.sim.data.qpos[:].clone(), env.sim.data.qvel[:].clone()]
        elif where:
            env.sim.data.qpos[:], env.sim.data.qvel[:] = where
            env.sim.forward()

    where: list[Tensor] = []
    for _ in range(SETTLING):
        step()
    found = rates({"env": lambda: _ignore(step()), "physics": physics}, num_worlds, asked, before=before)
    before("env")
    reward, ends, contacts = 0.0, 0.0, 0.0
    for _ in range(asked.steps):
        one, ended = step()
        reward, ends = reward + float(one.mean()), ends + float(ended.float().mean())
        contacts += float(env.sim.data.nacon[0]) / num_worlds
        see(env, full)
    tell(
        num_worlds=num_worlds,
        draw_friction=draw_friction,
        rates=found,
        reward=round(reward / asked.steps, 4),
        falls_per_1000_steps=round(1000 * ends / asked.steps, 3),
        contacts=round(contacts / asked.steps, 2),
        most_contacts=round(int(full[0]) / num_worlds, 2),
        most_constraints=int(full[1]),
        overflows=int(full[2]),
        differing_model_fields=mjlab_task.differences(env, settings),
        gpu_memory_gb=memory_gb(asked.device),
    )
    env.close()


def see(env: ManagerBasedRlEnv, full: Tensor) -> None:
    """The most contacts of all worlds together, the most constraints of one, and how often either was too many."""
    data = env.sim.data
    full[0] = torch.maximum(full[0], data.nacon[0])
    full[1] = torch.maximum(full[1], data.nefc[:].max())
    full[2] += (data.overflow[:] != 0).sum()


def move(settings: dict[str, Any], asked: argparse.Namespace) -> None:
    """From given states under given controls, one physics step after another, at nominal friction."""
    given = {name: torch.from_numpy(value).float().to(asked.device) for name, value in np.load(asked.motion[0]).items()}
    env = mjlab_task.make_env(settings, len(given["qpos"]), device=asked.device)
    env.reset()
    env.sim.model.geom_friction[:] = env.sim.get_default_field("geom_friction")
    data, found = env.sim.data, []
    data.qpos[:], data.qvel[:] = given["qpos"], given["qvel"]
    data.qacc_warmstart[:] = 0.0
    for ctrl in given["ctrl"]:
        data.ctrl[:] = ctrl
        env.sim.step()
        found.append(data.qpos[:].clone())
    np.save(asked.motion[1], torch.stack(found).cpu().numpy())
    env.close()


def _ignore(_: object) -> None:
    pass


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--draw-friction", nargs="+", choices=("reset", "startup"), default=["reset", "startup"])
    asked = parser.parse_args()
    settings = json.loads(asked.settings.read_text())
    configure_torch_backends()
    tell(versions={name: version(name) for name in ("mjlab", "mujoco", "mujoco-warp", "warp-lang", "torch")})
    if asked.motion is not None:
        move(settings, asked)
    for num_worlds in asked.worlds:
        for draw_friction in asked.draw_friction:
            with torch.inference_mode():  # as its training collects
                measure(settings, num_worlds, draw_friction, asked)


if __name__ == "__main__":
    main()
