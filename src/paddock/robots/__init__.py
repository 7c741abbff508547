"""Robots: what the machine is. One file each, with its MJCF beside it, and one line here."""

from paddock.robots.cartpole import CARTPOLE as CARTPOLE
from paddock.robots.quadruped import QUADRUPED as QUADRUPED
from paddock.robots.robot import Robot as Robot

ROBOTS = {robot.name: robot for robot in (CARTPOLE, QUADRUPED)}
