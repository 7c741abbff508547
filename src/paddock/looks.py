"""What a world of an environment looks like: what its episode drew for lights, cameras and colours, for the renderer to wear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paddock.errors import blame

if TYPE_CHECKING:
    from paddock.env import Environment

Look = dict[str, np.ndarray]
"""Fields of the visual model, by name."""


def look_of(env: Environment, world: int = 0) -> Look:
    """The fields of the visual model in which a world differs from nominal; empty for a task that randomises none."""
    look: Look = {}
    for name, randomizer in env.task.looks.items():
        nominal = {field: getattr(env.visual_model, field) for field in randomizer.look_fields}
        drawn = env.state.params[name][world].double().cpu().numpy()
        try:
            look |= randomizer.look(drawn, nominal | look, env.visual_model)
        except Exception as error:  # a user's randomiser may raise anything
            raise blame(env.task.name, "randomize", name, error) from error
    return look
