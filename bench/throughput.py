"""Training throughput on gym-ant against Stable-Baselines3's PPO: equal rollouts, epochs, minibatches and nets.

    python bench/throughput.py [--rounds 5] [--settings defaults large]

Both learn Ant-v5 without contact forces with the same nets, and both normalise observations and returns. There are two settings:
`defaults` are Stable-Baselines3's own (rollouts of 2,048 steps, 10 epochs, minibatches of 64), `large` has minibatches of 1,536.
The number of worlds is each one's own choice: Stable-Baselines3 is given several of each of its VecEnvs, and the fastest counts.

Each contender is a process of its own, so that none profits from how another set up engine or PyTorch. They take turns, a few
updates a round, and the figure is the median of the rounds' ratios. Beside them the engine alone takes as many control steps,
without policy, reward or learning: faster than that nobody can be. Results: bench/results/throughput.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import gymnasium
import stable_baselines3
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
from torch import nn

import paddock
from paddock.benchmarking import machine
from paddock.contenders import NO_CONTACT_FORCES, paddock_env, raw_batch
from paddock.cores import usable_cores
from paddock.learn.ppo import Ppo
from paddock.learn.ppo_config import PpoConfig
from paddock.terminal import progress

HIDDEN = (64, 64)
ENGINE = "the engine alone, 128 worlds"
OUT = Path(__file__).parent / "results" / "throughput.json"
STEPS = 12_288
"""At least so many environment steps of each contender a round."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What both sides share."""

    rollout: int
    epochs: int
    minibatch: int


SETTINGS = {
    "defaults": Setting(rollout=2048, epochs=10, minibatch=64),
    "large": Setting(rollout=6144, epochs=5, minibatch=1536),
}

Update = Callable[[], None]
"""One rollout and what is learned from it."""
Contender = Callable[[Setting], Update]


def ours(num_worlds: int, setting: Setting, *, compiled: bool, overlap: bool = False) -> Update:
    env = paddock.make("gym-ant", num_worlds=num_worlds)
    config = PpoConfig(
        horizon=setting.rollout // num_worlds,
        epochs=setting.epochs,
        minibatches=setting.rollout // setting.minibatch,
        hidden=HIDDEN,
        learn_threads=usable_cores() if setting.minibatch > 512 else 1,
        compiled=compiled,
        overlap=overlap,
    )
    learner = Ppo(env, config, seed=0)

    def update() -> None:
        learner.update(env)

    return update


def theirs(kind: type[DummyVecEnv] | type[SubprocVecEnv], num_worlds: int, setting: Setting) -> Update:
    env = VecNormalize(make_vec_env("Ant-v5", n_envs=num_worlds, seed=0, env_kwargs=NO_CONTACT_FORCES, vec_env_cls=kind))
    learner = PPO(
        "MlpPolicy",
        env,
        n_steps=setting.rollout // num_worlds,
        batch_size=setting.minibatch,
        n_epochs=setting.epochs,
        policy_kwargs={"net_arch": list(HIDDEN), "activation_fn": nn.ELU},
        device="cpu",
        seed=0,
    )

    def update() -> None:
        learner.learn(setting.rollout, reset_num_timesteps=False)

    return update


def physics(num_worlds: int, setting: Setting) -> Update:
    """The engine alone, through as many control steps."""
    env, _ = paddock_env("gym-ant", num_worlds)
    bare = raw_batch(env, lean=True)

    def update() -> None:
        bare.prepare()
        bare.run(setting.rollout // num_worlds)

    return update


def contenders() -> dict[str, Contender]:
    found: dict[str, Contender] = {
        **{f"paddock, {n} worlds, compiled, overlap": partial(ours, n, compiled=True, overlap=True) for n in (128, 256, 512)},
        "paddock, 128 worlds, compiled": partial(ours, 128, compiled=True),
        "paddock, 128 worlds": partial(ours, 128, compiled=False),
    }
    for count in (1, 4, 8, 16):
        found[f"sb3, DummyVecEnv, {count} worlds"] = partial(theirs, DummyVecEnv, count)
    for count in (2, 8):
        found[f"sb3, SubprocVecEnv, {count} worlds"] = partial(theirs, SubprocVecEnv, count)
    return found | {ENGINE: partial(physics, 128)}


@contextmanager
def running(contender: Contender, setting: Setting) -> Iterator[Callable[[], float]]:
    """Steps a second of a contender that waits in a process of its own until it is called."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(contender, setting, there))
    process.start()
    here.recv()  # it is warm
    try:

        def rate() -> float:
            here.send(True)
            return here.recv()

        yield rate
    finally:
        here.send(False)
        process.join()


def serve(contender: Contender, setting: Setting, orders: Connection) -> None:
    update = contender(setting)
    updates = -(-STEPS // setting.rollout)
    for _ in range(2):
        update()  # first calls compile and allocate
    orders.send(True)
    while orders.recv():
        began = time.perf_counter()
        for _ in range(updates):
            update()
        orders.send(updates * setting.rollout / (time.perf_counter() - began))


def measured(setting: Setting, *, rounds: int) -> dict[str, object]:
    rates: dict[str, list[float]] = {name: [] for name in contenders()}
    with progress("finding each side's fastest", len(rates)) as done:
        for name, contender in contenders().items():
            with running(contender, setting) as rate:
                rates[name] = [rate(), rate()]
            done(1)
    names = {side: fastest(rates, side) for side in ("paddock", "sb3", "the engine")}
    with (
        running(contenders()[names["paddock"]], setting) as our_rate,
        running(contenders()[names["sb3"]], setting) as their_rate,
        running(contenders()[names["the engine"]], setting) as engine_rate,
        progress("in turns", rounds) as done,
    ):
        turns = []
        for _ in range(rounds):
            turns.append((our_rate(), their_rate(), engine_rate()))
            done(1)
    ratios = [our / their for our, their, _ in turns]
    return {
        "setting": asdict(setting),
        "searched": {name: statistics.median(found) for name, found in rates.items()},
        "best": names,
        "env_steps_per_s": {names[side]: statistics.median(turn[i] for turn in turns) for i, side in enumerate(names)},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "ratio_of_the_engine_alone": statistics.median(engine / their for _, their, engine in turns),
    }


def fastest(rates: dict[str, list[float]], side: str) -> str:
    return max((name for name in rates if name.startswith(side)), key=lambda name: statistics.median(rates[name]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    asked = parser.parse_args()
    found = {name: measured(SETTINGS[name], rounds=asked.rounds) for name in asked.settings}
    versions = {module.__name__: module.__version__ for module in (paddock, stable_baselines3, gymnasium, torch)}
    result = {"machine": machine(), "versions": versions, "hidden": HIDDEN, "rounds": asked.rounds, "settings": found}
    OUT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
