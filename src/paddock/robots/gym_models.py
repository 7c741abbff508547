"""The robots of Gymnasium's locomotion tasks, from the model files that its package carries."""

from importlib.util import find_spec
from pathlib import Path

from paddock.robots.robot import Robot


def gymnasium_model(name: str) -> Path:
    """A model file inside the installed Gymnasium, found without importing it."""
    package = find_spec("gymnasium")
    assert package is not None and package.origin is not None  # a dependency of this package
    return Path(package.origin).parent / "envs" / "mujoco" / "assets" / name


HALF_CHEETAH = Robot(
    name="gym-half-cheetah",
    xml=gymnasium_model("half_cheetah.xml"),
    joints=("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"),
    base="torso",
)

ANT = Robot(
    name="gym-ant",
    xml=gymnasium_model("ant.xml"),
    joints=("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"),
    base="torso",
)

HOPPER = Robot(
    name="gym-hopper",
    xml=gymnasium_model("hopper.xml"),
    joints=("thigh_joint", "leg_joint", "foot_joint"),
    base="torso",
)

WALKER2D = Robot(
    name="gym-walker2d",
    xml=gymnasium_model("walker2d_v5.xml"),
    joints=("thigh_joint", "leg_joint", "foot_joint", "thigh_left_joint", "leg_left_joint", "foot_left_joint"),
    base="torso",
)

HUMANOID = Robot(
    name="gym-humanoid",
    xml=gymnasium_model("humanoid.xml"),
    joints=(
        *("abdomen_y", "abdomen_z", "abdomen_x"),
        *("right_hip_x", "right_hip_z", "right_hip_y", "right_knee"),
        *("left_hip_x", "left_hip_z", "left_hip_y", "left_knee"),
        *("right_shoulder1", "right_shoulder2", "right_elbow"),
        *("left_shoulder1", "left_shoulder2", "left_elbow"),
    ),
    base="torso",
)
