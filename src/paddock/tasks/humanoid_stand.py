"""Stand on two legs while being pushed."""

from paddock.robots.humanoid import HUMANOID
from paddock.tasks import terms as t
from paddock.tasks.humanoid_control import Balance
from paddock.tasks.task import Task

ACTION_SCALE = 0.5
slumped = t.Below(t.height, 0.7)
fallen = t.AnyOf((t.Fell(tilt_deg=45.0), slumped))

HUMANOID_STAND = Task(
    name="humanoid-stand",
    summary="Stand on two legs for ten seconds, under a push every two.",
    robot=HUMANOID,
    control_dt=0.02,
    episode_s=10.0,
    act=t.JointPosition(scale=ACTION_SCALE),
    observe={**t.proprioception(HUMANOID), "contact": t.FootContact()},
    privileged={"base_vel": t.base_vel, "height": t.height},
    reward={
        "upright": (1.0, t.Near(t.tilt, 0.05)),
        "still": (0.5, t.Near(t.base_vel, 0.3)),
        "posture": (0.5, t.Near(t.joint_offset, 0.8)),
        "fell": (-10.0, t.Sparse(fallen)),
        "effort": (-0.01, t.action_size),
        "action_rate": (-0.005, t.action_rate),
    },
    done={"fell": t.Fell(tilt_deg=45.0), "slumped": slumped},
    success=t.Not(t.AnyOf((t.Fell(tilt_deg=20.0), slumped))),
    reset=t.NearHome(joint=0.05),
    # 8 to 16 N s: enough to tip a body that only holds its pose, and within what feet that stay in place can answer
    randomize={"push": t.Push(body="torso", newtons=(40.0, 80.0), every_s=2.0, duration_s=0.2)},
    expert=Balance(scale=ACTION_SCALE),
    presets={"default": {"steps": 1_500_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "log_std": -1.0}}},
)
