"""Mass, inertia, centre of mass, size and gravity are felt: each world moves by what it drew, in sign and size."""

from typing import Any, cast

import pytest
import torch

import paddock
from paddock import terms as t
from paddock.errors import PaddockError
from randomizer_rig import BALL_Z, CONTROL_DT, GRAVITY, LOAD, TURN, WHEEL, Z, drawn, load_height, near, rig, run, wheel_speed


def test_a_heavier_load_sags_more_under_the_same_servo() -> None:
    env = run(t.Mass((0.5, 2.0), "load"), steps=150)
    near(env.state.qpos[:, Z], -drawn(env)[:, 0] * GRAVITY / LOAD["stiffness"])


def test_inertia_follows_mass() -> None:
    env = run(t.Mass((0.5, 3.0), "wheel"), action=(0, 1), steps=2)
    near(env.state.qvel[:, TURN], wheel_speed(2, inertia=drawn(env)[:, 0] * WHEEL["inertia"]))


def test_each_body_may_have_its_own_mass() -> None:
    env = run(t.Mass((0.5, 2.0), each=True), steps=150)
    assert env.state.params["it"].shape == (8, 3)
    near(env.state.qpos[:, Z], -drawn(env)[:, 0] * GRAVITY / LOAD["stiffness"])


def test_inertia_alone_slows_the_wheel_and_weighs_nothing() -> None:
    env = run(t.Inertia((0.5, 4.0)), action=(0, 1), steps=2)
    near(env.state.qvel[:, TURN], wheel_speed(2, inertia=drawn(env)[:, 0] * WHEEL["inertia"]))
    near(env.state.qpos[:, Z], load_height(2))


def test_an_offset_centre_of_mass_turns_the_wheel_over() -> None:
    env = run(t.CentreOfMass((0.03, 0.06), "wheel"), steps=1)
    x, _, z = drawn(env).unbind(1)
    inertia = WHEEL["inertia"] + x**2 + z**2
    near(env.state.qvel[:, TURN], wheel_speed(1, torque=x * GRAVITY, inertia=inertia), rtol=0.01)


def test_a_larger_ball_rests_higher() -> None:
    env = run(t.Size((0.5, 2.0), ("ball",)), steps=150, scene=t.flat_floor)
    near(env.state.qpos[:, BALL_Z], 0.1 * drawn(env)[:, 0], rtol=0.0, atol=2e-3)


def test_a_larger_ball_of_one_density_is_heavier() -> None:
    def speed(keeps_density: bool) -> tuple[torch.Tensor, torch.Tensor]:
        push = t.Push(body="ball", newtons=1.0, every_s=0.2, duration_s=0.1)
        size = t.Size((0.5, 2.0), ("ball",), keeps_density=keeps_density)
        env = paddock.make(rig(randomize={"it": size, "push": push}), num_worlds=8, seed=2)
        env.reset()
        for _ in range(10):
            env.step(torch.zeros(8, 2))
        return env.state.qvel[:, 2:4].norm(dim=1), drawn(env)[:, 0]

    got, factor = speed(True)
    near(got, 1.0 * 0.1 / (0.5 * factor**3))
    near(speed(False)[0], torch.tensor(1.0 * 0.1 / 0.5))


def test_gravity_decides_how_fast_a_ball_falls() -> None:
    env = run(t.Gravity((0.5, 1.5)), steps=20)
    near(env.state.qvel[:, BALL_Z], -drawn(env)[:, 0] * GRAVITY * 20 * CONTROL_DT)


@pytest.mark.parametrize(
    ("randomizer", "said"),
    [
        (lambda: t.Mass((2.0, 1.0)), "from 2.0 to 1.0 ends before it begins"),
        (lambda: t.Mass((0.0, 1.0)), "wanted a range above 0"),
        (lambda: t.Inertia(t.Normal(1.0, 0.5)), "wanted a range above 0"),
        (lambda: t.Mass(cast(Any, "heavy")), "is no range"),
        (lambda: t.Size(2.0, ()), "wanted the names of some"),
        (lambda: t.CentreOfMass(float("nan"), "load"), "no finite number"),
    ],
)
def test_nonsense_is_refused_where_it_is_written(randomizer, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PaddockError, match=said):
        randomizer()


@pytest.mark.parametrize(
    ("randomizer", "said"),
    [
        (t.Mass(2.0, "lod"), "unknown body 'lod'. Did you mean 'load'"),
        (t.Size(2.0, ("bal",)), "unknown geom that collides 'bal'. Did you mean 'ball'"),
        (t.Size(2.0, ("floor",)), "mjGEOM_PLANE, whose size is not a number to scale"),
    ],
)
def test_what_a_model_lacks_is_refused_at_construction(randomizer: t.Mass, said: str) -> None:
    with pytest.raises(PaddockError, match=said):
        paddock.make(rig(randomize={"it": randomizer}, scene=t.flat_floor))
