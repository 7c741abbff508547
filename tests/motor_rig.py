"""A wheel on a motor, built from the saved text that every sim compiles, and what the tests of motors measure on it."""

from typing import Any

import mujoco
import numpy as np

from models import pole_task
from paddock import Robot, Task
from paddock import terms as t
from paddock.robots import Motor
from paddock.sims.model import compile_text, model_text
from paddock.tasks.scenes import bare

INERTIA = 0.1
WHEEL = """
<mujoco>
  <option timestep="{timestep}" integrator="implicitfast" gravity="0 0 0"/>
  <worldbody><body name="wheel"><joint name="wheel" axis="0 0 1" armature=".01"/>
  <inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body></worldbody>
  <actuator><motor name="wheel" joint="wheel" ctrlrange="-1 1" gear="3"/></actuator>
  <sensor><jointpos name="joint_pos/wheel" joint="wheel"/><jointvel name="joint_vel/wheel" joint="wheel"/></sensor>
  <keyframe><key name="home" qpos="0"/></keyframe>
</mujoco>
"""
"""Its file's actuator and armature are there to be replaced."""


def wheel_task(motor: Motor | None, *, timestep: float = 0.001, gains: Any = None, **changes: Any) -> Task:
    robot = Robot(name="wheel", xml=WHEEL.format(timestep=timestep), joints=("wheel",), gains=gains, motors=motor)
    return pole_task(**({"robot": robot, "scene": bare, "done": {}} | changes))


def wheel(
    motor: Motor | None, act: Any = None, *, timestep: float = 0.001, gains: Any = None
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    task = wheel_task(motor, timestep=timestep, gains=gains, act=act or t.JointTorque())
    model = compile_text(model_text(task.spec(), lean=True))
    return model, mujoco.MjData(model)


def run(model: mujoco.MjModel, data: mujoco.MjData, seconds: float, **controls: float) -> None:
    for name, value in controls.items():
        data.actuator(name).ctrl[0] = value
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)


def torque_at(model: mujoco.MjModel, ctrl: float, *, speed: float = 0.0, seconds: float = 0.5) -> float:
    """What reaches the joint at a held speed, once it has settled."""
    data = mujoco.MjData(model)
    data.ctrl[0] = ctrl
    for _ in range(round(seconds / model.opt.timestep)):
        data.qvel[0] = speed
        mujoco.mj_step(model, data)
    return float(data.actuator_force[0])


def arrays_apart(one: mujoco.MjModel, other: mujoco.MjModel) -> set[str]:
    names = [name for name in dir(one) if isinstance(getattr(one, name), np.ndarray)]
    return {name for name in names if getattr(one, name).tobytes() != getattr(other, name).tobytes()}
