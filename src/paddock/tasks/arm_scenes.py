"""The world around an arm: a bench to work on, a cube, and a ball that hangs in the air."""

import mujoco

from paddock.robots import Robot
from paddock.tasks.scenes import flat_floor

CUBE_HALF = 0.0225
"""Half the cube's edge, m."""
CUBE_HOME = (0.5, 0.0, CUBE_HALF, 1.0, 0.0, 0.0, 0.0)
BALL_RADIUS = 0.03
BALL_HOME = (0.5, 0.0, 0.3)
BALL_SLIDES = ("ball_x", "ball_y", "ball_z")
CUBE_SENSORS = {
    "cube_pos": mujoco.mjtSensor.mjSENS_FRAMEPOS,
    "cube_quat": mujoco.mjtSensor.mjSENS_FRAMEQUAT,
    "cube_vel": mujoco.mjtSensor.mjSENS_FRAMELINVEL,
}


def bench(robot: Robot) -> mujoco.MjSpec:
    """The robot beside a mat on the floor that shows where it works."""
    spec = flat_floor(robot)
    for name, size, rgba in (("mat_edge", 0.36, (0.16, 0.17, 0.19, 1.0)), ("mat", 0.353, (0.36, 0.42, 0.46, 1.0))):
        height = 0.0004 if name == "mat_edge" else 0.0007  # thinner than eyes or contacts could tell
        spec.worldbody.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[size - 0.12, size, height],
            pos=[0.5, 0.0, 0.0],
            rgba=list(rgba),
            contype=0,
            conaffinity=0,
            group=2,
        )
    return spec


def bench_with_cube(robot: Robot) -> mujoco.MjSpec:
    """The bench with a cube of 4.5 cm and 90 g on it, and sensors for what a tracker would tell of it."""
    spec = bench(robot)
    cube = spec.worldbody.add_body(name="cube", pos=CUBE_HOME[:3])
    cube.add_freejoint(name="cube")
    cube.add_geom(
        name="cube",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[CUBE_HALF] * 3,
        mass=0.09,
        friction=[0.7, 0.005, 0.0001],
        condim=4,
        contype=1,
        conaffinity=1,
        rgba=[0.97, 0.72, 0.12, 1.0],
    )
    for name, kind in CUBE_SENSORS.items():
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, objname="cube")
    home = spec.key("home")
    home.qpos = [*home.qpos, *CUBE_HOME]  # objects come after the robot
    return spec


def bench_with_ball(robot: Robot) -> mujoco.MjSpec:
    """The bench under a red ball, and a camera that looks at both from the side.

    The ball slides along x, y and z to wherever an episode puts it, and stays there: no force acts on it, and nothing touches it.
    """
    spec = bench(robot)
    ball = spec.worldbody.add_body(name="ball", gravcomp=1.0)
    for axis, slide in enumerate(BALL_SLIDES):
        ball.add_joint(name=slide, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[float(axis == i) for i in range(3)])
    ball.add_geom(
        name="ball",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[BALL_RADIUS, 0.0, 0.0],
        mass=0.05,
        rgba=[0.95, 0.12, 0.08, 1.0],
        contype=0,
        conaffinity=0,
        group=2,
    )
    spec.add_sensor(name="ball_pos", type=mujoco.mjtSensor.mjSENS_FRAMEPOS, objtype=mujoco.mjtObj.mjOBJ_BODY, objname="ball")
    spec.worldbody.add_camera(name="side", pos=[0.5, -0.95, 0.4], quat=[0.7071068, 0.7071068, 0.0, 0.0], fovy=50.0)
    home = spec.key("home")
    home.qpos = [*home.qpos, *BALL_HOME]
    return spec
