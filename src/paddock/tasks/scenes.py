"""The world around a robot: floor, light and sky, added to the robot's own spec."""

import mujoco

from paddock.robots import Robot


def flat_floor(robot: Robot) -> mujoco.MjSpec:
    """The robot on an endless checkered plane."""
    spec = lit(robot)
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        mark=mujoco.mjtMark.mjMARK_EDGE,
        rgb1=[0.93, 0.93, 0.91],
        rgb2=[0.86, 0.87, 0.865],
        markrgb=[0.78, 0.79, 0.79],
        width=300,
        height=300,
    )
    floor = spec.add_material(name="floor", texrepeat=[2, 2], texuniform=True, specular=0.0)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 0.05],
        material="floor",
        contype=1,
        conaffinity=1,
    )
    return spec


def seen_floor(robot: Robot) -> mujoco.MjSpec:
    """The same plane, there only to be looked at: an arm that is bolted down needs none, and may be drawn through it."""
    spec = flat_floor(robot)
    floor = spec.geom("floor")
    floor.contype = floor.conaffinity = 0
    return spec


def lit(robot: Robot) -> mujoco.MjSpec:
    """The robot under a sky, with one shadow-casting light and nothing to stand on."""
    spec = robot.spec()
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.98],
        rgb2=[0.55, 0.68, 0.82],
        width=256,
        height=1536,
    )
    # shadows exist only near where the light points, so it points at the robot and goes with it
    floats = robot.base is not None
    (spec.body(robot.base) if floats else spec.worldbody).add_light(
        name="sun",
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM if floats else mujoco.mjtCamLight.mjCAMLIGHT_FIXED,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[1.0, -1.6, 3.5],
        dir=[-1.0, 1.6, -3.5],
        diffuse=[0.6, 0.6, 0.58],
        specular=[0.25, 0.25, 0.25],
    )
    spec.visual.headlight.ambient = [0.32, 0.32, 0.33]
    spec.visual.headlight.diffuse = [0.36, 0.36, 0.36]
    spec.visual.headlight.specular = [0.1, 0.1, 0.1]
    spec.visual.map.shadowclip = 3.0
    spec.visual.quality.shadowsize = 2048
    return spec


def bare(robot: Robot) -> mujoco.MjSpec:
    """The robot's file as it is, for models that bring their own world."""
    return robot.spec()
