"""Robots: what the machine is. One file each, with its MJCF beside it, and one line here."""

from paddock.robots.ant import ANT as ANT
from paddock.robots.arm import ARM as ARM
from paddock.robots.cartpole import CARTPOLE as CARTPOLE
from paddock.robots.creature import CREATURE as CREATURE
from paddock.robots.gearbox import DIRECT as DIRECT
from paddock.robots.gearbox import GEARBOXES as GEARBOXES
from paddock.robots.gearbox import Gearbox as Gearbox
from paddock.robots.gearbox import cycloidal as cycloidal
from paddock.robots.gearbox import harmonic as harmonic
from paddock.robots.gearbox import planetary as planetary
from paddock.robots.humanoid import HUMANOID as HUMANOID
from paddock.robots.joint_friction import JointFriction as JointFriction
from paddock.robots.motors import DIRECT_DRIVE as DIRECT_DRIVE
from paddock.robots.motors import HIGH_TORQUE_SERVO as HIGH_TORQUE_SERVO
from paddock.robots.motors import HOBBY_SERVO as HOBBY_SERVO
from paddock.robots.motors import INDUSTRIAL_JOINT as INDUSTRIAL_JOINT
from paddock.robots.motors import MOTORS as MOTORS
from paddock.robots.motors import QUADRUPED_LEG as QUADRUPED_LEG
from paddock.robots.motors import Motor as Motor
from paddock.robots.quadruped import QUADRUPED as QUADRUPED
from paddock.robots.robot import Robot as Robot
from paddock.robots.team import team as team

ROBOTS = {robot.name: robot for robot in (ANT, ARM, CARTPOLE, CREATURE, HUMANOID, QUADRUPED)}
