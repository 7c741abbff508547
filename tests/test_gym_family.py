"""The gym-* tasks against Gymnasium's own -v5 environments: equal states and actions lead to equal steps.

More of the same is bench/gym_parity.py.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from gym_parity import FAMILY, Parity, compare_episodes, compare_states, gymnasium_env, put_ours, put_theirs, random_states
from scipy.stats import ks_2samp

import paddock
from paddock import State, Task
from paddock import terms as t
from paddock.tasks.finding import find_task

SMALL = 1e-5
LOOKS = ("tex_", "mat_", "name", "light_", "cam_", "vis_", "_sizes")


@pytest.fixture(params=FAMILY)
def task(request: pytest.FixtureRequest) -> Task:
    return find_task(request.param)


def assert_equal(parity: Parity) -> None:
    assert parity.worst < SMALL and parity.rounded_otherwise == parity.ended_otherwise == 0, parity


def test_one_step_from_any_state(task: Task) -> None:
    parity = compare_states(task, 60)
    assert_equal(parity)
    assert parity.steps == 60 and (0 < parity.terminations < 60 or not task.done)


def test_whole_episodes(task: Task) -> None:
    parity = compare_episodes(task, 3, limit=200)
    assert_equal(parity)
    assert parity.terminations >= 1 or (parity.steps == 600 and not task.done)


def test_an_episode_begins_as_theirs_do(task: Task) -> None:
    ours, theirs = paddock.make(task, num_worlds=1000), gymnasium_env(task)
    ours.reset()
    qpos, qvel = [], []
    for seed in range(150):
        theirs.reset(seed=seed)
        qpos.append(theirs.data.qpos - theirs.init_qpos)
        qvel.append(theirs.data.qvel.copy())
    theirs.close()
    offset = ours.state.qpos.numpy() - theirs.init_qpos
    for mine, their in ((offset, np.stack(qpos)), (ours.state.qvel.numpy(), np.stack(qvel))):
        assert np.asarray(ks_2samp(mine.ravel(), their.ravel()))[1] > 0.01  # the chance that one distribution gives both
        assert np.abs(np.corrcoef(mine, rowvar=False) - np.eye(mine.shape[1])).max() < 0.15


def test_the_model_is_theirs(task: Task) -> None:
    """What steps is compiled from text that we saved; every number that could change the motion is the same."""
    ours, theirs = paddock.make(task).visual_model, gymnasium_env(task).model
    for name in dir(theirs):
        value = getattr(theirs, name)
        if isinstance(value, np.ndarray) and not name.startswith(LOOKS):
            np.testing.assert_array_equal(getattr(ours, name), value, err_msg=name)
    assert ours.opt.timestep == theirs.opt.timestep and ours.opt.integrator == theirs.opt.integrator


def test_the_states_reach_what_is_special() -> None:
    """Velocities beyond where hopper and walker clip them, and heights on both sides of every limit."""
    for name in ("gym-hopper", "gym-walker2d"):
        env = paddock.make(name, num_worlds=60)
        _, qvel = random_states(env, np.random.default_rng(0))
        assert (np.abs(qvel) > 12).any() and (np.abs(qvel) < 8).any()


def test_a_hopper_that_is_only_too_fast_is_unhealthy() -> None:
    env, theirs = paddock.make("gym-hopper", num_worlds=2), gymnasium_env(find_task("gym-hopper"))
    qpos, qvel = np.tile(theirs.init_qpos, (2, 1)), np.zeros((2, 6))
    qvel[:, 0] = 99.0, 101.0
    put_ours(env, qpos, qvel)
    step = env.step(np.zeros((2, 3)))
    ended = []
    for row in range(2):
        put_theirs(theirs, qpos[row], qvel[row])
        ended.append(theirs.step(np.zeros(3, np.float32))[2])
    theirs.close()
    assert step.terminated.tolist() == ended == [False, True]


def rough_x(state: State) -> torch.Tensor:
    return state.qpos[:, 0]


WRONG = {
    "read in time, not as they do": ("gym-ant", {"stage": "velocity"}),
    "displacement of rounded positions": ("gym-hopper", {"memory": {"x": t.Tracked(rough_x)}}),
    "effort of the action, not of ctrl": ("gym-humanoid", {"reward": {"ctrl": (-0.1, t.action_size)}}),
    "a tilt that ends nothing": ("gym-walker2d", {"done": {"unhealthy": t.OutOfBounds(lambda s: s.qpos[:, 1], 0.8, 2.0)}}),
    "velocities that nobody clips": ("gym-hopper", {"observe": {"all": lambda s: torch.cat([s.qpos[:, 1:], s.qvel], dim=1)}}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_task_made_wrong_is_noticed(wrong: str) -> None:
    name, changes = WRONG[wrong]
    right = find_task(name)
    if "reward" in changes:
        changes = {"reward": {**right.reward, **changes["reward"]}}
    parity = compare_states(replace(right, **changes), 60)
    assert parity.worst > SMALL or parity.ended_otherwise > 0
