"""Gymnasium's ant, from the model file that its package carries."""

from importlib.util import find_spec
from pathlib import Path

from paddock.robots.robot import Robot


def gymnasium_model(name: str) -> Path:
    """A model file inside the installed Gymnasium, found without importing it."""
    package = find_spec("gymnasium")
    assert package is not None and package.origin is not None  # a dependency of this package
    return Path(package.origin).parent / "envs" / "mujoco" / "assets" / name


GYM_ANT = Robot(
    name="gym-ant",
    xml=gymnasium_model("ant.xml"),
    joints=("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"),
    base="torso",
)
