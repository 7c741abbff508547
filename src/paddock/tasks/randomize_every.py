"""Redraws within an episode: what changes while a robot walks, and not only from one day to the next."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock import randomness
from paddock.contracts import Layout, State
from paddock.errors import PaddockError
from paddock.tasks.randomizers import Disturbance, LookRandomizer, ModelRandomizer
from paddock.tasks.ranges import check_period


@dataclass(frozen=True)
class Every:
    """Draws a randomiser of the model anew every so many seconds of an episode, as it does when one begins."""

    seconds: float
    randomizer: ModelRandomizer

    def __post_init__(self) -> None:
        check_period(self, self.seconds)
        inner = self.randomizer
        if isinstance(inner, Disturbance):
            raise PaddockError(f"{self}: a push comes again by itself; say how often with its own `every_s`.")
        if isinstance(inner, LookRandomizer):
            raise PaddockError(f"{self}: looks are drawn when an episode begins, and stay for it.")
        if isinstance(inner, Every) or not isinstance(inner, ModelRandomizer):
            raise PaddockError(f"{self}: {type(inner).__name__} is no randomiser of the model, such as Friction((0.5, 1.5)).")
        if inner.changes_constants:
            raise PaddockError(
                f"{self}: {type(inner).__name__} writes {', '.join(inner.model_fields)}, from which the engine derives constants; "
                "that is done when an episode begins. List it without Every."
            )

    @property
    def model_fields(self) -> tuple[str, ...]:
        return self.randomizer.model_fields

    @property
    def changes_constants(self) -> bool:
        return False

    def draw(self, state: State) -> Tensor:
        return self.randomizer.draw(state)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        return self.randomizer.apply(drawn, values, layout)

    def due(self, state: State) -> Tensor:
        """Where the next step begins another interval; (n,) bool. The episode's beginning is none: it has been drawn."""
        return (state.age > 0) & (state.age % self._steps(state) == 0)

    def key(self, state: State) -> Tensor:
        """What this interval's draws are hashed from; (n,) int64."""
        return randomness.episode_key(state.key, torch.div(state.age, self._steps(state), rounding_mode="floor"))

    def _steps(self, state: State) -> int:
        return max(1, round(self.seconds / state.layout.control_dt))


def core_of(randomizer: object) -> object:
    """A randomiser, or the one that it draws again and again."""
    return randomizer.randomizer if isinstance(randomizer, Every) else randomizer
