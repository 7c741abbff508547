"""Task + learner -> run, begun anew or gone on with after it was cut short."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import torch

from paddock.configuring import TrainConfig, as_words, configure, preset_for, settle
from paddock.env import Environment
from paddock.errors import PaddockError, unknown
from paddock.evaluation import FIRST_EVALUATION_SEED
from paddock.following import follow
from paddock.inspecting import written
from paddock.learn.crew import Crew, join
from paddock.learn.ppo_config import check_net, net_of
from paddock.making import make
from paddock.messages import GitState, RunSetup
from paddock.platforms import this_platform
from paddock.runs.checkpoints import BadCheckpoint
from paddock.runs.folder import FORMAT, RunFolder, check_id, is_alive, new_id, now
from paddock.sims import SIM_NAMES
from paddock.sitting import Sitting
from paddock.sources import source_of, task_of
from paddock.tasks.finding import find_task
from paddock.tasks.randomize_presets import with_randomization
from paddock.tasks.task import Task
from paddock.training_view import Nobody, View


def start(
    task: str | Path | Task,
    *,
    preset: str = "default",
    config: TrainConfig | Path | None = None,
    runs_dir: Path = Path("runs"),
    view: View | None = None,
    command: Sequence[str] = ("paddock.train",),
    settings: Mapping[str, object] | None = None,
    run_id: str = "",
) -> RunFolder:
    """Train a task anew. `settings` are those of TrainConfig, and win over `config`, which wins over the preset."""
    check_id(run_id, runs_dir)
    settings = dict(settings or {})
    found, crew = find_task(task), join()
    if crew.rank:
        return _follow(found, crew)
    if isinstance(config, TrainConfig):
        config, settings = None, as_words(config) | settings
    settled = check(found, configure(found, preset=preset, file=config, flags=settings))
    found = with_randomization(found, settled.randomize)
    env = _classroom(found, settled, crew)
    with torch.random.fork_rng(devices=[]):  # what cannot be learned is refused before there is a run
        check_net(net_of(env, settled.ppo), env, settled.ppo, crew=crew)
    source, content = source_of(task)
    setup = RunSetup(
        format=FORMAT,
        id=run_id or new_id(found.name, settled.seed),
        task=found.name,
        task_version=found.version,
        source=source,
        model_sha256=sha256(env.model_text.encode()).hexdigest(),
        algorithm="ppo",
        preset=preset_for(preset, settled.sim),
        config=as_words(settled),
        randomize={name: written(randomizer) for name, randomizer in found.randomize.items()},
        seed=settled.seed,
        num_worlds=settled.num_worlds,
        processes=crew.size,
        command=tuple(command),
        created=now(),
        host=os.uname().nodename,
        paddock=version("paddock"),
        torch=version("torch"),
        numpy=version("numpy"),
        python=platform.python_version(),
        git=git_state(Path.cwd()) or _own_git_state(),
        platform=this_platform(),
    )
    run = RunFolder.create(runs_dir, setup, task_source=content)
    crew.say(_Invitation(path=run.path, config=as_words(settled), goes_on=False))
    Sitting(run, env, settled, view or Nobody(), crew=crew).train()
    return run


@dataclass(frozen=True, kw_only=True)
class _Invitation:
    """What the first process of a crew tells the others before they begin."""

    path: Path
    config: dict[str, object]
    goes_on: bool


def _follow(task: Task, crew: Crew) -> RunFolder:
    """This process's part in a run that the first of its crew keeps."""
    heard: _Invitation = crew.hear()
    config = configure(task, flags=heard.config)
    env = _classroom(with_randomization(task, config.randomize), config, crew)
    follow(env, config, crew, goes_on=heard.goes_on)
    return RunFolder(heard.path)


def check(task: str | Path | Task, config: TrainConfig) -> TrainConfig:
    """The config with the machine's choices settled; refused where no training could come of it."""
    settled = settle(config)
    if not 0 <= settled.seed < FIRST_EVALUATION_SEED:
        raise PaddockError(f"seed is {settled.seed}; wanted 0 to {FIRST_EVALUATION_SEED - 1:,}: the rest is kept for evaluation.")
    if settled.sim not in SIM_NAMES:
        raise unknown("sim", settled.sim, SIM_NAMES)
    with_randomization(find_task(task), settled.randomize)
    return settled


def resume(
    run: RunFolder, *, steps: int = 0, minutes: float = 0.0, view: View | None = None, task: Task | None = None
) -> RunFolder:
    """Go on from the newest whole checkpoint, bit for bit; for `steps` or `minutes` more where the run has reached its limit."""
    crew = join()
    if crew.rank:
        return _follow(task or task_of(run), crew)
    card = run.card()
    if is_alive(card) and card.progress.pid != os.getpid():
        raise PaddockError(
            f"{run.path.name} is running, as process {card.progress.pid}. Stop it first: paddock tell {run.path.name} stop"
        )
    run.clean()
    found = task or task_of(run)
    config = configure(found, flags=card.setup.config)
    try:
        checkpoint = run.checkpoints.load()
    except BadCheckpoint:
        if run.checkpoints.steps():
            raise
        checkpoint = None  # it was cut short before its first: begin again
    if checkpoint is not None and checkpoint.card.task != found.name:
        raise BadCheckpoint(
            f"{checkpoint.path} is of task '{checkpoint.card.task}', not '{found.name}'. Take it away, then resume."
        )
    if checkpoint is not None and (steps or minutes):
        config = replace(
            config,
            steps=checkpoint.card.env_steps + steps if steps else 0,
            minutes=checkpoint.card.seconds / 60 + minutes if minutes else 0.0,
        )
    env = _classroom(found, config, crew)
    text = sha256(env.model_text.encode()).hexdigest()
    if text != card.setup.model_sha256:
        raise PaddockError(
            f"the model of '{found.name}' is another than when {run.path.name} began: its robot or scene has changed. Train anew."
        )
    run.write(replace(card, setup=replace(card.setup, config=as_words(config))))
    crew.say(_Invitation(path=run.path, config=as_words(config), goes_on=checkpoint is not None))
    resumed = card.progress.resumed + 1
    Sitting(run, env, config, view or Nobody(), checkpoint=checkpoint, resumed=resumed, crew=crew).train()
    return run


def _classroom(task: Task, config: TrainConfig, crew: Crew) -> Environment:
    """The worlds to train in, where a curriculum begins easy; of a crew, each process has the next ones."""
    return make(
        task,
        num_worlds=config.num_worlds,
        seed=config.seed,
        sim=config.sim,
        num_threads=config.num_threads,
        first_world=crew.rank * config.num_worlds,
        curriculum=True,
    )


def git_state(folder: Path) -> GitState | None:
    """The commit that `folder` is at; None outside a repository, or without git."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=5).stdout.strip()

    try:
        return GitState(commit=git("rev-parse", "HEAD"), dirty=bool(git("status", "--porcelain", "--untracked-files=no")))
    except (OSError, subprocess.SubprocessError):
        return None


def _own_git_state() -> GitState | None:
    """The commit of Paddock itself, where it runs from a clone: outside any repository, that is the code that trained."""
    here = Path(__file__).resolve().parent
    return git_state(here) if (here.parents[1] / ".git").exists() else None


def command_line() -> tuple[str, ...]:
    """How this process was called."""
    return tuple(sys.argv)
