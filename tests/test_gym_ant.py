"""gym-ant against Gymnasium's own Ant-v5, step by step from equal states and actions."""

import gymnasium
import numpy as np
import torch
from gymnasium.envs.mujoco.ant_v5 import AntEnv

import paddock
from models import world_of


def test_steps_like_ant_v5() -> None:
    theirs = gymnasium.make(
        "Ant-v5",
        include_cfrc_ext_in_observation=False,
        contact_cost_weight=0.0,
        terminate_when_unhealthy=True,
    )
    engine = theirs.unwrapped
    assert isinstance(engine, AntEnv)
    ours = paddock.make("gym-ant", num_worlds=1, seed=3)
    rng = np.random.default_rng(0)
    compared = terminations = 0
    while compared < 400:
        ours.reset()
        theirs.reset(seed=0)
        _, data = world_of(ours, 0)
        engine.set_state(data.qpos, data.qvel)
        done = False
        while not done and compared < 400:
            action = rng.uniform(-1, 1, 8).astype(np.float32)
            obs, reward, terminated, _, info = theirs.step(action)
            step = ours.step(torch.from_numpy(action)[None])
            np.testing.assert_allclose(step.final_obs["policy"][0].numpy(), obs, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(float(step.reward[0]), float(reward), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(float(step.terms["forward"][0]), info["reward_forward"], rtol=1e-5, atol=1e-6)
            assert bool(step.terminated[0]) == terminated
            done = terminated
            compared += 1
            terminations += terminated
    assert terminations >= 1
    theirs.close()


def test_an_episode_begins_as_ant_v5_does() -> None:
    env = paddock.make("gym-ant", num_worlds=2048)
    env.reset()
    offset = (env.state.qpos - env.state.layout.home_qpos).numpy()
    assert np.abs(offset).max() <= 0.1 + 1e-6
    np.testing.assert_allclose(offset.std(axis=0), 0.1 / np.sqrt(3), rtol=0.1)
    np.testing.assert_allclose(env.state.qvel.std(dim=0).numpy(), 0.1, rtol=0.1)
