"""Terrain: the ground that terms read is the ground that feet touch, and robots begin upon it."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import world_of
from paddock import terms as t
from paddock.errors import PaddockError, UnknownName
from paddock.robots import QUADRUPED
from paddock.sims.model import compile_text, model_text
from paddock.tasks.curriculum import CURRICULUM
from paddock.tasks.terrain import KINDS, Ground, Terrain

SMALL = Terrain(rows=2, tile=2.0, border=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_terms_read_the_ground_that_the_engine_has(kind: str) -> None:
    terrain = replace(SMALL, kinds=(kind,))
    model = compile_text(model_text(terrain(QUADRUPED), lean=True))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    half_x, half_y = terrain.half
    rng = np.random.default_rng(0)
    rows, columns = terrain.heights.shape
    up, across = rng.integers(1, rows - 1, 200), rng.integers(1, columns - 1, 200)
    x, y = across * terrain.cell - half_x - terrain.border, up * terrain.cell - half_y - terrain.border
    read = Ground(terrain).at(*(torch.tensor(axis, dtype=torch.float32) for axis in (x, y))).numpy()
    np.testing.assert_allclose(read, terrain.heights[up, across], atol=1e-5)
    floor = model.geom("floor").id
    down = np.array([0.0, 0.0, -1.0])
    # a hair inside the cell, because a ray along an edge may slip through
    points = [np.array([a + 2e-4, b + 1e-4, 3.0]) for a, b in zip(x, y, strict=True)]
    seen = [3.0 - mujoco.mj_rayHfield(model, data, floor, point, down) for point in points]
    np.testing.assert_allclose(seen, read, atol=1e-3)


def test_rows_grow_harder_and_kinds_are_what_they_say() -> None:
    for kind, height in (("slope", 0.35 * 0.5), ("stairs", 0.12), ("rough", 0.08), ("stones", 0.25)):
        terrain = replace(SMALL, kinds=(kind,))
        edge, cells = round(terrain.border / terrain.cell), round(terrain.tile / terrain.cell)
        easy, hard = (np.abs(terrain.heights[edge + r * cells : edge + (r + 1) * cells]).max() for r in (0, 1))
        assert 0 < easy < hard and hard == pytest.approx(height, abs=0.03), kind
    flat = replace(SMALL, kinds=("flat",))
    inner = flat.heights[2:-2, 2:-2]
    assert np.abs(inner).max() < 0.002
    steps = np.unique(np.round(replace(SMALL, kinds=("stairs",), rows=1).heights[1:-1, 1:-1], 2))
    assert len(steps) == 3  # up one, level, down one: a tile of 2 m has room for one tread


def test_a_terrain_is_a_function_of_its_values() -> None:
    assert np.array_equal(SMALL.heights, Terrain(rows=2, tile=2.0, border=1.0).heights)
    assert not np.array_equal(SMALL.heights, replace(SMALL, seed=1).heights)


def test_robots_begin_on_tiles_clear_of_the_ground() -> None:
    env = paddock.make("quadruped-walk-rough", num_worlds=64, seed=3)
    terrain = env.task.scene
    assert isinstance(terrain, Terrain)
    env.reset()
    x, y = env.state.qpos[:, 0], env.state.qpos[:, 1]
    half_x, half_y = terrain.half
    column, row = ((x + half_x) / terrain.tile).floor(), ((y + half_y) / terrain.tile).floor()
    assert set(row.int().tolist()) == set(range(terrain.rows)) and len(set(column.int().tolist())) > terrain.columns / 2
    for world in range(64):
        model, data = world_of(env, world)
        mujoco.mj_forward(model, data)
        depth = min((contact.dist for contact in data.contact), default=0.0)
        assert depth > -0.02, f"world {world} begins {-depth:.3f} m in the ground"
    failed = [env.step(torch.zeros(64, env.action_size)).failed.any() for _ in range(50)]
    assert not any(failed) and float(t.AboveGround(terrain)(env.state).min()) > 0.1


def test_the_critic_sees_the_ground_around_in_the_heading_of_the_base() -> None:
    env = paddock.make("quadruped-walk-rough", num_worlds=16)
    env.reset()
    terrain = env.task.scene
    assert isinstance(terrain, Terrain)
    around = t.GroundAround(terrain=terrain, ahead=(0.5,), left=(0.2,))(env.state)
    for world in range(16):
        w, x, y, z = env.state.sensor("base_quat")[world].tolist()
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        bx, by, bz = env.state.sensor("base_pos")[world].tolist()
        at = bx + 0.5 * np.cos(yaw) - 0.2 * np.sin(yaw), by + 0.5 * np.sin(yaw) + 0.2 * np.cos(yaw)
        expected = Ground(terrain).at(*(torch.tensor(c, dtype=torch.float32) for c in at)) - bz
        assert float(around[world, 0]) == pytest.approx(float(expected), abs=1e-3)


def test_easy_levels_begin_on_easy_rows() -> None:
    env = paddock.make("quadruped-walk-rough", num_worlds=64, curriculum=True)
    env.reset()
    assert (env.state.params[CURRICULUM][:, 0] == 0.0).all()
    terrain = env.task.scene
    assert isinstance(terrain, Terrain)
    assert (((env.state.qpos[:, 1] + terrain.half[1]) / terrain.tile).floor() == 0).all()


def test_mistakes_have_names() -> None:
    with pytest.raises(UnknownName, match="unknown kind of terrain 'stair'. Did you mean 'stairs'"):
        Terrain(kinds=("stair",))
    with pytest.raises(PaddockError, match="a cell of 3.0 m is too large"):
        Terrain(cell=3.0)
    with pytest.raises(PaddockError, match="free joint"):
        cartpole = paddock.find_task("cartpole-balance")
        paddock.make(replace(cartpole, reset=t.OnTerrain(terrain=SMALL)))
