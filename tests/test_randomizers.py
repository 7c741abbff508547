"""What is drawn for an episode is felt by the physics, with the right sign and size."""

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

import paddock
from models import pole_task, world_of
from paddock import Robot
from paddock import terms as t
from paddock.robots import QUADRUPED
from paddock.tasks.finding import find_task


def test_friction_and_mass_are_drawn_anew_each_episode_from_nominal() -> None:
    task = replace(
        find_task("quadruped-walk"),
        randomize={"friction": t.Friction((0.5, 2.0)), "mass": t.Mass((0.5, 2.0), "trunk")},
        episode_s=0.1,
    )
    env = paddock.make(task, num_worlds=4)
    env.reset()
    for _ in range(3):
        drawn = env.state.params["mass"][:, 0].clone()
        nominal = env.model.body("trunk").mass[0]
        for world in range(4):
            model, _ = world_of(env, world)
            assert model.body("trunk").mass[0] == pytest.approx(nominal * float(drawn[world]), rel=1e-6)
            scale = float(env.state.params["friction"][world, 0])
            np.testing.assert_allclose(model.geom_friction[:, 0], env.model.geom_friction[:, 0] * scale, rtol=1e-6)
            np.testing.assert_array_equal(model.geom_friction[:, 1:], env.model.geom_friction[:, 1:])
        assert len(set(drawn.tolist())) == 4
        for _ in range(task.episode_steps):
            env.step(env.sample())
        assert not torch.equal(drawn, env.state.params["mass"][:, 0])


SLIDER = """
<mujoco><option timestep="0.005" integrator="implicitfast"/><worldbody><body name="trunk" pos="0 0 .1">
<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/><geom type="box" size=".1 .1 .1" mass="2"/>
</body></worldbody>
<actuator><motor name="x" joint="x" ctrlrange="-1 1"/></actuator>
<sensor><jointpos name="joint_pos/x" joint="x"/><jointvel name="joint_vel/x" joint="x"/></sensor></mujoco>
"""


def slider(**changes: Any) -> paddock.Task:
    robot = Robot(name="slider", xml=SLIDER, joints=("x",))
    return pole_task(**({"robot": robot, "done": {}, "episode_s": 2.0, "reset": t.NearHome(joint=0, vel=0)} | changes))


def test_friction_decides_how_far_a_box_slides() -> None:
    env = paddock.make(slider(randomize={"friction": t.Friction((0.25, 1.0))}), num_worlds=8)
    env.reset()
    env.sim.write("qvel", torch.tensor([[1.0, 0.0]] * 8))
    for _ in range(90):
        env.step(torch.zeros(8, 1))
    friction = env.state.params["friction"][:, 0]  # the floor's and the box's nominal friction is 1
    stopping = 1.0 / (2 * 9.81 * friction)
    torch.testing.assert_close(env.state.qpos[:, 0], stopping, rtol=0.1, atol=0.002)


def test_mass_decides_how_fast_a_force_moves_a_box() -> None:
    env = paddock.make(slider(randomize={"mass": t.Mass((0.5, 2.0), "trunk")}, scene=t.lit), num_worlds=8)
    env.reset()
    for _ in range(50):
        env.step(torch.ones(8, 1))
    mass = 2.0 * env.state.params["mass"][:, 0]
    torch.testing.assert_close(env.state.qvel[:, 0], 1.0 / mass, rtol=1e-4, atol=0)


def test_a_push_changes_momentum_by_force_times_time_and_is_cleared() -> None:
    task = replace(
        find_task("quadruped-walk"),
        robot=QUADRUPED,
        scene=t.lit,  # nothing to stand on: only gravity and the push act
        randomize={"push": t.Push(body="trunk", newtons=(20.0, 40.0), every_s=0.4, duration_s=0.1)},
        done={},
        reset=t.NearHome(joint=0.0, vel=0.0),
    )
    env = paddock.make(task, num_worlds=5)
    env.reset()
    mass = float(env.model.body_subtreemass[env.state.layout.bodies["trunk"]])

    def momentum() -> Tensor:
        found = []
        for world in range(5):
            _, data = world_of(env, world)
            mujoco.mj_subtreeVel(env.model, data)
            found.append(mass * data.subtree_linvel[1, :2])
        return torch.tensor(np.array(found))

    for _ in range(15):
        env.step(torch.zeros(5, 12))
    torch.testing.assert_close(momentum(), torch.zeros(5, 2, dtype=torch.float64), rtol=0, atol=1e-3)
    for _ in range(5):
        env.step(torch.zeros(5, 12))
    impulse = momentum().norm(dim=1)
    assert ((impulse > 2.0 - 0.05) & (impulse < 4.0 + 0.05)).all()
    before = momentum()
    for _ in range(10):
        env.step(torch.zeros(5, 12))
    torch.testing.assert_close(momentum(), before, rtol=0, atol=1e-3)
    assert len({round(float(value), 6) for value in impulse}) == 5


def test_two_pushes_on_one_body_add_up() -> None:
    def speed(*names: str) -> Tensor:
        push = t.Push(body="trunk", newtons=(1.0, 2.0), every_s=0.02, duration_s=0.02)
        env = paddock.make(slider(randomize=dict.fromkeys(names, push), scene=t.lit), num_worlds=4)
        env.reset()
        for _ in range(20):
            env.step(torch.zeros(4, 1))
        return env.state.qvel[:, 0]

    torch.testing.assert_close(speed("a", "b"), speed("a") + speed("b"), rtol=1e-4, atol=1e-5)
    assert not torch.equal(speed("a"), speed("b"))
