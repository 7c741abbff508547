"""Uneven ground: one height field of tiles, easy ones in its first row and hard ones in its last, made from a seed.

Every world has the whole field, and begins an episode on one of the tiles. A field is a function of its values alone, so
physics, observations and pictures read the same ground. Its grid has a finite cell: the riser of a stair is one cell wide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock.contracts import State
from paddock.errors import PaddockError, unknown
from paddock.robots import Robot
from paddock.tasks.curriculum import level
from paddock.tasks.resets import NearHome
from paddock.tasks.scenes import flat_floor
from paddock.tasks.sensing import heading

LEVELS = 256
"""Heights are whole parts of the field's range, halved eight times: short to write into a model, and equal wherever it is read."""
PLATEAU = 1.0
"""Side of the flat square in the middle of a tile that slopes, m."""


@dataclass(frozen=True, kw_only=True)
class Terrain:
    """A scene: the robot on a field of tiles, `rows` of growing difficulty by two columns of each kind."""

    kinds: tuple[str, ...] = ("slope", "rough", "stairs", "stones")
    rows: int = 5
    tile: float = 4.0
    """Side of a tile, m."""
    border: float = 3.0
    """Flat ground around all tiles, m."""
    cell: float = 0.1
    """Side of a cell, m."""
    seed: int = 0
    grade: float = 0.35
    """Steepest slope, rise over run."""
    bumps: float = 0.08
    """Highest bump of rough ground, m."""
    riser: float = 0.12
    """Highest step of a stair, m."""
    tread: float = 0.4
    """Depth of a step, m."""
    gap: float = 0.3
    """Widest gap between stepping stones, m."""
    drop: float = 0.25
    """Depth of these gaps, m."""

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise unknown("kind of terrain", kind, KINDS)
        if not self.kinds or self.rows < 1:
            raise PaddockError(f"{self}: a terrain needs at least one kind and one row.")
        if not 0 < self.cell <= self.tile / 10:
            raise PaddockError(
                f"{self}: a cell of {self.cell} m is too large for tiles of {self.tile} m, or none; at most a tenth."
            )

    def __call__(self, robot: Robot) -> mujoco.MjSpec:
        spec = flat_floor(robot)
        floor = spec.geom("floor")
        parts, low, high = self._measured
        rows, columns = parts.shape
        across, along = (columns - 1) * self.cell / 2, (rows - 1) * self.cell / 2
        spec.add_hfield(
            name="terrain",
            nrow=rows,
            ncol=columns,
            size=[across, along, high - low, 0.5],
            userdata=(parts / LEVELS).flatten().tolist(),
        )
        floor.type, floor.hfieldname, floor.pos = mujoco.mjtGeom.mjGEOM_HFIELD, "terrain", [0.0, 0.0, low]
        return spec

    @property
    def columns(self) -> int:
        """Tiles beside each other."""
        return 2 * len(self.kinds)

    @cached_property
    def heights(self) -> np.ndarray:
        """Metres above the ground between the tiles, from the lowest y and x on; (rows, columns) of the grid."""
        parts, low, high = self._measured
        return low + parts / LEVELS * (high - low)

    @cached_property
    def _measured(self) -> tuple[np.ndarray, float, float]:
        """The grid in whole parts of the range, and the range's ends."""
        cells = round(self.tile / self.cell)
        edge = round(self.border / self.cell)
        ground = np.zeros((self.rows * cells + 2 * edge + 1, self.columns * cells + 2 * edge + 1))
        for row in range(self.rows):
            for column in range(self.columns):
                kind, is_second = divmod(column, 2)
                drawn = np.random.default_rng((self.seed, row, column))
                made = KINDS[self.kinds[kind]](self, (row + 1) / self.rows, bool(is_second), drawn)
                at = edge + row * cells, edge + column * cells
                ground[at[0] : at[0] + cells + 1, at[1] : at[1] + cells + 1] += made
        low, high = min(ground.min(), -0.1), max(ground.max(), 0.1)  # flat ground is a field too
        parts = np.round((ground - low) / (high - low) * LEVELS)
        parts.flat[0], parts.flat[-1] = 0, LEVELS  # the engine stretches a field over its range; these corners are far away
        return parts, float(low), float(high)

    @property
    def half(self) -> tuple[float, float]:
        """Half the extent of the tiles along x and y, m."""
        return self.columns * self.tile / 2, self.rows * self.tile / 2


def slope(terrain: Terrain, difficulty: float, is_second: bool, drawn: np.random.Generator) -> np.ndarray:
    """A pyramid, or the second time a pit."""
    rise = np.minimum(_inside(terrain), (terrain.tile - PLATEAU) / 2) * terrain.grade * difficulty
    return -rise if is_second else rise


def stairs(terrain: Terrain, difficulty: float, is_second: bool, drawn: np.random.Generator) -> np.ndarray:
    """Steps up to the middle, or the second time down to it."""
    steps = np.floor(np.minimum(_inside(terrain), (terrain.tile - PLATEAU) / 2) / terrain.tread + 1e-9)
    rise = steps * terrain.riser * difficulty
    return -rise if is_second else rise


def rough(terrain: Terrain, difficulty: float, is_second: bool, drawn: np.random.Generator) -> np.ndarray:
    """Bumps of a few cells' width."""
    cells = len(_inside(terrain)) - 1
    knots = drawn.uniform(0, terrain.bumps * difficulty, (cells // 2 + 1, cells // 2 + 1))
    at = np.linspace(0, cells // 2, cells + 1)
    across = np.stack([np.interp(at, np.arange(len(row)), row) for row in knots])
    bumps = np.stack([np.interp(at, np.arange(len(column)), column) for column in across.T], axis=1)
    return bumps * np.minimum(1.0, _inside(terrain) / (2 * terrain.cell))


def stones(terrain: Terrain, difficulty: float, is_second: bool, drawn: np.random.Generator) -> np.ndarray:
    """Square stones of uneven height with gaps between them."""
    inside = _inside(terrain)
    gap = max(1, round(terrain.gap * difficulty / terrain.cell))
    stone = max(2, round((0.8 - 0.4 * difficulty) / terrain.cell))
    count = len(inside)
    lane = np.arange(count) % (stone + gap)
    number = np.arange(count) // (stone + gap)
    tops = drawn.uniform(-0.02, 0.02, (number[-1] + 1, number[-1] + 1)) * difficulty
    is_stone = (lane < stone)[:, None] & (lane < stone)[None, :]
    ground = np.where(is_stone, tops[number][:, number], -terrain.drop * difficulty)
    middle = _from_middle(terrain) <= PLATEAU / 2
    return np.where(middle | (inside < 2 * terrain.cell), 0.0, ground)


KINDS: dict[str, Callable[[Terrain, float, bool, np.random.Generator], np.ndarray]] = {
    "slope": slope,
    "rough": rough,
    "stairs": stairs,
    "stones": stones,
    "flat": lambda terrain, difficulty, is_second, drawn: np.zeros_like(_inside(terrain)),
}


def _inside(terrain: Terrain) -> np.ndarray:
    """How far each grid point of a tile is from the tile's nearest edge, m."""
    cells = round(terrain.tile / terrain.cell)
    inside = np.minimum(np.arange(cells + 1), cells - np.arange(cells + 1)) * terrain.cell
    return np.minimum(inside[:, None], inside[None, :])


def _from_middle(terrain: Terrain) -> np.ndarray:
    """How far each grid point of a tile is from the tile's middle, along the farther axis, m."""
    return terrain.tile / 2 - _inside(terrain)


@dataclass(frozen=True)
class Ground:
    """The height of the terrain at points of the world, exact at the grid's points and bilinear between them."""

    terrain: Terrain

    def at(self, x: Tensor, y: Tensor) -> Tensor:
        """Height under points of any one shape; beyond the field, that of its edge."""
        heights = self._heights(x.device)
        rows, columns = heights.shape
        u = (x * (1.0 / self.terrain.cell) + (columns - 1) / 2).clamp(0.0, columns - 1.001)
        v = (y * (1.0 / self.terrain.cell) + (rows - 1) / 2).clamp(0.0, rows - 1.001)
        left, below = u.floor(), v.floor()
        across, along = u - left, v - below
        corner = below.long() * columns + left.long()
        flat = heights.flatten()
        near = flat[corner] * (1 - across) + flat[corner + 1] * across
        far = flat[corner + columns] * (1 - across) + flat[corner + columns + 1] * across
        return near * (1 - along) + far * along

    def _heights(self, device: torch.device) -> Tensor:
        if device not in self._made:
            self._made[device] = torch.tensor(self.terrain.heights, dtype=torch.float32, device=device)
        return self._made[device]

    @cached_property
    def _made(self) -> dict[torch.device, Tensor]:
        return {}


@dataclass(frozen=True, kw_only=True)
class OnTerrain:
    """A reset: on a tile of any kind, as hard as the world's curriculum has come at most, standing clear of the ground."""

    terrain: Terrain
    near: NearHome = NearHome()
    spread: float = 0.3
    """Farthest from the middle of the tile, m."""
    footprint: float = 0.25
    """Half the side of the square that the robot stands on, m."""

    def __call__(self, state: State) -> tuple[Tensor, Tensor]:
        qpos, qvel = self.near(state)
        free = [span for span in state.layout.qpos.values() if span.stop - span.start == 7]
        if not free:
            raise PaddockError("OnTerrain places a robot with a free joint, and this one has none.")
        (x, y), at = self._place(state), free[0].start
        reach = self.footprint
        points = torch.stack([Ground(self.terrain).at(x + i * reach, y + j * reach) for i in (-1, 0, 1) for j in (-1, 0, 1)])
        parts = list(qpos.unbind(1))
        for column, moved in zip(range(at, at + 3), (x, y, points.amax(0)), strict=True):
            parts[column] = parts[column] + moved
        return torch.stack(parts, dim=1), qvel

    def _place(self, state: State) -> tuple[Tensor, Tensor]:
        terrain = self.terrain
        hardness, off_x, off_y = state.uniform(3, (0.0, -1.0, -1.0), (1.0, 1.0, 1.0), label="tile").unbind(1)
        row = (hardness * level(state)[:, 0] * terrain.rows).floor().clamp(max=terrain.rows - 1)
        column = state.choice(terrain.columns, label="column")[:, 0].to(torch.float32)
        half_x, half_y = terrain.half
        x = (column + 0.5) * terrain.tile - half_x + off_x * self.spread
        y = (row + 0.5) * terrain.tile - half_y + off_y * self.spread
        return x, y


@dataclass(frozen=True)
class AboveGround:
    """Height of the base above the terrain under it; (n,). What a simulator knows, and no robot."""

    terrain: Terrain

    def __call__(self, state: State) -> Tensor:
        x, y, z = state.sensor("base_pos").unbind(1)
        return z - Ground(self.terrain).at(x, y)


@dataclass(frozen=True, kw_only=True)
class GroundAround:
    """Heights of the terrain on a grid ahead of and around the base, from its own height; (n, points). For a critic."""

    terrain: Terrain
    ahead: tuple[float, ...] = (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6)
    """m, in the base's heading."""
    left: tuple[float, ...] = (-0.3, 0.0, 0.3)

    def __call__(self, state: State) -> Tensor:
        x, y, z = state.sensor("base_pos")[:, :, None].unbind(1)
        forward, left = (axis[:, :, None].unbind(1) for axis in heading(state))
        ahead = state.constant(tuple(a for a in self.ahead for _ in self.left))
        aside = state.constant(tuple(b for _ in self.ahead for b in self.left))
        return Ground(self.terrain).at(x + forward[0] * ahead + left[0] * aside, y + forward[1] * ahead + left[1] * aside) - z


@dataclass(frozen=True)
class OffTerrain:
    """The base has left the tiles and most of the border around them; (n,) bool."""

    terrain: Terrain

    def __call__(self, state: State) -> Tensor:
        half_x, half_y = self.terrain.half
        margin = 0.8 * self.terrain.border
        x, y = state.sensor("base_pos")[:, :2].abs().unbind(1)
        return (x > half_x + margin) | (y > half_y + margin)
