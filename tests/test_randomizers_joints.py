"""Damping, armature and dry friction of joints slow the wheel by what each world drew."""

from typing import Any

import pytest
import torch

import paddock
from paddock import terms as t
from paddock.errors import PaddockError
from randomizer_rig import TURN, WHEEL, drawn, near, rig, run, wheel_speed

FULL = (0.0, 1.0)


@pytest.mark.parametrize(
    ("randomizer", "what"),
    [(t.Damping((0.5, 3.0)), "damping"), (t.Armature((0.5, 3.0)), "armature"), (t.FrictionLoss((0.5, 8.0)), "loss")],
)
def test_a_factor_slows_the_wheel(randomizer: Any, what: str) -> None:
    env = run(randomizer, action=FULL, steps=4)
    expected = wheel_speed(4, **{what: drawn(env)[:, 0] * WHEEL[what]})
    near(env.state.qvel[:, TURN], expected)
    assert (expected.max() - expected.min()) / expected.mean() > 0.05  # else nothing was shown


@pytest.mark.parametrize(
    ("randomizer", "what"),
    [
        (t.Damping(plus=(0.0, 0.4), joints=("turn",)), "damping"),
        (t.Armature(plus=(0.0, 0.02), joints=("turn",)), "armature"),
        (t.FrictionLoss(plus=(0.0, 2.0), joints=("turn",)), "loss"),
    ],
)
def test_what_is_added_slows_the_wheel(randomizer: Any, what: str) -> None:
    env = run(randomizer, action=FULL, steps=4)
    near(env.state.qvel[:, TURN], wheel_speed(4, **{what: drawn(env)[:, 1] + WHEEL[what]}))


def test_each_joint_may_draw_its_own() -> None:
    env = run(t.Damping((0.5, 3.0), each=True), action=FULL, steps=4)
    assert env.state.params["it"].shape == (8, 4)
    near(env.state.qvel[:, TURN], wheel_speed(4, damping=drawn(env)[:, 1] * WHEEL["damping"]))


def test_a_free_body_is_no_joint() -> None:
    env = run(t.Damping(plus=(1.0, 2.0)), steps=10)
    near(env.state.qvel[:, 4], torch.tensor(-9.81 * 0.2))  # the ball still falls freely


def test_what_would_change_nothing_is_refused() -> None:
    with pytest.raises(PaddockError, match="no dof_frictionloss there, so no factor changes it. Say plus"):
        paddock.make(rig(randomize={"it": t.FrictionLoss((0.5, 2.0), joints=("z",))}))
    with pytest.raises(PaddockError, match="changes nothing"):
        t.Damping()
    with pytest.raises(PaddockError, match="unknown joint 'trun'. Did you mean 'turn'"):
        paddock.make(rig(randomize={"it": t.Damping(2.0, joints=("trun",))}))
