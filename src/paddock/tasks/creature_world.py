"""The creature's world: a walled garden, goals that hang in it, and the stamina that every effort costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import torch
from torch import Tensor

from paddock.errors import PaddockError
from paddock.tasks.memories import own
from paddock.tasks.ranges import check_ranges
from paddock.tasks.scenes import flat_floor
from paddock.tasks.sensing import Remembered

if TYPE_CHECKING:
    from paddock.contracts import Layout, State
    from paddock.robots import Robot

HALF = 5.0
"""From the middle of the garden to each wall, m."""
WALL = 2.4
"""Height of the walls, m: more than the creature can jump."""
SEEN = {"group": 2, "contype": 0, "conaffinity": 0}
GROUNDED = 0.03
"""A creature whose soles are lower than this can push itself off the ground, m."""


def walled_garden(robot: Robot) -> mujoco.MjSpec:
    """A square of 10 m within four walls. What stops the creature is a plain box behind a fence as high."""
    spec = flat_floor(robot)
    spec.stat.extent = 2.5  # of what is watched, so that shadows are drawn fine enough
    spec.add_material(name="hedge", rgba=[0.38, 0.58, 0.40, 1.0], specular=0.1, shininess=0.1)
    spec.add_material(name="fence", rgba=[0.96, 0.96, 0.94, 1.0], specular=0.3, shininess=0.3)
    for name, x, y in (("east", 1, 0), ("north", 0, 1), ("west", -1, 0), ("south", 0, -1)):
        _wall(spec.worldbody, name, x, y)
    return spec


def _wall(world: mujoco.MjsBody, name: str, x: int, y: int) -> None:
    """The wall in the direction x, y: the box that is felt (group 3), a hedge and a fence that are seen (group 2)."""
    box, capsule = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CAPSULE

    def at(along: float, z: float) -> list[float]:
        return [(HALF + 0.1) * x - along * y, (HALF + 0.1) * y + along * x, z]

    def size(z: float) -> list[float]:
        return [0.1 if x else HALF + 0.2, 0.1 if y else HALF + 0.2, z]

    world.add_geom(name=f"wall/{name}", type=box, pos=at(0, WALL / 2), size=size(WALL / 2), group=3)
    world.add_geom(**SEEN, type=box, pos=at(0, 0.17), size=size(0.17), material="hedge")
    for post in (-HALF - 0.1, -HALF / 2, 0.0, HALF / 2):
        world.add_geom(**SEEN, type=capsule, fromto=at(post, 0.0) + at(post, WALL), size=[0.035, 0, 0], material="fence")
    for z in (WALL / 2, WALL):
        world.add_geom(**SEEN, type=capsule, fromto=at(-HALF, z) + at(HALF, z), size=[0.02, 0, 0], material="fence")


@dataclass(frozen=True, kw_only=True)
class GoalAcross:
    """A goal on the plan, at least `near` from the start wherever that is; (n, 2) world x and y.

    Drawn on a ring around the start and wrapped where it would lie outside. As the ring is no wider than half of the square,
    wrapping never brings it nearer.
    """

    near: float
    far: float
    half: float
    """Goals lie within this of the middle, in x and in y."""

    def __post_init__(self) -> None:
        check_ranges(self, (0.0, self.near, self.far), (self.near, self.far, self.half))

    def start(self, state: State) -> Tensor:
        bearing, distance = state.uniform(2, (0.0, self.near), (2 * math.pi, self.far)).unbind(1)
        offset = torch.stack([distance * bearing.cos(), distance * bearing.sin()], dim=1)
        around = (state.sensor("joint_pos")[:, :2] + offset) * (0.5 / self.half) + 0.5
        return (around - around.floor() - 0.5) * (2 * self.half)

    def next(self, state: State) -> Tensor:
        return own(state)


@dataclass(frozen=True, kw_only=True)
class GoalHeight:
    """How high over the ground a creature's soles are when it has a goal in its middle, m; (n,)."""

    high: float

    def __post_init__(self) -> None:
        check_ranges(self, (0.0,), (self.high,))

    def start(self, state: State) -> Tensor:
        return state.uniform(1, 0.0, self.high)[:, 0]

    def next(self, state: State) -> Tensor:
        return own(state)


@dataclass(frozen=True, kw_only=True)
class Stamina:
    """1 when fresh, 0 when spent: what the muscles did drains it, what they could have done and did not fills it; (n,)."""

    walk: float = 0.15
    """Lost per second at full force along one axis, growing with the square."""
    jump: float = 0.2
    """Lost with a full jump."""
    rest: float = 0.15
    """Won per second of doing nothing."""

    def start(self, state: State) -> Tensor:
        return torch.ones_like(state.time)

    def next(self, state: State) -> Tensor:
        used = state.ctrl / state.layout.ctrl_high  # not the action, of which a tired or flying creature does only a part
        walked, jumped = used[:, :2].square().sum(1), used[:, 2]
        rate = self.rest * (1.0 - walked).clamp(min=0.0) - self.walk * walked
        return (own(state) + rate * state.layout.control_dt - self.jump * jumped).clamp(0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Exertion:
    """Accelerations along x, y and up, each as a part of what the creature can do; (n, 3) forces, on a mass of 1 kg.

    It pushes up only from the ground, and with less and less force as the last of its stamina goes. An upward action below
    `resolve` is no jump: where any positive one would do, the noise of exploring jumps by itself and nobody learns to mean it.
    """

    stamina: str = "stamina"
    """The memory that holds it."""
    tired: float = 0.1
    """Below this much stamina the force fades, to nothing when it is spent."""
    resolve: float = 0.5
    """From here to 1 the upward action goes from no jump to a full one."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        if robot.joints != ("x", "y", "z"):
            raise PaddockError(
                f"robot '{robot.name}' has the joints {', '.join(robot.joints)}; Exertion moves the creature's x, y, z."
            )

    def size(self, layout: Layout) -> int:
        return layout.ctrl_high.shape[0]

    def __call__(self, state: State) -> Tensor:
        strength = (Remembered(self.stamina)(state) / self.tired).clamp(max=1.0)[:, None]
        grounded = (state.sensor("joint_pos")[:, 2:] < GROUNDED).to(torch.float32)
        jump = (state.action[:, 2:] - self.resolve).clamp(min=0.0) * (1 / (1 - self.resolve))
        push = torch.cat([state.action[:, :2], jump * grounded], dim=1)
        return push * strength * state.layout.ctrl_high
