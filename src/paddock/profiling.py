"""Task + learner -> where a second of training goes: physics, the task's own logic, the record, the policy, learning."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from paddock.configuring import TrainConfig
from paddock.contracts import Sim, Step
from paddock.env import Environment
from paddock.learn.ppo import Ppo
from paddock.monitoring import Monitor, causes_of, step_columns
from paddock.runs.live import Live
from paddock.runs.telemetry import Telemetry
from paddock.tasks.task import Task
from paddock.worlds import Worlds

WARM_UP = 2
"""Updates that are not counted: compilers, caches and allocators have done their part by then."""
PARTS = {
    "physics": "the engine steps every world",
    "task": "actions, memory, rewards, ends, observations and resets",
    "record": "what telemetry keeps of each step",
    "policy": "actions drawn and rollouts stored",
    "learning": "advantages and every step down the gradient",
}


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Where the time of some updates went."""

    task: str
    num_worlds: int
    env_steps: int
    seconds: dict[str, float]
    """Of each of `PARTS`, in all."""

    @property
    def steps_per_s(self) -> float:
        return self.env_steps / sum(self.seconds.values())

    @property
    def over_physics(self) -> float:
        """What everything else costs, in parts of what physics costs."""
        return sum(self.seconds.values()) / self.seconds["physics"] - 1.0


class _Watch:
    """Listens to the physics, and adds its time up."""

    def __init__(self) -> None:
        self.seconds, self._began = 0.0, 0.0

    def stepping(self, sim: Sim) -> None:
        _settle(sim.device)
        self._began = time.perf_counter()

    def stepped(self, sim: Sim) -> None:
        _settle(sim.device)
        self.seconds += time.perf_counter() - self._began

    def begun(self, sim: Sim, worlds: Worlds) -> None:
        pass


class _TimedEnvironment(Environment):
    """Knows how long its own steps took."""

    seconds = 0.0

    def step(self, action: Tensor | np.ndarray) -> Step:
        began = time.perf_counter()
        step = super().step(action)
        _settle(self.device)
        self.seconds += time.perf_counter() - began
        return step


class _TimedMonitor(Monitor):
    """Knows how long its steps took, and when the last one ended."""

    seconds, ended = 0.0, 0.0

    def step(self, action: Tensor, /) -> Step:
        began = time.perf_counter()
        step = super().step(action)
        self.ended = time.perf_counter()
        self.seconds += self.ended - began
        return step


def profile(task: Task, config: TrainConfig, *, updates: int = 5) -> Profile:
    """Train for a few updates as `paddock train` does, with a stopwatch in every part."""
    env = _TimedEnvironment(
        task, num_worlds=config.num_worlds, seed=config.seed, sim=config.sim, num_threads=config.num_threads, curriculum=True
    )
    with _monitored(env, config) as monitor:
        learner = Ppo(monitor, config.ppo, seed=config.seed)
        for _ in range(WARM_UP):
            learner.update(monitor)
        watch = env.tap = _Watch()
        env.seconds = monitor.seconds = 0.0
        steps, whole, learning = monitor.env_steps, 0.0, 0.0
        for _ in range(updates):
            began = time.perf_counter()
            learner.update(monitor)
            _settle(env.device)
            ended = time.perf_counter()
            whole, learning = whole + ended - began, learning + ended - monitor.ended
        steps = monitor.env_steps - steps
    seconds = {
        "physics": watch.seconds,
        "task": env.seconds - watch.seconds,
        "record": monitor.seconds - env.seconds,
        "policy": whole - learning - monitor.seconds,
        "learning": learning,
    }
    return Profile(task=task.name, num_worlds=config.num_worlds, env_steps=steps, seconds=seconds)


def show(found: Profile) -> None:
    """A bar for each part, on stdout."""
    from rich.text import Text

    from paddock.terminal import plain_table, screen

    whole = sum(found.seconds.values())
    table = plain_table()
    table.show_header = False
    for name, seconds in found.seconds.items():
        share = seconds / whole
        micros = f"{1e6 * seconds / found.env_steps:.1f} us"
        table.add_row(name, f"{share:4.0%}", Text("#" * round(40 * share), style="cyan"), micros, Text(PARTS[name], style="dim"))
    console = screen()
    console.print(
        f"\n[bold cyan]{found.task}[/]  {found.num_worlds:,} worlds, {found.steps_per_s:,.0f} env steps/s in training. "
        "Where a second goes, and what an env step costs:\n"
    )
    console.print(table)
    console.print(f"\nEverything but physics costs {found.over_physics:.2f} of what physics costs.")


@contextmanager
def _monitored(env: Environment, config: TrainConfig) -> Iterator[_TimedMonitor]:
    """The environment with its record, which is thrown away."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            Telemetry(
                folder / "telemetry.db",
                terms=tuple(env.task.reward),
                causes=causes_of(env),
                step_columns=step_columns(env),
                worlds=range(config.watch_worlds),
            ) as telemetry,
            Live(folder / "live.sock", num_worlds=env.num_worlds) as live,
        ):
            yield _TimedMonitor(env, telemetry, watched=config.watch_worlds, live=live)


def _settle(device: torch.device) -> None:
    """Wait until a GPU has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
