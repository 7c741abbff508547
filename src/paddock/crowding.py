"""How much room the worlds of a task need on a GPU: seen in a short run of its own worlds on the CPU."""

from __future__ import annotations

from dataclasses import replace

import torch

from paddock.env import Environment
from paddock.sims.capacity import Capacity
from paddock.tasks.task import Task

COUNTS = ("ncon", "nefc")
NUM_WORLDS = 32
STEPS = 120
CALM = 40
"""Of these, steps without an action, so that what can fall has fallen; then come random ones, and the strongest there are."""


def capacity_of(task: Task) -> Capacity:
    """Room for what worlds of the task have when nobody acts, at random, and at the limits of the actuators."""
    watched = replace(task, fields=(*task.fields, *COUNTS), cameras={})
    env = Environment(watched, num_worlds=NUM_WORLDS, seed=0)
    env.reset()
    most = dict.fromkeys(COUNTS, 0)
    for step in range(STEPS):
        action = env.sample() if step >= CALM else torch.zeros_like(env.state.action)
        env.step(action.sign() if step % 2 and step >= 2 * CALM else action)
        most = {name: max(count, int(env.state.fields[name].max())) for name, count in most.items()}
    return Capacity.seen(most["ncon"], most["nefc"])
