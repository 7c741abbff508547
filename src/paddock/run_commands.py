"""The commands around a run. Each imports what it uses when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from paddock.errors import PaddockError

if TYPE_CHECKING:
    import tyro


def train(args: Sequence[str]) -> int:
    """Train a task: live numbers, checkpoints, telemetry, and a run to go on from."""
    from paddock.train_flags import parse

    task, settings, preset, runs_dir = parse(args)
    from rich.console import Console

    from paddock.trained import Run
    from paddock.training import command_line, start
    from paddock.training_view import view_for

    folder = start(task, preset=preset, config=settings, runs_dir=runs_dir, view=view_for(Console()), command=command_line())
    return _farewell(Run(folder))


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

    from paddock.trained import find
    from paddock.training_view import view_for

    found = find(run, runs_dir=runs_dir)
    return _farewell(found.resume(steps=steps, minutes=minutes, view=view_for(Console())))


def _farewell(run: object) -> int:
    """Where the run lies, how it ended, and what to do with it."""
    from paddock.trained import Run

    assert isinstance(run, Run)
    progress = run.card.progress
    print(f"\n{run.path}  {progress.status}{f' ({progress.detail})' if progress.detail else ''} after {progress.env_steps:,} steps")
    for trouble in progress.troubles:
        print(f"! {trouble}")
    if progress.status == "stopped":
        print(f"Go on:     paddock resume {run.path.name}{_where(run.path)}")
    print(f"Evaluate:  paddock evaluate {run.path.name}{_where(run.path)}")
    return 0


def _where(path: Path) -> str:
    return "" if path.parent == Path("runs") else f" --runs-dir {path.parent}"


def evaluate(
    run: Annotated[str, tyro.conf.arg(metavar="RUN")],
    /,
    *,
    episodes: int = 100,
    seed: int | None = None,
    checkpoint: str = "best",
    video: bool = True,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """Score a run's policy on seeds it never trained on, beside zero and random agents; film its best and worst episode.

    Examples:
        paddock evaluate latest
        paddock evaluate latest --episodes 1000 --no-video
        paddock evaluate runs/20261116-120000-quadruped-walk-s0-1a2b --checkpoint latest

    Args:
        run: A run: its folder, its id or a part of it, or `latest`.
        episodes: Episodes for each agent.
        seed: Another set of episodes; those of training are refused.
        checkpoint: best, latest, or the environment step of one.
        video: Film the best and the worst episode.
        runs_dir: Where runs are kept.
    """
    from paddock import judging, scoring
    from paddock.evaluation import FINAL_SEED, FIRST_EVALUATION_SEED, acting
    from paddock.playing import agents_of
    from paddock.plots import plot_runs
    from paddock.terminal import progress
    from paddock.trained import find

    seed = FINAL_SEED if seed is None else FIRST_EVALUATION_SEED + seed
    found = find(run, runs_dir=runs_dir)
    folder = found.folder.evaluations
    with progress("episodes", episodes * (1 + len(agents_of(found.task)))) as advance:
        judgement = judging.judge(found, episodes=episodes, seed=seed, checkpoint=checkpoint, advance=advance)
    scoring.show(judgement.policy)
    scoring.show_all(judgement.scores)
    print(f"\nwrote {judging.write_judgement(judgement, folder)}")
    print(f"wrote {plot_runs([found], folder / 'curves.png')}")
    if video:
        act = acting(found.load(checkpoint).policy)
        for name, episode in (("best", judgement.best), ("worst", judgement.worst)):
            path = folder / f"{name}.mp4"
            with progress(f"filming the {name}", episode.length * found.task.control_dt) as told:
                judging.film_episode(
                    found.task, act, episode, path, seed=seed, num_worlds=min(judging.NUM_WORLDS, episodes), advance=told
                )
            print(f"wrote {path}  (return {episode.total:.2f}, {episode.length} steps)")


def export(
    run: Annotated[str, tyro.conf.arg(metavar="RUN")],
    /,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
    checkpoint: str = "best",
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """Write a run's policy as controller.onnx, sensors in and ctrl out, with a manifest; checked in closed loop first.

    Examples:
        paddock export latest
        paddock export latest --out robot/

    Args:
        run: A run: its folder, its id or a part of it, or `latest`.
        out: Where to; the run's own folder `export` by default.
        checkpoint: best, latest, or the environment step of one.
        runs_dir: Where runs are kept.
    """
    from paddock.trained import find

    found = find(run, runs_dir=runs_dir)
    folder = out or found.path / "export"
    manifest = found.export(folder, checkpoint=checkpoint)
    agreement = manifest.agreement
    print(f"wrote {folder / 'controller.onnx'} and {folder / 'manifest.json'}")
    print(f"closed loop over {agreement.steps:,} steps: worst difference {agreement.worst:.1e}, in {agreement.output}")
    for need in manifest.required:
        print(f"  needs {need.name:<24} {need.size:>3} {need.unit:<8} {'' if need.measurable else 'only a simulator knows this'}")


def record(
    what: Annotated[str, tyro.conf.arg(metavar="TASK-OR-RUN")],
    /,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    agent: str = "scripted",
    seconds: float = 20.0,
    seed: int = 0,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """Record a task under an agent, or a run's policy, into an MCAP file that replays bit for bit.

    Examples:
        paddock record quadruped-walk --out walk.mcap
        paddock record latest --seconds 60

    Args:
        what: A task, played by an agent, or a run, played by its policy.
        out: The .mcap file; by default in the run's recordings, or named after the task.
        agent: Who plays a task: zero, random or scripted.
        seconds: Simulated time to record.
        seed: Equal seeds give equal episodes.
        runs_dir: Where runs are kept.
    """
    from paddock.errors import UnknownName
    from paddock.evaluation import acting
    from paddock.playing import find_agent
    from paddock.recording import record_episodes
    from paddock.tasks.finding import find_task
    from paddock.terminal import progress
    from paddock.trained import find

    try:
        task = find_task(what)
    except UnknownName:
        run = find(what, runs_dir=runs_dir)
        task, act = run.task, acting(run.load().policy)
        path = out or run.folder.recordings / f"seed-{seed}.mcap"
    else:
        act, path = find_agent(agent, task), out or Path(f"{task.name}.mcap")
    if path.suffix != ".mcap":
        raise PaddockError(f"a recording is written as .mcap, not '{path.name}'.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with progress("steps", seconds / task.control_dt) as advance:
        steps = record_episodes(task, act, path, seconds=seconds, seed=seed, advance=advance)
    print(f"wrote {path}: {steps:,} steps, {path.stat().st_size / steps:.0f} bytes each. Verify it: paddock replay {path}")


def replay(
    file: Annotated[Path, tyro.conf.arg(metavar="FILE")],
    /,
    *,
    render: Annotated[Path | None, tyro.conf.arg(metavar="VIDEO")] = None,
) -> int:
    """Simulate a recording again and compare every step; say where it first differs, and why.

    Examples:
        paddock replay walk.mcap
        paddock replay walk.mcap --render walk.mp4

    Args:
        file: An .mcap file from `paddock record` or a run's recordings.
        render: Film what was replayed into this .mp4 or .gif.
    """
    from paddock import replaying
    from paddock.terminal import progress

    with progress("steps", 1.0) as _:
        report = replaying.replay(file)
    replaying.show(report)
    if render is not None:
        replaying.film(file, render)
        print(f"wrote {render}")
    return 0 if report.verdict == "identical" else 1


def runs(
    action: Literal["list", "archive", "restore", "delete", "empty-trash", "plot"] = "list",
    run: Annotated[str, tyro.conf.arg(metavar="RUN")] = "",
    /,
    *,
    json: bool = False,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """List runs; archive, restore, delete or plot one.

    Examples:
        paddock runs
        paddock runs archive 20261116-120000
        paddock runs delete 20261116-120000      # to the trash: `paddock runs restore` brings it back
        paddock runs plot latest

    Args:
        action: list; archive (packed into one file, nothing lost); restore (from archive or trash); delete (to the trash);
            empty-trash (for good); plot (curves.png in the run).
        run: A run: its id or a part of it, or `latest`.
        json: List as JSON.
        runs_dir: Where runs are kept.
    """
    from paddock.listing_runs import show_runs
    from paddock.runs.shelf import Shelf

    shelf = Shelf(runs_dir)
    if action == "list":
        show_runs(shelf, json=json)
    elif action == "empty-trash":
        print(f"deleted {shelf.empty_trash()} runs for good")
    elif not run:
        raise PaddockError(f"which run? paddock runs {action} RUN")
    elif action == "archive":
        print(f"packed into {shelf.archive(run)}. Bring it back: paddock runs restore {run}")
    elif action == "restore":
        print(f"back in {shelf.restore(run)}")
    elif action == "delete":
        print(f"moved to {shelf.delete(run)}. Bring it back: paddock runs restore {run}")
    else:
        from paddock.plots import plot_runs
        from paddock.trained import find

        found = find(run, runs_dir=runs_dir)
        print(f"wrote {plot_runs([found], found.path / 'curves.png')}")


def tell(
    run: Annotated[str, tyro.conf.arg(metavar="RUN")],
    what: Literal["pause", "resume", "save", "stop", "status"],
    /,
    *,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """Tell a run that is running to pause, go on, save now or stop.

    Examples:
        paddock tell latest pause
        paddock tell latest stop

    Args:
        run: A run: its folder, its id or a part of it, or `latest`.
        what: What it should do, after its present update.
        runs_dir: Where runs are kept.
    """
    from paddock.runs.folder import find_run
    from paddock.runs.live import ask

    print(ask(find_run(run, runs_dir).socket, what))
