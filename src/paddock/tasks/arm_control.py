"""Moving a tool instead of joints: small steps in space become targets of the joints' position servos."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError
from paddock.robots import Robot
from paddock.tasks.actions import servos
from paddock.tasks.kinematics import Chain, damped, turn_between
from paddock.tasks.memories import ACT_MEMORY, own
from paddock.tasks.sensing import Remembered

DAMPING = 0.03
"""Of the inverse kinematics, in the Jacobian's units, m and rad: joints that move the tool much less than this are left alone."""
CAUTION = 3.0
"""More damping for each metre and radian of error, so that an arm does not shake where its tool cannot get to."""
POSTURE = 0.05
"""Part of the way home that joints go in a step, as far as that does not move the tool: keeps the elbow from wandering."""
AHEAD = 3.0
"""Most steps that the target may be ahead of the tool along an axis: against an obstacle it stops winding up."""
JOINTS_TO_HOLD = 6
"""With fewer, an arm cannot hold its tool's attitude and follow a point as well."""


@dataclass(frozen=True, kw_only=True)
class EndEffector:
    """An action moves the target of the robot's tool along the world's x, y and z.

    The target is a remembered point that goes on from where it was, not from where the servos have brought the tool, so that a
    load does not make the arm sink step by step. Joint targets follow from the point and the joints as they are: they have no
    past, so what one machine rounds otherwise than another does not add up.
    """

    robot: Robot = field(repr=False)
    step: float = 0.02
    """Metres that an action of 1 moves the target in one control step."""
    hold: bool = True
    """Whether the tool keeps the attitude it has in the home pose; otherwise it may turn as it likes."""
    gripper: bool = False
    """Whether a fourth column moves the actuators that do not move the tool, -1 closing; without it they stay closed."""
    lowest: float = -math.inf
    """Height over its foot that the target stays above, m: a tool that presses on a bench is held there by friction."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot) -> None:
        joints = self._home.chain.joints
        unmoved = [joint for joint in joints if joint not in robot.joints]
        if unmoved:
            raise PaddockError(f"robot '{robot.name}' cannot steer its tool: no actuator moves {', '.join(unmoved)}.")
        if self.hold and len(joints) < JOINTS_TO_HOLD:
            raise PaddockError(
                f"robot '{robot.name}' moves its tool with {len(joints)} joints, too few to hold its attitude too. Use hold=False."
            )
        if self.gripper and len(joints) == len(robot.joints):
            raise PaddockError(f"robot '{robot.name}' has no gripper: all of its actuators move the tool. Use gripper=False.")
        servos(spec, robot)

    def size(self, layout: Layout) -> int:
        return 4 if self.gripper else 3

    def __call__(self, state: State) -> Tensor:
        chain, layout = self._on(state.qpos.device).chain, state.layout
        columns = [layout.actuators[joint] for joint in chain.joints]
        low, high = (torch.cat([end[column] for column in columns]) for end in (layout.ctrl_low, layout.ctrl_high))
        target = torch.clamp(self._moved(state), low, high)
        parts = list(self._grip(state).unbind(1))
        for column, value in zip(columns, target.unbind(1), strict=True):
            parts[column.start] = value
        return torch.stack(parts, dim=1)

    def start(self, state: State) -> Tensor:
        """Where the tool is, in the frame of its foot; (n, 3)."""
        return self._on(state.qpos.device).chain.pose(self._joints(state))[0]

    def next(self, state: State) -> Tensor:
        tool, ahead = self.start(state), AHEAD * self.step
        return torch.clamp(self._onward(own(state), state.action), tool - ahead, tool + ahead)

    def _onward(self, point: Tensor, action: Tensor) -> Tensor:
        x, y, z = (point + action[:, :3] * self.step).unbind(1)
        return torch.stack([x, y, z.clamp(min=self.lowest)], dim=1)

    def _joints(self, state: State) -> Tensor:
        """Positions of the joints that move the tool; (n, k)."""
        return torch.cat([joint_reading(state, joint) for joint in self._home.chain.joints], dim=1)

    def _moved(self, state: State) -> Tensor:
        """Targets of the tool's joints before their limits; (n, k)."""
        home, now = self._on(state.qpos.device), self._joints(state)
        goal = self._onward(Remembered(ACT_MEMORY)(state), state.action)
        q = now + (home.q - now) * POSTURE
        for _ in range(2):  # the second time for what bends and damping have left over
            pos, rotation, jacobian = home.chain.jacobian(q)
            if self.hold:
                error = torch.cat([goal - pos, turn_between(rotation, home.rotation.expand_as(rotation))], dim=1)
                q = q + damped(jacobian, error, DAMPING, CAUTION)
            else:
                q = q + damped(jacobian[:, :3], goal - pos, DAMPING, CAUTION)
        return q

    def _grip(self, state: State) -> Tensor:
        """ctrl with the gripper's columns right; (n, nu)."""
        layout = state.layout
        opening = state.action[:, 3:4] if self.gripper else torch.full_like(state.action[:, :1], -1.0)
        return layout.ctrl_middle + opening * layout.ctrl_half

    @cached_property
    def _home(self) -> "HomePose":
        return HomePose.of(self.robot)

    @cached_property
    def _elsewhere(self) -> "dict[torch.device, HomePose]":
        return {}

    def _on(self, device: torch.device) -> "HomePose":
        if device not in self._elsewhere:
            self._elsewhere[device] = self._home.to(device)
        return self._elsewhere[device]


@dataclass(frozen=True, eq=False)
class HomePose:
    """How a robot's tool is carried, and how it stands at home."""

    chain: Chain
    q: Tensor
    """(1, k)."""
    rotation: Tensor
    """(1, 3, 3)."""

    @staticmethod
    def of(robot: Robot) -> "HomePose":
        if robot.tool is None:
            raise PaddockError(f"robot '{robot.name}' names no tool to move. Give Robot(tool=...), a site of its model.")
        model = robot.spec().compile()
        chain = Chain.to_site(model, robot.tool)
        keys = [model.key(i).name for i in range(model.nkey)]
        qpos = model.key("home").qpos if "home" in keys else model.qpos0
        q = torch.tensor([[qpos[model.joint(joint).qposadr[0]] for joint in chain.joints]], dtype=torch.float32)
        return HomePose(chain, q, chain.pose(q)[1])

    def to(self, device: torch.device, dtype: torch.dtype = torch.float32) -> "HomePose":
        """The same on a device, in the precision of the positions that it will be given."""
        return HomePose(self.chain.to(device, dtype), self.q.to(device, dtype), self.rotation.to(device, dtype))


def joint_reading(state: State, joint: str) -> Tensor:
    """A joint's position as its encoder reads it, or as the engine has it where the robot declares no such sensor; (n, 1)."""
    sensor = f"joint_pos/{joint}"
    return state.sensor(sensor) if sensor in state.layout.sensors else state.joint_pos(joint)
