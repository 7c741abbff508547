"""A run before the judge: its policy against nobody and chance, with films of the best and the worst episode."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from paddock.cores import torch_threads
from paddock.errors import PaddockError
from paddock.evaluation import FINAL_SEED, Agent, Episode, acting, check_episodes, play_out, score
from paddock.looks import look_of
from paddock.making import make
from paddock.marks import marks
from paddock.playing import VIDEO_FPS, agents_of, camera_of, find_agent, pose
from paddock.rendering import Camera
from paddock.runs.atomic import write_file
from paddock.scoring import Score
from paddock.tasks.task import Task
from paddock.trained import Run
from paddock.videos import write_video

NUM_WORLDS = 64
SEEDS, SEED_STEP = 1_000_000, 100
FILM_SIZE = (640, 400)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What an evaluation found."""

    policy: Score
    others: tuple[Score, ...]
    """Of the agents that learned nothing, on the same seeds."""
    best: Episode
    worst: Episode
    seed: int
    env_steps: int
    """Of the checkpoint judged."""

    @property
    def scores(self) -> tuple[Score, ...]:
        return (*self.others, self.policy)

    @property
    def name(self) -> str:
        """Of its files: what has the same name has the same result."""
        return f"{self.env_steps:012d}-seed-{self.seed}-episodes-{self.policy.episodes}"


def seed_of(number: int) -> int:
    """The seed of an evaluation's episodes, by number: none that training uses, or chose its best checkpoint by."""
    if not 0 <= number < SEEDS:
        raise PaddockError(f"seed is {number}; wanted 0 to {SEEDS - 1:,}.")
    return FINAL_SEED + SEED_STEP * number


def judge(
    run: Run,
    *,
    episodes: int = 100,
    seed: int = FINAL_SEED,
    checkpoint: str | int = "best",
    advance: Callable[[int], None] = lambda episodes: None,
) -> Judgement:
    """Score the run's policy, and those who learned nothing, over the same episodes."""
    check_episodes(episodes)
    trained = run.load(checkpoint)
    worlds = min(NUM_WORLDS, episodes)
    found, played = play_out(
        make(trained.task, num_worlds=worlds, seed=seed), acting(trained.policy), name="policy", episodes=episodes, advance=advance
    )
    others = []
    for name in agents_of(trained.task):
        env = make(trained.task, num_worlds=worlds, seed=seed)
        others.append(score(env, find_agent(name, trained.task), name=name, episodes=episodes, advance=advance))
    ranked = sorted(played, key=lambda e: (e.success, e.total))
    return Judgement(policy=found, others=tuple(others), best=ranked[-1], worst=ranked[0], seed=seed, env_steps=trained.env_steps)


def write_judgement(judgement: Judgement, folder: Path) -> Path:
    """The judgement as JSON, in the run's folder of evaluations."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{judgement.name}.json"
    words = asdict(judgement)
    for told, found in zip([*words["others"], words["policy"]], judgement.scores, strict=True):
        told["success_interval"] = found.success.interval if found.success else None
    write_file(file, json.dumps(words, indent=2).encode())
    return file


def film_episode(
    task: Task,
    act: Agent,
    episode: Episode,
    path: Path,
    *,
    seed: int,
    num_worlds: int,
    advance: Callable[[float], None] = lambda seconds: None,
) -> None:
    """Film one episode of an evaluation: all its worlds are played again, because a policy rounds by the size of its batch."""
    env = make(task, num_worlds=num_worlds, seed=seed)
    stride = max(1, math.ceil(1 / (VIDEO_FPS * task.control_dt)))

    def frames(camera: Camera) -> Iterator[np.ndarray]:
        env.reset()
        number, steps = 0, 0
        with torch_threads(1):
            while number <= episode.number:
                if number == episode.number and steps % stride == 0:
                    world = episode.world
                    yield camera.frame(*pose(env, world), marks=marks(env, world), look=look_of(env, world))
                    advance(stride * task.control_dt)
                steps += number == episode.number
                number += bool(env.step(act(env)).ended[episode.world])

    with Camera(env.visual_model, camera=camera_of(env), width=FILM_SIZE[0], height=FILM_SIZE[1]) as camera:
        write_video(path, frames(camera), fps=1 / (stride * task.control_dt))
