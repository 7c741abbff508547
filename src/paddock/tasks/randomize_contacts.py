"""What contacts are like: how rough, and how bouncy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError
from paddock.tasks.ranges import RangeLike, check_factor, range_of

LEAST_BOUNCE, MOST_BOUNCE = 0.15, 0.95


@dataclass(frozen=True)
class Friction:
    """Scales the sliding friction of every geom by one factor a world; torsional and rolling friction by theirs."""

    factor: RangeLike
    torsional: RangeLike = 1.0
    rolling: RangeLike = 1.0
    model_fields = ("geom_friction",)
    changes_constants = False

    def __post_init__(self) -> None:
        for factor in (self.factor, self.torsional, self.rolling):
            check_factor(factor, self)

    def draw(self, state: State) -> Tensor:
        """(n, 1), or (n, 3) where torsional or rolling friction are drawn too."""
        sliding = range_of(self.factor, self).draw(state, 1)
        if self.torsional == self.rolling == 1.0:
            return sliding
        torsional = range_of(self.torsional, self).draw(state, 1, label="torsional")
        return torch.cat([sliding, torsional, range_of(self.rolling, self).draw(state, 1, label="rolling")], dim=1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        friction = values["geom_friction"]
        kinds = drawn.shape[1]
        return {"geom_friction": torch.cat([friction[:, :, :kinds] * drawn[:, None], friction[:, :, kinds:]], dim=2)}


@dataclass(frozen=True)
class Restitution:
    """Sets the speed after a bounce, as a part of the speed before, from 0.15 to 0.95, for all geoms.

    MuJoCo has no such number. A contact is a spring with a damper, and the damping ratio that gives back this part of the
    speed is put into `solref`, at the nominal stiffness: bodies sink in as deep as ever when they rest. What is
    measured: with MuJoCo's default contacts, a ball dropped from 0.9 m bounces to the square of this part of it, less at most 4 %
    of the drop, because a soft contact lets go while the ball is still sunk in.
    """

    value: RangeLike
    model_fields = ("geom_solref",)
    changes_constants = False

    def __post_init__(self) -> None:
        low, high = range_of(self.value, self).ends
        if not LEAST_BOUNCE <= low <= high <= MOST_BOUNCE:
            raise PaddockError(f"{self}: may be {low:g} to {high:g}; wanted {LEAST_BOUNCE} to {MOST_BOUNCE}.")

    def draw(self, state: State) -> Tensor:
        return range_of(self.value, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        nominal = values["geom_solref"]
        if (layout.model.geom_solref <= 0).any():
            raise PaddockError(
                f"{self}: a geom gives its contacts in stiffness and damping (a negative solref), not as a time and a ratio."
            )
        ratio = _damping_ratio(drawn).to(nominal.dtype)
        # the natural frequency is 1 / (time constant x damping ratio), and stays
        return {
            "geom_solref": torch.stack([nominal[:, :, 0] * nominal[:, :, 1] / ratio, ratio.expand(-1, nominal.shape[1])], dim=2)
        }


def _bounce(ratio: float) -> float:
    """Speed after over speed before, of a mass on a spring with damping ratio `ratio` that lets go when it would have to pull."""
    return math.exp(-ratio / math.sqrt(1 - ratio**2) * (math.pi - 2 * math.asin(ratio)))


@cache
def _table(device: torch.device) -> tuple[Tensor, Tensor]:
    """Damping ratios, and what bounces with each, negative so that it rises."""
    ratios = [i / 2000 for i in range(1, 1999)]
    bounces = [-_bounce(ratio) for ratio in ratios]
    return torch.tensor(ratios, dtype=torch.float64, device=device), torch.tensor(bounces, dtype=torch.float64, device=device)


def _damping_ratio(bounce: Tensor) -> Tensor:
    """The inverse of `_bounce`, to a thousandth; of any shape."""
    ratios, bounces = _table(bounce.device)
    wanted = -bounce.double()
    right = torch.searchsorted(bounces, wanted, right=True).clamp(1, len(ratios) - 1)
    low, high = bounces[right - 1], bounces[right]
    return ratios[right - 1] + (ratios[right] - ratios[right - 1]) * (wanted - low) / (high - low)
