"""What the worlds of an environment look like: what their episodes drew for lights, cameras and colours, for renderers to wear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from paddock.errors import blame
from paddock.worlds import Worlds

if TYPE_CHECKING:
    from paddock.env import Environment

Look = dict[str, np.ndarray]
"""Fields of the visual model, by name."""
Looks = dict[str, Tensor]
"""The same for several worlds; (n, ...) each."""


def look_of(env: Environment, world: int = 0) -> Look:
    """The fields of the visual model in which a world differs from nominal; empty for a task that randomises none."""
    if not env.task.looks:
        return {}
    mask = torch.zeros(env.num_worlds, dtype=torch.bool, device=env.device)
    one = Worlds(mask, torch.tensor([world], device=env.device))
    return {field: value[0].cpu().numpy() for field, value in looks_of(env, one).items()}


def looks_of(env: Environment, worlds: Worlds) -> Looks:
    """The fields of the visual model in which some worlds differ from nominal; looks at no value."""
    looks: Looks = {}
    for name, randomizer in env.task.looks.items():
        drawn = worlds.take(env.state.params[name]).double()
        nominal = {field: _repeated(env.nominal_looks[field], len(drawn)) for field in randomizer.look_fields}
        try:
            looks |= randomizer.look(drawn, nominal | looks, env.visual_model)
        except Exception as error:  # a user's randomiser may raise anything
            raise blame(env.task.name, "randomize", name, error) from error
    return looks


def _repeated(value: Tensor, num_worlds: int) -> Tensor:
    return value.expand(num_worlds, *value.shape)
