"""One contract, every task on every sim: what anything that uses an environment may rely on."""

import math

import numpy as np
import pytest
import torch

import paddock
from models import BOXES, OWN_TASKS, compiled
from paddock.exporting import GRAPHS, disagreement, export_graph
from paddock.sims import make_sim
from paddock.sims.layout import layout_of
from paddock.tasks.finding import find_task
from paddock.worlds import Worlds

WORLDS = 5
STEPS = 200
FIXED_COLUMNS = {"gym-humanoid": [45 + 10 * body + 9 for body in range(13)]}
"""Humanoid-v5 shows the policy every body's inertia, and the tenth number of each is its mass."""
UNMEASURED = {"gym-humanoid": {"fields/cinert", "fields/cvel", "fields/qfrc_actuator"}}
"""What only a simulator knows, and Gymnasium observes."""
SIMS = ("cpu",)
"""The GPU sim is compared with this one in test_gpu_sim."""
pairs = [(task, sim) for sim in SIMS for task in OWN_TASKS]

blind = [(task, sim) for task, sim in pairs if not find_task(task).cameras]
"""Pictures are not exported, and the other terms of tasks with cameras are those of tasks without."""


@pytest.fixture(params=pairs, ids=[f"{task}-{sim}" for task, sim in pairs])
def env(request: pytest.FixtureRequest) -> paddock.Environment:
    task, sim = request.param
    return paddock.make(find_task(task).unseeing, sim=sim, num_worlds=WORLDS, seed=11)


def test_two_hundred_steps(env: paddock.Environment) -> None:
    step = env.reset()
    twin = paddock.make(env.task, num_worlds=WORLDS, seed=11)
    twin.reset()
    for _ in range(STEPS):
        action = env.sample()
        assert action.shape == (WORLDS, env.action_size) and action.abs().max() <= 1
        step = env.step(action)
        assert torch.equal(step.reward, twin.step(action).reward)
        for obs in (step.obs, step.final_obs):
            assert {group: value.shape for group, value in obs.items()} == {
                group: (WORLDS, size) for group, size in env.obs_sizes.items()
            }
            assert all(value.dtype == torch.float32 and value.isfinite().all() for value in obs.values())
        assert step.reward.shape == (WORLDS,) and step.reward.dtype == torch.float32
        assert all(term.shape == (WORLDS,) and term.isfinite().all() for term in step.terms.values())
        for flag in (step.terminated, step.truncated, step.success, step.failed, *step.ends.values()):
            assert flag.shape == (WORLDS,) and flag.dtype == torch.bool
        assert not (step.terminated & step.truncated).any() and not step.failed.any()
        running = ~step.ended
        assert torch.equal(step.obs["policy"][running], step.final_obs["policy"][running])
    assert list(step.terms) == list(env.task.reward) and list(step.ends) == list(env.task.done)


def test_different_actions_lead_to_different_worlds(env: paddock.Environment) -> None:
    env.reset()
    # the same start in every world, then an action of its own for each
    start = env.sim.save()
    start["rows"][:] = start["rows"][0]
    env.sim.load(start)
    action = torch.linspace(-1, 1, WORLDS)[:, None].expand(-1, env.action_size)
    for _ in range(5):
        env.step(action)
    assert len({tuple(row) for row in env.state.qpos.tolist()}) == WORLDS


def test_the_policy_sees_every_column_change(env: paddock.Environment) -> None:
    """A sensor that is stuck, or cut off, is a defect that no training curve shows."""
    env.reset()
    seen = torch.stack([env.step(env.sample()).final_obs["policy"] for _ in range(STEPS)])
    stuck = (seen.flatten(0, 1).std(dim=0) == 0).nonzero()[:, 0].tolist()
    assert stuck == FIXED_COLUMNS.get(env.task.name, [])


@pytest.mark.parametrize("env", blind, indirect=True, ids=[f"{task}-{sim}" for task, sim in blind])
def test_graphs_agree_in_onnxruntime_and_observe_what_a_robot_can_measure(env: paddock.Environment) -> None:
    env.reset()
    graphs = {name: model for name in GRAPHS if (model := export_graph(env, name)) is not None}
    assert {"observe", "act", "reward", "done", "reset"} <= set(graphs)
    assert ("update" in graphs) == bool(env.task.command or env.task.memories)
    # a robot can feed what the policy observes
    allowed = {"sensordata", "action", "last_action", "qpos", "qvel"} | UNMEASURED.get(env.task.name, set())
    inputs = {value.name for value in graphs["observe"].graph.input}
    assert {name for name in inputs if not name.startswith(("command/", "memory/"))} <= allowed
    other = paddock.make(env.task, num_worlds=3, seed=12)
    other.reset()
    for step in range(40):
        other.step(other.sample())
        if step % 10 == 9:
            for name, model in graphs.items():
                assert disagreement(model, name, env.task, other.state) < 1e-6, name


@pytest.mark.parametrize("name", OWN_TASKS)
def test_time_adds_up(name: str) -> None:
    task = find_task(name)
    env = paddock.make(task)
    assert math.isclose(env.substeps * env.model.opt.timestep, task.control_dt)
    assert math.isclose(task.episode_steps * task.control_dt, task.episode_s)
    assert np.isfinite(env.model.body_mass).all()


@pytest.mark.parametrize("name", SIMS)
def test_sensors_of_a_resting_and_a_falling_body_are_fresh(name: str) -> None:
    substeps, steps = 4, 15
    sim = make_sim(name, compiled(BOXES), 2)
    layout = layout_of(sim.model, control_dt=substeps * sim.model.opt.timestep, device=sim.device)

    def read(sensor: str) -> torch.Tensor:
        return sim.sensordata[:, layout.sensors[sensor]]

    def ball_height() -> torch.Tensor:
        return sim.qpos[:, layout.qpos["ball"]][:, 2]

    assert torch.equal(read("pos/ball")[:, 2], ball_height())
    for _ in range(steps):
        sim.step(torch.zeros(2, 1), substeps)
    # positions and velocities belong to the state just reached
    assert torch.equal(read("pos/ball")[:, 2], ball_height())
    fall = -9.81 * steps * substeps * sim.model.opt.timestep
    torch.testing.assert_close(read("vel/ball")[:, 2], torch.full((2,), fall), rtol=1e-4, atol=0)
    # accelerations belong to the last substep: a resting body's accelerometer feels gravity, a falling one's nothing
    torch.testing.assert_close(read("accelerometer/ball"), torch.zeros(2, 3), rtol=0, atol=1e-5)
    assert (read("accelerometer/box").norm(dim=1) > 5.0).all() and (read("touch") > 5.0).all()
    everyone = Worlds.where(torch.ones(2, dtype=torch.bool), by_rows=sim.by_rows)
    sim.reset(everyone)
    sim.forward(everyone)
    assert torch.equal(read("pos/ball")[:, 2], ball_height())
    for sensor in ("touch", "accelerometer"):
        assert (read(sensor) == 0).all()
