"""Gymnasium's two interfaces: one world as an Env, n worlds as a VectorEnv. NumPy in, NumPy out; arrays are the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from paddock.contracts import CAMERA_GROUP, Obs, Step
from paddock.env import Environment
from paddock.errors import PaddockError, unknown
from paddock.looks import look_of
from paddock.making import make
from paddock.tasks.task import Task

if TYPE_CHECKING:
    from paddock.rendering import Camera

Observed = Any
"""An array, or with pictures a dict of arrays by name: Gymnasium's environments say of themselves which."""
METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}


class WorldEnv(gymnasium.Env[Observed, np.ndarray]):
    """One world. `reset(seed=s)` begins the first episode of `paddock.make(task, seed=s)`, `reset()` the next one.

    `info` has `success`, each reward term under `terms`, and `privileged` where the task has such observations.
    """

    metadata = METADATA

    def __init__(self, task: str | Task, *, render_mode: str | None = None) -> None:
        self.environment = make(task)
        self.metadata = METADATA | {"render_fps": _frames_per_second(self.environment)}
        self.observation_space = observation_space(self.environment)
        self.action_space = action_space(self.environment)
        self.render_mode = _known_mode(render_mode)
        self._pictures = _Pictures(self.environment)
        self._begun = False
        self._next: Obs | None = None  # after an episode's end: what the one already begun shows first
        self._qpos_before = np.empty(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observed, dict[str, Any]]:
        super().reset(seed=seed)
        _check_options(options)
        if seed is not None or not self._begun:
            # where no seed is given Gymnasium draws one, so that unseeded worlds differ; `np_random_seed` repeats them
            obs = self.environment.reset(seed=self.np_random_seed).obs
        else:
            obs = self._next or self.environment.reset().obs
        self._begun, self._next = True, None
        return of_world(observed(obs), 0), _world_0(_beyond_policy(obs))

    def step(self, action: np.ndarray) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        if self._next is not None or not self._begun:
            raise PaddockError("there is no episode to step: call reset() first, and again after each episode's end.")
        if self.render_mode is not None:
            self._qpos_before = self.environment.state.qpos.numpy().copy()
        step = self.environment.step(action[None])
        self._next = step.obs if step.ended[0] else None
        info = {
            "success": bool(step.success[0]),
            "terms": {name: float(term[0]) for name, term in step.terms.items()},
            **_world_0(_beyond_policy(step.final_obs)),
        }
        obs = of_world(observed(step.final_obs), 0)
        return obs, float(step.reward[0]), bool(step.terminated[0]), bool(step.truncated[0]), info

    def render(self) -> np.ndarray | None:
        """The world now; after an episode's last step, one step before it, because the next episode has already begun."""
        if self.render_mode is None:
            return None
        qpos = self.environment.state.qpos.numpy() if self._next is None else self._qpos_before
        return self._pictures.of(qpos)[0]

    def close(self) -> None:
        self._pictures.close()


class WorldsVectorEnv(VectorEnv[Observed, np.ndarray, np.ndarray]):
    """n worlds: those of `paddock.make(task, num_worlds=n, seed=s)` after `reset(seed=s)`.

    A world whose episode ends begins the next one in the same step; `infos["final_obs"]` and `infos["final_info"]` then
    have what the ended episode showed last, as in Gymnasium's SyncVectorEnv.
    """

    metadata = METADATA | {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self, task: str | Task, *, num_envs: int = 1, num_threads: int | None = None, render_mode: str | None = None
    ) -> None:
        self.environment = make(task, num_worlds=num_envs, num_threads=num_threads)
        self.metadata = self.metadata | {"render_fps": _frames_per_second(self.environment)}
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self.environment)
        self.single_action_space = action_space(self.environment)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = _known_mode(render_mode)
        self._pictures = _Pictures(self.environment)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observed, dict[str, Any]]:
        super().reset(seed=seed)
        _check_options(options)
        if seed is not None or not self._begun:
            obs = self.environment.reset(seed=self.np_random_seed).obs
        else:
            obs = self.environment.reset().obs
        self._begun = True
        return observed(obs), _masked(_beyond_policy(obs), np.ones(self.num_envs, dtype=bool))

    def step(self, actions: np.ndarray) -> tuple[Observed, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        step = self.environment.step(actions)
        return (
            observed(step.obs),
            step.reward.numpy(),
            step.terminated.numpy(),
            step.truncated.numpy(),
            _vector_infos(step),
        )

    def render(self) -> tuple[np.ndarray, ...] | None:
        """One picture a world."""
        return None if self.render_mode is None else self._pictures.of(self.environment.state.qpos.numpy())

    def close_extras(self, **kwargs: Any) -> None:
        self._pictures.close()


def observation_space(environment: Environment) -> Space[Any]:
    """Any number in every column: a task does not bound what it measures. With cameras, a Dict of `policy` and each picture."""
    policy = Box(-np.inf, np.inf, (environment.obs_sizes["policy"],), np.float32)
    if not environment.image_shapes:
        return policy
    spaces: dict[str, Space[Any]] = {"policy": policy}
    for group, shape in environment.image_shapes.items():
        spaces[group] = _picture_space(group, shape)
    return Dict(spaces)


def _picture_space(group: str, shape: tuple[int, ...]) -> Box:
    if group.endswith("/rgb"):
        return Box(0, 255, shape, np.uint8)
    if group.endswith("/depth"):
        return Box(0.0, np.inf, shape, np.float32)
    return Box(-1, np.iinfo(np.int32).max, shape, np.int32)


def observed(obs: Obs) -> Observed:
    """What the observation space holds, of all worlds: the policy's vector alone, or by name with the pictures."""
    pictures = {group: value.numpy() for group, value in obs.items() if group.startswith(CAMERA_GROUP)}
    return {"policy": obs["policy"].numpy(), **pictures} if pictures else obs["policy"].numpy()


def of_world(obs: Observed, world: int) -> Observed:
    """One world's part."""
    return {group: value[world] for group, value in obs.items()} if isinstance(obs, dict) else obs[world]


def action_space(environment: Environment) -> Box:
    return Box(-1.0, 1.0, (environment.action_size,), np.float32)


def final_rows(final_obs: Obs, ended: np.ndarray) -> list[Observed]:
    """The last observation of each ended world, in their order."""
    seen = observed(final_obs)
    return [of_world(seen, int(world)) for world in ended.nonzero()[0]]


class _Pictures:
    """A camera on an environment's worlds, made when the first picture is asked for."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._camera: Camera | None = None

    def of(self, qpos: np.ndarray) -> tuple[np.ndarray, ...]:
        """One (h, w, 3) uint8 picture for each row of qpos (n, nq)."""
        if self._camera is None:
            from paddock.rendering import Camera

            self._camera = Camera(self._environment.visual_model)
        looks = (look_of(self._environment, world) for world in range(len(qpos)))
        return tuple(self._camera.frame(row, look=look) for row, look in zip(qpos, looks, strict=True))

    def close(self) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None


def _vector_infos(step: Step) -> dict[str, Any]:
    """What SyncVectorEnv makes of the worlds' infos: an ended world shows its next reset's, and its last in `final_info`."""
    ended = step.ended.numpy()
    reached = {"success": step.success.numpy(), "terms": {name: term.numpy() for name, term in step.terms.items()}}
    infos = _masked(_beyond_policy(step.obs), np.ones_like(ended)) | _masked(reached, ~ended)
    if ended.any():
        final_obs = np.full(len(ended), None, dtype=object)
        for world, row in zip(ended.nonzero()[0], final_rows(step.final_obs, ended), strict=True):
            final_obs[world] = row
        final_info = _masked(reached | _beyond_policy(step.final_obs), ended)
        infos |= {"final_obs": final_obs, "_final_obs": ended.copy(), "final_info": final_info, "_final_info": ended.copy()}
    return infos


def _masked(info: dict[str, Any], present: np.ndarray) -> dict[str, Any]:
    """Gymnasium's vector infos: each array is zero where its world has no such info, and beside it lies the mask."""
    infos: dict[str, Any] = {}
    if not present.any():
        return infos
    for name, value in info.items():
        if isinstance(value, dict):
            infos[name] = _masked(value, present)
        else:
            mask = present.reshape(-1, *[1] * (value.ndim - 1))
            infos[name] = np.where(mask, value, np.zeros_like(value))
        infos[f"_{name}"] = present.copy()
    return infos


def _beyond_policy(obs: Obs) -> dict[str, np.ndarray]:
    hidden = {group: value for group, value in obs.items() if group != "policy" and not group.startswith(CAMERA_GROUP)}
    return {group: value.numpy() for group, value in hidden.items()}


def _world_0(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value[0] for name, value in arrays.items()}


def _frames_per_second(environment: Environment) -> int:
    return round(1 / environment.task.control_dt)


def _known_mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in METADATA["render_modes"]:
        raise unknown("render mode", render_mode, METADATA["render_modes"])
    return render_mode


def _check_options(options: dict[str, Any] | None) -> None:
    if options:
        raise PaddockError(f"reset takes no options, got {', '.join(options)}. Change the task instead, with dataclasses.replace.")
