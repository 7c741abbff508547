"""Moving a tool instead of joints: small steps in space become targets of the joints' position servos."""

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

DAMPING = 0.03
"""Of the inverse kinematics, in the Jacobian's units, m and rad: joints that move the tool much less than this are left alone."""
POSTURE = 0.02
"""Part of the way home that joints go in a step, as far as that does not move the tool: keeps the elbow from wandering."""
LEAD = 0.1
"""Most that a target may be ahead of its joint, rad or m: against an obstacle it stops winding up."""
JOINTS_TO_HOLD = 6
"""With fewer, an arm cannot hold its tool's attitude and follow a point as well."""


@dataclass(frozen=True, kw_only=True)
class EndEffector:
    """An action moves the target of the robot's tool along the world's x, y and z.

    The target goes on from where it was, not from where the servos have brought the arm, so that a load does not make the arm
    sink step by step.
    """

    robot: Robot = field(repr=False)
    step: float = 0.02
    """Metres that an action of 1 moves the target in one control step."""
    hold: bool = True
    """Whether the tool keeps the attitude it has in the home pose; otherwise it may turn as it likes."""
    gripper: bool = False
    """Whether a fourth column moves the actuators that do not move the tool, -1 closing; without it they stay closed."""

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
        low, high = (torch.cat([end[own] for own in columns]) for end in (layout.ctrl_low, layout.ctrl_high))
        target = torch.clamp(self._moved(state, columns), low, high)
        parts = list(self._grip(state).unbind(1))
        for own, value in zip(columns, target.unbind(1), strict=True):
            parts[own.start] = value
        return torch.stack(parts, dim=1)

    def _moved(self, state: State, columns: list[slice]) -> Tensor:
        """Targets of the tool's joints before their limits; (n, k)."""
        home = self._on(state.qpos.device)
        now = torch.cat([joint_reading(state, joint) for joint in home.chain.joints], dim=1)
        told = torch.cat([state.ctrl[:, own] for own in columns], dim=1)
        begun = (state.ctrl != 0).any(1)  # ctrl is zero until an episode's first command
        # in double precision: what single precision loses, a target that goes on from its last value would add up
        q = torch.where(begun[:, None], torch.clamp(told, now - LEAD, now + LEAD), now).double()
        goal = home.chain.pose(q)[0] + state.action[:, :3].double() * self.step
        q = q + (home.q - q) * POSTURE
        for _ in range(2):  # the second time for what bends and damping have left over
            pos, rotation, jacobian = home.chain.jacobian(q)
            if self.hold:
                error = torch.cat([goal - pos, turn_between(rotation, home.rotation.expand_as(rotation))], dim=1)
                q = q + damped(jacobian, error, DAMPING)
            else:
                q = q + damped(jacobian[:, :3], goal - pos, DAMPING)
        return q.to(torch.float32)

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
            self._elsewhere[device] = self._home.to(device, torch.float64)
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
