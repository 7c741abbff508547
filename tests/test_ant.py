"""The ant is the machine it says, stands on its servos, and its gait knows its legs."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

import paddock
from paddock import terms as t
from paddock.robots import ANT
from paddock.tasks import ant_walk
from paddock.tasks.ant_walk import ANT_WALK, Scuttle


def commanded(vx: float, vy: float, yaw: float, *, num_worlds: int = 4) -> paddock.Environment:
    command = t.UniformCommand(low=(vx, vy, yaw), high=(vx, vy, yaw), every_s=5.0)
    env = paddock.make(replace(ANT_WALK, command={"velocity": command}), num_worlds=num_worlds, seed=1)
    env.reset()
    return env


def walked(env: paddock.Environment, gait: Scuttle, steps: int = 250) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean velocity in the base's frame (n, 3) and yaw rate (n,), after a second to get going."""
    vel, rate = [], []
    for i in range(steps):
        step = env.step(gait(env.state))
        assert not step.ended.any()
        if i >= 50:
            vel.append(t.base_vel(env.state).clone())
            rate.append(t.gyro(env.state)[:, 2].clone())
    return torch.stack(vel).mean(0), torch.stack(rate).mean(0)


def test_the_ant_is_the_machine_it_says() -> None:
    model = paddock.make("ant-walk").model
    assert model.nu == 8 and model.nv == 14 and model.body_subtreemass[1] == pytest.approx(3.3, abs=0.1)
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER and model.opt.timestep == 0.01
    inertia = model.body_inertia[1:]
    assert (inertia > 0).all() and (2 * inertia.max(axis=1) <= inertia.sum(axis=1) + 1e-12).all()  # as of any real body
    names = [model.sensor(i).name for i in range(model.nsensor)]
    expected = [f"{kind}/{joint}" for kind in ("joint_pos", "joint_vel", "joint_torque") for joint in ANT.joints]
    assert names[:24] == expected and names[-4:] == [f"touch/{leg}" for leg in ANT.feet]
    assert {"gyro", "accelerometer", "base_vel", "up", "base_pos", "base_quat"} <= set(names)


def test_the_ant_stands_at_home() -> None:
    env = paddock.make(replace(ANT_WALK, reset=t.NearHome(joint=0, vel=0)))
    env.reset()
    for _ in range(100):
        step = env.step(torch.zeros(1, 8))
        assert env.state.qvel.abs().max() < 1.5 and not step.ended.any()
    assert abs(float(t.height(env.state)) - float(env.state.layout.home_qpos[2])) < 0.03
    assert t.upright(env.state)[0] > 0.995 and env.state.qvel.abs().max() < 0.02
    assert t.FootContact()(env.state).tolist() == [[1.0, 1.0, 1.0, 1.0]]


def test_the_gait_knows_the_legs_of_the_model() -> None:
    """The sizes are said twice; a foot must be where they put it, and move as a hip or knee that turns a little says."""
    model = ANT.spec().compile()
    data = mujoco.MjData(model)

    def feet(*, hip: float = 0.0, knee: float = 0.0) -> np.ndarray:
        mujoco.mj_resetDataKeyframe(model, data, 0)
        data.qpos[7:] = [hip, knee] * 4
        mujoco.mj_kinematics(model, data)
        return np.array([data.geom(f"{leg}_foot").xpos[:2] for leg in ANT.feet])

    home, little = feet(), 1e-4
    np.testing.assert_allclose(home, ant_walk.FOOT, atol=1e-4)
    np.testing.assert_allclose((feet(hip=little) - home) / little, np.array(ant_walk.SIDEWAYS) * ant_walk.SPAN, atol=1e-3)
    np.testing.assert_allclose((feet(knee=little) - home) / little, np.array(ant_walk.OUTWARD) * ant_walk.DROP, atol=1e-3)


@pytest.mark.parametrize("command", [(1.0, 0.0, 0.0), (0.4, 0.3, 0.0), (0.5, 0.0, 0.5), (0.5, 0.0, -0.5)])
def test_the_gait_goes_where_it_is_told(command: tuple[float, float, float]) -> None:
    vel, rate = walked(commanded(*command), Scuttle())
    assert (vel[:, :2] - torch.tensor(command[:2])).abs().max() < 0.15
    assert (rate - command[2]).abs().max() < 0.3


def test_feet_that_are_not_lifted_go_nowhere() -> None:
    vel, _ = walked(commanded(1.0, 0.0, 0.0), Scuttle(lift=0.0, stiffen=0.0))
    assert vel[:, 0].max() < 0.5


def test_standing_still_is_worth_less_than_running() -> None:
    returns = {}
    for name, gait in (("still", None), ("running", Scuttle())):
        env = commanded(0.6, 0.0, 0.0)
        steps = [env.step(torch.zeros(4, 8) if gait is None else gait(env.state)).reward for _ in range(250)]
        returns[name] = float(torch.stack(steps).mean())
    assert returns["running"] > 1.5 * returns["still"]
