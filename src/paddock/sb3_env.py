"""n worlds as a Stable-Baselines3 VecEnv."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from paddock.contracts import Step
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.gymnasium_env import Observed, action_space, final_rows, observation_space, observed
from paddock.making import make
from paddock.tasks.task import Task

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvStepReturn
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "stable_baselines3":
        raise
    raise PaddockError("Stable-Baselines3 is not installed. Install it with: pip install 'paddock[sb3]'") from error


def sb3_vec_env(task: str | Task, *, num_worlds: int = 8, seed: int = 0, num_threads: int | None = None) -> Sb3Worlds:
    """`num_worlds` worlds of a task for Stable-Baselines3: `PPO("MlpPolicy", paddock.sb3_vec_env("cartpole-balance"))`.

    Episodes report their return and length as SB3's Monitor does, and whether they succeeded.
    """
    return Sb3Worlds(make(task, num_worlds=num_worlds, seed=seed, num_threads=num_threads))


class Sb3Worlds(VecEnv):
    """The worlds of one Environment. They share its attributes, and begin new episodes by themselves."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        super().__init__(environment.num_worlds, observation_space(environment), action_space(environment))
        self._next_seed: int | None = None
        self._actions = np.empty(0)
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)
        self._start = time.monotonic()

    def reset(self) -> Observed:
        if any(self._options):
            raise PaddockError("reset takes no options. Change the task instead, with dataclasses.replace.")
        step = self.environment.reset(seed=self._next_seed)
        self._next_seed = None
        self._returns[:] = 0
        self._lengths[:] = 0
        return observed(step.obs)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        step = self.environment.step(self._actions)
        reward, ended = step.reward.numpy(), step.ended.numpy()
        self._returns += reward
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if ended.any():
            self._report(step, ended, infos)
        return observed(step.obs), reward, ended, infos

    def close(self) -> None:
        """Nothing to release."""

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """At the next reset, begin again from the first episode of this seed; every world numbers itself within it."""
        self._next_seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed
        return [self._next_seed] * self.num_envs

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The Environment's attribute, once for each world asked about."""
        value = None if attr_name == "render_mode" else getattr(self.environment, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set the Environment's attribute, for all worlds or not at all."""
        self._check_everyone(f"set '{attr_name}' in", indices)
        setattr(self.environment, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any) -> list[Any]:
        """Call the Environment's method, once for all worlds; each of them gets its answer."""
        self._check_everyone(f"call '{method_name}' on", indices)
        value = getattr(self.environment, method_name)(*method_args, **method_kwargs)
        return [value] * self.num_envs

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        """True for Monitor, whose `episode` reports are made here; SB3 asks so as to know whether they are."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def _report(self, step: Step, ended: np.ndarray, infos: list[dict[str, Any]]) -> None:
        """Fill the infos of ended worlds, and count anew. The others stay empty: SB3 reads nothing there."""
        truncated, success = step.truncated.numpy(), step.success.numpy()
        seconds = round(time.monotonic() - self._start, 6)
        for world, final_obs in zip(ended.nonzero()[0].tolist(), final_rows(step.final_obs, ended), strict=True):
            episode = {"r": round(float(self._returns[world]), 6), "l": int(self._lengths[world]), "t": seconds}
            infos[world] = {
                "episode": episode,
                "terminal_observation": final_obs,
                "TimeLimit.truncated": bool(truncated[world]),  # an Environment never truncates what terminated
                "is_success": bool(success[world]),
            }
        self._returns[ended] = 0
        self._lengths[ended] = 0

    def _check_everyone(self, what: str, indices: VecEnvIndices) -> None:
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise PaddockError(f"cannot {what} some worlds only: all {self.num_envs} share one Environment. Leave out indices.")
