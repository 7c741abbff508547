"""Robots: what the machine is. One file each, with its MJCF beside it, and one line here."""

from paddock.errors import unknown
from paddock.robots.cartpole import CARTPOLE as CARTPOLE
from paddock.robots.quadruped import QUADRUPED as QUADRUPED
from paddock.robots.robot import Robot as Robot

ROBOTS = {robot.name: robot for robot in (CARTPOLE, QUADRUPED)}


def find_robot(name: str) -> Robot:
    """The robot of that name."""
    if name not in ROBOTS:
        raise unknown("robot", name, ROBOTS)
    return ROBOTS[name]
