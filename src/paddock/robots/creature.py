"""A round creature that walks and jumps: a point with a face, the fastest thing to try an idea on."""

from pathlib import Path

from paddock.robots.robot import Robot

CREATURE = Robot(name="creature", xml=Path(__file__).with_name("creature.xml"), joints=("x", "y", "z"), base="creature")
