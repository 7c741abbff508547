"""Stand up straight while being pushed, with any robot that has legs."""

from paddock.robots import Robot
from paddock.tasks import terms as t
from paddock.tasks.bodies import body_of
from paddock.tasks.task import Task


def stand(robot: Robot) -> Task:
    """The standing task of a robot; pushes are in proportion to its weight."""
    body = body_of(robot, "stand")
    slumped = t.Below(t.height, round(body.height * 2 / 3, 3))
    sees = {**t.proprioception(robot), **({"contact": t.FootContact()} if robot.feet else {})}
    return Task(
        name=f"{robot.name}-stand",
        summary="Stand level for ten seconds, under a push every two.",
        robot=robot,
        control_dt=0.02,
        episode_s=10.0,
        act=t.JointPosition(),
        observe=sees,
        privileged={"base_vel": t.base_vel, "height": t.height},
        reward={
            "upright": (1.0, t.upright),
            "still": (0.5, t.Near(t.base_vel, 0.3)),
            "posture": (0.5, t.Near(t.joint_offset, 0.8)),
            "fell": (-10.0, t.Sparse(t.AnyOf((t.Fell(), slumped)))),
            "effort": (-0.24 / len(robot.joints), t.action_size),
            "action_rate": (-0.12 / len(robot.joints), t.action_rate),
        },
        done={"fell": t.Fell(), "slumped": slumped},
        success=t.Not(t.AnyOf((t.Fell(tilt_deg=20.0), slumped))),
        reset=t.NearHome(),
        randomize={
            "push": t.Push(
                body=body.base, newtons=(round(body.weight / 6, 1), round(body.weight / 2, 1)), every_s=2.0, duration_s=0.2
            )
        },
        presets={"default": {"steps": 1_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02, "log_std": -0.5}}},
    )
