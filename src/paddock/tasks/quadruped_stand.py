"""Stand up straight, by torque, while being pushed."""

from paddock.robots import QUADRUPED
from paddock.tasks import terms as t
from paddock.tasks.gait import TrotInPlace
from paddock.tasks.task import Task

slumped = t.Below(t.height, 0.2)

QUADRUPED_STAND = Task(
    name="quadruped-stand",
    summary="Stand level on joint torques for ten seconds, under a push every two.",
    robot=QUADRUPED,
    control_dt=0.02,
    episode_s=10.0,
    act=t.JointTorque(),
    observe={
        "joint_pos": t.joint_offset,
        "joint_vel": t.joint_vel,
        "contact": t.FootContact(),
        "gravity": t.gravity,
        "gyro": t.gyro,
        "last_action": t.last_action,
    },
    privileged={"base_vel": t.base_vel, "height": t.height},
    reward={
        "upright": (1.0, t.upright),
        "still": (0.5, t.Near(t.base_vel, 0.3)),
        "posture": (0.5, t.Near(t.joint_offset, 0.8)),
        "fell": (-10.0, t.Sparse(t.AnyOf((t.Fell(), slumped)))),
        "effort": (-0.02, t.action_size),
        "action_rate": (-0.01, t.action_rate),
    },
    done={"fell": t.Fell(), "slumped": slumped},
    success=t.Not(t.AnyOf((t.Fell(tilt_deg=20.0), slumped))),
    reset=t.NearHome(),
    randomize={"push": t.Push(body="trunk", newtons=(20.0, 60.0), every_s=2.0, duration_s=0.2)},
    expert=TrotInPlace(),
    presets={"default": {"steps": 1_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "log_std": -0.5}}},
)
