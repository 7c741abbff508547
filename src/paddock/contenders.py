"""What a benchmark measures side by side: other systems, raw physics and Paddock, each stepping n worlds at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

import gymnasium
import mujoco
import numpy as np
import torch
from mujoco.batch import Batch

from paddock.env import Environment
from paddock.making import make
from paddock.sims.cpu import CpuSim

NO_CONTACT_FORCES = {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0.0}
DIFFERENT = 64  # random actions drawn beforehand
WARM_UP = 50  # control steps after a reset, so that worlds have landed, fallen and begun anew


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Something that steps `worlds` worlds; `run(k)` does it k times with random actions."""

    name: str
    worlds: int
    substeps: int
    run: Callable[[int], None]
    prepare: Callable[[], None] = lambda: None
    """Called before each measurement, and not measured."""
    close: Callable[[], None] = lambda: None


def paddock_env(task: str, worlds: int) -> tuple[Environment, Contender]:
    """The environment with everything on: observations, rewards, ends, resets, randomisation."""
    env = make(task, num_worlds=worlds)
    env.reset()
    actions = random_actions(env)

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(actions[step % DIFFERENT])

    run(WARM_UP)
    return env, Contender(name=f"paddock {task}", worlds=worlds, substeps=env.substeps, run=run)


def random_actions(env: Environment) -> torch.Tensor:
    """(DIFFERENT, n, na)."""
    return torch.rand(DIFFERENT, env.num_worlds, env.action_size, generator=torch.Generator().manual_seed(0)) * 2 - 1


def raw_batch(env: Environment, *, lean: bool) -> Contender:
    """Bare `mujoco.batch` stepping of the same model under the same controls, from the very states the environment is in.

    Otherwise its robots would soon lie on the floor, which is other physics than walking and falling. The model is as it is
    written, or lean, as the environment's sim compiles it.
    """
    assert isinstance(env.sim, CpuSim)
    sim, model = env.sim, env.model if lean else env.visual_model
    batch = Batch(model, env.num_worlds, sim.num_threads, persistent=True)
    controls = np.stack([env.task.act(env.state.replaced(action=action)).double().numpy() for action in random_actions(env)])

    def prepare() -> None:
        batch.state[:] = sim.save()["rows"].numpy()
        batch.step(nstep=env.substeps)  # the first step after a new state computes more than the next ones do

    def run(steps: int) -> None:
        for step in range(steps):
            batch.ctrl[:] = controls[step % DIFFERENT]
            batch.step(nstep=env.substeps)

    name = f"mujoco.batch {mujoco.__version__}" + (", lean model" if lean else "")
    return Contender(name=name, worlds=env.num_worlds, substeps=env.substeps, run=run, prepare=prepare)


def envpool_ant(worlds: int, threads: int) -> Contender | None:
    """EnvPool's Ant-v5 without contact forces, or None where EnvPool is not installed."""
    if find_spec("envpool") is None:
        return None
    import envpool

    env = envpool.make(
        "Ant-v5",
        env_type="gymnasium",
        num_envs=worlds,
        num_threads=threads,
        use_contact_force=False,
        contact_cost_weight=0.0,
        seed=0,
    )
    env.reset()
    actions = np.random.default_rng(0).uniform(-1, 1, (DIFFERENT, worlds, 8))

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(actions[step % DIFFERENT])

    run(WARM_UP)
    return Contender(name=f"EnvPool {version('envpool')}", worlds=worlds, substeps=5, run=run, close=env.close)


def gymnasium_async_ant(worlds: int) -> Contender:
    """Gymnasium's AsyncVectorEnv of Ant-v5: one process a world."""
    env = gymnasium.make_vec("Ant-v5", num_envs=worlds, vectorization_mode="async", **NO_CONTACT_FORCES)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (DIFFERENT, worlds, 8)).astype(np.float32)

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(actions[step % DIFFERENT])

    run(WARM_UP)
    name = f"Gymnasium {gymnasium.__version__} async"
    return Contender(name=name, worlds=worlds, substeps=5, run=run, close=env.close)


def gymnasium_ant() -> Contender:
    """One plain `gymnasium.make("Ant-v5")`."""
    env = gymnasium.make("Ant-v5", **NO_CONTACT_FORCES)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (DIFFERENT, 8)).astype(np.float32)

    def run(steps: int) -> None:
        for step in range(steps):
            _, _, terminated, truncated, _ = env.step(actions[step % DIFFERENT])
            if terminated or truncated:
                env.reset()

    run(WARM_UP)
    return Contender(name=f"Gymnasium {gymnasium.__version__}", worlds=1, substeps=5, run=run, close=env.close)
