"""Several robots in one scene: copies of robots, side by side, as one robot.

A member's names begin with its own: the cart of `left` is `left/cart`, its joint sensors are `left/joint_pos/cart` and
together `left/joint_pos`. In the model's arrays members lie one behind the other, in the order they are given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco
import numpy as np

from paddock.errors import PaddockError, unknown
from paddock.robots.motors import Motor
from paddock.robots.robot import Gains, Robot

Place = tuple[float, float, float]
"""World x and y of a member's own origin, m, and the direction it faces, in degrees from x towards y."""

SHARED_OPTIONS = (
    "timestep",
    "integrator",
    "cone",
    "solver",
    "iterations",
    "ls_iterations",
    "gravity",
    "disableflags",
    "enableflags",
)
"""What one scene can have only once."""


def team(name: str, members: Mapping[str, Robot], *, places: Mapping[str, Place]) -> Robot:
    """One robot made of `members`, each at its place. Its camera, base and tool are those of the first member that has one."""
    _check(name, members, places)
    specs = {member: robot.spec() for member, robot in members.items()}
    models = {member: spec.compile() for member, spec in specs.items()}
    _check_options(name, models)
    first = next(iter(specs.values()))
    scene = mujoco.MjSpec()
    scene.modelname, scene.option = name, first.option
    homes = {member: _home(model, places[member]) for member, model in models.items()}
    for member, spec in specs.items():
        while spec.keys:  # a keyframe of one member is none of the team
            spec.delete(spec.keys[0])
        x, y, _ = places[member]
        frame = scene.worldbody.add_frame(pos=[x, y, 0.0], quat=_turn(places[member]))
        scene.attach(spec, prefix=f"{member}/", frame=frame)
    scene.add_key(name="home", qpos=_joined(homes, "qpos"), ctrl=_joined(homes, "ctrl"), act=_joined(homes, "act"))
    scene.compile()
    return Robot(
        name=name,
        xml=scene.to_xml(),
        joints=tuple(f"{member}/{joint}" for member, robot in members.items() for joint in robot.joints),
        base=_first({member: robot.base for member, robot in members.items()}),
        feet=tuple(f"{member}/{foot}" for member, robot in members.items() for foot in robot.feet),
        tool=_first({member: robot.tool for member, robot in members.items()}),
        gains=_gains(members),
        motors=_motors(members),
        camera=_first({member: robot.camera if isinstance(robot.camera, str) else None for member, robot in members.items()}) or 0,
    )


def _check(name: str, members: Mapping[str, Robot], places: Mapping[str, Place]) -> None:
    if not members:
        raise PaddockError(f"team '{name}' has no members. Give it robots by name.")
    for member in members:
        if not member or "/" in member:
            raise PaddockError(
                f"a member of team '{name}' is called '{member}'. A name comes before a '/', so it is not empty and has none."
            )
        if member not in places:
            raise PaddockError(f"team '{name}' has no place for '{member}'. Give places={{'{member}': (x, y, degrees), ...}}.")
    for place in places:
        if place not in members:
            raise unknown(f"member of team {name}:", place, members)


def _check_options(name: str, models: Mapping[str, mujoco.MjModel]) -> None:
    """Refuse to let one member's physics silently become another's."""
    (first, model), *others = models.items()
    for member, other in others:
        for option in SHARED_OPTIONS:
            ours, theirs = getattr(model.opt, option), getattr(other.opt, option)
            if not np.array_equal(ours, theirs):
                raise PaddockError(
                    f"the members of team '{name}' disagree on the option {option}: '{first}' has {ours}, '{member}' has {theirs}. "
                    "One scene has one of each; change it in one of the models."
                )


def _home(model: mujoco.MjModel, place: Place) -> dict[str, np.ndarray]:
    """What a member's keyframe `home` holds, with free bodies moved to its place; its defaults where it has none."""
    data = mujoco.MjData(model)
    if "home" in [model.key(i).name for i in range(model.nkey)]:
        mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    turn = np.array(_turn(place))
    for joint in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        at = model.jnt_qposadr[joint]
        pos, quat = data.qpos[at : at + 3].copy(), data.qpos[at + 3 : at + 7].copy()
        mujoco.mju_rotVecQuat(data.qpos[at : at + 3], pos, turn)
        mujoco.mju_mulQuat(data.qpos[at + 3 : at + 7], turn, quat)
        data.qpos[at : at + 2] += place[:2]
    return {"qpos": data.qpos.copy(), "ctrl": data.ctrl.copy(), "act": data.act.copy()}


def _turn(place: Place) -> list[float]:
    half = math.radians(place[2]) / 2
    return [math.cos(half), 0.0, 0.0, math.sin(half)]


def _joined(homes: Mapping[str, dict[str, np.ndarray]], part: str) -> list[float]:
    return np.concatenate([home[part] for home in homes.values()]).tolist()


def _first(names: Mapping[str, str | None]) -> str | None:
    return next((f"{member}/{name}" for member, name in names.items() if name is not None), None)


def _motors(members: Mapping[str, Robot]) -> Mapping[str, Motor] | None:
    """Those of the members, by the joint's name in the team."""
    named = {f"{member}/{joint}": motor for member, robot in members.items() for joint, motor in robot.driven().items()}
    return named or None


def _gains(members: Mapping[str, Robot]) -> Mapping[str, Gains] | None:
    """Those of every joint under its name in the team."""
    named = {f"{member}/{joint}": robot.gains_of(joint) for member, robot in members.items() for joint in robot.joints}
    known = {joint: gains for joint, gains in named.items() if gains is not None}
    if known and len(known) < len(named):
        missing = ", ".join(joint for joint in named if joint not in known)
        raise PaddockError(
            f"some members have gains, but {missing} have none. Give them gains with dataclasses.replace(robot, gains=...)."
        )
    return known or None
