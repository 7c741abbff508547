"""A rig on which every randomiser has something to change: a load on a servo, a wheel on a geared motor, and a loose ball."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

import paddock
from models import pole_task
from paddock import Environment, Robot
from paddock import terms as t

RIG = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <asset><material name="paint" rgba=".8 .3 .2 1" shininess=".5" specular=".5" reflectance=".2"/></asset>
  <default><geom condim="6" friction="1 .02 .01"/></default>
  <worldbody>
    <light name="lamp" pos="1 -1 3" dir="0 .3 -1" castshadow="false"/>
    <camera name="track" pos="1 -3 1" xyaxes="1 0 0 0 0 1" fovy="50"/>
    <body name="load" pos="0 0 1">
      <joint name="z" type="slide" axis="0 0 1" damping="2"/>
      <geom name="load" type="box" size=".1 .1 .1" mass="1" contype="0" conaffinity="0" material="paint"/>
    </body>
    <body name="wheel" pos="1 0 1">
      <joint name="turn" axis="0 1 0" damping=".2" armature=".005" frictionloss=".1"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".003 .005 .003"/>
      <geom name="wheel" type="cylinder" size=".1 .02" zaxis="0 1 0" contype="0" conaffinity="0" rgba=".2 .4 .8 1"/>
    </body>
    <body name="ball" pos="2 0 1"><freejoint name="ball"/><geom name="ball" type="sphere" size=".1" mass=".5"/></body>
  </worldbody>
  <actuator>
    <position name="z" joint="z" kp="200" kv="20" ctrlrange="-1 1" forcerange="-40 40"/>
    <motor name="turn" joint="turn" gear="5" ctrlrange="-1 1" forcerange="-1 1" delay="0" nsample="64"/>
  </actuator>
  <sensor>
    <jointpos name="joint_pos/z" joint="z"/><jointpos name="joint_pos/turn" joint="turn"/>
    <jointvel name="joint_vel/z" joint="z"/><jointvel name="joint_vel/turn" joint="turn"/>
    <jointpos name="late" joint="turn" delay="0" nsample="64"/>
  </sensor>
</mujoco>
"""
LAMP = '<light name="lamp" pos="1 -1 3" dir="0 .3 -1" castshadow="false"/>'
DT, CONTROL_DT, MASS, GRAVITY = 0.002, 0.02, 1.0, 9.81
WHEEL = {"inertia": 0.005, "armature": 0.005, "damping": 0.2, "loss": 0.1, "torque": 5.0}
LOAD = {"mass": 1.0, "stiffness": 200.0, "damping": 20.0}
Z, TURN, BALL_Z = 0, 1, 4
"""Columns of qpos, and of qvel."""


def rig(**changes: Any) -> paddock.Task:
    """The rig, every episode begun in the same pose: what differs was drawn."""
    robot = Robot(name="rig", xml=changes.pop("xml", RIG), joints=("z", "turn"))
    parts = {"robot": robot, "done": {}, "episode_s": 20.0, "reset": t.NearHome(joint=0.0, vel=0.0, turn=False), "scene": t.lit}
    return pole_task(**(parts | changes))


def run(randomizer: Any, *, action: tuple[float, float] = (0.0, 0.0), steps: int, **changes: Any) -> Environment:
    """Eight worlds after some steps of one action, under the randomiser `it`."""
    env = paddock.make(rig(randomize={"it": randomizer}, **changes), num_worlds=8, seed=2)
    env.reset()
    for _ in range(steps):
        env.step(torch.tensor([action] * 8))
    return env


def drawn(env: Environment) -> Tensor:
    """What was drawn for the randomiser `it`; (n, k) float64. No test says anything about worlds that drew the same."""
    value = env.state.params["it"].double()
    assert len({tuple(row) for row in value.tolist()}) > 1
    return value


def wheel_speed(steps: int, *, delay: Tensor | float = 0.0, **changed: Tensor) -> Tensor:
    """What the wheel turns at after control steps under full torque, by the engine's own implicit rule; (n,)."""
    inertia, armature, damping, loss, torque = ((changed | {}).get(name, torch.tensor([value])) for name, value in WHEEL.items())
    whole = inertia + armature
    speed = torch.zeros(8, dtype=torch.float64)
    for substep in range(round(steps * CONTROL_DT / DT)):
        is_on = torch.as_tensor(substep * DT + 1e-9 >= torch.as_tensor(delay))
        speed = torch.where(is_on, (speed + DT * (torque - loss) / whole) / (1 + DT * damping / whole), speed)
    return speed


def load_height(steps: int, *, target: float = 0.0, **changed: Tensor) -> Tensor:
    """Where the load is after control steps, by the engine's own implicit rule; (n,)."""
    mass, stiffness, damping = (changed.get(name, torch.tensor([value])) for name, value in LOAD.items())
    height, speed = torch.zeros(8, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    for _ in range(round(steps * CONTROL_DT / DT)):
        force = stiffness * (target - height) - mass * GRAVITY
        speed = (speed + DT * force / mass) / (1 + DT * (damping + 2.0) / mass)
        height = height + DT * speed
    return height


def near(got: Tensor, wanted: Tensor, *, rtol: float = 1e-3, atol: float = 1e-6) -> None:
    torch.testing.assert_close(got.double(), wanted.double().expand_as(got), rtol=rtol, atol=atol)


__all__ = [
    "BALL_Z",
    "CONTROL_DT",
    "GRAVITY",
    "LOAD",
    "MASS",
    "TURN",
    "WHEEL",
    "Z",
    "drawn",
    "load_height",
    "near",
    "replace",
    "rig",
    "run",
    "wheel_speed",
]
