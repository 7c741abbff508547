"""Training throughput on gym-ant against Stable-Baselines3's PPO: equal rollouts, epochs, minibatches and nets.

    python bench/throughput.py [--rounds 5]

Both learn from Ant-v5 without contact forces, rollouts of 6,144 steps, 5 epochs, minibatches of 1,536, two hidden layers of 64
ELUs for actor and critic. The number of worlds is each one's own choice: Stable-Baselines3 is given several of its VecEnvs, and
the fastest counts. Rounds are interleaved; the figure is the median of the rounds' ratios. Beside them the engine alone takes as
many control steps, without policy, reward or learning: faster than that nobody can be. Results: bench/results/throughput.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium
import stable_baselines3
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from torch import nn

import paddock
from paddock.benchmarking import machine
from paddock.contenders import NO_CONTACT_FORCES, paddock_env, raw_batch
from paddock.cores import usable_cores
from paddock.learn.ppo import Ppo, PpoConfig

ROLLOUT, EPOCHS, MINIBATCH, HIDDEN = 6144, 5, 1536, (64, 64)
ENGINE = "the engine alone, 256 worlds"
OUT = Path(__file__).parent / "results" / "throughput.json"

Update = Callable[[], None]
"""One rollout and what is learned from it."""


def ours(num_worlds: int) -> Update:
    env = paddock.make("gym-ant", num_worlds=num_worlds)
    config = PpoConfig(
        horizon=ROLLOUT // num_worlds,
        epochs=EPOCHS,
        minibatches=ROLLOUT // MINIBATCH,
        hidden=HIDDEN,
        learn_threads=usable_cores(),
    )
    learner = Ppo(env, config, seed=0)

    def update() -> None:
        learner.update(env)

    return update


def theirs(kind: type[DummyVecEnv] | type[SubprocVecEnv], num_worlds: int) -> Update:
    env = make_vec_env("Ant-v5", n_envs=num_worlds, seed=0, env_kwargs=NO_CONTACT_FORCES, vec_env_cls=kind)
    learner = PPO(
        "MlpPolicy",
        env,
        n_steps=ROLLOUT // num_worlds,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        policy_kwargs={"net_arch": list(HIDDEN), "activation_fn": nn.ELU},
        device="cpu",
        seed=0,
    )

    def update() -> None:
        learner.learn(ROLLOUT, reset_num_timesteps=False)

    return update


def physics(num_worlds: int) -> Update:
    """The engine alone, through as many control steps."""
    env, _ = paddock_env("gym-ant", num_worlds)
    bare = raw_batch(env, lean=True)

    def update() -> None:
        bare.prepare()
        bare.run(ROLLOUT // num_worlds)

    return update


def seconds(update: Update) -> float:
    began = time.perf_counter()
    update()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    contenders: dict[str, Update] = {
        "paddock, 256 worlds": ours(256),
        "sb3, DummyVecEnv, 1 world": theirs(DummyVecEnv, 1),
        "sb3, DummyVecEnv, 8 worlds": theirs(DummyVecEnv, 8),
        "sb3, SubprocVecEnv, 2 worlds": theirs(SubprocVecEnv, 2),
        "sb3, SubprocVecEnv, 8 worlds": theirs(SubprocVecEnv, 8),
        ENGINE: physics(256),
    }
    for update in contenders.values():
        update()  # first calls compile and allocate
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, update in contenders.items():
            torch.set_num_threads(usable_cores())
            times[name].append(seconds(update))
    speed = {name: ROLLOUT / statistics.median(taken) for name, taken in times.items()}
    first, *others = contenders
    best = max((name for name in others if name != ENGINE), key=speed.__getitem__)
    ratios = [theirs_s / ours_s for ours_s, theirs_s in zip(times[first], times[best], strict=True)]
    limits = [theirs_s / engine_s for engine_s, theirs_s in zip(times[ENGINE], times[best], strict=True)]
    result = {
        "machine": machine(),
        "versions": {module.__name__: module.__version__ for module in (paddock, stable_baselines3, gymnasium, torch)},
        "rollout": ROLLOUT,
        "epochs": EPOCHS,
        "minibatch": MINIBATCH,
        "hidden": HIDDEN,
        "rounds": rounds,
        "env_steps_per_s": speed,
        "best_of_stable_baselines3": best,
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "ratio_of_the_engine_alone": statistics.median(limits),
        "seconds": times,
    }
    OUT.write_text(json.dumps(result, indent=2) + "\n")
    for name, rate in speed.items():
        print(f"{name:<32} {rate:>8,.0f} env steps/s")
    print(f"the engine alone: {result['ratio_of_the_engine_alone']:.2f} times the best of Stable-Baselines3")
    print(f"ratio to the best of Stable-Baselines3 ({best}): {result['ratio']:.2f}  of {[round(r, 2) for r in ratios]}")


if __name__ == "__main__":
    main()
