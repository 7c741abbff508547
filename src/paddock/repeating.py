"""A run's record -> the same training again, and whether it came to the same weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from paddock.configuring import TrainConfig, configure
from paddock.errors import PaddockError
from paddock.messages import RunCard
from paddock.platforms import differences
from paddock.runs.checkpoints import Checkpoint
from paddock.runs.folder import RunFolder
from paddock.sources import source_of, task_of
from paddock.user_files import split_name

LEARNER = "learner/"


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """How a run compares with the one that it repeats."""

    env_steps: int
    """After which both have a checkpoint."""
    first: str
    """The first tensor of the learner that differs; empty where none does."""
    reasons: tuple[str, ...]
    """What is otherwise than it was, a sentence each."""

    @property
    def is_identical(self) -> bool:
        return not self.first


def task_to_repeat(run: RunFolder) -> str:
    """What to ask for to get the run's task again; refused where its file has changed since."""
    source = run.card().setup.source
    if not source.sha256:
        task_of(run)  # which says why there is nothing to repeat
    path, _ = split_name(source.typed)
    wanted = f"{Path(source.folder) / Path(path).name}:{source.constant}" if path else source.typed
    if source_of(wanted)[0].sha256 != source.sha256:
        raise PaddockError(
            f"the file of task '{source.typed}' has changed since {run.path.name} began, so the run cannot be repeated with it. "
            f"What it was then lies in the run: paddock train {run.task_file}:{source.constant} --config {run.path / 'run.json'}"
        )
    return wanted


def config_to_repeat(run: RunFolder) -> TrainConfig:
    """The settings of a run, up to its last checkpoint: also where it was stopped, or limited by time."""
    reached = run.checkpoints.steps()
    if not reached:
        raise PaddockError(f"{run.path.name} has no checkpoint: it ended before there was anything to repeat.")
    return replace(configure(task_of(run), flags=run.card().setup.config), steps=reached[-1], minutes=0.0)


def compare_weights(run: RunFolder, original: RunFolder) -> Repetition:
    """Whether a run that repeats another came to the same learner, bit for bit."""
    checkpoint = run.checkpoints.load()
    same_step = original.checkpoints.load(checkpoint.card.env_steps)
    return Repetition(
        env_steps=checkpoint.card.env_steps,
        first=_first_difference(checkpoint, same_step),
        reasons=_reasons(original.card(), run.card()),
    )


def _first_difference(here: Checkpoint, there: Checkpoint) -> str:
    mine, theirs = here.under(LEARNER), there.under(LEARNER)
    if mine.keys() != theirs.keys():
        return sorted(mine.keys() ^ theirs.keys())[0]
    return next((name for name, value in theirs.items() if not torch.equal(value, mine[name])), "")


def _reasons(before: RunCard, after: RunCard) -> tuple[str, ...]:
    was, now = before.setup, after.setup
    versions = [
        f"{name} was {getattr(was, name)}, here it is {getattr(now, name)}"
        for name in ("paddock", "torch", "numpy", "python")
        if getattr(was, name) != getattr(now, name)
    ]
    if was.git != now.git and was.git and now.git:
        versions.append(f"the code was at {_commit(before)}, here it is at {_commit(after)}")
    if was.model_sha256 != now.model_sha256:
        versions.append("the model is another: its robot or scene has changed")
    settings = [
        f"{name} was {was.config[name]}, here it is {value}"
        for name, value in now.config.items()
        if name not in ("steps", "minutes") and was.config.get(name) != value
    ]
    return (*settings, *versions, *differences(was.platform, now.platform))


def _commit(card: RunCard) -> str:
    git = card.setup.git
    assert git is not None
    return f"{git.commit[:12]}{' with changes' * git.dirty}"
