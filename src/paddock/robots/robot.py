"""What the machine is: a model file, and the names that tasks use."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco

from paddock.errors import BrokenModel, PaddockError, unknown
from paddock.robots.drivetrain import fit_motors
from paddock.robots.motors import Motor

Gains = tuple[float, float]
"""Stiffness [N m/rad or N/m] and damping [N m s/rad or N s/m] of a joint's loop; a velocity loop has the damping alone."""


@dataclass(frozen=True, kw_only=True)
class Robot:
    """One machine. Its MJCF holds the actuators, the sensors and a keyframe `home`; no floor and no light."""

    name: str
    xml: Path | str
    """A file, or the MJCF itself."""
    joints: tuple[str, ...]
    """What actions move: the names of the model's actuators in their order. One that drives a joint has the joint's name."""
    base: str | None = None
    """The body that floats, for a robot that is not bolted down."""
    feet: tuple[str, ...] = ()
    """Legs, in the order of the `touch` sensors."""
    tool: str | None = None
    """The site that an arm works with."""
    gains: Gains | Mapping[str, Gains] | None = None
    """Of the loops that hold commanded positions or velocities: one pair for all joints, or one for each. None: the model's own."""
    motors: Motor | Mapping[str, Motor] | None = None
    """What drives the joints: one kind for all that an actuator drives, or one for each of some. None keeps the model's own."""
    camera: str | int = "track"
    """The camera that pictures are taken from."""

    def spec(self) -> mujoco.MjSpec:
        """A fresh, editable copy of the model, its names checked."""
        spec = self._loaded.copy()
        actuators = tuple(actuator.name for actuator in spec.actuators)
        for name in self.joints:
            if name not in actuators:
                raise unknown(f"actuator of robot {self.name}:", name, actuators)
            if on_joint(spec.actuator(name)) and spec.joint(name) is None:
                raise unknown(f"joint of robot {self.name}:", name, [j.name for j in spec.joints])
        if self.joints != actuators:
            raise PaddockError(
                f"robot {self.name} names the joints {', '.join(self.joints) or 'none'}, but the actuators of its model are "
                f"{', '.join(actuators) or 'none'}, in this order. Name all of them as the model has them."
            )
        if self.base is not None and spec.body(self.base) is None:
            raise unknown(f"body of robot {self.name}:", self.base, [b.name for b in spec.bodies])
        if self.tool is not None and spec.site(self.tool) is None:
            raise unknown(f"site of robot {self.name}:", self.tool, [site.name for site in spec.sites])
        if self.motors is not None:
            fit_motors(spec, self.driven())
        return spec

    def motor_of(self, joint: str) -> Motor | None:
        """What drives one joint, or None where the model's own actuator does."""
        return self.motors.get(joint) if isinstance(self.motors, Mapping) else self.motors

    def gains_of(self, joint: str) -> Gains | None:
        """Gains of one joint's servo, or None where the robot names none."""
        if isinstance(self.gains, Mapping):
            if joint not in self.gains:
                raise unknown(f"joint in the gains of robot {self.name}:", joint, self.gains)
            return self.gains[joint]
        return self.gains

    def driven(self) -> dict[str, Motor]:
        """The robot's motors, by joint."""
        driven = [name for name in self.joints if on_joint(self._loaded.actuator(name))]
        if isinstance(self.motors, Mapping):
            for name in self.motors:
                if name not in driven:
                    raise unknown(f"joint in the motors of robot {self.name}:", name, driven)
        return {name: motor for name in driven if (motor := self.motor_of(name)) is not None}

    @cached_property
    def _loaded(self) -> mujoco.MjSpec:
        mujoco.set_mju_user_warning(lambda message: None)  # or the reader starts a log file in the working folder
        if isinstance(self.xml, str) and not self.xml.lstrip().startswith("<"):
            raise BrokenModel(f"robot '{self.name}' has xml={self.xml!r}, which is no MJCF. For a file, give Path({self.xml!r}).")
        try:
            if isinstance(self.xml, Path):
                spec = mujoco.MjSpec.from_file(str(self.xml))
                # the saved text of a model lies nowhere, so what it refers to must be said in full
                spec.meshdir, spec.texturedir = (str((self.xml.parent / d).resolve()) for d in (spec.meshdir, spec.texturedir))
            else:
                spec = mujoco.MjSpec.from_string(self.xml)
        except (ValueError, mujoco.FatalError) as refusal:
            where = self.xml if isinstance(self.xml, Path) else "its MJCF"
            raise BrokenModel(f"MuJoCo cannot read robot '{self.name}' from {where}:\n{str(refusal).strip()}") from None
        joints = [joint.name for joint in spec.joints]
        for actuator in spec.actuators:
            if on_joint(actuator) and actuator.target not in joints:  # copying the spec would drop such an actuator without a word
                raise unknown(f"joint, in actuator '{actuator.name}' of robot {self.name}:", actuator.target, joints)
            actuator.name = actuator.name or actuator.target  # files often leave a joint's motor without a name
        return spec


def on_joint(actuator: mujoco.MjsActuator) -> bool:
    """Whether an actuator drives a joint, not a tendon or a site."""
    return actuator.trntype in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
