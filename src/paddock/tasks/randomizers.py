"""What differs from one episode to the next: properties of the machine, and pushes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError, unknown
from paddock.tasks.ranges import check_period, check_ranges


@dataclass(frozen=True)
class Friction:
    """Sliding friction of every geom, scaled by one factor a world."""

    low: float
    high: float
    model_fields = ("geom_friction",)
    changes_constants = False

    def draw(self, state: State) -> Tensor:
        return _scale(self, state)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        friction = values["geom_friction"]
        scaled = friction[:, :, :1] * drawn[:, :, None]
        return {"geom_friction": torch.cat([scaled, friction[:, :, 1:]], dim=2)}


@dataclass(frozen=True)
class Mass:
    """Mass of one body, and its inertia with it, scaled by one factor a world."""

    low: float
    high: float
    body: str
    model_fields = ("body_mass", "body_inertia")
    changes_constants = True

    def draw(self, state: State) -> Tensor:
        return _scale(self, state)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        if self.body not in layout.bodies:
            raise unknown("body", self.body, layout.bodies)
        row = layout.bodies[self.body]
        mass, inertia = values["body_mass"].clone(), values["body_inertia"].clone()
        mass[:, row] *= drawn[:, 0]
        inertia[:, row] *= drawn
        return {"body_mass": mass, "body_inertia": inertia}


@dataclass(frozen=True, kw_only=True)
class Push:
    """A horizontal force on a body: random direction and strength, `duration_s` long, every `every_s` seconds."""

    body: str
    newtons: tuple[float, float]
    every_s: float
    duration_s: float = 0.2

    def __post_init__(self) -> None:
        check_ranges(self, self.newtons[:1], self.newtons[1:])
        check_ranges(self, (0.0, 0.0), (self.newtons[0], self.duration_s))
        check_period(self, self.every_s)

    def wrench(self, state: State) -> Tensor:
        """(n, 6). A function of the key and the age alone, so it needs no memory and repeats exactly."""
        period = max(1, round(self.every_s / state.layout.control_dt))
        length = round(self.duration_s / state.layout.control_dt)
        bearing, size = state.uniform(2, (0.0, self.newtons[0]), (2 * math.pi, self.newtons[1]), index=state.age // period).unbind(
            1
        )
        size = torch.where(state.age % period >= period - length, size, 0.0)
        force = torch.stack([size * bearing.cos(), size * bearing.sin()], dim=1)
        return torch.nn.functional.pad(force, (0, 4))


def _scale(randomizer: Friction | Mass, state: State) -> Tensor:
    if not 0.0 < randomizer.low <= randomizer.high:
        raise PaddockError(f"{randomizer}: the range must have 0 < low <= high.")
    return state.uniform(1, randomizer.low, randomizer.high)
