"""How big a robot is, so that one task fits robots of any size."""

import math
from dataclasses import dataclass

import mujoco

from paddock.errors import PaddockError
from paddock.robots import Robot

GRAVITY = 9.81


@dataclass(frozen=True, kw_only=True)
class Body:
    """Size of a robot that floats, at home."""

    base: str
    mass: float
    height: float
    """Of the base above the ground, m."""

    @property
    def weight(self) -> float:
        """N."""
        return self.mass * GRAVITY

    @property
    def pace(self) -> float:
        """Speed that suits its legs, m/s: bodies of all sizes walk alike at equal shares of the root of height times gravity."""
        return round(0.58 * math.sqrt(GRAVITY * self.height), 1)


def body_of(robot: Robot, task: str) -> Body:
    """Measured on the model in its home pose; `task` is who asks."""
    if robot.base is None:
        raise PaddockError(
            f"'{task}' wants a robot with a base that floats, and robot '{robot.name}' names none. "
            "Give Robot(base=...), the body with the free joint; for an arm, take reach."
        )
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    if "home" in (model.key(i).name for i in range(model.nkey)):
        mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_kinematics(model, data)
    base = model.body(robot.base).id
    return Body(base=robot.base, mass=round(float(model.body_subtreemass[base]), 1), height=round(float(data.xpos[base, 2]), 4))
