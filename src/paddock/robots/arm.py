"""A seven-joint arm on a bolted base with a parallel gripper, cameras above the scene and at the wrist."""

from pathlib import Path

from paddock.robots.robot import Robot

ARM_JOINTS = tuple(f"joint{i}" for i in range(1, 8))

ARM = Robot(
    name="arm",
    xml=Path(__file__).with_name("arm.xml"),
    joints=(*ARM_JOINTS, "gripper"),
    tool="tool",
    # about critically damped with the arm stretched out, and no stiffer than the motors can follow
    gains={joint: (2400.0, 120.0) if i < 4 else (500.0, 25.0) for i, joint in enumerate(ARM_JOINTS)},
)
