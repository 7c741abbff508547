"""What a task's sensors report, how wrong they are, and what its randomisers draw, as a picture."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor

from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.making import make
from paddock.tasks.curriculum import CURRICULUM
from paddock.tasks.finding import find_task
from paddock.tasks.readings import columns
from paddock.tasks.task import Task

WORLDS = 3
"""Whose readings are drawn."""
DRAWS = 1000
"""Worlds whose randomised parameters are counted."""
SECONDS = 4.0
BLUE, ORANGE, GREY = "#2563a8", "#d9730d", "#8a8f98"
ERROR = ": error"


def plot_senses(task: str | Path | Task, path: Path, *, seed: int = 0) -> Path:
    """Traces of every observation over a few seconds, with truth and error of the noisy ones, and a histogram of every draw.

    The worlds are driven by the task's scripted controller, or at random where it has none.
    """
    found = find_task(task)
    times, traces = _traces(found, seed)
    draws = _draws(found, seed)
    panels = len(traces) + len(draws)
    across = min(4, panels)

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    down = -(-panels // across)
    figure, axes = plt.subplots(down, across, figsize=(3.4 * across, 2.1 * down), squeeze=False, layout="constrained")
    for axis in axes.flat[panels:]:
        axis.set_visible(False)
    for axis, (name, values) in zip(axes.flat, traces.items(), strict=False):
        if f"{name}{ERROR}" in traces:
            true = values - traces[f"{name}{ERROR}"]
            axis.plot(times, true[:, 0, 0], color=GREY, linewidth=2.5)
        for world in range(WORLDS):
            colour = ORANGE if name.endswith(ERROR) else BLUE
            axis.plot(times, values[:, world, 0], color=colour, alpha=1.0 - 0.3 * world, linewidth=0.9)
        width = values.shape[2]
        axis.set_title(f"{name}, 1 of {width}" if width > 1 else name, fontsize=8, loc="left")
        axis.set_xlabel("s", fontsize=7)
    for axis, (name, values) in zip(list(axes.flat)[len(traces) :], draws.items(), strict=False):
        axis.hist(values.numpy(), bins=40, color=GREY)
        axis.set_title(f"{name}: {values.min():.3g} to {values.max():.3g}", fontsize=8, loc="left")
        axis.set_yticks([])
    for axis in axes.flat:
        axis.tick_params(labelsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    drawn = f", and what {DRAWS:,} worlds drew" if draws else ""
    truth = "; in grey the truth behind the first" if found.noise else ""
    title = f"{found.name}: what {WORLDS} worlds report{drawn}{truth}"
    figure.suptitle(title, fontsize=9, x=0.01, ha="left", fontweight="bold")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as refusal:
        raise PaddockError(f"the picture cannot be written to {path}: {refusal}") from refusal
    finally:
        plt.close(figure)
    return path


def _traces(task: Task, seed: int) -> tuple[list[float], dict[str, Tensor]]:
    """Times, and every observation by name, the error of a noisy one behind it; (steps, worlds, columns)."""
    env = make(task.unseeing, num_worlds=WORLDS, seed=seed)
    env.reset()
    count = max(2, min(task.episode_steps, math.ceil(SECONDS / task.control_dt)))
    traces: dict[str, list[Tensor]] = {}
    for _ in range(count):
        with torch.no_grad():
            for name, term in task.observe.items():
                reported = columns(task.sensed[name](env.state)).clone()
                traces.setdefault(name, []).append(reported)
                if name in task.noise:
                    traces.setdefault(f"{name}{ERROR}", []).append(reported - columns(term(env.state)))
        env.step(_action(env))
    return [step * task.control_dt for step in range(count)], {name: torch.stack(values) for name, values in traces.items()}


def _action(env: Environment) -> Tensor:
    return env.sample() if env.task.expert is None else env.task.expert(env.state)


def _draws(task: Task, seed: int) -> dict[str, Tensor]:
    """Every column of every randomised parameter over many worlds; (worlds,) each."""
    env = make(task.unseeing, num_worlds=DRAWS, seed=seed)
    env.reset()
    found: dict[str, Tensor] = {}
    for name, value in env.state.params.items():
        if name == CURRICULUM:
            continue
        flat = value.flatten(1)
        for column in range(flat.shape[1]):
            found[f"{name} {column}" if flat.shape[1] > 1 else name] = flat[:, column].clone()
    return found
