"""The world around a robot: floor, light and sky, added to the robot's own spec."""

import mujoco

from paddock.robots import Robot

FRAME_SIZE = (1280, 720)  # the largest picture a scene's buffers allow


def flat_floor(robot: Robot) -> mujoco.MjSpec:
    """The robot on an endless checkered plane."""
    spec = lit(robot)
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        mark=mujoco.mjtMark.mjMARK_EDGE,
        rgb1=[0.93, 0.93, 0.91],
        rgb2=[0.87, 0.88, 0.87],
        markrgb=[0.78, 0.79, 0.79],
        width=300,
        height=300,
    )
    floor = spec.add_material(name="floor", texrepeat=[2, 2], texuniform=True, reflectance=0.08)
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


def lit(robot: Robot) -> mujoco.MjSpec:
    """The robot under a sky, with one shadow-casting light and nothing to stand on."""
    spec = robot.spec()
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.97, 0.98, 1.0],
        rgb2=[0.62, 0.74, 0.86],
        width=256,
        height=1536,
    )
    spec.worldbody.add_light(
        name="sun",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0, 0, 4],
        dir=[-0.3, 0.5, -1.0],
        diffuse=[0.6, 0.6, 0.6],
        specular=[0.2, 0.2, 0.2],
    )
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.headlight.diffuse = [0.4, 0.4, 0.4]
    spec.visual.global_.offwidth, spec.visual.global_.offheight = FRAME_SIZE
    return spec


def bare(robot: Robot) -> mujoco.MjSpec:
    """The robot's file as it is, for models that bring their own world."""
    return robot.spec()
