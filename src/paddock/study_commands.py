"""The commands that ask what several runs are worth. Each imports what it uses when it is called."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from paddock.errors import PaddockError

if TYPE_CHECKING:
    import tyro

    from paddock.comparing import Comparison
    from paddock.robustness import Cell, Robustness

SHOWN = 6
"""Differences that are put into words."""


def compare(
    runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN...", help_behavior_hint="(required)")],
    *,
    metric: tuple[str, ...] = ("evaluation/return", "evaluation/success"),
    by: Annotated[tuple[str, ...], tyro.conf.arg(help_behavior_hint="")] = (),
    at: int = 0,
    json: bool = False,
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")] = Path("out/compare.png"),
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """Compare runs: seeds taken together, settings against each other, with intervals, significance in words, and a picture.

    Runs that differ in their seed alone are one group; groups are called by the settings in which they differ. What is compared is
    the interquartile mean over a group's seeds of the last tenth of each run.

    Examples:
        paddock compare cartpole-swingup
        paddock compare 20261119-0901 20261119-0914 20261119-0930
        paddock compare quadruped-walk --by ppo.hidden commit --metric episode/return steps_per_s
        paddock compare quadruped-walk --at 5000000 --out curves.png

    Args:
        runs: Runs: folders, ids, parts of ids (all runs that have it, such as a task's name), or `latest`.
        metric: Scalars of the record; the first one judges. Which there are: any run's `Run.curves()`.
        by: What tells groups apart: settings such as ppo.epochs, or task, preset, commit, torch, host. Any setting by default.
        at: Compare after so many environment steps, instead of at each run's end.
        json: Print JSON instead of tables.
        out: Where the picture goes.
        runs_dir: Where runs are kept.
    """
    from paddock import comparing
    from paddock.comparison_plot import plot_comparison
    from paddock.terminal import progress

    found = comparing.select(runs, runs_dir=runs_dir)
    with progress("runs", len(found)) as advance:
        comparison = comparing.compare(found, metrics=metric, by=by, at=at, advance=advance)
    if json:
        print(_comparison_json(comparison))
        return
    _show_comparison(comparison)
    titles = sorted({run.card.setup.task for run in found})
    print(f"\nwrote {plot_comparison(comparison, out, title=', '.join(titles))}")


def robustness(
    runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN...", help_behavior_hint="(required)")],
    *,
    under: tuple[str, ...] = ("none", "light", "default", "heavy"),
    ablate: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = True,
    episodes: int = 100,
    seed: int = 0,
    checkpoint: str = "best",
    json: bool = False,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """What policies can stand: evaluate runs under none, light, default and heavy randomisation, and find what hurts most.

    Several runs of one task, trained under different randomisation, make a transfer matrix: a row for each, a column for
    each condition. For the first of them the hardest condition is taken apart: each of its parts alone, and all but it.

    Examples:
        paddock robustness latest
        paddock robustness latest --under none heavy heavy,push=off --no-ablate
        paddock robustness RUN-OF-NONE RUN-OF-HEAVY --episodes 500

    Args:
        runs: Runs of one task: folders, ids, parts of ids (all runs that have it), or `latest`.
        under: Conditions: none, light, default, heavy or own, with changes: heavy,friction=0.5:1.5,push=off.
        ablate: Do not take the hardest condition apart for the first run.
        episodes: Episodes of each evaluation, on seeds that no training sees.
        seed: Which set of episodes.
        checkpoint: best, latest, or the environment step of one.
        json: Print JSON instead of tables.
        out: Where the picture goes; by default among the first run's evaluations.
        runs_dir: Where runs are kept.
    """
    from dataclasses import asdict
    from json import dumps

    from paddock.comparing import select
    from paddock.judging import seed_of
    from paddock.robustness import evaluations, examine, write_robustness
    from paddock.robustness_plot import plot_robustness
    from paddock.run_commands import checkpoint_of
    from paddock.tasks.randomize_presets import with_randomization
    from paddock.terminal import progress

    which, number = checkpoint_of(checkpoint), seed_of(seed)
    found = select(runs, runs_dir=runs_dir)
    if not found:
        raise PaddockError("which runs? paddock robustness RUN ...")
    randomized = [name for name in under if with_randomization(found[0].task, name).randomize]
    hardest = randomized[-1] if ablate and randomized else ""
    count = evaluations(found[0].task, runs=len(found), conditions=under, ablate=hardest)
    with progress("episodes", count * episodes) as advance:
        seen = examine(found, conditions=under, ablate=hardest, episodes=episodes, seed=number, checkpoint=which, advance=advance)
    file = write_robustness(seen, found[0].folder.evaluations)
    if json:
        print(dumps(asdict(seen)))
        return
    _show_robustness(seen)
    print(f"\nwrote {file}\nwrote {plot_robustness(seen, out or file.with_suffix('.png'))}")
    known = {row.trained_under for row in seen.rows}
    if missing := [name for name in under if name not in known and "," not in name]:
        print(f"\nA row more of the matrix  paddock train {found[0].card.setup.source.typed} --randomize {missing[-1]}")


def parity(
    task: Annotated[str, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    sims: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SIM SIM")] = (),
    run: Annotated[str, tyro.conf.arg(metavar="RUN")] = "",
    randomize: str = "",
    states: int = 0,
    episodes: int = 0,
    horizon: int = 0,
    seed: int = 0,
    checkpoint: str = "best",
    json: bool = False,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> int:
    """Compare two sims of a task: one step from equal states field by field, and whole episodes. Exits with 1 beyond tolerances.

    States come from episodes of zero, random, extreme and scripted agents on the CPU sim, contacts included; with --run the
    trained policy is one more, and its success and return must be equivalent on both sims.

    Examples:
        paddock parity quadruped-walk
        paddock parity quadruped-walk --run latest
        paddock parity quadruped-walk --randomize heavy
        paddock parity cartpole-balance --sims cpu warp-cpu --states 500 --episodes 50

    Args:
        task: A name from `paddock list`, or file.py, or file.py:NAME, or walk@ROBOT.
        sims: The reference, which is cpu, and another. By default cpu gpu, or cpu warp-cpu where there is no NVIDIA GPU.
        run: A run of the task whose policy takes part: folder, id or `latest`.
        randomize: Other randomisation than the task's own: none, light, default or heavy, and changes: heavy,push=off.
        states: States to compare one step from. 0: 2,048, or 256 on warp-cpu.
        episodes: Whole episodes of each agent on each sim. 0: 256, or 16 on warp-cpu.
        horizon: Control steps over which the sims are followed from equal states. 0: 100, or 25 on warp-cpu.
        seed: Which states and episodes.
        checkpoint: best, latest, or the environment step of one.
        json: Print the report as JSON instead of tables.
        out: Where parity.html and parity.json go; out/parity/TASK by default.
        runs_dir: Where runs are kept.
    """
    import sys
    from dataclasses import replace

    from paddock import parity
    from paddock.judging import seed_of
    from paddock.messages import to_json
    from paddock.parity_page import write_report
    from paddock.parity_states import acting_agents
    from paddock.parity_table import show
    from paddock.run_commands import checkpoint_of
    from paddock.runs.folder import find_run
    from paddock.tasks.finding import find_task
    from paddock.tasks.randomize_presets import with_randomization
    from paddock.terminal import progress
    from paddock.trained import Run

    reference, other, note = parity.sims_here(sims)
    asked = {"states": states, "episodes": episodes, "horizon": horizon}
    effort = replace(parity.effort_of(other), **{name: value for name, value in asked.items() if value})
    found, number = find_task(task), seed_of(seed)
    learned = Run(find_run(run, runs_dir)) if run else None
    trained = learned.load(checkpoint_of(checkpoint)) if learned else None
    if trained and trained.task.name != found.name:
        raise PaddockError(f"run {run} is of task '{trained.task.name}', not '{found.name}'.")
    if note:
        print(note, file=sys.stderr)
    policy = trained.policy if trained else None
    with progress("parity", effort.units(acting_agents(found, policy))) as advance:
        report = parity.examine(
            with_randomization(trained.task if trained else found, randomize),
            sims=(reference, other),
            effort=effort,
            policy=policy,
            run=learned.path.name if learned else "",
            note=note,
            seed=number,
            advance=advance,
        )
    page, data = write_report(report, out or Path("out/parity") / found.name)
    if json:
        print(to_json(report))
    else:
        show(report)
        print(f"\nwrote {page}\nwrote {data}\n\n{parity.verdict(report)}")
    return 0 if report.passed else 1


def _show_robustness(seen: Robustness) -> None:
    from paddock.robustness import is_by_return
    from paddock.terminal import plain_table, screen

    table = plain_table()
    for name in ("trained under", *seen.conditions):
        table.add_column(name, no_wrap=True)
    for row in seen.rows:
        table.add_row(f"{row.trained_under}\n[dim]{row.run}[/]", *(_cell(cell) for cell in row.cells))
    screen().print(table)
    if seen.rows[0].cells[0].success is not None and is_by_return(seen):
        print("\nNothing succeeded under any condition, so returns judge. A policy that is good at its task tells more.")
    if not seen.ablations:
        return
    table = plain_table()
    for name in (f"part of '{seen.hardest}'", "alone", "everything but it"):
        table.add_column(name, no_wrap=True)
    for ablation in seen.ablations:
        table.add_row(ablation.name, *(_cell(cell).replace("\n", " ") for cell in (ablation.alone, ablation.without)))
    print(f"\nWhat hurts the policy of {seen.rows[0].run}, the worst first:\n")
    screen().print(table)


def _cell(cell: Cell) -> str:
    """Success with its interval, and the return below."""
    if cell.success is None:
        return f"{cell.mean_return:.1f}"
    return f"{cell.success}\n[dim]return {cell.mean_return:.1f}[/]"


def _comparison_json(comparison: Comparison) -> str:
    from dataclasses import asdict
    from json import dumps

    words = asdict(comparison)
    for group in words["groups"]:
        group["curves"] = {
            metric: {name: own.tolist() for name, own in curves.items()} for metric, curves in group["curves"].items()
        }
    return dumps(_without_nan(words), allow_nan=False)


def _without_nan(value: object) -> object:
    """The same with null for what nobody knows: JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _without_nan(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(own) for own in value]
    return None if isinstance(value, float) and isnan(value) else value


def _show_comparison(comparison: Comparison) -> None:
    from rich.text import Text

    from paddock.comparing import verdict
    from paddock.terminal import plain_table, screen

    table = plain_table()
    for name in ("group", "seeds", *comparison.metrics, "steps", "minutes"):
        table.add_column(name, justify="left" if name == "group" else "right", no_wrap=name != "group")
    for group in comparison.groups:
        reached = [str(group.reached[metric]) if metric in group.reached else "" for metric in comparison.metrics]
        steps = f"{comparison.at or group.env_steps:,}"
        table.add_row(Text(group.label, style="bold"), str(len(group.runs)), *reached, steps, f"{group.minutes.middle:.1f}")
    screen().print(table)
    steps = {group.env_steps for group in comparison.groups}
    if not comparison.at and max(steps) > 1.05 * min(steps):
        print(f"\nThe groups have trained for different lengths. Compare them where all have been: --at {min(steps)}")
    if comparison.left_out:
        count = len(comparison.left_out)
        print(f"\n{count} run{'s' * (count > 1)} left out: the same training with the same seed, which shows nothing new.")
    print()
    for difference in comparison.differences[:SHOWN]:
        print(verdict(difference, comparison.metrics[0]))
    if len(comparison.differences) > SHOWN:
        print(f"... and {len(comparison.differences) - SHOWN} more pairs: --json has them all.")
