"""The commands that train. Each imports what it uses when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from paddock.errors import PaddockError

if TYPE_CHECKING:
    import tyro

    from paddock.runs.folder import RunFolder
    from paddock.trained import Run


def train(args: Sequence[str]) -> int:
    """Train a task: live numbers, checkpoints, telemetry, and a run to go on from."""
    from paddock.train_flags import parse

    asked = parse(args)
    from rich.console import Console

    from paddock.configuring import plan
    from paddock.learn.crew import join
    from paddock.trained import Run
    from paddock.training import check, command_line, start
    from paddock.training_view import view_for

    if join().rank:  # the first process says everything
        start(asked.task, runs_dir=asked.runs_dir)
        return 0
    settled = check(asked.task, asked.settings)
    print(f"Training {asked.task}: {plan(settled)}. Ctrl-C stops it and keeps everything.\n", flush=True)
    folder = start(
        asked.task,
        preset=asked.preset,
        config=settled,
        runs_dir=asked.runs_dir,
        view=view_for(Console()),
        command=command_line(),
        run_id=asked.run_id,
    )
    if asked.like is not None:
        _say_repeated(folder, asked.like)
    return _farewell(Run(folder))


def _say_repeated(folder: RunFolder, original: RunFolder) -> None:
    """Whether a run that repeats another came to the same weights."""
    from paddock.repeating import compare_weights
    from paddock.runs.checkpoints import BadCheckpoint

    name = original.path.name
    try:
        found = compare_weights(folder, original)
    except BadCheckpoint as refusal:
        print(f"\nNothing to compare with {name}: {refusal}")
        return
    if found.is_identical:
        print(f"\nThe same weights as {name} after {found.env_steps:,} steps, bit for bit.")
        return
    print(f"\nNot the weights of {name} after {found.env_steps:,} steps; the first that differs is {found.first}.")
    for reason in found.reasons or ("nothing that is known differs: please report this",):
        print(f"- {reason}")


def resume(
    run: Annotated[str, tyro.conf.arg(metavar="RUN")],
    /,
    *,
    steps: int = 0,
    minutes: float = 0.0,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> int:
    """Go on with a run from its newest checkpoint, bit for bit.

    Examples:
        paddock resume latest
        paddock resume 20261116-120000 --minutes 10

    Args:
        run: A run: its folder, its id or a part of it, or `latest`.
        steps: So many environment steps more, where the run has reached its limit.
        minutes: So many minutes more.
        runs_dir: Where runs are kept.
    """
    from rich.console import Console

    from paddock.learn.crew import join
    from paddock.trained import find
    from paddock.training_view import view_for

    found = find(run, runs_dir=runs_dir)
    if steps < 0 or minutes < 0:
        raise PaddockError(f"steps is {steps} and minutes is {minutes}; neither can be negative.")
    if found.status == "finished" and not steps and not minutes:
        raise PaddockError(
            f"{found.path.name} is finished: it has reached its limit, at {found.card.progress.env_steps:,} steps. "
            f"Say how much further: paddock resume {found.path.name}{where(found.path)} --minutes 5"
        )
    if join().rank:  # the first process says everything
        found.resume()
        return 0
    return _farewell(found.resume(steps=steps, minutes=minutes, view=view_for(Console())))


def _farewell(run: Run) -> int:
    """Where the run lies, how it ended, and what to do with it."""
    from paddock.training_view import clock

    progress, best = run.card.progress, run.folder.checkpoints.best()
    ended = f"{progress.status}{f' ({progress.detail})' if progress.detail else ''}"
    print(f"\n{run.path}  {ended} after {progress.env_steps:,} steps in {clock(progress.seconds)}")
    if best is not None:
        success = "" if best.success is None else f"success {best.success:.2f}, "
        print(f"Best in evaluation: {success}return {best.mean_return:.2f}, after {best.env_steps:,} steps.")
    for trouble in progress.troubles:
        print(f"! {trouble}")
    which = f"{run.path.name}{where(run.path)}"
    if run.folder.checkpoints.steps():
        print(f"\nEvaluate  paddock evaluate {which}")
        print(f"Export    paddock export {which}")
        print(f"Go on     paddock resume {which}{'' if progress.status == 'stopped' else ' --minutes 5'}")
        return 0
    print("\nThe run has no checkpoint: there is nothing yet to evaluate, to export or to go on from.")
    return 1


def where(path: Path) -> str:
    """The flag that says where a run lies, where it lies elsewhere than usual."""
    return "" if path.parent == Path("runs") else f" --runs-dir {quote(str(path.parent))}"
