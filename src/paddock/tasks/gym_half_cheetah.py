"""Gymnasium's HalfCheetah-v5: a flat runner that never falls over."""

import mujoco

from paddock.robots import Robot
from paddock.robots.gym_models import HALF_CHEETAH
from paddock.tasks import gymnasium_terms as g
from paddock.tasks import terms as t
from paddock.tasks.task import Task


def weighed(robot: Robot) -> mujoco.MjSpec:
    """The robot's file with two settings that MuJoCo is giving up said in today's words: the same model, bit for bit.

    `settotalmass` becomes the masses it leads to, and `nstack`, which excludes the size of the arena, goes.
    """
    spec = robot.spec()
    total = spec.compiler.settotalmass
    spec.compiler.settotalmass, spec.nstack = -1, -1
    model = spec.compile()
    mujoco.mj_setTotalmass(model, total)
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    for i, body in enumerate(spec.bodies):
        if i > 0:  # the world has no mass
            body.explicitinertial = True
            body.mass, body.inertia = model.body_mass[i], model.body_inertia[i]
            body.ipos, body.iquat = model.body_ipos[i], model.body_iquat[i]
    return spec


GYM_HALF_CHEETAH = Task(
    name="gym-half-cheetah",
    summary="Gymnasium's HalfCheetah-v5: run ahead.",
    robot=HALF_CHEETAH,
    control_dt=0.05,
    episode_s=0.05 * g.STEPS,
    act=t.JointTorque(),
    memory={"x": t.Tracked(g.root_x)},
    observe={"pos": g.PositionsFrom(1), "vel": g.joint_velocities},
    reward={"forward": (1.0, g.Speed("x")), "ctrl": (-0.1, g.ctrl_size)},
    done={},
    reset=g.NoisyStart(noise=0.1, vel="normal"),
    scene=weighed,
    fields=("qpos",),
    stage="engine",
    presets={"default": {"steps": 4_000_000, "num_worlds": 256, "ppo": {"target_kl": 0.02}}, "million": g.MILLION},
)
