"""A run in your hands: its policy, its score, its curves, and the way on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.configuring import TrainConfig, configure
from paddock.evaluation import FINAL_SEED, acting, score
from paddock.learn.actor_critic import ActorCritic
from paddock.learn.ppo import net_of
from paddock.making import make
from paddock.messages import ControllerManifest, RunCard
from paddock.runs.checkpoints import BadCheckpoint
from paddock.runs.folder import RunFolder, find_run, status_of
from paddock.runs.telemetry_reader import Curve, TelemetryReader
from paddock.scoring import Score
from paddock.sources import task_of
from paddock.tasks.randomize_presets import with_randomization
from paddock.tasks.task import Task
from paddock.training import resume, start

if TYPE_CHECKING:
    from paddock.training_view import View

RUNS_DIR = Path("runs")


@dataclass(frozen=True, eq=False)
class Trained:
    """What a checkpoint holds, ready to act."""

    task: Task
    policy: ActorCritic
    env_steps: int


class Run:
    """A run's folder, with what one does with it."""

    def __init__(self, folder: RunFolder, *, task: Task | None = None) -> None:
        self.folder = folder
        self._task = task

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def card(self) -> RunCard:
        """What it is and how far it has come, read from run.json now."""
        return self.folder.card()

    @property
    def status(self) -> str:
        return status_of(self.card)

    @cached_property
    def task(self) -> Task:
        """From the copy of its source that the run keeps."""
        return self._task or task_of(self.folder)

    @property
    def config(self) -> TrainConfig:
        return configure(self.task, flags=self.card.setup.config)

    def load(self, which: str | int = "best") -> Trained:
        """The policy of a checkpoint: `best`, `latest` or a step. Without an evaluation yet, the best is the latest."""
        if which == "best" and self.folder.checkpoints.best() is None:
            which = "latest"
        checkpoint = self.folder.checkpoints.load(which)
        if checkpoint.card.task != self.card.setup.task:
            raise BadCheckpoint(
                f"{checkpoint.path} is of task '{checkpoint.card.task}', but this run is of '{self.card.setup.task}'. "
                "Somebody has moved it here."
            )
        env = make(self.task)
        policy = net_of(env, self.config.ppo)
        try:
            policy.load_state_dict(checkpoint.under("learner/policy/"))
        except RuntimeError as refusal:
            raise BadCheckpoint(f"{checkpoint.path} does not fit task '{self.task.name}': {refusal}") from None
        return Trained(task=self.task, policy=policy.eval(), env_steps=checkpoint.card.env_steps)

    def evaluate(
        self,
        *,
        episodes: int = 100,
        seed: int = FINAL_SEED,
        checkpoint: str | int = "best",
        num_worlds: int = 64,
        advance: Callable[[int], None] = lambda episodes: None,
    ) -> Score:
        """Score the policy on seeds that no training uses."""
        env = make(self.task, num_worlds=min(num_worlds, max(1, episodes)), seed=seed)
        return score(env, acting(self.load(checkpoint).policy), name="policy", episodes=episodes, advance=advance)

    def curve(self, name: str = "evaluation/return", *, max_points: int = 2000) -> Curve:
        """A scalar over environment steps."""
        with TelemetryReader(self.folder.telemetry) as reader:
            return reader.scalar(name, max_points=max_points)

    def curves(self) -> list[str]:
        """Names of the scalars that were recorded."""
        with TelemetryReader(self.folder.telemetry) as reader:
            return sorted(reader.names())

    def resume(self, *, steps: int = 0, minutes: float = 0.0, view: View | None = None) -> Run:
        """Go on, for so much more where it has reached its limit."""
        resume(self.folder, steps=steps, minutes=minutes, view=view, task=self._task)
        return self

    def export(self, folder: Path | None = None, *, checkpoint: str | int = "best") -> ControllerManifest:
        """Write `controller.onnx` and `manifest.json`, by default into the run's own `export` folder."""
        from paddock.controllers import export_controller

        return export_controller(make(self.task), self.load(checkpoint).policy, folder or self.path / "export")

    def __repr__(self) -> str:
        progress = self.card.progress
        return f"<Run {self.path} {self.status}, {progress.env_steps:,} steps>"


def train(
    task: str | Path | Task,
    *,
    preset: str = "default",
    config: TrainConfig | Path | None = None,
    runs_dir: Path | str = RUNS_DIR,
    view: View | None = None,
    **settings: object,
) -> Run:
    """Train a task and return its run.

    `settings` are those of TrainConfig: seed, steps, minutes, num_worlds, ppo={"learning_rate": 3e-4}, ... They win over
    `config`, a TrainConfig or a YAML file or another run's run.json, which wins over the task's preset.
    """
    folder = start(task, preset=preset, config=config, runs_dir=Path(runs_dir), view=view, settings=settings)
    if not isinstance(task, Task):
        return Run(folder)
    return Run(folder, task=with_randomization(task, str(folder.card().setup.config["randomize"])))


def find(run: str | Path | Run, *, runs_dir: Path | str = RUNS_DIR) -> Run:
    """A run by its folder, its id or a part of it, or `latest`."""
    return run if isinstance(run, Run) else Run(find_run(run, Path(runs_dir)))


def load(run: str | Path | Run, which: str | int = "best", *, runs_dir: Path | str = RUNS_DIR) -> Trained:
    """The policy that a run learned."""
    return find(run, runs_dir=runs_dir).load(which)
