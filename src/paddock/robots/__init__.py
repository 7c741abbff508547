"""Robots: what the machine is. One file each, with its MJCF beside it, and one line here."""

from paddock.robots.ant import ANT as ANT
from paddock.robots.arm import ARM as ARM
from paddock.robots.cartpole import CARTPOLE as CARTPOLE
from paddock.robots.creature import CREATURE as CREATURE
from paddock.robots.humanoid import HUMANOID as HUMANOID
from paddock.robots.quadruped import QUADRUPED as QUADRUPED
from paddock.robots.robot import Robot as Robot
from paddock.robots.team import team as team

ROBOTS = {robot.name: robot for robot in (ANT, ARM, CARTPOLE, CREATURE, HUMANOID, QUADRUPED)}
