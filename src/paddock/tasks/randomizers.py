"""What may stand in `Task.randomize`."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import mujoco
from torch import Tensor

from paddock.contracts import Layout, State


@runtime_checkable
class ModelRandomizer(Protocol):
    """A property of the machine, drawn when an episode begins and always applied to the nominal model."""

    @property
    def model_fields(self) -> tuple[str, ...]:
        """The MjModel fields it writes."""
        ...

    @property
    def changes_constants(self) -> bool:
        """Whether the engine derives constants from these fields."""
        ...

    def draw(self, state: State, /) -> Tensor:
        """What becomes `state.params` under its name; (n, k)."""
        ...

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout, /) -> dict[str, Tensor]:
        """New values (n, ...) of its fields, from those the randomisers before it left."""
        ...


@runtime_checkable
class LookRandomizer(Protocol):
    """How the scene looks, drawn when an episode begins and applied to the nominal visual model when somebody looks."""

    @property
    def look_fields(self) -> tuple[str, ...]:
        """The MjModel fields it changes."""
        ...

    def draw(self, state: State, /) -> Tensor:
        """What becomes `state.params` under its name; (n, k)."""
        ...

    def look(self, drawn: Tensor, values: Mapping[str, Tensor], model: mujoco.MjModel, /) -> dict[str, Tensor]:
        """New values (n, ...) of the fields that it changes, from its draw (n, k) and the values that those before it left."""
        ...


@runtime_checkable
class Disturbance(Protocol):
    """A force on a body that changes over time."""

    @property
    def body(self) -> str: ...

    def wrench(self, state: State, /) -> Tensor:
        """Force and torque in the world frame; (n, 6)."""
        ...


@runtime_checkable
class FitsModel(Protocol):
    """A randomiser that needs the model compiled in a certain way."""

    def fit(self, spec: mujoco.MjSpec, /) -> None: ...


Randomizer = ModelRandomizer | LookRandomizer | Disturbance
