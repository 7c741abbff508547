"""A cart on a rail with a free pole: the smallest thing worth balancing."""

from pathlib import Path

from paddock.robots.robot import Robot

CARTPOLE = Robot(name="cartpole", xml=Path(__file__).with_name("cartpole.xml"), joints=("cart",))
