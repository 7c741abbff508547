"""A four-legged walker of about 12 kg: three joints a leg, an IMU in the trunk, touch under every foot."""

from pathlib import Path

from paddock.robots.robot import Robot

LEGS = ("fl", "fr", "hl", "hr")

QUADRUPED = Robot(
    name="quadruped",
    xml=Path(__file__).with_name("quadruped.xml"),
    joints=tuple(f"{leg}_{joint}" for leg in LEGS for joint in ("hip", "thigh", "knee")),
    base="trunk",
    feet=LEGS,
    gains=(60.0, 2.0),
)
