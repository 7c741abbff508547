"""Follow a velocity command on flat ground."""

from paddock.robots import QUADRUPED
from paddock.tasks import terms as t
from paddock.tasks.gait import Trot
from paddock.tasks.task import Task

ACTION_SCALE = 0.5

QUADRUPED_WALK = Task(
    name="quadruped-walk",
    summary="Follow commands of up to 1 m/s ahead, 0.5 m/s sideways and 1 rad/s, within 0.25 m/s on average.",
    robot=QUADRUPED,
    control_dt=0.02,
    episode_s=20.0,
    act=t.JointPosition(scale=ACTION_SCALE),
    command={"velocity": t.UniformCommand(low=(-1.0, -0.5, -1.0), high=(1.0, 0.5, 1.0), every_s=5.0)},
    memory={"error": t.Total(t.velocity_error)},
    observe={"command": t.Command("velocity"), **t.proprioception(QUADRUPED)},
    privileged={"base_vel": t.base_vel, "height": t.height, "contact": t.FootContact()},
    reward={
        "track": (1.0, t.Near(t.velocity_error, 0.35)),
        "turn": (0.5, t.Near(t.yaw_error, 0.35)),
        "upright": (0.2, t.upright),
        "bounce": (-1.0, t.bounce),
        "wobble": (-0.05, t.wobble),
        "power": (-0.0005, t.power),
        "action_rate": (-0.01, t.action_rate),
    },
    done={"fell": t.Fell(tilt_deg=60.0)},
    success=t.AllOf((t.Below(t.Mean("error"), 0.25), t.Not(t.Fell(tilt_deg=60.0)))),
    reset=t.NearHome(),
    randomize={"friction": t.Friction(0.6, 1.2)},
    measure={"tracking_error": t.velocity_error},
    expert=Trot(scale=ACTION_SCALE),
    presets={
        "default": {
            "steps": 14_000_000,
            "num_worlds": 1024,
            "evaluate_every": 40,
            "ppo": {"target_kl": 0.02, "entropy_weight": 0.003, "log_std": -0.3},
        },
    },
)
