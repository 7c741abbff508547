"""What an action means: how numbers within [-1, 1] become the engine's ctrl."""

from dataclasses import dataclass

import mujoco
import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError
from paddock.robots import Robot


@dataclass(frozen=True, kw_only=True)
class JointTorque:
    """-1 and 1 are the ends of each actuator's control range; the robot's own actuators are kept."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        for actuator in spec.actuators:
            if actuator.ctrlrange[0] >= actuator.ctrlrange[1]:
                raise PaddockError(f"actuator '{actuator.name}' of {robot.name} has no ctrlrange, so JointTorque has no scale.")

    def size(self, layout: Layout) -> int:
        return layout.ctrl_low.shape[0]

    def __call__(self, state: State) -> Tensor:
        return state.layout.ctrl_middle + state.action * state.layout.ctrl_half


@dataclass(frozen=True, kw_only=True)
class JointPosition:
    """Targets around the home pose, held by the engine's position servos with the robot's gains."""

    scale: float = 0.5
    """Radians (metres, for a slide) that an action of 1 adds to home."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        if robot.gains is None:
            raise PaddockError(f"robot '{robot.name}' has no gains, so JointPosition cannot hold a target. Give Robot(gains=...).")
        stiffness, damping = robot.gains
        for name in robot.joints:
            actuator = spec.actuator(name)
            actuator.set_to_position(kp=stiffness, kv=damping)
            actuator.ctrlrange = spec.joint(name).range
            actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE

    def size(self, layout: Layout) -> int:
        return layout.ctrl_low.shape[0]

    def __call__(self, state: State) -> Tensor:
        target = torch.add(state.layout.home_joint, state.action, alpha=self.scale)
        return torch.clamp(target, state.layout.ctrl_low, state.layout.ctrl_high)
