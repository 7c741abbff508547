"""How much differs, in a word: `none`, `light`, `default` or `heavy`, for any robot, with single entries overridden."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import mujoco

from paddock.errors import PaddockError, unknown
from paddock.tasks.noise import NoiseScale
from paddock.tasks.pushes import Push
from paddock.tasks.randomize_bodies import CentreOfMass, Mass
from paddock.tasks.randomize_contacts import Friction
from paddock.tasks.randomize_every import Every
from paddock.tasks.randomize_joints import Armature, Damping, FrictionLoss
from paddock.tasks.randomize_motors import FIXED, NO_BIAS, MotorStrength, ServoGains, is_servo
from paddock.tasks.randomizers import Randomizer
from paddock.tasks.ranges import Around
from paddock.tasks.task import Task

GRAVITY, WATER = 9.81, 1000.0
OWN = "own"
"""The task's own randomisation."""


@dataclass(frozen=True, kw_only=True)
class Strength:
    """How far each property may be from nominal, as a part of it."""

    mass: float
    friction: float
    strength: float
    gains: float
    damping: float
    armature: float
    friction_loss: float
    noise: float
    centre: float
    """Offset of the base's centre of mass, as a part of the edge of a cube of water as heavy as the robot."""
    push: float
    """Largest push, as a part of the robot's weight, for 0.2 s every 3 to 6 s."""


PRESETS = {
    "light": Strength(
        mass=0.1,
        friction=0.1,
        strength=0.05,
        gains=0.1,
        damping=0.1,
        armature=0.1,
        friction_loss=0.1,
        noise=0.1,
        centre=0.02,
        push=0.1,
    ),
    "default": Strength(
        mass=0.2,
        friction=0.4,
        strength=0.1,
        gains=0.2,
        damping=0.3,
        armature=0.2,
        friction_loss=0.3,
        noise=0.3,
        centre=0.05,
        push=0.25,
    ),
    "heavy": Strength(
        mass=0.4,
        friction=0.6,
        strength=0.3,
        gains=0.4,
        damping=0.6,
        armature=0.4,
        friction_loss=0.6,
        noise=0.6,
        centre=0.1,
        push=0.5,
    ),
}
PUSH_EVERY_S = (3.0, 6.0)


def with_randomization(task: Task, words: str) -> Task:
    """The task with other randomisation.

    `words` is a preset (none, light, default, heavy), or `own` for the task's own, and behind it what is changed of it, such as
    `heavy,friction=0.5:1.5,push=off`. Empty words change nothing.
    """
    if not words:
        return task
    preset, *changes = words.split(",")
    randomize = dict(task.randomize) if preset == OWN else preset_of(task, preset)
    for change in changes:
        name, _, value = change.partition("=")
        if name not in randomize:
            raise unknown(f"randomisation of {task.name} under '{preset}':", name, randomize)
        if value == "off":
            del randomize[name]
        else:
            randomize[name] = _with_range(randomize[name], _pair(change, value))
    return replace(task, randomize=randomize)


def preset_of(task: Task, name: str) -> dict[str, Randomizer]:
    """What a preset randomises of a task: everything of it that the model has."""
    if name == "none":
        return {}
    if name not in PRESETS:
        raise unknown("randomisation", name, ["none", *PRESETS, OWN])
    sizes, model = PRESETS[name], task.spec().compile()
    found: dict[str, Randomizer] = {"mass": Mass(Around(sizes.mass), each=True), "friction": Friction(Around(sizes.friction))}
    rows = range(model.nu)
    motors = [i for i in rows if model.actuator_gaintype[i] == FIXED and model.actuator_biastype[i] == NO_BIAS]
    servos = [i for i in rows if is_servo(model, i)]
    strong = sorted(motors + [i for i in servos if model.actuator_forcelimited[i]])
    if strong:
        names = () if len(strong) == model.nu else tuple(model.actuator(i).name for i in strong)
        found["strength"] = MotorStrength(Around(sizes.strength), names, each=True)
    if servos:
        with_damping = bool(model.actuator_biasprm[servos, 2].any())
        found["gains"] = ServoGains(Around(sizes.gains), Around(sizes.gains) if with_damping else 1.0, each=True)
    joints = [i for i in range(model.nv) if model.jnt_type[model.dof_jntid[i]] != mujoco.mjtJoint.mjJNT_FREE]
    if model.dof_damping[joints].any():
        found["damping"] = Damping(Around(sizes.damping), each=True)
    if model.dof_armature[joints].any():
        found["armature"] = Armature(Around(sizes.armature), each=True)
    if model.dof_frictionloss[joints].any():
        found["friction_loss"] = FrictionLoss(Around(sizes.friction_loss), each=True)
    base = task.robot.base
    if base is not None:
        mass = float(model.body_subtreemass[model.body(base).id])
        offset = round(sizes.centre * (mass / WATER) ** (1 / 3), 4)
        found["centre"] = CentreOfMass((-offset, offset), base)
        found["push"] = Push(body=base, newtons=(0.0, round(sizes.push * mass * GRAVITY, 1)), every_s=PUSH_EVERY_S)
    if task.noise:
        found["noise"] = NoiseScale(Around(sizes.noise))
    return found


def _pair(change: str, value: str) -> tuple[float, float]:
    low, _, high = value.partition(":")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise PaddockError(f"randomisation '{change}' is none; wanted name=LOW:HIGH, name=NUMBER or name=off.") from None


def _with_range(randomizer: Randomizer, pair: tuple[float, float]) -> Randomizer:
    """With another main range: the force of a push, and of everything else what is named first."""
    if isinstance(randomizer, Every):
        return replace(randomizer, randomizer=_with_range(randomizer.randomizer, pair))
    main = "newtons" if isinstance(randomizer, Push) else fields(randomizer)[0].name  # type: ignore[arg-type]
    return replace(randomizer, **{main: pair})  # type: ignore[type-var]
