"""Walk on two legs at the speed asked for."""

from dataclasses import dataclass

from torch import Tensor

from paddock.contracts import State
from paddock.robots.humanoid import HUMANOID, JOINTS, SIDES, joint_kind
from paddock.tasks import terms as t
from paddock.tasks.humanoid_gait import Stride
from paddock.tasks.striding import Clock, ClockHands, InStep, OffStride
from paddock.tasks.task import Task

ACTION_SCALE = 0.5
PERIOD = 0.64
"""Of a stride, two steps, s."""
STEPPING = tuple(JOINTS.index(f"{side}_{joint}") for side in SIDES for joint in ("hip_pitch", "knee", "ankle_pitch"))
"""Joints that make a step."""
STEADY = tuple(i for i, joint in enumerate(JOINTS) if i not in STEPPING and joint_kind(joint) != "shoulder_pitch")
"""Joints that a straight walk leaves at home. The arms may swing."""


@dataclass(frozen=True)
class Slack:
    """How far some joints are from home, as a sum of squares; (n,)."""

    columns: tuple[int, ...]

    def __call__(self, state: State) -> Tensor:
        return t.joint_offset(state)[:, list(self.columns)].square().sum(1)


slumped = t.Below(t.height, 0.6)
fallen = t.AnyOf((t.Fell(tilt_deg=45.0), slumped))

HUMANOID_WALK = Task(
    name="humanoid-walk",
    summary="Walk at up to 1 m/s ahead, turning by up to 0.3 rad/s, within 0.3 m/s on average.",
    robot=HUMANOID,
    control_dt=0.02,
    episode_s=20.0,
    act=t.JointPosition(scale=ACTION_SCALE),
    command={"velocity": t.UniformCommand(low=(0.0, -0.1, -0.3), high=(1.0, 0.1, 0.3), every_s=5.0, mirror=(1.0, -1.0, -1.0))},
    memory={"clock": Clock(period=PERIOD), "error": t.Total(t.velocity_error)},
    observe={"command": t.Command("velocity"), "clock": ClockHands(), **t.proprioception(HUMANOID)},
    privileged={"base_vel": t.base_vel, "height": t.height, "contact": t.FootContact()},
    reward={
        "track": (1.5, t.Near(t.velocity_error, 0.3)),
        "turn": (0.5, t.Near(t.yaw_error, 0.35)),
        "stride": (1.0, t.Near(OffStride(columns=STEPPING, fold=0.3), 0.35)),
        "in_step": (1.0, InStep()),
        "upright": (0.5, t.Near(t.tilt, 0.05)),
        "posture": (-0.3, Slack(STEADY)),
        "bounce": (-0.5, t.bounce),
        "wobble": (-0.05, t.wobble),
        "power": (-0.0002, t.power),
        "action_rate": (-0.01, t.action_rate),
        "fell": (-10.0, t.Sparse(fallen)),
    },
    done={"fell": t.Fell(tilt_deg=45.0), "slumped": slumped},
    success=t.AllOf((t.Below(t.Mean("error"), 0.3), t.Not(fallen))),
    reset=t.NearHome(joint=0.05),
    randomize={"friction": t.Friction((0.7, 1.2))},
    measure={"tracking_error": t.velocity_error},
    expert=Stride(period=PERIOD, scale=ACTION_SCALE),
    presets={
        "default": {
            "steps": 8_000_000,
            # many small updates: the body falls within two seconds at first, and little is learned from more of the same
            "num_worlds": 128,
            "evaluate_every": 120,
            "ppo": {
                "target_kl": 0.02,
                "entropy_weight": 0.001,
                "log_std": -1.6,
                "horizon": 32,
                "hidden": (256, 128),
            },
        },
        "gpu": {"steps": 60_000_000, "ppo": {"horizon": 24, "minibatches": 16}},
    },
)
