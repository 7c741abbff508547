"""The commands that search for better settings. Each imports what it uses when it is called."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

from paddock.errors import PaddockError
from paddock.train_commands import where

if TYPE_CHECKING:
    import tyro

    from paddock.messages import TrialRow
    from paddock.sweeping import Sweep

SHOWN = 10


def sweep(
    task: Annotated[str, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    vary: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SETTING=VALUES", help_behavior_hint="")] = (),
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SETTING=VALUE", help_behavior_hint="")] = (),  # noqa: A002 - the flag is --set
    trials: int = 20,
    workers: int = 1,
    name: str = "",
    preset: str = "default",
    objective: str = "evaluation/return",
    minimize: bool = False,
    steps: int = 0,
    minutes: float = 0.0,
    num_worlds: int = 0,
    sim: str = "",
    prune: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = True,
    seed: int = 0,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
    sweeps_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("sweeps"),
) -> int:
    """Search for better settings: train many trials, cut short those that fall behind, show what mattered.

    Every trial is a run like any other, in the same folder. The same command goes on with a sweep that was cut short.

    Examples:
        paddock sweep cartpole-swingup --vary ppo.learning_rate=1e-4:1e-2:log ppo.horizon=8:64 --trials 20
        paddock sweep quadruped-walk --vary "ppo.hidden=128,128|256,128" ppo.target_kl=0.005,0.01,0.02 --minutes 3 --workers 2
        paddock sweep cartpole-swingup --vary ppo.discount=0.98,0.99,0.995 --set ppo.horizon=32 ppo.epochs=4 --trials 9
        paddock sweeps show NAME

    Args:
        task: A name from `paddock list`, or file.py, or file.py:NAME, or walk@ROBOT.
        vary: What is searched: low:high, low:high:log, a,b,c, or a|b where values have commas. Any setting of `paddock train`.
        set: What every trial is told, such as minutes=3.
        trials: How many in all.
        workers: Processes that train at the same time; they share the cores.
        name: Of the sweep; the task's by default.
        preset: The task's preset that trials begin from.
        objective: The scalar of a run's record that judges it, by its last value.
        minimize: Less of it is better.
        steps: Environment steps of each trial, over all worlds; 0 for the preset's own. Short for --set steps=...
        minutes: Minutes of each trial; 0 for the preset's own.
        num_worlds: Worlds of each trial; 0 for the preset's own.
        sim: What steps the worlds; the preset's own by default.
        prune: Let every trial run to its end; by default one is stopped whose objective is below the median of the others
            at the same step.
        seed: Of the search and of every training.
        runs_dir: Where the trials' runs are kept.
        sweeps_dir: Where sweeps are kept.
    """
    from paddock.cores import usable_cores
    from paddock.messages import SweepCard
    from paddock.runs.folder import now
    from paddock.sweep_workers import run_workers
    from paddock.sweeping import Sweep
    from paddock.terminal import progress

    if workers < 1:
        raise PaddockError(f"workers is {workers}; wanted 1 or more.")
    flags = {"steps": steps, "minutes": minutes, "num_worlds": num_worlds, "sim": sim}
    told: dict[str, object] = {"seed": seed} | {flag: value for flag, value in flags.items() if value} | _settings(set)
    told.setdefault("num_threads", max(1, usable_cores() // workers))
    card = SweepCard(
        name=name or Path(task.partition(":")[0]).stem,
        task=task,
        preset=preset,
        settings=told,
        vary=dict(_pair(words, "--vary") for words in vary),
        objective=objective,
        minimize=minimize,
        trials=trials,
        prune=prune,
        seed=seed,
        runs_dir=str(runs_dir),
        created=now(),
    )
    found = Sweep.create(sweeps_dir, card)
    before = [row for row in found.rows() if row.state != "running"]
    print(f"Sweep {found.path}: {len(before)} of {trials} trials done. Ctrl-C stops it; the same command goes on.\n", flush=True)
    with progress("trials", trials) as advance:
        advance(len(before))

        def say(row: TrialRow) -> None:
            advance(1)
            print(_line(row), flush=True)

        try:
            run_workers(found, workers, told=say, note=lambda text: print(f"! {text}", flush=True))
        except KeyboardInterrupt:
            print(f"\nStopped. Go on with the same command, or one worker at a time: paddock sweeps work {found.path}")
            return 130
    return _show(found)


def sweeps(
    action: Literal["list", "show", "work"] = "list",
    name: Annotated[str, tyro.conf.arg(metavar="SWEEP")] = "",
    /,
    *,
    json: bool = False,
    sweeps_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("sweeps"),
) -> int:
    """List sweeps; show one's trials, what mattered and a picture; or work on one, beside whoever does already.

    Examples:
        paddock sweeps
        paddock sweeps show cartpole-swingup
        paddock sweeps work cartpole-swingup

    Args:
        action: list; show (table and picture); work (train trials until there are none left).
        name: A sweep: its name or its folder.
        json: Print JSON.
        sweeps_dir: Where sweeps are kept.
    """
    from paddock.sweeping import Sweep, sweeps_in

    if action == "list":
        return _list(sweeps_in(sweeps_dir), sweeps_dir, json=json)
    if not name:
        raise PaddockError(f"which sweep? paddock sweeps {action} SWEEP")
    found = Sweep.find(name, sweeps_dir)
    if action == "work":
        done = found.work()
        print(f"brought {done} trial{'s' * (done != 1)} to an end")
        return 0
    if json:
        from dataclasses import asdict
        from json import dumps

        print(dumps(asdict(found.card) | {"rows": [asdict(row) for row in found.rows()]}))
        return 0
    return _show(found)


def _list(known: dict[str, Path], root: Path, *, json: bool) -> int:
    from paddock.sweeping import Sweep
    from paddock.terminal import plain_table, screen

    if json:
        from json import dumps

        print(dumps(list(known)))
        return 0
    if not known:
        print(f"No sweeps in {root.absolute()}. Start one: paddock sweep cartpole-swingup --vary ppo.learning_rate=1e-4:1e-2:log")
        return 0
    table = plain_table()
    for heading in ("sweep", "task", "trials", "best", "run"):
        table.add_column(heading, justify="right" if heading in ("trials", "best") else "left", no_wrap=True)
    for path in known.values():
        found = Sweep(path)
        card, best = found.card, found.best()
        done = sum(row.state != "running" for row in found.rows())
        reached = ("", "") if best is None else (f"{best.value:.3g}", best.run)
        table.add_row(card.name, card.task, f"{done}/{card.trials}", *reached)
    screen().print(table)
    return 0


def _show(found: Sweep) -> int:
    """The trials, the best first; what mattered; a picture; and how to train with what was found."""
    from paddock.sweep_plot import plot_sweep
    from paddock.sweeping import TELLING, importance
    from paddock.terminal import plain_table, screen

    card, rows, best = found.card, found.rows(), found.best()
    sign = 1.0 if card.minimize else -1.0
    judged = [row for row in rows if row.value is not None]
    judged.sort(key=lambda row: (row.state != "complete", sign * (row.value or 0.0)))
    table = plain_table()
    for heading in ("trial", "", card.objective, *card.vary, "steps", "run"):
        table.add_column(heading, justify="left" if heading in ("", "run") else "right", no_wrap=True)
    for row in judged[:SHOWN]:
        drawn = [_short(row.settings.get(own)) for own in card.vary]
        table.add_row(str(row.number), row.state, f"{row.value:.4g}", *drawn, f"{row.env_steps:,}", row.run)
    print()
    screen().print(table)
    for row in rows:
        if row.state == "failed":
            print(f"trial {row.number} failed: {row.detail}")
    if weights := importance(found):
        print("\nWhat explains the difference: " + ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items()))
    elif len(card.vary) > 1 and judged:
        print(f"\nWhat explains the difference shows from {TELLING} complete trials on.")
    if judged:
        print(f"\nwrote {plot_sweep(found, found.path / 'sweep.png')}")
    if best is not None:
        chosen = {name: value for name, value in card.settings.items() if name not in ("seed", "num_threads")} | best.settings
        words = " ".join(f"{_flag(name)} {_typed(value)}" for name, value in chosen.items())
        preset = "" if card.preset == "default" else f" --preset {card.preset}"
        print(f"\nTrain with the best  paddock train {quote(card.task)}{preset} {words} --seed {card.seed + 1}")
        print(f"Look at it           paddock evaluate {best.run}{where(Path(card.runs_dir) / best.run)}")
    return 0


def _line(row: TrialRow) -> str:
    value = "-" if row.value is None else f"{row.value:.4g}"
    drawn = "  ".join(f"{name} {_short(setting)}" for name, setting in row.settings.items())
    return f"trial {row.number:<4} {row.state:<9} {value:>9}   {drawn}   {row.run}{f'   {row.detail}' if row.detail else ''}"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _typed(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _settings(words: tuple[str, ...]) -> dict[str, object]:
    """`minutes=3` as a setting, of the type it has."""
    from paddock.sweep_space import setting

    return dict(setting(*_pair(word, "--set")) for word in words)


def _pair(word: str, flag: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name or not value:
        raise PaddockError(f"{flag} {word} cannot be read; wanted a name and values, such as ppo.learning_rate=1e-4:1e-2:log.")
    return name, value
