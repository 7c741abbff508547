"""Lights, cameras and colours differ in pictures, and in nothing else."""

from typing import Any

import numpy as np
import pytest
import torch

import paddock
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.looks import look_of
from paddock.playing import pose
from paddock.rendering import Camera
from randomizer_rig import LAMP, RIG, rig
from test_rendering import gl as gl

LOOKS: dict[str, Any] = {
    "light": t.Light((0.1, 0.6)),
    "lamp": t.Light(offset_m=(-2.0, 2.0), lights=("lamp",)),
    "view": t.View(offset_m=(-0.2, 0.2), turn_deg=(-10.0, 10.0)),
    "zoom": t.View(fovy=(0.6, 1.4)),
    "paint": t.Tint((0.1, 1.0), materials=("paint",)),
    "finish": t.Finish(shininess=(0.0, 0.2), reflectance=(2.0, 5.0)),
}
NEUTRAL = {"it": t.Light(), "view": t.View(), "tint": t.Tint(1.0), "finish": t.Finish()}


def frames(randomize: dict[str, Any]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The picture without any look, and those of two worlds."""
    env = paddock.make(rig(randomize=randomize, scene=t.flat_floor), num_worlds=2, seed=3)
    env.reset()
    assert not env.sim.model_fields  # physics knows nothing of it
    with Camera(env.visual_model, width=96, height=72, camera="track") as camera:
        camera.frame(*pose(env))  # the first picture of a lamp differs from those after it, whatever is worn
        nominal = camera.frame(*pose(env))
        worlds = [camera.frame(*pose(env), look=look_of(env, world)) for world in range(2)]
        assert np.array_equal(camera.frame(*pose(env)), nominal)  # and it is taken off again
    return nominal, worlds


@pytest.mark.parametrize("name", LOOKS)
def test_pictures_of_two_worlds_differ_from_nominal_and_from_each_other(name: str) -> None:
    nominal, (first, second) = frames({"it": LOOKS[name]})
    for one, other in ((nominal, first), (nominal, second), (first, second)):
        assert not np.array_equal(one, other)


def test_less_light_is_darker_and_a_wider_view_shows_more() -> None:
    nominal, (dark, _) = frames({"it": t.Light(0.2)})
    assert dark.mean() < 0.9 * nominal.mean()
    env = paddock.make(rig(randomize={"it": t.View(fovy=(1.2, 1.5))}), num_worlds=2, seed=3)
    env.reset()
    near = look_of(env)["cam_fovy"][0]
    assert near == pytest.approx(50 * float(env.state.params["it"][0, 6]), rel=1e-6)


def test_a_tint_starts_from_the_colour_that_is_seen() -> None:
    """The load is painted; the wheel and the ball are not."""
    paint = np.array([0.8, 0.3, 0.2, 1.0], dtype=np.float32)
    for tint, load, material in (
        (t.Tint(0.5), (0.5, 0.5, 0.5, 1.0), (0.4, 0.15, 0.1, 1.0)),
        (t.Tint(0.5, geoms=("load",)), (0.4, 0.15, 0.1, 1.0), paint),
    ):
        env = paddock.make(rig(randomize={"it": tint}))
        env.reset()
        look, model = look_of(env), env.visual_model
        np.testing.assert_allclose(look["geom_rgba"][model.geom("load").id], load, atol=1e-6)
        np.testing.assert_allclose(np.array(look.get("mat_rgba", model.mat_rgba))[model.material("paint").id], material, atol=1e-6)


def test_a_neutral_look_is_the_nominal_one() -> None:
    nominal, (first, second) = frames(NEUTRAL)
    assert np.array_equal(nominal, first) and np.array_equal(nominal, second)


def test_motion_is_the_same_bit_for_bit() -> None:
    def motion(randomize: dict[str, Any]) -> torch.Tensor:
        env = paddock.make(rig(randomize=randomize), num_worlds=2, seed=3)
        env.reset()
        for _ in range(10):
            env.step(env.sample())
        return env.state.qpos

    assert torch.equal(motion({}), motion(LOOKS))


def test_a_sun_cannot_be_moved() -> None:
    with pytest.raises(PaddockError, match="shines from infinitely far"):
        paddock.make(
            rig(randomize={"it": t.Light(offset_m=1.0)}, xml=RIG.replace(LAMP, LAMP.replace("/>", ' type="directional"/>')))
        )


def test_what_a_scene_lacks_is_refused_at_construction() -> None:
    with pytest.raises(PaddockError, match="unknown material 'pain'. Did you mean 'paint'"):
        paddock.make(rig(randomize={"it": t.Tint(1.0, materials=("pain",))}))
    with pytest.raises(PaddockError, match="the scene has no light"):
        paddock.make(rig(randomize={"it": t.Light(0.5)}, scene=t.bare, xml=RIG.replace(LAMP, "")))
