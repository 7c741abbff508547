"""A Motor becomes the engine's actuator, joint and delay; all of it behind the gearbox, so that commands are the joint's.

- Torque-speed curve, lag, current limit, Stribeck friction: the engine's `dcmotor`, whose driver asks for a torque and gives
  the voltage for it, as far as the supply has it. Its current limit limits torque; the current behind a lag may rise further.
- A motor without back-EMF: the engine's `motor`, `position` or `velocity` with a force range.
- Reflected inertia, dry and viscous friction: `armature`, `frictionloss` and `damping` of the joint.
- Play: a joint of its own, named `<joint>/backlash`, behind the motor's. The motor's joint keeps its name, its sensors (an encoder
  sits on the motor) and its range; a sensor `backlash/<joint>` reads how far the link is ahead, for critics and plots.
- Delay: the actuator's own, half a substep short of whole ones, so that rounding of the clock never moves it.
"""

import math
from collections.abc import Mapping
from typing import Literal

import mujoco
import numpy as np

from paddock.errors import PaddockError
from paddock.robots.gearbox import PLAY
from paddock.robots.motors import Motor

Command = Literal["torque", "position", "velocity"]

CONTROLS: dict[Command, int] = {"position": 1, "velocity": 2, "torque": 4}
"""What the engine's dcmotor takes a control for."""
RIGID = [0.9999, 0.9999, 0.001, 0.5, 2.0]
"""A constraint's `solimp`: a thousandth as soft as the engine's default."""
STEPS_ACROSS = 2.0
"""Fewest timesteps in which a rotor at full torque may cross the play: with fewer it is thrown through the stops."""
SWAY = 0.5
"""Most radians that bristles may swing in a timestep: twice as fast and they would shake themselves loose."""


def fit_motors(spec: mujoco.MjSpec, motors: Mapping[str, Motor]) -> None:
    """Give joints their motors, driven by torque. Fitting twice changes nothing more."""
    model = spec.compile()
    for joint, motor in motors.items():
        _load(spec.joint(joint), motor, joint)
    played = [joint for joint, motor in motors.items() if motor.gearbox.backlash and spec.joint(joint + PLAY) is None]
    for joint in sorted(played, key=lambda name: -model.joint(name).id):  # from behind, so that addresses stay
        _add_play(spec, model, joint, motors[joint])
    for joint in (name for name in motors if name in played):
        spec.add_sensor(
            name=f"backlash/{joint}", type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=joint + PLAY
        )
    for key in spec.keys:
        key.act = []  # what the motors remember is nothing at first
    for joint in motors:
        _plain(spec.actuator(joint))
    model = spec.compile()
    for joint, motor in motors.items():
        drive(spec, model, joint, motor, command="torque")


def drive(
    spec: mujoco.MjSpec,
    model: mujoco.MjModel,
    joint: str,
    motor: Motor,
    *,
    command: Command,
    gains: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Make a joint's motor follow torques, positions or velocities; `model` is the spec compiled.

    `gains` are stiffness and damping of the joint's loop; a velocity loop has the damping alone.
    """
    actuator = spec.actuator(joint)
    stiffness, damping = {"torque": (0.0, 0.0), "position": gains, "velocity": (0.0, gains[1])}[command]
    most = motor.joint_torque
    if motor.has_back_emf:
        constant = motor.voltage / motor.joint_speed
        actuator.set_to_dcmotor(
            motorconst=[constant, constant],
            resistance=constant * motor.voltage / motor.joint_stall_torque,
            saturation=[0.0 if motor.torque_limit is None else most, 0.0, 0.0],
            inductance=[0.0, motor.lag],
            controller=[stiffness, 0.0, damping, 0.0, 0.0, motor.voltage],
            lugre=_bristles(model, joint, motor),
            ctrlspec=CONTROLS[command],
        )
    else:
        if command == "position":
            actuator.set_to_position(kp=stiffness, kv=damping)
        elif command == "velocity":
            actuator.set_to_velocity(kv=damping)
        else:
            actuator.set_to_motor()
        actuator.forcerange = [-most, most]
        actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    reach = most if command == "torque" else motor.joint_speed
    limited = command != "position" and math.isfinite(reach)  # of a position, the joint's range is the task's affair
    actuator.ctrlrange = [-reach, reach] if limited else [0.0, 0.0]
    actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE if limited else mujoco.mjtLimited.mjLIMITED_FALSE
    steps = motor.delay_steps(spec.option.timestep)
    actuator.nsample = steps
    actuator.delay = max(0.0, (steps - 0.5) * spec.option.timestep)
    actuator.interp = 0


def _load(joint: mujoco.MjsJoint, motor: Motor, name: str) -> None:
    """What the motor's joint carries and loses by itself."""
    if joint.type not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
        raise PaddockError(f"joint '{name}' is no hinge and no slide, so no motor can drive it.")
    if motor.rotor_inertia:
        joint.armature = motor.joint_inertia
    if motor.friction is not None:
        joint.frictionloss = 0.0 if motor.friction.has_stribeck else motor.friction.coulomb
        joint.solimp_friction = RIGID  # at the engine's usual softness a joint creeps under a load that friction should hold
        joint.damping = np.array([motor.friction.viscous, *[0.0] * (np.size(joint.damping) - 1)]).reshape(np.shape(joint.damping))


def _add_play(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str, motor: Motor) -> None:
    joint, width = spec.joint(name), motor.gearbox.backlash
    if joint.parent.joints[-1].name != name:
        others = ", ".join(f"'{own.name}'" for own in joint.parent.joints if own.name != name)
        raise PaddockError(
            f"the joint '{name}' cannot have play: body '{joint.parent.name}' has {others} behind it. Give it a body of its own."
        )
    crossing = math.sqrt(2.0 * width * motor.joint_inertia / motor.joint_torque)
    if spec.option.timestep > crossing / STEPS_ACROSS:
        raise PaddockError(
            f"joint '{name}': its rotor crosses the play of {width:g} in {crossing * 1000:.2g} ms and would be thrown "
            f"through the stops at a timestep of {spec.option.timestep:g} s. Use one of "
            f"{crossing / STEPS_ACROSS:.2g} s or less, or gearbox.tight."
        )
    is_degrees = bool(spec.compiler.degree) and joint.type == mujoco.mjtJoint.mjJNT_HINGE
    half = math.degrees(width / 2) if is_degrees else width / 2
    play = joint.parent.add_joint(
        name=name + PLAY,
        type=joint.type,
        axis=joint.axis,
        pos=joint.pos,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        range=[-half, half],
    )
    play.armature = play.frictionloss = play.margin = play.ref = play.springref = 0.0
    play.damping, play.stiffness = np.zeros_like(play.damping), np.zeros_like(play.stiffness)
    play.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
    # the light rotor makes the engine's usual stops as soft as rubber: under load they would give more than the play is wide
    play.solref_limit = [2.0 * spec.option.timestep, 1.0]
    play.solimp_limit = RIGID
    if joint.frame is not None:
        play.set_frame(joint.frame)
    qpos, qvel = int(model.joint(name).qposadr[0]) + 1, int(model.joint(name).dofadr[0]) + 1
    for key in spec.keys:
        key.qpos = np.insert(key.qpos, qpos, 0.0) if len(key.qpos) else key.qpos
        key.qvel = np.insert(key.qvel, qvel, 0.0) if len(key.qvel) else key.qvel


def _plain(actuator: mujoco.MjsActuator) -> None:
    """Nothing left of the actuator that the model's file has."""
    actuator.gear = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    actuator.gainprm, actuator.biasprm, actuator.dynprm = (
        np.zeros_like(own) for own in (actuator.gainprm, actuator.biasprm, actuator.dynprm)
    )
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_FALSE
    actuator.forcerange = [0.0, 0.0]
    actuator.actlimited = mujoco.mjtLimited.mjLIMITED_FALSE
    actuator.actrange = [0.0, 0.0]
    actuator.set_to_motor()


def _bristles(model: mujoco.MjModel, joint: str, motor: Motor) -> list[float]:
    """LuGre's stiffness and damping, dry friction in motion and at rest, and Stribeck's speed; damped critically."""
    friction = motor.friction
    if friction is None or not friction.has_stribeck:
        return [0.0] * 5
    inertia = motor.joint_inertia if motor.gearbox.backlash else float(model.dof_M0[model.joint(joint).dofadr[0]])
    stiffness = friction.bristle_stiffness
    swing = math.sqrt(stiffness / inertia) * model.opt.timestep
    if swing > SWAY:
        raise PaddockError(
            f"joint '{joint}': friction that gives only {friction.presliding:g} before it slides is too stiff for a timestep of "
            f"{model.opt.timestep:g} s. Use presliding={friction.presliding * (swing / SWAY) ** 2:.2g} or more."
        )
    damping = 2.0 * math.sqrt(stiffness * inertia)
    return [stiffness, damping, friction.coulomb, friction.breakaway, friction.stribeck_speed]
