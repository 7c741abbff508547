"""The gym-* tasks beside Gymnasium's own -v5 environments, step by step from equal states and actions.

    python bench/gym_parity.py     # a thousand states and twenty whole episodes of each; writes bench/results/gym_parity.json

Errors are relative to Gymnasium's value. A reward is a sum in which terms may cancel, so its error is relative to the sum of
their sizes. Ant and humanoid are made with Gymnasium's flags that leave contact forces out.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import gymnasium
import mujoco
import numpy as np
import torch
from gymnasium.envs.mujoco import MujocoEnv

import paddock
from paddock.benchmarking import machine
from paddock.tasks.finding import find_task
from paddock.tasks.task import Task
from paddock.worlds import Worlds

RESULT = Path(__file__).parent / "results" / "gym_parity.json"
STATES, EPISODES = 1000, 20
NO_CONTACT_FORCES = {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0.0}
FAMILY: dict[str, tuple[str, Mapping[str, Any]]] = {
    "gym-half-cheetah": ("HalfCheetah-v5", {}),
    "gym-ant": ("Ant-v5", NO_CONTACT_FORCES),
    "gym-hopper": ("Hopper-v5", {}),
    "gym-walker2d": ("Walker2d-v5", {}),
    "gym-humanoid": ("Humanoid-v5", NO_CONTACT_FORCES),
}
"""Our task, and what it copies."""
STRENGTHS = (1.0, 0.3, 0.05)
"""Random actions are at most this large, by turns: the weaker they are, the longer it takes to fall."""
ROLLOUT = 40
PUSHES = (0.01, 0.1, 1.0, 10.0)
"""Standard deviations of what every other state is pushed by, per second; a twentieth of it in position."""
SMALLEST = 1e-6
"""Values nearer to zero than this are compared as if they were as large."""


@dataclass(kw_only=True)
class Parity:
    """How far a task lies from what it copies; the worst of all steps compared."""

    task: str
    copied: str
    steps: int = 0
    terminations: int = 0
    obs: float = 0.0
    reward: float = 0.0
    terms: dict[str, float] = field(default_factory=dict)
    """By reward term, as `info` names them without `reward_`."""
    rounded_otherwise: int = 0
    """Steps whose observation is not theirs rounded to float32, bit for bit."""
    ended_otherwise: int = 0
    """Steps that are terminated here and not there, or there and not here."""

    @property
    def worst(self) -> float:
        return max(self.obs, self.reward, *self.terms.values())

    def compare(self, ours: paddock.Step, world: int, theirs: tuple[np.ndarray, float, bool, Mapping[str, float]]) -> None:
        """Take one step of one world into account."""
        obs, reward, terminated, info = theirs
        mine = ours.final_obs["policy"][world].numpy()
        paid = {name: float(term[world]) for name, term in ours.terms.items()}
        named = {name.removeprefix("reward_"): float(value) for name, value in info.items() if name.startswith("reward_")}
        assert paid.keys() <= named.keys() and all(named[name] == 0.0 for name in named.keys() - paid.keys()), (paid, named)
        self.steps += 1
        self.terminations += bool(terminated)
        self.obs = max(self.obs, float(relative(mine, obs).max()))
        self.rounded_otherwise += not np.array_equal(mine, obs.astype(np.float32))
        sizes = sum(abs(value) for value in named.values())
        self.reward = max(self.reward, abs(float(ours.reward[world]) - float(reward)) / max(sizes, SMALLEST))
        for name, value in paid.items():
            self.terms[name] = max(self.terms.get(name, 0.0), float(relative(np.array(value), np.array(named[name]))))
        self.ended_otherwise += bool(ours.terminated[world]) != bool(terminated)


def relative(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Size of the difference relative to theirs."""
    return np.abs(mine - theirs) / np.maximum(np.abs(theirs), SMALLEST)


def gymnasium_env(task: Task) -> MujocoEnv:
    """The environment that a task copies."""
    name, flags = FAMILY[task.name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "compiler attribute 'settotalmass'", UserWarning)  # in Gymnasium's half_cheetah.xml
        return cast(MujocoEnv, gymnasium.make(name, **flags).unwrapped)


def put_theirs(env: MujocoEnv, qpos: np.ndarray, qvel: np.ndarray) -> None:
    """Begin from a state, with nothing left of what came before."""
    mujoco.mj_resetData(env.model, env.data)
    env.set_state(qpos, qvel)


def put_ours(env: paddock.Environment, qpos: np.ndarray, qvel: np.ndarray) -> None:
    """Begin in every world from its row of (n, nq) and (n, nv)."""
    env.reset()
    everyone = Worlds.where(torch.ones(env.num_worlds, dtype=torch.bool), by_rows=env.sim.by_rows)
    env.sim.reset(everyone)
    env.sim.write("qpos", torch.from_numpy(qpos), everyone)
    env.sim.write("qvel", torch.from_numpy(qvel), everyone)
    env.sim.forward(everyone)
    for name, value in env.task.begin(env.state)[1].items():
        env.state.memory[name].copy_(value)


def step_theirs(env: MujocoEnv, ctrl: np.ndarray) -> tuple[np.ndarray, float, bool, Mapping[str, float]]:
    obs, reward, terminated, _, info = env.step(ctrl)
    return obs, float(reward), bool(terminated), info


def ctrl_of(env: paddock.Environment, action: np.ndarray) -> np.ndarray:
    """What our actions (n, na) are to Gymnasium, whose actions are ctrl; (n, nu)."""
    return env.task.act(env.state.replaced(action=torch.from_numpy(action))).numpy()


def random_states(env: paddock.Environment, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A state for each world, from somewhere on the way of random actions, every other one pushed off that way."""
    chosen = rng.integers(0, ROLLOUT, env.num_worlds)
    env.reset()
    qpos, qvel = np.zeros((env.num_worlds, env.model.nq)), np.zeros((env.num_worlds, env.model.nv))
    for moment in range(ROLLOUT):
        here = chosen == moment
        qpos[here], qvel[here] = env.state.qpos.numpy()[here], env.state.qvel.numpy()[here]
        env.step(env.sample())
    push = np.resize([0.0, PUSHES[0], 0.0, PUSHES[1], 0.0, PUSHES[2], 0.0, PUSHES[3]], env.num_worlds)[:, None]
    return qpos + 0.05 * push * rng.normal(size=qpos.shape), qvel + push * rng.normal(size=qvel.shape)


def compare_states(task: Task, count: int, *, seed: int = 0) -> Parity:
    """One step from each of `count` random states."""
    ours, theirs, rng = paddock.make(task, num_worlds=count, seed=seed), gymnasium_env(task), np.random.default_rng(seed)
    qpos, qvel = random_states(ours, rng)
    action = rng.uniform(-1, 1, (count, ours.action_size)).astype(np.float32)
    put_ours(ours, qpos, qvel)
    ctrl, step = ctrl_of(ours, action), ours.step(action)
    assert not step.failed.any(), "the engine gave up on a state, which is no state to compare"
    parity = Parity(task=task.name, copied=FAMILY[task.name][0])
    for world in range(count):
        put_theirs(theirs, qpos[world], qvel[world])
        parity.compare(step, world, step_theirs(theirs, ctrl[world]))
    theirs.close()
    return parity


def compare_episodes(task: Task, count: int, *, limit: int | None = None, seed: int = 0) -> Parity:
    """Whole episodes from the starts that Gymnasium draws, to their end or for `limit` steps."""
    ours, theirs = paddock.make(task), gymnasium_env(task)
    parity = Parity(task=task.name, copied=FAMILY[task.name][0])
    for episode in range(count):
        theirs.reset(seed=seed + episode)
        put_ours(ours, theirs.data.qpos[None].copy(), theirs.data.qvel[None].copy())
        rng = np.random.default_rng(seed + episode)
        strength = STRENGTHS[episode % len(STRENGTHS)]
        for _ in range(min(limit or ours.task.episode_steps, ours.task.episode_steps)):
            action = rng.uniform(-strength, strength, (1, ours.action_size)).astype(np.float32)
            ctrl = ctrl_of(ours, action)
            step = ours.step(action)
            parity.compare(step, 0, step_theirs(theirs, ctrl[0]))
            if step.ended:
                break
    theirs.close()
    return parity


def table(title: str, rows: list[Parity]) -> str:
    lines = [f"{title:18}{'steps':>8}{'ends':>6}{'obs':>10}{'reward':>10}{'terms':>10}{'other bits':>12}{'other ends':>12}"]
    for row in rows:
        errors = f"{row.obs:10.1e}{row.reward:10.1e}{max(row.terms.values()):10.1e}"
        lines.append(
            f"{row.task:18}{row.steps:8,}{row.terminations:6,}{errors}{row.rounded_otherwise:12,}{row.ended_otherwise:12,}"
        )
    return "\n".join(lines)


def main() -> None:
    tasks = [find_task(name) for name in FAMILY]
    states = [compare_states(task, STATES) for task in tasks]
    episodes = [compare_episodes(task, EPISODES) for task in tasks]
    print(table("single steps", states), table("whole episodes", episodes), sep="\n\n")
    result = {
        "machine": machine(),
        "gymnasium": gymnasium.__version__,
        "mujoco": mujoco.__version__,
        "states": [asdict(row) for row in states],
        "episodes": [asdict(row) for row in episodes],
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
