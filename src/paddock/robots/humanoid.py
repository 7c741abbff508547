"""A person-sized walker of 1.7 m and 70 kg: 21 joints, an IMU in the pelvis, touch under both feet."""

from pathlib import Path

from paddock.robots.robot import Robot

SIDES = ("left", "right")
LEG = ("hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll")
ARM = ("shoulder_pitch", "shoulder_roll", "elbow")
JOINTS = (
    *("abdomen_yaw", "abdomen_roll", "abdomen_pitch"),
    *(f"{side}_{joint}" for side in SIDES for joint in LEG),
    *(f"{side}_{joint}" for side in SIDES for joint in ARM),
)

GAINS = {
    "abdomen_yaw": (300.0, 12.0),
    "abdomen_roll": (300.0, 12.0),
    "abdomen_pitch": (300.0, 12.0),
    "hip_yaw": (200.0, 8.0),
    "hip_roll": (300.0, 12.0),
    "hip_pitch": (300.0, 12.0),
    "knee": (300.0, 12.0),
    "ankle_pitch": (200.0, 8.0),
    "ankle_roll": (150.0, 6.0),
    "shoulder_pitch": (60.0, 3.0),
    "shoulder_roll": (60.0, 3.0),
    "elbow": (40.0, 2.0),
}
"""Stiffness [N m/rad] and damping [N m s/rad] of the servos by kind of joint."""


def joint_kind(joint: str) -> str:
    """A joint's name without its side: `left_knee` is a `knee`."""
    return joint.removeprefix("left_").removeprefix("right_")


HUMANOID = Robot(
    name="humanoid",
    xml=Path(__file__).with_name("humanoid.xml"),
    joints=JOINTS,
    base="pelvis",
    feet=SIDES,
    gains={joint: GAINS[joint_kind(joint)] for joint in JOINTS},
)
