"""Search + training = sweep: trials that are ordinary runs, judged by what their record says, by any number of workers.

A sweep is a folder: sweep.json says what is searched, study.db (Optuna's SQLite) which trials there were. A worker is a process
that takes a trial, trains it, and tells how it went; it can die at any moment, and another one goes on with its run.
"""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.configuring import configure, settle
from paddock.errors import PaddockError, unknown
from paddock.messages import SweepCard, TrialRow, from_json, to_json
from paddock.runs.atomic import write_file
from paddock.runs.folder import RunFolder
from paddock.runs.sockets import ask
from paddock.runs.telemetry_reader import TelemetryReader
from paddock.sweep_space import Axis, axis, nested
from paddock.tasks.finding import find_task
from paddock.training import command_line, resume, start
from paddock.training_view import Glance

if TYPE_CHECKING:
    import optuna

CARD, STUDY, LOCK = "sweep.json", "study.db", "lock"
PATIENCE_S = 60.0
"""How long SQLite waits for another worker."""
TELLING = 10
"""Complete trials from which on it is said which setting mattered: fewer explain anything by chance."""
UNJUDGED = 4
"""Trials that run to their end before any is cut short, because there is nothing to compare them with."""


class Sweep:
    """A sweep's folder, with what one does with it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def create(root: Path, card: SweepCard) -> Sweep:
        """Begin a sweep, or go on with the one of that name if it searches the same."""
        sweep = Sweep(root / card.name)
        _check(card)
        if (sweep.path / CARD).exists():
            sweep._extend(card)
            return sweep
        sweep.path.mkdir(parents=True, exist_ok=True)
        write_file(sweep.path / CARD, (to_json(card) + "\n").encode())
        return sweep

    @staticmethod
    def find(name: str, root: Path) -> Sweep:
        """By its name, or its folder."""
        if (Path(name) / CARD).is_file():
            return Sweep(Path(name))
        known = sweeps_in(root)
        if name not in known:
            raise unknown("sweep", name, known)
        return Sweep(root / name)

    @property
    def card(self) -> SweepCard:
        return from_json(SweepCard, (self.path / CARD).read_text())

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(axis(name, text) for name, text in self.card.vary.items())

    @property
    def study(self) -> optuna.Study:
        """Optuna's study of this sweep, made where it does not exist."""
        optuna, card = _optuna(), self.card
        storage = optuna.storages.RDBStorage(
            f"sqlite:///{(self.path / STUDY).absolute()}", engine_kwargs={"connect_args": {"timeout": PATIENCE_S}}
        )
        return optuna.create_study(
            storage=storage,
            study_name=card.name,
            direction="minimize" if card.minimize else "maximize",
            # workers that draw at the same time must not draw alike
            sampler=optuna.samplers.TPESampler(seed=card.seed + os.getpid(), constant_liar=True),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=UNJUDGED) if card.prune else optuna.pruners.NopPruner(),
            load_if_exists=True,
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone among all workers."""
        with (self.path / LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def rows(self) -> list[TrialRow]:
        """Every trial, in the order they were begun."""
        return [self._row(trial) for trial in self.study.get_trials(deepcopy=False)]

    def best(self) -> TrialRow | None:
        """The complete trial with the best value."""
        sign = 1.0 if self.card.minimize else -1.0
        done = [row for row in self.rows() if row.state == "complete" and row.value is not None]
        return min(done, key=lambda row: sign * (row.value or 0.0), default=None)

    def work(self) -> int:
        """Take trials until there are none left; returns how many this worker has brought to an end."""
        done, card = 0, self.card
        study = self.study
        while (trial := self._claim(study)) is not None:
            watch = Watch(trial, card.objective, Path(card.runs_dir))
            try:
                folder = resume(watch.folder, view=watch) if watch.run else self._start(trial, watch)
            except PaddockError as error:
                trial.set_user_attr("detail", str(error))
                study.tell(trial, state=_optuna().trial.TrialState.FAIL)
                done += 1
                continue
            if not self._tell(study, trial, watch, folder):
                return done
            done += 1
        return done

    def _start(self, trial: optuna.Trial, watch: Watch) -> RunFolder:
        card = self.card
        drawn = {own.name: own.draw(trial) for own in self.axes}
        settings = nested(card.settings | drawn)
        return start(
            card.task, preset=card.preset, settings=settings, runs_dir=Path(card.runs_dir), view=watch, command=command_line()
        )

    def _claim(self, study: optuna.Study) -> optuna.Trial | None:
        """A trial whose worker died, or a new one, or none where there are as many as were asked for."""
        states = _optuna().trial.TrialState
        with self.locked():
            trials = study.get_trials(deepcopy=False)
            left = next((frozen for frozen in trials if frozen.state == states.RUNNING and _is_left(frozen.user_attrs)), None)
            begun = sum(frozen.state != states.WAITING for frozen in trials)
            if left is None and begun >= self.card.trials:
                return None
            trial = study.ask() if left is None else _optuna().trial.Trial(study, left._trial_id)
            trial.set_user_attr("worker", {"pid": os.getpid(), "host": os.uname().nodename})
            return trial

    def _tell(self, study: optuna.Study, trial: optuna.Trial, watch: Watch, folder: RunFolder) -> bool:
        """Say how a trial went. False where somebody stopped this worker: the trial stays open, for whoever goes on."""
        state, progress = _optuna().trial.TrialState, folder.card().progress
        watch.look()
        trial.set_user_attr("env_steps", progress.env_steps)
        if watch.pruned:
            study.tell(trial, state=state.PRUNED)
        elif progress.status == "stopped":
            return False
        elif watch.value is None or not math.isfinite(watch.value):
            trial.set_user_attr("detail", f"the run recorded no {self.card.objective}")
            study.tell(trial, state=state.FAIL)
        else:
            study.tell(trial, watch.value)
        return True

    def _row(self, trial: optuna.trial.FrozenTrial) -> TrialRow:
        names = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
        attrs: Mapping[str, Any] = trial.user_attrs
        last = trial.intermediate_values[max(trial.intermediate_values)] if trial.intermediate_values else None
        by_name = {own.name: own for own in self.axes}
        return TrialRow(
            number=trial.number,
            state=names.get(trial.state.name, "running"),
            value=trial.value if trial.value is not None else last,
            run=str(attrs.get("run", "")),
            settings={name: by_name[name].read(value) for name, value in trial.params.items() if name in by_name},
            env_steps=int(attrs.get("env_steps", max(trial.intermediate_values, default=0))),
            detail=str(attrs.get("detail", "")),
        )

    def _extend(self, card: SweepCard) -> None:
        """Go on with more trials; anything else that differs would make trials that cannot be compared."""
        before = self.card
        differing = [
            name
            for name in ("task", "preset", "settings", "vary", "objective", "minimize", "prune", "runs_dir")
            if getattr(before, name) != getattr(card, name)
        ]
        if differing:
            told = "; ".join(f"{name} was {getattr(before, name)}, now {getattr(card, name)}" for name in differing)
            raise PaddockError(f"there is a sweep '{card.name}' already, and it is another: {told}. Choose another --name.")
        write_file(self.path / CARD, (to_json(card) + "\n").encode())


class Watch:
    """A view of a trial's run: reports what its record says of the objective, and stops it where it falls behind."""

    def __init__(self, trial: optuna.Trial, objective: str, runs_dir: Path) -> None:
        self.run = str(trial.user_attrs.get("run", ""))
        self.value: float | None = None
        self.pruned = False
        self._trial, self._objective, self._runs_dir = trial, objective, runs_dir
        self._reported = -1

    def show(self, glance: Glance) -> None:
        if not self.run:
            self.run = glance.run
            self._trial.set_user_attr("run", glance.run)
        if self.look() and not self.pruned and self._trial.should_prune():
            self.pruned = True
            ask(self.folder.socket, "stop")

    def note(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None: ...

    def look(self) -> bool:
        """Read the record; whether there was anything new."""
        with TelemetryReader(self.folder.telemetry) as reader:
            if self._objective not in reader.names():
                return False
            curve = reader.scalar(self._objective, first=self._reported + 1)
        for step, value in zip(curve.step.tolist(), curve.mean.tolist(), strict=True):
            self._trial.report(value, int(step))
            self.value, self._reported = value, int(step)
        return len(curve.step) > 0

    @property
    def folder(self) -> RunFolder:
        return RunFolder.open(self._runs_dir / self.run)


def importance(sweep: Sweep) -> dict[str, float]:
    """Of each setting for the objective, adding up to 1; empty before there are enough complete trials."""
    optuna = _optuna()
    study = sweep.study
    complete = [row for row in sweep.rows() if row.state == "complete"]
    if len(complete) < TELLING:
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    return dict(optuna.importance.get_param_importances(study, evaluator=evaluator))


def sweeps_in(root: Path) -> dict[str, Path]:
    """Folders of sweeps by name, the oldest first."""
    found = [path.parent for path in root.glob(f"*/{CARD}")]
    return {path.name: path for path in sorted(found, key=lambda path: path.stat().st_mtime)}


def _check(card: SweepCard) -> None:
    """Refuse what no trial could run, before the first one does."""
    if not card.vary:
        raise PaddockError("there is nothing to search: give --vary ppo.learning_rate=1e-4:1e-2:log, as often as you like.")
    if card.trials < 1:
        raise PaddockError(f"trials is {card.trials}; wanted 1 or more.")
    task = find_task(card.task)
    both = sorted(card.vary.keys() & card.settings.keys())
    if both:
        raise PaddockError(f"{', '.join(both)} cannot be both searched and set.")
    for own in (axis(name, text) for name, text in card.vary.items()):
        for value in own.extremes():
            settle(configure(task, preset=card.preset, flags=nested(card.settings | {own.name: value})))


def _is_left(attrs: Mapping[str, Any]) -> bool:
    """Whether the worker of a running trial is gone. One on another machine is taken at its word."""
    worker = attrs.get("worker")
    if worker is None:
        return True  # it died between asking and saying who it was, which happens under the lock
    if worker["host"] != os.uname().nodename or worker["pid"] == os.getpid():
        return False
    try:
        os.kill(worker["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError:
        raise PaddockError("a sweep needs Optuna: pip install 'paddock[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
