"""What can be seen: terms that read sensors, commands and memory. Most are plain functions of the state."""

from dataclasses import dataclass

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.errors import unknown
from paddock.robots import Robot


@dataclass(frozen=True)
class Sensor:
    """A sensor of the robot or scene by name, or a group of them; (n, k)."""

    name: str
    scale: float = 1.0

    def __call__(self, state: State) -> Tensor:
        value = state.sensor(self.name)
        return value if self.scale == 1.0 else value * self.scale


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Distances of a Rangefinder, Lidar or HeightScan, with your own word for `nothing within range`; (n, k)."""

    sensor: str
    miss: float | None = None
    """What a ray reads that meets nothing nearer than the sensor's `max_range`: that range itself, unless given."""

    def __call__(self, state: State) -> Tensor:
        value = state.sensor(self.sensor)
        far = state.layout.max_range[state.layout.sensors[self.sensor]]
        missed = (value < 0) | (value >= far)
        return torch.where(missed, far if self.miss is None else state.constant(self.miss), value)


@dataclass(frozen=True)
class Command:
    """What the operator asks for; (n, k)."""

    name: str

    def __call__(self, state: State) -> Tensor:
        if self.name not in state.command:
            raise unknown("command", self.name, state.command)
        return state.command[self.name]


@dataclass(frozen=True)
class Remembered:
    """A memory of the task as it stands; (n, ...)."""

    name: str

    def __call__(self, state: State) -> Tensor:
        if self.name not in state.memory:
            raise unknown("memory", self.name, state.memory)
        return state.memory[self.name]


@dataclass(frozen=True)
class Column:
    """One column of another term; (n,)."""

    term: Term
    index: int

    def __call__(self, state: State) -> Tensor:
        return self.term(state)[:, self.index]


@dataclass(frozen=True)
class Param:
    """What randomisation drew under a name, for a critic; (n, k)."""

    name: str

    def __call__(self, state: State) -> Tensor:
        if self.name not in state.params:
            raise unknown("randomised parameter", self.name, state.params)
        return state.params[self.name]


def joint_pos(state: State) -> Tensor:
    """Joint positions as the encoders read them; (n, k)."""
    return state.sensor("joint_pos")


def joint_offset(state: State) -> Tensor:
    """Joint positions relative to home; (n, k)."""
    return state.sensor("joint_pos") - state.layout.home_sensordata[state.layout.sensors["joint_pos"]]


def joint_vel(state: State) -> Tensor:
    """(n, k)."""
    return state.sensor("joint_vel")


def last_action(state: State) -> Tensor:
    """The action that led here; (n, na)."""
    return state.action


def joint_command(state: State) -> Tensor:
    """What the actuators were told for the step that led here; (n, nu)."""
    return state.ctrl


def gravity(state: State) -> Tensor:
    """The direction of gravity in the base's frame, (0, 0, -1) when level; (n, 3)."""
    return -state.sensor("up")


def gyro(state: State) -> Tensor:
    """Angular velocity in the base's frame; (n, 3)."""
    return state.sensor("gyro")


def base_vel(state: State) -> Tensor:
    """Linear velocity in the base's frame; (n, 3)."""
    return state.sensor("base_vel")


def height(state: State) -> Tensor:
    """Height of the base above the world's origin; (n,)."""
    return state.sensor("base_pos")[:, 2]


@dataclass(frozen=True, kw_only=True)
class FootContact:
    """1 where a foot presses harder than `threshold`, else 0; (n, feet)."""

    threshold: float = 1.0
    """Newtons."""

    def __call__(self, state: State) -> Tensor:
        return (state.sensor("touch") > self.threshold).to(torch.float32)


@dataclass(frozen=True)
class GoalVector:
    """From the base to a goal on the ground, in the base's heading frame; (n, 3).

    Forward and left in metres, and the base's height above its home height.
    """

    goal: str = "goal"
    """The memory that holds the goal's world x and y."""

    def __call__(self, state: State) -> Tensor:
        pos = state.sensor("base_pos")
        forward, left = heading(state)
        offset = Remembered(self.goal)(state) - pos[:, :2]
        above = pos[:, 2] - state.layout.home_qpos[2]
        return torch.stack([(offset * forward).sum(1), (offset * left).sum(1), above], dim=1)


def heading(state: State) -> tuple[Tensor, Tensor]:
    """Unit vectors on the ground that point ahead of the base and to its left; (n, 2) each."""
    w, x, y, z = state.sensor("base_quat").unbind(1)
    ahead = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)], dim=1)
    forward = ahead / ahead.norm(dim=1, keepdim=True).clamp(min=1e-6)
    left = torch.stack([-forward[:, 1], forward[:, 0]], dim=1)
    return forward, left


def proprioception(robot: Robot) -> dict[str, Term]:
    """What a robot feels of itself: joints, last action and, where it floats, gravity and angular velocity."""
    joints: dict[str, Term] = {"joint_pos": joint_offset, "joint_vel": joint_vel, "last_action": last_action}
    return joints if robot.base is None else {"gravity": gravity, "gyro": gyro, **joints}
