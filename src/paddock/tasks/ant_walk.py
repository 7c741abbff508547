"""Run ahead at a commanded velocity, on four short legs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from paddock.robots.ant import ANT
from paddock.tasks import terms as t
from paddock.tasks.task import Task

if TYPE_CHECKING:
    from paddock.contracts import State

ACTION_SCALE = 0.6
OUT = (55.0, -55.0, 125.0, -125.0)
"""Where each leg points at home, degrees from x towards y; as in ant.xml."""
HIP = ((0.085, 0.062), (0.085, -0.062), (-0.085, 0.062), (-0.085, -0.062))
"""Hips in the base's frame, m."""
SPAN, REACH, DROP = 0.25, 0.1, 0.2
"""From the hip out to the foot; from the knee out and down to the foot, m."""
OUTWARD = tuple((math.cos(math.radians(a)), math.sin(math.radians(a))) for a in OUT)
SIDEWAYS = tuple((-y, x) for x, y in OUTWARD)
"""Unit vectors of each leg: out along it, and to its left."""
FOOT = tuple((x + SPAN * u, y + SPAN * v) for (x, y), (u, v) in zip(HIP, OUTWARD, strict=True))
SPIN = tuple((-y, x) for x, y in FOOT)
"""How fast each foot moves for a yaw rate of 1 rad/s, m/s."""


@dataclass(frozen=True, kw_only=True)
class Scuttle:
    """Diagonal legs take turns: one pair stands and moves back under the body, the other swings ahead; action (n, 8).

    A pure function of time, command and the velocities felt, around the home pose.
    """

    scale: float = ACTION_SCALE
    """Joint angle of a full action, rad."""
    period: float = 0.28
    """Of one stride, s."""
    lift: float = 0.3
    """Knee angle of a swinging leg, rad."""
    radial: float = 1.0
    """How much of a foot's motion along its leg the knee makes."""
    stiffen: float = 0.15
    """Knee angle by which a standing leg aims below the ground, to carry the body, rad."""
    drive: float = 0.6
    """Feet move this much of the missing velocity, and of the missing yaw rate, faster than asked."""

    def __call__(self, state: State) -> Tensor:
        phase = state.time[:, None] / self.period + state.constant((0.0, 0.5, 0.5, 0.0))
        phase = phase - phase.floor()
        swing = (phase * 2).clamp(max=1.0)  # 0..1 through the swing, then 1
        stance = (phase * 2 - 1).clamp(min=0.0)  # 0, then 0..1 through the stance
        along = swing * swing * (3 - 2 * swing) - stance - 0.5  # behind, ahead, behind again
        start = (state.time / 0.3).clamp(max=1.0)[:, None]
        step = self.travel(state) * (along * start)[..., None]
        sideways = (step * _pairs(state, SIDEWAYS)).sum(-1)
        outward = (step * _pairs(state, OUTWARD)).sum(-1)
        hip = (sideways / SPAN).clamp(-0.7, 0.7)
        lifted = (math.pi * swing).sin() * start
        knee = self.radial * outward / DROP + self.lift * lifted - self.stiffen * (1 - lifted)
        return (torch.stack([hip, knee], dim=-1).flatten(1) / self.scale).clamp(-1, 1)

    def travel(self, state: State) -> Tensor:
        """How far each foot moves in a stance; (n, 4, 2), m."""
        wanted, vel = state.command["velocity"], state.sensor("base_vel")
        yaw_rate = state.sensor("gyro")[:, 2:]
        body = wanted[:, :2] + self.drive * (wanted[:, :2] - vel[:, :2])
        spin = wanted[:, 2:] + self.drive * (wanted[:, 2:] - yaw_rate)
        return (body[:, None] + spin[..., None] * _pairs(state, SPIN)) * (self.period / 2)


def _pairs(state: State, values: tuple[tuple[float, float], ...]) -> Tensor:
    """(4, 2)."""
    return state.constant(tuple(value for pair in values for value in pair)).view(-1, 2)


ANT_WALK = Task(
    name="ant-walk",
    summary="Follow commands of 0.3 to 1 m/s ahead, 0.3 m/s sideways and 0.5 rad/s, within 0.25 m/s on average.",
    robot=ANT,
    control_dt=0.02,
    episode_s=20.0,
    act=t.JointPosition(scale=ACTION_SCALE),
    command={"velocity": t.UniformCommand(low=(0.3, -0.3, -0.5), high=(1.0, 0.3, 0.5), every_s=5.0, mirror=(1.0, -1.0, -1.0))},
    memory={"error": t.Total(t.velocity_error)},
    observe={"command": t.Command("velocity"), **t.proprioception(ANT)},
    privileged={"base_vel": t.base_vel, "height": t.height, "contact": t.FootContact()},
    reward={
        "track": (1.5, t.Near(t.velocity_error, 0.35)),
        "turn": (0.5, t.Near(t.yaw_error, 0.35)),
        "upright": (0.2, t.upright),
        "bounce": (-1.0, t.bounce),
        "wobble": (-0.02, t.wobble),
        "power": (-0.001, t.power),
        "action_rate": (-0.01, t.action_rate),
    },
    done={"fell": t.Fell(tilt_deg=60.0)},
    success=t.AllOf((t.Below(t.Mean("error"), 0.25), t.Not(t.Fell(tilt_deg=60.0)))),
    reset=t.NearHome(),
    measure={"tracking_error": t.velocity_error},
    expert=Scuttle(),
    presets={
        "default": {
            "steps": 5_000_000,
            "num_worlds": 512,
            "evaluate_every": 40,
            "ppo": {"target_kl": 0.02, "entropy_weight": 0.003, "log_std": -0.3},
        },
    },
)
