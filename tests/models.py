"""Tiny models that several tests share."""

from typing import Any

import mujoco
import torch

from paddock import Environment, Robot, Task
from paddock import terms as t
from paddock.sims.cpu import CpuSim
from paddock.sims.model import compile_text, model_text
from paddock.tasks import TASK_NAMES
from paddock.worlds import Worlds

OWN_TASKS = tuple(name for name in TASK_NAMES if not name.endswith("-blind"))
"""Tasks with scene, actions, rewards and expert of their own. A blind one only leaves observations of another out."""

BOXES = """
<mujoco>
  <option timestep="0.004" integrator="implicitfast"/>
  <worldbody>
    <geom type="plane" size="5 5 .1" friction="0.8"/>
    <body name="box" pos="0 0 .101">
      <freejoint name="box"/>
      <geom name="box" type="box" size=".1 .1 .1" mass="1"/>
      <site name="box"/>
      <site name="under" type="box" size=".12 .12 .12"/>
      <body pos="0 0 .2">
        <joint name="arm" axis="0 1 0" damping=".05"/>
        <geom name="arm" type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass=".3"/>
      </body>
    </body>
    <body name="ball" pos="1 0 2">
      <freejoint name="ball"/>
      <geom type="sphere" size=".1" mass=".5"/>
      <site name="ball"/>
    </body>
  </worldbody>
  <actuator><motor name="arm" joint="arm" ctrlrange="-1 1" gear="3"/></actuator>
  <sensor>
    <jointpos name="joint_pos/arm" joint="arm"/>
    <jointvel name="joint_vel/arm" joint="arm"/>
    <framepos name="pos/box" objtype="site" objname="box"/>
    <framepos name="pos/ball" objtype="site" objname="ball"/>
    <velocimeter name="vel/ball" site="ball"/>
    <accelerometer name="accelerometer/box" site="box"/>
    <accelerometer name="accelerometer/ball" site="ball"/>
    <touch name="touch" site="under"/>
  </sensor>
</mujoco>
"""
"""A box with a swinging arm that rests on the floor, and a ball that falls: contact-rich, and both kinds of freshness."""

POLE = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="pole"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .5" size=".02" mass="1"/></body>
  </worldbody>
  <actuator><motor name="hinge" joint="hinge" ctrlrange="-2 2"/></actuator>
  <sensor><jointpos name="joint_pos/hinge" joint="hinge"/><jointvel name="joint_vel/hinge" joint="hinge"/></sensor>
</mujoco>
"""


def compiled(xml: str) -> mujoco.MjModel:
    return compile_text(model_text(mujoco.MjSpec.from_string(xml), lean=True))


def boxes(num_worlds: int, **options: Any) -> CpuSim:
    return CpuSim(compiled(BOXES), num_worlds, **options)


def everyone(sim: CpuSim) -> Worlds:
    return Worlds.where(torch.ones(sim.num_worlds, dtype=torch.bool), by_rows=True)


def some(*chosen: bool) -> Worlds:
    return Worlds.where(torch.tensor(chosen), by_rows=True)


def world_of(env: Environment, world: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """What the engine holds for one world."""
    assert isinstance(env.sim, CpuSim)
    return env.sim.copy_of(world)


def pole_task(**changes: Any) -> Task:
    """A small task to change one thing of."""
    parts: dict[str, Any] = {
        "name": "pole",
        "robot": Robot(name="pole", xml=POLE, joints=("hinge",)),
        "control_dt": 0.02,
        "episode_s": 0.2,
        "act": t.JointTorque(),
        "observe": {"joint_pos": t.joint_pos, "joint_vel": t.joint_vel},
        "reward": {"alive": (1.0, t.alive), "effort": (-0.5, t.action_size)},
        "done": {"far": t.OutOfBounds(t.joint_pos, -1.0, 1.0)},
        "reset": t.NearHome(),
    }
    return Task(**(parts | changes))
