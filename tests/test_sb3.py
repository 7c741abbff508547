"""The Stable-Baselines3 VecEnv gives the numbers of `paddock.make`, and SB3 learns with it."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import paddock
from models import OWN_TASKS
from paddock.errors import PaddockError
from paddock.gymnasium_env import WorldEnv
from paddock.sb3_env import sb3_vec_env
from paddock.tasks.finding import find_task
from paddock.tasks.task import Task

CARTPOLE = find_task("cartpole-balance")


def short(task: Task, *, steps: int) -> Task:
    return replace(task, episode_s=steps * task.control_dt)


@pytest.mark.parametrize("name", OWN_TASKS)
def test_sb3_check_env_passes(name: str):
    check_env(WorldEnv(name))


@pytest.mark.parametrize("task", [CARTPOLE, short(CARTPOLE, steps=12), short(find_task("quadruped-walk"), steps=7)])
def test_worlds_give_the_numbers_of_make(task: Task):
    env, oracle = sb3_vec_env(task, num_worlds=3, seed=4), paddock.make(task, num_worlds=3, seed=4)
    np.testing.assert_array_equal(env.reset(), oracle.reset().obs["policy"].numpy())
    returns, lengths, ends = np.zeros(3), np.zeros(3, dtype=int), 0
    for _ in range(60):
        action = np.ones((3, oracle.action_size), dtype=np.float32)
        step = oracle.step(action)
        obs, reward, done, infos = env.step(action)
        np.testing.assert_array_equal(obs, step.obs["policy"].numpy())
        np.testing.assert_array_equal(reward, step.reward.numpy())
        np.testing.assert_array_equal(done, step.ended.numpy())
        returns += reward
        lengths += 1
        for world, info in enumerate(infos):
            if not done[world]:
                assert info == {}
                continue
            np.testing.assert_array_equal(info["terminal_observation"], step.final_obs["policy"][world].numpy())
            assert info["TimeLimit.truncated"] is bool(step.truncated[world])
            assert info["is_success"] is bool(step.success[world])
            assert (info["episode"]["r"], info["episode"]["l"]) == (round(returns[world], 6), lengths[world])
            returns[world], lengths[world], ends = 0, 0, ends + 1
    assert ends >= 3


def test_one_world_equals_sb3s_own_vec_env_with_a_monitor():
    task = short(CARTPOLE, steps=15)
    ours, theirs = sb3_vec_env(task, num_worlds=1), DummyVecEnv([lambda: Monitor(WorldEnv(task))])
    assert ours.seed(9) == theirs.seed(9) == [9]
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for _ in range(40):
        obs, reward, done, [info] = ours.step(np.ones((1, 1), dtype=np.float32))
        their_obs, their_reward, their_done, [their_info] = theirs.step(np.ones((1, 1), dtype=np.float32))
        for mine, other in ((obs, their_obs), (reward, their_reward), (done, their_done)):
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(other), strict=True)
        assert bool(info) == done[0]
        if done[0]:
            assert info.keys() - {"is_success"} == their_info.keys() - {"success", "terms"}
            np.testing.assert_array_equal(info["terminal_observation"], their_info["terminal_observation"])
            assert info["TimeLimit.truncated"] is their_info["TimeLimit.truncated"]
            assert info["episode"] | {"t": 0} == their_info["episode"] | {"t": 0}
            assert info["is_success"] is their_info["success"]


def test_a_seed_begins_again_at_the_next_reset():
    env = sb3_vec_env(CARTPOLE, num_worlds=2, seed=1)
    first = env.reset()
    assert not np.array_equal(env.reset(), first)
    assert env.seed(1) == [1, 1]
    env.step(np.zeros((2, 1)))
    np.testing.assert_array_equal(env.reset(), first)
    assert not np.array_equal(env.reset(), first)


def test_worlds_share_one_environment():
    env = sb3_vec_env(CARTPOLE, num_worlds=3, seed=2)
    env.reset()
    assert env.get_attr("task", indices=[0, 2]) == [CARTPOLE, CARTPOLE]
    assert not env.has_attr("compute_reward")
    assert env.env_method("sample")[0].shape == (3, 1)
    env.set_attr("seed", 8)
    assert env.get_attr("seed") == [8, 8, 8]
    with pytest.raises(PaddockError, match="cannot set 'seed' in some worlds only"):
        env.set_attr("seed", 8, indices=1)
    with pytest.raises(PaddockError, match="cannot call 'reset' on some worlds only"):
        env.env_method("reset", indices=[0, 1])
    env.set_options({"height": 2})
    with pytest.raises(PaddockError, match="no options"):
        env.reset()


def test_actions_belong_to_the_caller():
    env = sb3_vec_env(CARTPOLE, num_worlds=3)
    env.reset()
    action = np.full((3, 1), 2.0, dtype=np.float32)
    action.flags.writeable = False
    env.step(action)
    assert (action == 2.0).all()


def test_without_sb3_the_error_says_what_to_install():
    program = "import sys; sys.modules['stable_baselines3'] = None; import paddock.sb3_env"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stderr.endswith("Stable-Baselines3 is not installed. Install it with: pip install 'paddock[sb3]'\n")


def test_normalising_wrapper_sees_final_observations():
    task, still = short(CARTPOLE, steps=3), np.zeros((2, 1), dtype=np.float32)
    plain, normalised = sb3_vec_env(task, num_worlds=2), VecNormalize(sb3_vec_env(task, num_worlds=2))
    for env in (plain, normalised):
        env.reset()
    raw, seen = ([env.step(still)[3] for _ in range(3)][-1][0]["terminal_observation"] for env in (plain, normalised))
    np.testing.assert_array_equal(np.asarray(normalised.normalize_obs(raw)), seen)


def success_rate(model: PPO, *, episodes: int = 50) -> float:
    """The first episode of each of as many worlds, all unseen in training."""
    env = sb3_vec_env(CARTPOLE, num_worlds=episodes, seed=1000)
    outcomes: dict[int, bool] = {}
    obs = env.reset()
    while len(outcomes) < episodes:
        action, _ = model.predict(obs, deterministic=True)  # pyright: ignore[reportArgumentType]
        obs, _, done, infos = env.step(action)
        outcomes = {int(world): infos[world]["is_success"] for world in done.nonzero()[0]} | outcomes
    return sum(outcomes.values()) / episodes


def test_ppo_learns_to_balance():
    """With seeds 0 to 4 the success rate went from 0 to 1 each time."""
    env = sb3_vec_env("cartpole-balance", num_worlds=32, seed=0)
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=256, gamma=0.98, gae_lambda=0.9, learning_rate=1e-3, seed=0, device="cpu")
    assert success_rate(model) < 0.5
    model.learn(60_000)
    assert success_rate(model) >= 0.9
    reports = model.ep_info_buffer
    assert reports is not None and np.mean([report["l"] for report in reports]) > 300
    returns, _ = evaluate_policy(model, env, n_eval_episodes=10, return_episode_rewards=True)
    assert np.mean(returns) > 550  # of at most 600
