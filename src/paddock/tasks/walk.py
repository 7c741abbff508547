"""Follow a velocity command on flat ground, with any robot that has legs."""

from paddock.robots import Robot
from paddock.tasks import terms as t
from paddock.tasks.bodies import body_of
from paddock.tasks.task import Task

ACTION_SCALE = 0.5
SIDEWAYS = (1.0, -1.0, -1.0)
"""Signs of a velocity command in a mirror."""


def walk(robot: Robot) -> Task:
    """The walking task of a robot; speeds and costs are in proportion to its size."""
    body = body_of(robot, "walk")
    speed = body.pace
    fastest = (speed, speed / 2, 1.0)
    privileged = {"base_vel": t.base_vel, "height": t.height}
    return Task(
        name=f"{robot.name}-walk",
        summary=f"Follow commands of up to {speed:g} m/s ahead, {speed / 2:g} m/s sideways and 1 rad/s, "
        f"within {speed / 4:g} m/s on average.",
        robot=robot,
        control_dt=0.02,
        episode_s=20.0,
        act=t.JointPosition(scale=ACTION_SCALE),
        command={"velocity": t.UniformCommand(low=(-speed, -speed / 2, -1.0), high=fastest, every_s=5.0, mirror=SIDEWAYS)},
        memory={"error": t.Total(t.velocity_error)},
        observe={"command": t.Command("velocity"), **t.proprioception(robot)},
        privileged=privileged | ({"contact": t.FootContact()} if robot.feet else {}),
        reward={
            "track": (1.0, t.Near(t.velocity_error, 0.35 * speed)),
            "turn": (0.5, t.Near(t.yaw_error, 0.35)),
            "upright": (0.2, t.upright),
            "bounce": (-1.0 / speed**2, t.bounce),
            "wobble": (-0.05, t.wobble),
            "power": (-0.006 / (body.mass * speed), t.power),
            "action_rate": (-0.12 / len(robot.joints), t.action_rate),
        },
        done={"fell": t.Fell(tilt_deg=60.0)},
        success=t.AllOf((t.Below(t.Mean("error"), speed / 4), t.Not(t.Fell(tilt_deg=60.0)))),
        reset=t.NearHome(),
        randomize={"friction": t.Friction((0.6, 1.2))},
        measure={"tracking_error": t.velocity_error},
        presets={
            "default": {
                "steps": 14_000_000,
                "num_worlds": 1024,
                "evaluate_every": 40,
                # without calming, some commands are only walked with the noise of training
                "ppo": {"target_kl": 0.02, "entropy_weight": 0.003, "log_std": -0.3, "calm_steps": 10_000_000},
            },
        },
    )
