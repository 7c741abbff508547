"""Get to a goal and stand there, by torque, while being pushed."""

from paddock.robots import QUADRUPED
from paddock.tasks import terms as t
from paddock.tasks.gait import TrotToGoal
from paddock.tasks.task import Task

goal_distance = t.Distance(t.GoalVector(), axes=2)
standing_there = t.AllOf((t.Below(goal_distance, 0.25), t.Not(t.Fell(tilt_deg=20.0))))

QUADRUPED_BALANCE = Task(
    name="quadruped-balance",
    summary="Reach a goal 1 to 3 m away by joint torques, under pushes, and stand there level for a second.",
    robot=QUADRUPED,
    control_dt=0.02,
    episode_s=20.0,
    act=t.JointTorque(),
    memory={
        "goal": t.GoalOnRing(near=1.0, far=3.0),
        "distance": t.Tracked(goal_distance),
        "held": t.Held(standing_there),
    },
    observe={
        "joint_pos": t.joint_pos,
        "joint_vel": t.joint_vel,
        "contact": t.FootContact(),
        "gravity": t.gravity,
        "gyro": t.gyro,
        "goal": t.GoalVector(),
    },
    privileged={"base_vel": t.base_vel, "height": t.height, "held": t.Remembered("held")},
    reward={
        # only getting there pays, so neither standing still nor hovering near the goal is worth anything
        "progress": (5.0, t.Progress("distance")),
        "arrived": (20.0, t.Sparse(t.HeldFor(timer="held", seconds=1.0))),
        "fell": (-5.0, t.Sparse(t.Fell())),
        "tilt": (-0.1, t.tilt),
        "effort": (-0.005, t.action_size),
        "action_rate": (-0.002, t.action_rate),
    },
    done={"fell": t.Fell(), "arrived": t.HeldFor(timer="held", seconds=1.0)},
    success=t.HeldFor(timer="held", seconds=1.0),
    reset=t.NearHome(),
    randomize={"push": t.Push(body="trunk", newtons=(10.0, 40.0), every_s=4.0, duration_s=0.2)},
    expert=TrotToGoal(),
    presets={
        "default": {"steps": 4_000_000, "num_worlds": 512, "ppo": {"target_kl": 0.02, "entropy_weight": 0.003}},
    },
)
