"""A small four-legged ant of about 3.3 kg, two joints a leg: plain enough for every backend, and a walker all the same."""

from pathlib import Path

from paddock.robots.robot import Robot

LEGS = ("fl", "fr", "hl", "hr")

ANT = Robot(
    name="ant",
    xml=Path(__file__).with_name("ant.xml"),
    joints=tuple(f"{leg}_{joint}" for leg in LEGS for joint in ("hip", "knee")),
    base="thorax",
    feet=LEGS,
    gains=(25.0, 0.0),
)
