"""Gymnasium's interfaces give the numbers of `paddock.make`, and Gymnasium's own checks find nothing."""

import copy
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import ClipAction, NormalizeReward, RecordEpisodeStatistics

import paddock
from paddock.contracts import Obs
from paddock.errors import PaddockError, UnknownName
from paddock.gym_ids import gym_id, register
from paddock.gymnasium_env import WorldEnv, WorldsVectorEnv
from paddock.rendering import Camera
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task
from paddock.tasks.task import Task

# what a task measures (velocities, forces) has no bounds, so neither has the space
UNBOUNDED = pytest.mark.filterwarnings("ignore:.*A Box observation space (minimum|maximum) value is -?infinity")
EVERY_TASK = pytest.mark.parametrize("name", TASK_NAMES)
WITHOUT_PICTURES = pytest.mark.parametrize("name", [name for name in TASK_NAMES if not find_task(name).cameras])


@pytest.fixture(scope="module")
def can_draw() -> bool:
    """Whether there is an OpenGL to draw with; a CI machine without one is broken."""
    try:
        Camera(paddock.make("cartpole-balance").model, width=32, height=32).close()
    except PaddockError:
        if os.environ.get("CI") == "true":
            raise
        return False
    return True


@pytest.fixture
def drawing(can_draw: bool) -> None:
    if not can_draw:
        pytest.skip("no OpenGL here")


def short(name: str, *, steps: int = 6) -> Task:
    """The task, with episodes of a few control steps."""
    task = find_task(name)
    return replace(task, episode_s=steps * task.control_dt)


def random_actions(space: gymnasium.Space, count: int) -> list[np.ndarray]:
    space.seed(0)
    return [space.sample() for _ in range(count)]


def assert_first_world(obs: np.ndarray, info: dict[str, Any], groups: Obs) -> None:
    np.testing.assert_array_equal(obs, groups["policy"][0].numpy())
    assert info.keys() - {"success", "terms"} == groups.keys() - {"policy"}
    for group in groups.keys() - {"policy"}:
        np.testing.assert_array_equal(info[group], groups[group][0].numpy())


def test_ids_carry_the_versions_of_the_tasks():
    register()
    ours = {known for known in gymnasium.registry if known.startswith("paddock/")}
    assert "paddock/QuadrupedWalk-v0" in ours
    titles = {name: "".join(word.capitalize() for word in name.split("-")) for name in TASK_NAMES}
    assert ours == {f"paddock/{titles[name]}-v{find_task(name).version}" for name in TASK_NAMES}


@pytest.mark.parametrize("imports", ["import paddock, gymnasium", "import gymnasium, paddock"])
def test_ids_exist_once_paddock_is_imported(imports: str):
    program = f"""
{imports}
env = gymnasium.make("paddock/QuadrupedWalk-v0")
envs = gymnasium.make_vec("paddock/CartpoleBalance-v0", num_envs=3)
env.reset(seed=0)
print(type(env.unwrapped).__name__, len(envs.reset()[0]))
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("WorldEnv 3\n", "")


def test_importing_paddock_loads_nothing_heavy():
    program = "import sys, paddock, paddock.gym_ids; print({'torch', 'mujoco', 'numpy', 'gymnasium'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


@UNBOUNDED
@EVERY_TASK
def test_gymnasium_check_env_passes(name: str, can_draw: bool):
    register()
    env = gymnasium.make(gym_id(name)).unwrapped
    check_env(env, skip_render_check=not can_draw)


def test_make_truncates_once_and_on_time():
    register()
    env = gymnasium.make("paddock/CartpoleSwingup-v0")
    still = np.zeros(1, dtype=np.float32)
    for _ in range(2):
        env.reset(seed=0)
        flags = [env.step(still)[2:4] for _ in range(500)]
        assert flags == [(False, False)] * 499 + [(False, True)]


def test_make_vec_truncates_once_and_on_time():
    register()
    envs = gymnasium.make_vec("paddock/CartpoleSwingup-v0", num_envs=2)
    envs.reset(seed=0)
    still = np.zeros((2, 1), dtype=np.float32)
    ends = [step for step in range(1, 1001) if envs.step(still)[3].all()]
    assert ends == [500, 1000]


@WITHOUT_PICTURES
def test_env_gives_the_numbers_of_make(name: str):
    """Episode after episode: none is skipped, and an episode's last observation is its own."""
    task = short(name)
    env, oracle = WorldEnv(task), paddock.make(task, seed=7)
    begun, episodes = oracle.reset().obs, 0
    assert_first_world(*env.reset(seed=7), begun)
    for action in random_actions(env.action_space, 20):
        step = oracle.step(action[None])
        obs, reward, terminated, truncated, info = env.step(action)
        assert_first_world(obs, info, step.final_obs)
        assert (reward, terminated, truncated) == (step.reward.item(), step.terminated.item(), step.truncated.item())
        assert info["terms"] == {name: term.item() for name, term in step.terms.items()}
        assert info["success"] is bool(step.success)
        if terminated or truncated:
            assert not np.array_equal(obs, step.obs["policy"][0])
            assert_first_world(*env.reset(), step.obs)
            episodes += 1
    assert episodes >= 3


def test_reset_amid_an_episode_begins_the_next():
    env, oracle = WorldEnv("quadruped-walk"), paddock.make("quadruped-walk", seed=1)
    env.reset(seed=1)
    oracle.reset()
    env.step(np.zeros(12, dtype=np.float32))
    assert_first_world(*env.reset(), oracle.reset().obs)
    assert_first_world(*env.reset(), oracle.reset().obs)


@WITHOUT_PICTURES
def test_a_seed_begins_again_whatever_went_before(name: str):
    env, envs = WorldEnv(name), WorldsVectorEnv(name, num_envs=3)
    oracle = paddock.make(name, num_worlds=3, seed=5)
    actions = random_actions(envs.action_space, 4)
    env.reset(seed=2)
    envs.reset(seed=2)
    for action in actions:
        env.step(action[0])
        envs.step(action)
    first = oracle.reset().obs
    np.testing.assert_array_equal(env.reset(seed=5)[0], first["policy"][0].numpy())
    np.testing.assert_array_equal(envs.reset(seed=5)[0], first["policy"].numpy())
    for action in actions:
        step = oracle.step(action)
        np.testing.assert_array_equal(env.step(action[0])[0], step.final_obs["policy"][0].numpy())
        np.testing.assert_array_equal(envs.step(action)[0], step.obs["policy"].numpy())


@pytest.mark.parametrize("kind", [WorldEnv, WorldsVectorEnv])
def test_unseeded_environments_differ_and_can_be_repeated(kind: type[WorldEnv] | type[WorldsVectorEnv]):
    one, other = kind("cartpole-balance"), kind("cartpole-balance")
    obs, _ = one.reset()
    assert not np.array_equal(obs, other.reset()[0])
    np.testing.assert_array_equal(other.reset(seed=one.np_random_seed)[0], obs)


def test_only_an_episode_can_be_stepped():
    env = WorldEnv(short("cartpole-balance", steps=1))
    with pytest.raises(PaddockError, match="call reset"):
        env.step(np.zeros(1, dtype=np.float32))
    env.reset(seed=0)
    env.step(np.zeros(1, dtype=np.float32))
    with pytest.raises(PaddockError, match="call reset"):
        env.step(np.zeros(1, dtype=np.float32))


def test_what_cannot_be_done_is_refused():
    with pytest.raises(UnknownName, match="unknown render mode 'ansi'"):
        WorldEnv("cartpole-balance", render_mode="ansi")
    with pytest.raises(PaddockError, match="no options, got reset_mask"):
        WorldsVectorEnv("cartpole-balance").reset(options={"reset_mask": np.ones(1, dtype=bool)})


@WITHOUT_PICTURES
def test_vector_env_gives_the_numbers_of_make(name: str):
    task = short(name)
    envs, oracle = WorldsVectorEnv(task, num_envs=3), paddock.make(task, num_worlds=3, seed=7)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    envs.reset(seed=7)
    oracle.reset()
    for action in random_actions(envs.action_space, 14):
        step = oracle.step(action)
        obs, reward, terminated, truncated, infos = envs.step(action)
        for got, wanted in ((obs, step.obs["policy"]), (reward, step.reward)):
            np.testing.assert_array_equal(got, wanted.numpy())
        np.testing.assert_array_equal(terminated, step.terminated.numpy())
        np.testing.assert_array_equal(truncated, step.truncated.numpy())
        ended = (terminated | truncated).nonzero()[0]
        assert ("final_obs" in infos) == (len(ended) > 0)
        for world in ended:
            assert infos["_final_obs"][world]
            np.testing.assert_array_equal(infos["final_obs"][world], step.final_obs["policy"][world].numpy())
            assert infos["final_info"]["success"][world] == step.success[world].item()


@EVERY_TASK
def test_vector_env_equals_gymnasiums_own_of_one_world(name: str):
    """SyncVectorEnv is the oracle of every key, mask and value of `infos`."""
    task = short(name)
    ours = WorldsVectorEnv(task, num_envs=1)
    theirs = SyncVectorEnv([lambda: WorldEnv(task)], autoreset_mode=AutoresetMode.SAME_STEP)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    for action in random_actions(ours.action_space, 14):
        assert_same(ours.step(action), theirs.step(action))
    assert_same(ours.reset(), theirs.reset())


def assert_same(ours: Any, theirs: Any) -> None:
    """Equal in structure and value. Our rewards and terms are float32, SyncVectorEnv's are float64."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        assert_same(list(ours.values()), [theirs[key] for key in ours])
    elif isinstance(ours, list | tuple):
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
    elif ours.dtype == object:
        assert_same(list(ours), list(theirs))
    else:
        assert ours.dtype.kind == theirs.dtype.kind
        np.testing.assert_array_equal(ours, theirs)


def test_masks_tell_which_worlds_have_an_info():
    """Two worlds whose poles fall at different times."""
    envs = WorldsVectorEnv("cartpole-balance", num_envs=2)
    envs.reset(seed=0)
    while True:
        *_, terminated, _, infos = envs.step(np.array([[1.0], [0.0]]))
        if terminated.any():
            break
    assert terminated.sum() == 1
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == terminated.tolist()
    assert infos["_success"].tolist() == infos["terms"]["_upright"].tolist() == (~terminated).tolist()
    assert [row is None for row in infos["final_obs"]] == (~terminated).tolist()
    assert (infos["terms"]["upright"] == 0).tolist() == terminated.tolist()
    assert (infos["final_info"]["terms"]["upright"] == 0).tolist() == (~terminated).tolist()


def test_same_step_wrappers_work():
    task = short("cartpole-balance", steps=5)
    envs = RecordEpisodeStatistics(NormalizeReward(RecordEpisodeStatistics(WorldsVectorEnv(task, num_envs=3), stats_key="raw")))
    envs, oracle = ClipAction(envs), paddock.make(task, num_worlds=3, seed=0)
    envs.reset(seed=0)
    oracle.reset()
    too_large = np.full((3, 1), 3.0, dtype=np.float32)
    returns = np.zeros(3)
    for age in range(1, 11):
        returns += oracle.step(too_large).reward.numpy()
        infos = envs.step(too_large)[4]
        assert ("raw" in infos) == ("episode" in infos) == (age % 5 == 0)
        if age % 5 == 0:
            assert infos["raw"]["l"].tolist() == [5, 5, 5]
            np.testing.assert_array_equal(infos["raw"]["r"], returns)
            returns[:] = 0


@pytest.mark.parametrize("kind", [WorldEnv, WorldsVectorEnv])
def test_arrays_belong_to_the_caller(kind: type[WorldEnv] | type[WorldsVectorEnv]):
    """Actions are not changed, even where they are clipped, nor is what an earlier step returned."""
    env = kind(short("quadruped-balance", steps=2))
    results: list[Any] = [env.reset(seed=0)]
    action = np.full(env.action_space.shape or (), 2.0, dtype=np.float32)
    action.flags.writeable = False
    results += [env.step(action) for _ in range(2)]
    results += [env.reset()]
    kept = copy.deepcopy(results)
    env.step(action)
    assert data_equivalence(results, kept, exact=True)
    assert (action == 2.0).all()


@pytest.mark.usefixtures("drawing")
def test_a_world_is_drawn():
    register()
    env = gymnasium.make("paddock/GymAnt-v0", render_mode="rgb_array")
    assert env.metadata["render_fps"] == 20
    env.reset(seed=0)
    picture: Any = env.render()
    assert (picture.shape, picture.dtype) == ((480, 640, 3), np.uint8)
    assert picture.std() > 5
    env.step(np.ones(8, dtype=np.float32))
    assert not np.array_equal(env.render(), picture)  # pyright: ignore[reportArgumentType]
    env.close()
    env.close()


@pytest.mark.usefixtures("drawing")
def test_no_picture_of_the_next_episode_before_its_reset():
    env = WorldEnv(short("cartpole-balance", steps=2), render_mode="rgb_array")
    env.reset(seed=0)
    env.render()  # the first picture of an OpenGL context may differ from the next by a few pixels
    env.step(np.ones(1, dtype=np.float32))
    before = env.render()
    env.step(np.ones(1, dtype=np.float32))
    np.testing.assert_array_equal(env.render(), before)
    env.reset()
    assert not np.array_equal(env.render(), before)  # pyright: ignore[reportArgumentType]
    env.close()


@pytest.mark.usefixtures("drawing")
def test_every_world_of_a_vector_is_drawn():
    envs = WorldsVectorEnv("cartpole-balance", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    pictures = envs.render()
    assert pictures is not None and len(pictures) == 2
    assert not np.array_equal(*pictures)
    envs.close()
