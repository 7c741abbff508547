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
        model = spec.compile()
        unlimited = [model.actuator(i).name for i in range(model.nu) if not model.actuator_ctrllimited[i]]
        if unlimited:
            raise PaddockError(
                f"robot '{robot.name}': the actuators {', '.join(unlimited)} have no control range, so JointTorque has no scale. "
                'Give them ctrlrange="low high" in the model.'
            )

    def size(self, layout: Layout) -> int:
        return layout.ctrl_low.shape[0]

    def __call__(self, state: State) -> Tensor:
        return state.layout.ctrl_middle + state.action * state.layout.ctrl_half


@dataclass(frozen=True, kw_only=True)
class JointPosition:
    """Targets around the home pose, held by the engine's position servos with the robot's gains.

    A servo is as strong as the motor it replaces, and its target stays within the joint's range.
    """

    scale: float = 0.5
    """Radians (metres, for a slide) that an action of 1 adds to home."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        if robot.gains is None:
            raise PaddockError(f"robot '{robot.name}' has no gains, so JointPosition cannot hold a target. Give Robot(gains=...).")
        stiffness, damping = robot.gains
        model = spec.compile()  # which turns degrees into radians and knows what is limited
        for name in robot.joints:
            actuator, motor, joint = spec.actuator(name), model.actuator(name).id, model.joint(name).id
            gear = abs(model.actuator_gear[motor, 0])
            if model.actuator_ctrllimited[motor] and not model.actuator_forcelimited[motor]:
                actuator.forcerange = model.actuator_ctrlrange[motor] * gear
                actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
            actuator.gear = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
            actuator.set_to_position(kp=stiffness, kv=damping)
            limited = bool(model.jnt_limited[joint])
            actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE if limited else mujoco.mjtLimited.mjLIMITED_FALSE
            actuator.ctrlrange = model.jnt_range[joint] if limited else [0.0, 0.0]

    def size(self, layout: Layout) -> int:
        return layout.ctrl_low.shape[0]

    def __call__(self, state: State) -> Tensor:
        target = torch.add(state.layout.home_joint, state.action, alpha=self.scale)
        return torch.clamp(target, state.layout.ctrl_low, state.layout.ctrl_high)
