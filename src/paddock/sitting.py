"""One process's part of a run: the loop, its limits and its record."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from paddock.configuring import TrainConfig
from paddock.env import Environment
from paddock.evaluation import SELECTION_SEED, acting, score
from paddock.following import Order, dealt, load_tensors, tensors_of, together
from paddock.learn.actor_critic import ActorCritic
from paddock.learn.crew import ALONE, Crew
from paddock.learn.ppo import Ppo
from paddock.making import make
from paddock.messages import BestCheckpoint, CheckpointCard, RunProgress
from paddock.monitoring import Monitor, causes_of, step_columns
from paddock.recording import record_episodes
from paddock.runs.atomic import beside
from paddock.runs.checkpoints import Checkpoint, Checkpoints
from paddock.runs.folder import FORMAT, RunFolder, now
from paddock.runs.live import Live
from paddock.runs.logbook import Logbook
from paddock.runs.telemetry import Telemetry, rewind
from paddock.runs.tensorboard_mirror import TensorBoardSink
from paddock.runs.wandb_mirror import WandbMirror
from paddock.scenes import write_scene
from paddock.scoring import Score
from paddock.stopping import StoppedAtOnce, stop_signals
from paddock.training_view import Glance, Nobody, View

BEAT_S = 2.0
PAUSE_S = 0.2
FLUSH_S = 1.0
"""How long a checkpoint waits for the telemetry's disk."""
SHOWN_TROUBLES = 5


class Sitting:
    """One process's part of a run, from its beginning or a checkpoint to a limit, an order or a mishap."""

    def __init__(
        self,
        run: RunFolder,
        env: Environment,
        config: TrainConfig,
        view: View,
        *,
        checkpoint: Checkpoint | None = None,
        resumed: int = 0,
        crew: Crew = ALONE,
    ) -> None:
        self.run, self.env, self.config, self.view, self.crew = run, env, config, view, crew
        self.checkpoint, self.resumed = checkpoint, resumed
        self.learner = Ppo(env, config.ppo, seed=config.seed, crew=crew)
        self.log = Logbook(run.log)
        self.status, self.detail = "running", ""
        self.updates = 0
        self.best: BestCheckpoint | None = None
        self.evaluation: Score | None = None
        self.numbers: dict[str, float] = {}
        self.troubles: list[str] = []
        self._mirror: WandbMirror | None = None
        self._began, self._before_s, self._due_beat, self._due_save = time.monotonic(), 0.0, 0.0, 0.0
        self._rates: list[tuple[float, int]] = []
        self._saved_at = -1  # update
        self._is_cut = False  # by an error or a hurry, in the middle of something

    def train(self) -> None:
        """Run until a limit, or until somebody says stop; the record is whole when this returns or raises."""
        run, env = self.run, self.env
        reached = self.checkpoint.card.env_steps if self.checkpoint else 0
        if self.resumed and run.telemetry.exists():
            rewind(run.telemetry, reached)
        run.checkpoints.drop_after(reached, keep=self.config.keep)
        self.best = run.checkpoints.best()
        with ExitStack() as stack:
            self.telemetry = stack.enter_context(
                Telemetry(
                    run.telemetry,
                    terms=tuple(env.task.reward),
                    causes=causes_of(env),
                    step_columns=step_columns(env),
                    worlds=range(self.config.watch_worlds),
                    sinks=[TensorBoardSink(run.tensorboard, purge_step=reached + 1 if self.resumed else None)],
                )
            )
            self.live = stack.enter_context(Live(run.socket, num_worlds=env.num_worlds))
            if self.live.trouble:
                self._trouble(self.live.trouble)
            self.monitor = Monitor(env, self.telemetry, watched=self.config.watch_worlds, live=self.live, crew=self.crew)
            if self.checkpoint is not None:
                self._go_on(self.checkpoint)
            stopping = stack.enter_context(stop_signals())
            if self.config.wandb:
                self._mirror = WandbMirror(run.path, project=self.config.wandb)
                self._mirror.start()
                stack.callback(self._mirror.stop)
            stack.callback(lambda: self._tell(lambda view: view.close()))
            self._say("resumed" if self.resumed else "started", env_steps=self.env_steps, num_worlds=env.num_worlds)
            if not run.scene.is_file():
                self._draw()
            for refusal in self.checkpoint.passed_over if self.checkpoint else ():
                self._trouble(f"went on from {self.env_steps:,} steps: {refusal}")
            try:
                self._loop(stopping)
            except StoppedAtOnce:
                self._is_cut, self.status, self.detail = True, "stopped", "Ctrl-C twice: not saved since the last checkpoint"
            except BaseException as error:
                self._is_cut, self.status, self.detail = True, "failed", f"{type(error).__name__}: {error}"
                raise
            finally:
                self._end()

    @property
    def env_steps(self) -> int:
        return self.monitor.env_steps

    @property
    def seconds(self) -> float:
        """Spent training, in this sitting and before."""
        return self._before_s + time.monotonic() - self._began

    @property
    def share(self) -> float:
        """Of the training that is done."""
        parts = [self.env_steps / self.config.steps] if self.config.steps else []
        parts += [self.seconds / (60 * self.config.minutes)] if self.config.minutes else []
        return min(1.0, max(parts))

    def _loop(self, stopping: Callable[[], str]) -> None:
        self._due_save = time.monotonic() + self.config.save_every_s
        self._beat(force=True)
        is_over = self.share >= 1.0
        while not is_over:
            self.crew.say(Order.GO_ON)
            self.env.settle()
            learned = self.learner.update(self.monitor)
            self.updates += 1
            self.monitor.share()
            self._log(learned)
            is_over = self.share >= 1.0
            # Whatever an update leads to comes before its checkpoint: what a kill cuts short, the resumed run does again.
            best = self._evaluate() if is_over or self._is_due(self.config.evaluate_every) else None
            if is_over or self._is_due(self.config.record_every):
                self._sample()
            if is_over or best is not None or time.monotonic() >= self._due_save:
                self.save(best=best)
            self._obey(self.live.commands(), stopping)
            if reason := stopping() or self.detail:
                self.status, self.detail = "stopped", reason
                return
            self._beat()
        self.status = "finished"

    def _is_due(self, every: int) -> bool:
        return every > 0 and self.updates % every == 0

    def _log(self, learned: Mapping[str, float]) -> None:
        self._rates = [*self._rates[-10:], (time.monotonic(), self.env_steps)]
        (then, before), (at, steps) = self._rates[0], self._rates[-1]
        rate = (steps - before) / (at - then) if at > then else math.nan
        self.numbers = self.monitor.numbers() | {f"learn/{name}": value for name, value in learned.items()} | {"steps_per_s": rate}
        self.telemetry.scalars(self.env_steps, self.numbers)
        self._tell(lambda view: view.show(self._glance()))

    def _evaluate(self) -> BestCheckpoint | None:
        """Score the policy on fixed seeds; returns the score where it is better than ever."""
        episodes = self.config.evaluate_episodes
        env = make(self.env.task, num_worlds=min(64, episodes), seed=SELECTION_SEED)
        self.evaluation = found = score(env, acting(self._policy()), name="policy", episodes=episodes)
        rate = found.success.value if found.success else None
        seen = {"return": found.mean_return, "length": found.mean_length} | ({} if rate is None else {"success": rate})
        self.telemetry.scalars(self.env_steps, {f"evaluation/{name}": value for name, value in seen.items()})
        self.log.write("evaluated", env_steps=self.env_steps, **seen)
        self._tell(lambda view: view.show(self._glance()))
        candidate = BestCheckpoint(env_steps=self.env_steps, success=rate, mean_return=found.mean_return)
        return candidate if self.best is None or _merit(candidate) > _merit(self.best) else None

    def _sample(self) -> None:
        """Record an episode of the policy as it is now, to be replayed bit for bit."""
        env = make(self.env.task, seed=SELECTION_SEED)
        try:
            with beside(self.run.recordings / f"{self.env_steps:012d}.mcap") as file:
                record_episodes(env, acting(self._policy()), file, episodes=1)
        except OSError as refusal:
            self._trouble(f"no recording at {self.env_steps:,} steps: {refusal.strerror or refusal}")

    def _draw(self) -> None:
        """Write down how the worlds look, for whoever watches."""
        try:
            write_scene(self.run, self.env.task)
        except OSError as refusal:
            self._trouble(f"no scene to watch: {refusal.strerror or refusal}")

    def _policy(self) -> ActorCritic:
        """The policy as it is now, on the CPU: evaluations and recordings are of the reference sim, whatever it trains on."""
        policy = self.learner.policy
        return policy if self.env.device.type == "cpu" else deepcopy(policy).to("cpu")

    def save(self, *, best: BestCheckpoint | None = None) -> None:
        """Write a checkpoint, `best` where it is that; a disk that refuses it is a trouble, not an end."""
        self._due_save = time.monotonic() + self.config.save_every_s
        if self._saved_at == self.updates:
            return
        self.telemetry.flush(timeout=FLUSH_S)  # so that a run that goes on from here misses nothing before it
        try:
            self.run.checkpoints.save(self._tensors(), self._checkpoint_card(), keep=self.config.keep, best=best)
        except OSError as refusal:
            self._trouble(f"no checkpoint at {self.env_steps:,} steps: {refusal.strerror or refusal}")
            return
        self._saved_at, self.best = self.updates, best or self.best
        self.log.write("saved", env_steps=self.env_steps, updates=self.updates)

    def _rescue(self) -> None:
        """Where the run's disk refused its last checkpoint, put it where temporary files go, and say so."""
        if self._saved_at == self.updates:
            return
        card, shelter = self._checkpoint_card(), Path(tempfile.gettempdir()) / f"rescued-{self.run.path.name}"
        try:
            saved = Checkpoints(shelter).save(self._tensors(), card, keep=1)
        except OSError as refusal:
            self._trouble(f"what was learned since the last checkpoint is lost: {shelter}: {refusal.strerror or refusal}")
            return
        self._trouble(f"the last checkpoint is in {saved}: make room, then move it into {self.run.checkpoints.folder}")

    def _checkpoint_card(self) -> CheckpointCard:
        return CheckpointCard(
            format=FORMAT,
            run=self.run.path.name,
            task=self.env.task.name,
            source_sha256=self.run.card().setup.source.sha256,
            algorithm="ppo",
            env_steps=self.env_steps,
            updates=self.updates,
            seconds=self.seconds,
        )

    def _tensors(self) -> dict[str, Tensor]:
        self.crew.say(Order.HAND_IN)
        return together(self.crew.gather(tensors_of(self.learner, self.env, self.monitor)))

    def _go_on(self, checkpoint: Checkpoint) -> None:
        card = checkpoint.card
        load_tensors(self.crew.deal(dealt(checkpoint, self.crew.size)), self.learner, self.env, self.monitor)
        self.updates, self._before_s = card.updates, card.seconds
        self._saved_at = card.updates

    def _obey(self, commands: Sequence[str], stopping: Callable[[], str]) -> None:
        for command in commands:
            self._say(command)
            if command == "save":
                self.save()
            elif command == "stop":
                self.detail = "asked to stop over live.sock"
            elif command == "pause" and self.status == "running":
                self._pause(stopping)
            elif command == "resume":
                self.status = "running"

    def _pause(self, stopping: Callable[[], str]) -> None:
        """Wait, costing nothing, until somebody says go on or stop."""
        self._before_s, self.status = self.seconds, "paused"
        while self.status == "paused" and not self.detail and not stopping():
            self._began = time.monotonic()  # the time does not count
            self._beat(force=True)
            self._tell(lambda view: view.show(replace(self._glance(), paused=True)))
            self.monitor.show(paused=True)
            time.sleep(PAUSE_S)
            self._obey(self.live.commands(), stopping)
        self.status, self._began = "running", time.monotonic()
        self._rates.clear()

    def _beat(self, *, force: bool = False) -> None:
        """Show a sign of life in run.json every two seconds."""
        if not force and time.monotonic() < self._due_beat:
            return
        self._due_beat = time.monotonic() + BEAT_S
        progress = self._progress()
        self.live.report({"status": progress.status, "env_steps": progress.env_steps, "seconds": progress.seconds})
        try:
            card = replace(self.run.card(), progress=progress)
            if self.status in ("running", "paused"):
                self.run.beat(card)
            else:
                self.run.write(card)
        except OSError as refusal:
            self._trouble(f"run.json cannot be written: {refusal.strerror or refusal}")

    def _progress(self) -> RunProgress:
        health = self.telemetry.health()
        return RunProgress(
            status=self.status,
            detail=self.detail,
            heartbeat=now(),
            pid=os.getpid(),
            env_steps=self.env_steps,
            updates=self.updates,
            seconds=self.seconds,
            mean_return=self.numbers.get("episode/return"),
            success=self.numbers.get("episode/success"),
            best_success=self.best.success if self.best else None,
            resumed=self.resumed,
            dropped_rows=health.dropped,
            troubles=self._all_troubles(),
        )

    def _all_troubles(self) -> tuple[str, ...]:
        health = self.telemetry.health()
        found = list(self.troubles[-SHOWN_TROUBLES:])
        if health.dropped:
            found.append(f"telemetry lost {health.dropped:,} rows: {health.last_error}")
        elif health.errors and health.queued and health.lag_s > 1.0:
            found.append(f"telemetry waits for the disk: {health.last_error}")
        if self._mirror is not None and (mirrored := self._mirror.health()).errors:
            found.append(f"W&B: {mirrored.errors} errors, the last: {mirrored.last_error}")
        return (*found, *(f"no longer mirrored: {sink}" for sink in health.lost_sinks))

    def _trouble(self, text: str) -> None:
        if text not in self.troubles:
            self.troubles.append(text)
            self._tell(lambda view: view.note(f"! {text}"))
        self.log.write("trouble", "warning", text=text)

    def _tell(self, what: Callable[[View], None]) -> None:
        """Show somebody; that a terminal or a pipe has gone away is no reason to stop."""
        try:
            what(self.view)
        except (OSError, SystemExit) as gone:  # rich ends the process where a pipe is broken
            self.view = Nobody()
            why = gone.strerror if isinstance(gone, OSError) else "broken pipe"
            self._trouble(f"nobody could be shown this any more: {why}")

    def _say(self, event: str, **values: object) -> None:
        self.log.write(event, **values)
        self.telemetry.event(self.env_steps, "status", {"event": event, **values})

    def _glance(self) -> Glance:
        return Glance(
            task=self.env.task.name,
            run=self.run.path.name,
            env_steps=self.env_steps,
            updates=self.updates,
            seconds=self.seconds,
            share=self.share,
            steps_per_s=self.numbers.get("steps_per_s", math.nan),
            numbers=self.numbers,
            evaluation=_line(self.evaluation) if self.evaluation else "",
            troubles=self._all_troubles(),
        )

    def _end(self) -> None:
        """Leave everything written; what was cut short in an update has its last checkpoint."""
        if not self._is_cut:
            self.save()
            self._rescue()
            self.crew.say(Order.LEAVE)
        self._say(self.status, detail=self.detail, env_steps=self.env_steps)
        self.telemetry.flush()
        self._beat(force=True)


def _merit(best: BestCheckpoint) -> tuple[float, float]:
    return (-1.0 if best.success is None else best.success, best.mean_return)


def _line(found: Score) -> str:
    success = f"success {found.success}, " if found.success else ""
    return f"{success}return {found.mean_return:.2f}, {found.mean_length:.0f} steps, over {found.episodes} episodes"
