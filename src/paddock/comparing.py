"""Runs -> a comparison: seeds of one setting taken together, settings against each other, said with how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paddock.aggregates import SURE, Aggregate, Difference, aggregate, differ, interquartile_mean
from paddock.errors import PaddockError, unknown
from paddock.runs.folder import RunFolder, find_run, runs_in
from paddock.runs.telemetry_reader import Curve, TelemetryReader
from paddock.trained import Run

RETURN, SUCCESS = "evaluation/return", "evaluation/success"
LAST_PART = 0.1
"""What counts as a run's end: the last tenth of its steps, or its last value where that has none."""
GRID = 200
"""Points of a curve that seeds are taken together at."""
LIMITS = ("steps", "minutes")
NO_MATTER = ("seed", "num_threads", "ppo.learn_threads", "ppo.collect_threads", "wandb", "keep", "save_every_s", "record_every")
"""Settings that do not tell two trainings apart."""
CIRCUMSTANCES = ("task", "preset", "commit", "paddock", "torch", "host", "algorithm")
"""What runs can be grouped by beside their settings."""


@dataclass(frozen=True, kw_only=True)
class Curves:
    """A scalar of several seeds over environment steps."""

    step: np.ndarray
    middle: np.ndarray
    """Interquartile mean over the seeds; (k,)."""
    low: np.ndarray
    high: np.ndarray
    """The least and the most of any seed; (k,)."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that differ in nothing but their seed."""

    label: str
    runs: tuple[str, ...]
    env_steps: int
    """Of the run that came the least far."""
    reached: dict[str, Aggregate]
    """Each metric at the end."""
    values: dict[str, tuple[float, ...]]
    """The same of each run."""
    minutes: Aggregate
    curves: dict[str, Curves]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What several groups of runs came to."""

    metrics: tuple[str, ...]
    """The first one judges."""
    at: int
    """Environment steps after which they were compared; 0 for each run's own end."""
    groups: tuple[Group, ...]
    """The one that did best first, if more is better."""
    differences: tuple[tuple[str, str, Difference], ...]
    """Every two groups by the judging metric, the higher one first."""
    left_out: tuple[str, ...] = ()
    """Runs that only repeat another: the same training with the same seed says nothing twice."""


def select(wanted: Sequence[str], *, runs_dir: Path) -> list[Run]:
    """Runs by folder, id, part of an id (all that have it, so a task's name is all runs of it), or `latest`."""
    known = runs_in(runs_dir)
    chosen: dict[Path, Run] = {}
    for word in wanted:
        matches = [path for name, path in known.items() if word in name]
        for path in matches or [find_run(word, runs_dir).path]:
            chosen[path.resolve()] = Run(RunFolder.open(path))
    return list(chosen.values())


def compare(
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = (RETURN, SUCCESS),
    by: Sequence[str] = (),
    at: int = 0,
    advance: Callable[[int], None] = lambda runs: None,
) -> Comparison:
    """Compare runs by what their records say, seeds taken together; `by` names what tells groups apart, by default any setting."""
    if len(runs) < 2:
        raise PaddockError("a comparison needs two runs or more. Which there are: paddock runs")
    tasks = sorted({run.card.setup.task for run in runs})
    if len(tasks) > 1 and "task" not in by:
        raise PaddockError(
            f"these runs are of {len(tasks)} tasks ({', '.join(tasks)}), whose returns measure different things. "
            "Name runs of one task, or group them by it on purpose: --by task"
        )
    known = runs
    runs = _once_each(known)
    if len(runs) < 2:
        raise PaddockError(f"these {len(known)} runs are one training with one seed, repeated: there is nothing to compare.")
    labels = label(runs, by, but=LIMITS if at else ())
    recorded = [name for name in metrics if any(name in run.curves() for run in runs)]
    if metrics[0] not in recorded:
        raise unknown("scalar of these runs:", metrics[0], sorted({name for run in runs for name in run.curves()}))
    members: dict[str, list[Run]] = {}
    for run, own in zip(runs, labels, strict=True):
        members.setdefault(own, []).append(run)
    groups = [_group(own, of, recorded, at, advance) for own, of in members.items()]
    groups.sort(key=lambda group: -group.reached[metrics[0]].middle if metrics[0] in group.reached else np.inf)
    judged = [group for group in groups if metrics[0] in group.values]
    differences = [
        (better.label, worse.label, differ(better.values[metrics[0]], worse.values[metrics[0]]))
        for i, better in enumerate(judged)
        for worse in judged[i + 1 :]
    ]
    left_out = tuple(run.path.name for run in known if run not in runs)
    return Comparison(metrics=tuple(recorded), at=at, groups=tuple(groups), differences=tuple(differences), left_out=left_out)


def _once_each(runs: Sequence[Run]) -> list[Run]:
    """Of each training with each seed the run that came the furthest: a repetition is no other seed."""
    furthest: dict[tuple[object, ...], Run] = {}
    for run in runs:
        setup = run.card.setup
        settings = {name: _word(value) for name, value in _flat(setup.config).items() if name == "seed" or name not in NO_MATTER}
        key = (setup.source.sha256, _circumstances(run)["commit"], setup.torch, setup.paddock, setup.host, *settings.items())
        other = furthest.get(key)
        if other is None or other.card.progress.env_steps <= run.card.progress.env_steps:
            furthest[key] = run
    chosen = list(furthest.values())
    return [run for run in runs if run in chosen]


def label(runs: Sequence[Run], by: Sequence[str] = (), *, but: Sequence[str] = ()) -> list[str]:
    """What tells each run from the others, in a few words; runs that differ in their seed, or in `but`, are called the same."""
    known = [{**_circumstances(run), **_flat(run.card.setup.config)} for run in runs]
    names = list(by) or ["task", *(name for name in known[0] if name not in (*NO_MATTER, *CIRCUMSTANCES, *but))]
    for name in by:
        if not any(name in own for own in known):
            raise unknown("setting", name, sorted({name for own in known for name in own}))
    differing = [name for name in names if len({_word(own.get(name)) for own in known}) > 1] or ["task"]
    return [
        "  ".join(_word(own.get(name)) if name in CIRCUMSTANCES else f"{name}={_word(own.get(name))}" for name in differing)
        for own in known
    ]


def verdict(difference: tuple[str, str, Difference], metric: str) -> str:
    """One difference in words that claim no more than the seeds show."""
    better, worse, found = difference
    said = f"'{better}' is above '{worse}' by {found.gap} in {metric}"
    if found.is_sure:
        return f"{said}: significant, equals would be apart this much in {found.chance:.1%} of cases."
    if found.least_chance >= SURE:
        return f"{said}, but so few seeds can show nothing (at best {found.least_chance:.0%}): train four or more of each."
    return f"{said}: not significant, equals would be apart this much in {found.chance:.0%} of cases."


def _group(title: str, runs: Sequence[Run], metrics: Sequence[str], at: int, advance: Callable[[int], None]) -> Group:
    curves = {metric: [curve for run in runs if (curve := _curve(run, metric)) is not None] for metric in metrics}
    curves = {metric: known for metric, known in curves.items() if known}
    values = {metric: tuple(_end(curve, at) for curve in known) for metric, known in curves.items()}
    advance(len(runs))
    progress = [run.card.progress for run in runs]
    return Group(
        label=title,
        runs=tuple(run.path.name for run in runs),
        env_steps=min(own.env_steps for own in progress),
        reached={metric: aggregate(own) for metric, own in values.items()},
        values=values,
        minutes=aggregate([own.seconds / 60 for own in progress]),
        curves={metric: _together(known) for metric, known in curves.items()},
    )


def _curve(run: Run, metric: str) -> Curve | None:
    with TelemetryReader(run.folder.telemetry) as reader:
        curve = reader.scalar(metric) if metric in reader.names() else None
    return curve if curve is not None and len(curve.step) else None


def _end(curve: Curve, at: int) -> float:
    """What a run had come to at a step, or at its end."""
    last = at or int(curve.step[-1])
    near = (curve.step <= last) & (curve.step >= last * (1 - LAST_PART))
    if not near.any():
        before = curve.step <= last
        near = curve.step == (curve.step[before].max() if before.any() else curve.step[0])
    return float(curve.mean[near].mean())


def _together(curves: Sequence[Curve]) -> Curves:
    """Curves of several seeds on one grid, as far as all of them go."""
    first, last = max(int(curve.step[0]) for curve in curves), min(int(curve.step[-1]) for curve in curves)
    grid = np.linspace(min(first, last), last, GRID)
    rows = np.stack([np.interp(grid, curve.step, curve.mean) for curve in curves])
    return Curves(step=grid, middle=interquartile_mean(rows.T), low=rows.min(0), high=rows.max(0))


def _circumstances(run: Run) -> Mapping[str, object]:
    setup = run.card.setup
    commit = setup.git.commit[:8] + "+" * setup.git.dirty if setup.git else "none"
    return {name: getattr(setup, name) for name in CIRCUMSTANCES if name != "commit"} | {"commit": commit}


def _flat(config: Mapping[str, object], group: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in config.items():
        found |= _flat(value, f"{group}{name}.") if isinstance(value, Mapping) else {f"{group}{name}": value}
    return found


def _word(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
