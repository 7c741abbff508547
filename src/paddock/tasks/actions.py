"""What an action means: how numbers within [-1, 1] become the engine's ctrl."""

from dataclasses import dataclass

import mujoco
import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError
from paddock.robots import Robot
from paddock.robots.drivetrain import Command, drive
from paddock.robots.robot import Gains, on_joint


@dataclass(frozen=True, kw_only=True)
class JointTorque:
    """-1 and 1 are the ends of each actuator's control range, with a robot's `motors` the most they give; actuators are kept."""

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

    A servo is as strong as the motor it replaces, and its target stays within the joint's range. An actuator that drives no
    joint, such as a gripper's tendon, is kept, and -1 and 1 are the ends of its control range.
    """

    scale: float = 0.5
    """Radians (metres, for a slide) that an action of 1 adds to home."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        servos(spec, robot)

    def size(self, layout: Layout) -> int:
        return layout.ctrl_low.shape[0]

    def __call__(self, state: State) -> Tensor:
        layout = state.layout
        span = torch.where(layout.on_joint, self.scale, layout.ctrl_half)
        return torch.clamp(layout.home_joint + state.action * span, layout.ctrl_low, layout.ctrl_high)


@dataclass(frozen=True, kw_only=True)
class JointVelocity:
    """Target velocities, held by the engine's velocity loops with the damping of the robot's gains.

    An actuator that drives no joint is kept, and -1 and 1 are the ends of its control range.
    """

    scale: float = 1.0
    """Target for an action of 1, rad/s (m/s, for a slide)."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        model = spec.compile()
        for name in robot.joints:
            actuator = spec.actuator(name)
            if not on_joint(actuator):
                continue
            gains, motor = robot.gains_of(name), robot.motor_of(name)
            if gains is None or not gains[1] > 0:
                raise PaddockError(
                    f"robot '{robot.name}' has no damping in its gains, so nothing holds the velocity of '{name}'. "
                    "Give Robot(gains=(stiffness, damping))."
                )
            if motor is not None:
                drive(spec, model, name, motor, command="velocity", gains=gains)
            else:
                _make_servo(actuator, model, model.actuator(name).id, gains, command="velocity")
                actuator.ctrllimited, actuator.ctrlrange = mujoco.mjtLimited.mjLIMITED_FALSE, [0.0, 0.0]

    def size(self, layout: Layout) -> int:
        return layout.ctrl_low.shape[0]

    def __call__(self, state: State) -> Tensor:
        layout = state.layout
        wanted = torch.where(layout.on_joint, state.action * self.scale, layout.ctrl_middle + state.action * layout.ctrl_half)
        return torch.clamp(wanted, layout.ctrl_low, layout.ctrl_high)


def servos(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Make the motors of a robot's joints position servos with its gains, their targets limited to the joints' ranges."""
    model = spec.compile()  # which turns degrees into radians and knows what is limited
    for name in robot.joints:
        actuator = spec.actuator(name)
        if not on_joint(actuator):
            continue
        motor, joint = model.actuator(name).id, model.joint(name).id
        gains, own = robot.gains_of(name), robot.motor_of(name)
        if gains is not None and own is not None:
            drive(spec, model, name, own, command="position", gains=gains)
        elif gains is not None:
            _make_servo(actuator, model, motor, gains)
        elif not _is_servo(model, motor):
            raise PaddockError(
                f"robot '{robot.name}' has no gains, and its actuator '{name}' is no position servo, so nothing holds a target. "
                "Give Robot(gains=(stiffness, damping))."
            )
        limited = bool(model.jnt_limited[joint])
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE if limited else mujoco.mjtLimited.mjLIMITED_FALSE
        actuator.ctrlrange = model.jnt_range[joint] if limited else [0.0, 0.0]


def _make_servo(
    actuator: mujoco.MjsActuator, model: mujoco.MjModel, motor: int, gains: Gains, *, command: Command = "position"
) -> None:
    gear = abs(model.actuator_gear[motor, 0])
    if not _is_servo(model, motor) and model.actuator_ctrllimited[motor] and not model.actuator_forcelimited[motor]:
        actuator.forcerange = model.actuator_ctrlrange[motor] * gear
        actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    actuator.gear = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    stiffness, damping = gains
    if command == "velocity":
        actuator.set_to_velocity(kv=damping)
    else:
        actuator.set_to_position(kp=stiffness, kv=damping)


def _is_servo(model: mujoco.MjModel, motor: int) -> bool:
    """Whether an actuator already pulls towards the position it is told."""
    return bool(model.actuator_biasprm[motor, 1] < 0)
