"""What full default randomisation and noise cost on quadruped-walk: environment steps per second with them and without, in turns.

    python bench/senses_cost.py [--worlds 1024] [--rounds 9] [--steps 50]

Random actions, so that episodes end and begin all the time. The figure is the median of the rounds' ratios; the bar is 0.90.
Results: bench/results/senses_cost.json.
"""

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import paddock
from paddock.benchmarking import machine
from paddock.tasks.finding import find_task
from paddock.tasks.noise import JOINT_ENCODER, JOINT_RATE, MEMS_GYRO, Gaussian

OUT = Path(__file__).parent / "results" / "senses_cost.json"
BAR = 0.90


def contenders(worlds: int) -> dict[str, paddock.Environment]:
    task = find_task("quadruped-walk")
    bare = paddock.with_randomization(task, "none")
    noise = {"joint_pos": JOINT_ENCODER, "joint_vel": JOINT_RATE, "gyro": MEMS_GYRO, "gravity": Gaussian(0.02)}
    noisy = replace(task, noise={name: one for name, one in noise.items() if name in task.observe})
    tasks = {
        "none": bare,
        "randomisation": paddock.with_randomization(task, "default"),
        "noise": paddock.with_randomization(noisy, "none"),
        "randomisation and noise": paddock.with_randomization(noisy, "default"),
    }
    return {name: paddock.make(one, num_worlds=worlds) for name, one in tasks.items()}


def rate(env: paddock.Environment, steps: int) -> float:
    """Environment steps per second."""
    began = time.perf_counter()
    for _ in range(steps):
        env.step(env.sample())
    return steps * env.num_worlds / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    envs = contenders(args.worlds)
    for env in envs.values():
        env.reset(stagger=True)
        rate(env, args.steps)
    rounds = []
    for turn in range(args.rounds):
        order = list(envs)[turn % len(envs) :] + list(envs)[: turn % len(envs)]  # nobody is always first
        rounds.append({name: rate(envs[name], args.steps) for name in order})
        print({name: round(value) for name, value in rounds[-1].items()}, flush=True)
    ratios = {name: statistics.median(one[name] / one["none"] for one in rounds) for name in envs}
    rates = {name: round(statistics.median(one[name] for one in rounds)) for name in envs}
    told = {"machine": machine(), "worlds": args.worlds, "rounds": args.rounds, "steps": args.steps, "bar": BAR}
    OUT.write_text(json.dumps(told | {"env_steps_per_s": rates, "ratio": ratios}, indent=2) + "\n")
    print(ratios)


if __name__ == "__main__":
    main()
