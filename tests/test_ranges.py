"""Ranges draw what they say, and refuse what they cannot."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import paddock
from models import pole_task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.tasks.ranges import range_of

WORLDS = 4000


@pytest.fixture(scope="module")
def state() -> paddock.State:
    env = paddock.make(pole_task(), num_worlds=WORLDS)
    env.reset()
    return env.state.scoped("range")


def draw(state: paddock.State, value: Any) -> Tensor:
    drawn = range_of(value, "test").draw(state, 2)
    low, high = range_of(value, "test").ends
    assert drawn.shape == (WORLDS, 2) and drawn.dtype == torch.float32
    assert drawn.min() >= low - 1e-6 and drawn.max() <= high + 1e-6
    return drawn.double()


def test_each_kind_has_its_distribution(state: paddock.State) -> None:
    assert (draw(state, 3.0) == 3.0).all()
    pair = draw(state, (2.0, 4.0))
    assert torch.equal(pair, draw(state, t.Within(2.0, 4.0)))
    assert float(pair.mean()) == pytest.approx(3.0, abs=0.03) and float(pair.std()) == pytest.approx(2 / math.sqrt(12), rel=0.03)
    around = draw(state, t.Around(0.1))
    assert float(around.min()) == pytest.approx(0.9, abs=1e-3) and float(around.max()) == pytest.approx(1.1, abs=1e-3)
    normal = draw(state, t.Normal(1.0, 0.2))
    assert float(normal.mean()) == pytest.approx(1.0, abs=0.01) and float(normal.std()) == pytest.approx(0.2, rel=0.03)
    clipped = draw(state, t.Normal(1.0, 0.2, low=0.9, high=1.2))
    assert float((clipped == clipped.min()).double().mean()) == pytest.approx(0.3085, abs=0.02)
    logs = draw(state, t.LogWithin(0.1, 10.0)).log10()
    assert float(logs.mean()) == pytest.approx(0.0, abs=0.03) and float(logs.std()) == pytest.approx(2 / math.sqrt(12), rel=0.03)
    values, counts = draw(state, t.Choice((1.0, 2.0, 5.0))).unique(return_counts=True)
    assert values.tolist() == [1.0, 2.0, 5.0] and (counts / WORLDS / 2 - 1 / 3).abs().max() < 0.03


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: t.Within(2.0, 1.0), r"Within\(low=2.0, high=1.0\): the range from 2.0 to 1.0 ends before it begins"),
        (lambda: t.LogWithin(0.0, 1.0), "has no logarithm"),
        (lambda: t.Normal(0.0, -1.0), "ends before it begins"),
        (lambda: t.Normal(0.0, 1.0, low=1.0), "ends before it begins"),
        (lambda: t.Around(1.0), "not within 0 and 1"),
        (lambda: t.Choice(()), "no values"),
        (lambda: t.Fixed(math.inf), "no finite number"),
        (lambda: range_of((1.0, 2.0, 3.0), "it"), "wanted a pair"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_range_is_refused(make: Any, said: str) -> None:
    with pytest.raises(PaddockError, match=said):
        make()
