"""Task + agent = episodes: scored, filmed or watched."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock.env import Environment
from paddock.errors import PaddockError, unknown
from paddock.evaluation import Agent, check_episodes, score
from paddock.gl_choice import has_display
from paddock.looks import look_of
from paddock.making import make
from paddock.marks import marks
from paddock.rendering import Camera
from paddock.scoring import Score
from paddock.tasks.finding import find_task
from paddock.tasks.task import Task
from paddock.videos import write_video

VIDEO_FPS = 30
"""At most: a video takes every k-th control step."""


def zero(env: Environment) -> Tensor:
    """Do nothing."""
    return torch.zeros(env.num_worlds, env.action_size, device=env.device)


def random(env: Environment) -> Tensor:
    """Uniform within [-1, 1], the same for the same seed."""
    return env.sample()


def scripted(env: Environment) -> Tensor:
    """The task's own hand-written controller."""
    expert = env.task.expert
    assert expert is not None  # checked by find_agent
    with torch.no_grad():
        return expert(env.state)


AGENTS: dict[str, Agent] = {"zero": zero, "random": random, "scripted": scripted}


def agents_of(task: Task) -> list[str]:
    """Names of the agents that can play `task`."""
    return [name for name in AGENTS if name != "scripted" or task.expert is not None]


def find_agent(name: str, task: Task) -> Agent:
    """The agent of that name, if it can play `task`."""
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    if name not in agents_of(task):
        raise PaddockError(f"task '{task.name}' has no expert, so no agent '{name}'. Agents: {', '.join(agents_of(task))}.")
    return AGENTS[name]


def play(
    task: str | Task,
    *,
    agent: str,
    episodes: int,
    seed: int = 0,
    num_worlds: int = 64,
    advance: Callable[[int], None] = lambda episodes: None,
) -> Score:
    """Score an agent by name over exactly `episodes` episodes; `advance` hears of each that ends."""
    check_episodes(episodes)
    env = make(find_task(task).unseeing, num_worlds=min(num_worlds, episodes), seed=seed)
    return score(env, find_agent(agent, env.task), name=agent, episodes=episodes, advance=advance)


def record(
    task: str | Task,
    *,
    agent: str,
    path: Path,
    seed: int = 0,
    seconds: float = 10.0,
    advance: Callable[[float], None] = lambda seconds: None,
) -> int:
    """Film the first world for `seconds` of its own time, through episodes as they come. Returns the number of frames."""
    env = make(find_task(task).unseeing, seed=seed)
    stride = max(1, math.ceil(1 / (VIDEO_FPS * env.task.control_dt)))
    dt = stride * env.task.control_dt
    count = max(1, round(seconds / dt))

    def frames(camera: Camera) -> Iterator[np.ndarray]:
        act = find_agent(agent, env.task)
        env.reset()
        for _ in range(count):
            yield camera.frame(*pose(env), marks=marks(env), look=look_of(env))
            advance(dt)
            for _ in range(stride):
                env.step(act(env))

    with Camera(env.visual_model, camera=camera_of(env)) as camera:
        write_video(path, frames(camera), fps=1 / dt)
    return count


def view(task: str | Task, *, agent: str, seed: int = 0) -> None:
    """A window on the first world, in real time, until it is closed."""
    import mujoco.viewer

    if not has_display():
        raise PaddockError("no display, so no window can open. Film it instead: --render out.mp4")
    env = make(find_task(task).unseeing, seed=seed)
    act = find_agent(agent, env.task)
    data = mujoco.MjData(env.visual_model)
    env.reset()
    with mujoco.viewer.launch_passive(env.visual_model, data, show_left_ui=False, show_right_ui=False) as window:
        _aim(window.cam, env)
        due = time.perf_counter()
        while window.is_running():
            data.qpos[:], data.qvel[:] = pose(env)
            mujoco.mj_forward(env.visual_model, data)
            window.sync()
            env.step(act(env))
            due = max(due + env.task.control_dt, time.perf_counter() - env.task.control_dt)  # late frames are not caught up
            time.sleep(max(0.0, due - time.perf_counter()))


def _aim(camera: mujoco.MjvCamera, env: Environment) -> None:
    """Follow a robot that walks, and look at another as its own camera does; the mouse still turns the view."""
    base, own = env.task.robot.base, camera_of(env)
    if base is not None:
        camera.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        camera.trackbodyid = env.visual_model.body(base).id
        camera.distance, camera.azimuth, camera.elevation = 1.8, 130.0, -20.0
    elif own is not None:
        camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        camera.fixedcamid = env.visual_model.camera(own).id


def pose(env: Environment, world: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """qpos and qvel of one world, as MuJoCo takes them."""
    return env.state.qpos[world].cpu().numpy(), env.state.qvel[world].cpu().numpy()


def camera_of(env: Environment) -> str | int | None:
    """The robot's camera, where the compiled scene has it."""
    cameras = [env.visual_model.camera(i).name for i in range(env.visual_model.ncam)]
    wanted = env.task.robot.camera
    return wanted if wanted in cameras or wanted in range(env.visual_model.ncam) else None
