"""From what a user typed to a Robot: a name of the table, or a file."""

from pathlib import Path

from paddock.errors import unknown
from paddock.robots import ROBOTS
from paddock.robots.robot import Robot
from paddock.user_files import split_name, value_in_file


def find_robot(wanted: str | Path | Robot) -> Robot:
    """The robot named `wanted`: `quadruped`, `my_robot.py` or `my_robot.py:NAME`."""
    if isinstance(wanted, Robot):
        return wanted
    path, constant = split_name(str(wanted))
    if path:
        return value_in_file(Robot, Path(path), constant)
    if str(wanted) not in ROBOTS:
        raise unknown("robot", str(wanted), ROBOTS)
    return ROBOTS[str(wanted)]
