"""The commands around a run. Each imports what it uses when it is called."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from paddock.errors import PaddockError
from paddock.train_commands import where

if TYPE_CHECKING:
    import tyro

    from paddock.tasks.task import Task
    from paddock.trained import Run


def checkpoint_of(wanted: str) -> str | int:
    """A checkpoint as it is asked for on the command line."""
    if wanted in ("best", "latest"):
        return wanted
    if not wanted.isdecimal():
        raise PaddockError(f"checkpoint is '{wanted}'; wanted best, latest, or the environment step of one.")
    return int(wanted)


def evaluate(
    run: Annotated[str, tyro.conf.arg(metavar="RUN")],
    /,
    *,
    episodes: int = 100,
    seed: int = 0,
    checkpoint: str = "best",
    randomize: str = "",
    video: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = True,
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
        seed: Which set of episodes. No training sees any of them.
        checkpoint: best, latest, or the environment step of one.
        randomize: Other randomisation than it was trained with: none, light, default or heavy, and changes: heavy,push=off.
        video: Leave out the films of the best and the worst episode.
        runs_dir: Where runs are kept.
    """
    from paddock import judging, scoring
    from paddock.evaluation import acting
    from paddock.playing import agents_of
    from paddock.plots import plot_runs, plottable
    from paddock.tasks.randomize_presets import with_randomization
    from paddock.terminal import progress
    from paddock.trained import Run, find

    which, seed = checkpoint_of(checkpoint), judging.seed_of(seed)
    found = find(run, runs_dir=runs_dir)
    if randomize:
        found = Run(found.folder, task=with_randomization(found.task, randomize))
    folder = found.folder.evaluations / randomize.replace("=", "-").replace(":", "-").replace(",", "_")
    with progress("episodes", episodes * (1 + len(agents_of(found.task)))) as advance:
        judgement = judging.judge(found, episodes=episodes, seed=seed, checkpoint=which, advance=advance)
    print(f"\n{found.path.name}, the policy after {judgement.env_steps:,} steps")
    scoring.show(judgement.policy)
    scoring.show_all(judgement.scores)
    print(f"\nwrote {judging.write_judgement(judgement, folder)}")
    if plottable([found]):
        print(f"wrote {plot_runs([found], folder / 'curves.png')}")
    if video:
        act = acting(found.load(which).policy)
        for name, episode in (("best", judgement.best), ("worst", judgement.worst)):
            path = folder / f"{judgement.name}-{name}.mp4"
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
    from paddock.terminal import plain_table, screen
    from paddock.trained import find

    found = find(run, runs_dir=runs_dir)
    folder = out or found.path / "export"
    manifest = found.export(folder, checkpoint=checkpoint_of(checkpoint))
    agreement = manifest.agreement
    print(f"wrote {folder / 'controller.onnx'}\nwrote {folder / 'manifest.json'}")
    print(f"\nIn closed loop over {agreement.steps:,} steps it is at most {agreement.worst:.1e} off, in {agreement.output}.")
    print(f"Before each step of {manifest.control_dt * 1000:g} ms it needs")
    table = plain_table()
    table.show_header = False
    for reading in manifest.required:
        note = "" if reading.measurable else "only a simulator knows it"
        table.add_row(f"  {reading.name}", f"{reading.size:>3}", reading.unit, note)
    screen().print(table)


def record(
    what: Annotated[str, tyro.conf.arg(metavar="TASK-OR-RUN")],
    /,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    agent: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None,
    checkpoint: str = "best",
    seconds: float = 20.0,
    seed: int = 0,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
) -> None:
    """Record a task under an agent, or a run's policy, into an MCAP file that replays bit for bit.

    Examples:
        paddock record quadruped-walk --out walk.mcap
        paddock record latest --seconds 60

    Args:
        what: A task, or a run.
        out: The .mcap file; by default in the run's recordings, or named after the task.
        agent: Who plays: zero, random or scripted. By default a run's policy, and the scripted controller of a task.
        checkpoint: Of a run's policy: best, latest, or the environment step of one.
        seconds: Simulated time to record.
        seed: Equal seeds give equal episodes.
        runs_dir: Where runs are kept.
    """
    if out is not None and out.suffix != ".mcap":
        raise PaddockError(f"a recording is written as .mcap, not '{out.name}'.")
    from paddock.evaluation import acting
    from paddock.playing import find_agent
    from paddock.recording import record_episodes
    from paddock.tasks.task import Task
    from paddock.terminal import progress

    found = _task_or_run(what, runs_dir)
    if isinstance(found, Task):
        task, path = found, out or Path(f"{found.name}.mcap")
        act = find_agent(agent or "scripted", task)
    else:
        task, path = found.task, out or found.folder.recordings / f"{agent or 'policy'}-seed-{seed}.mcap"
        act = find_agent(agent, task) if agent else acting(found.load(checkpoint_of(checkpoint)).policy)
    path.parent.mkdir(parents=True, exist_ok=True)
    with progress("steps", seconds / task.control_dt) as advance:
        steps = record_episodes(task, act, path, seconds=seconds, seed=seed, advance=advance)
    print(f"wrote {path}: {steps:,} steps, {path.stat().st_size / steps:.0f} bytes each\n\nVerify it  paddock replay {path}")


def _task_or_run(wanted: str, runs_dir: Path) -> Task | Run:
    from paddock.errors import UnknownName, unknown
    from paddock.listing import known_tasks
    from paddock.tasks.finding import find_task
    from paddock.trained import find

    with suppress(UnknownName):
        return find_task(wanted)
    with suppress(UnknownName):
        return find(wanted, runs_dir=runs_dir)
    raise unknown("task or run", wanted, ["latest", *known_tasks()])


def replay(
    file: Annotated[Path, tyro.conf.arg(metavar="FILE")],
    /,
    *,
    begin_s: float = 0.0,
    end_s: float | None = None,
    world: int | None = None,
    render: Annotated[Path | None, tyro.conf.arg(metavar="VIDEO")] = None,
) -> int:
    """Simulate a recording again and compare every step; say where it first differs, and why.

    Examples:
        paddock replay walk.mcap
        paddock replay walk.mcap --begin-s 12 --end-s 15 --render walk.mp4

    Args:
        file: An .mcap file from `paddock record` or a run's recordings.
        begin_s: Begin so many seconds into the recording, from the keyframe before.
        end_s: Stop so many seconds into it.
        world: This world alone; all that were recorded by default.
        render: Film what was replayed into this .mp4 or .gif.
    """
    from paddock import replaying
    from paddock.terminal import progress
    from paddock.videos import check_video

    if render is not None:
        check_video(render)  # before it is replayed, not after
    recording = replaying.open_recording(file)
    dt = recording.header.control_dt
    first, last = round(begin_s / dt), None if end_s is None else round(end_s / dt)
    with progress("steps", sum(track.steps for track in recording.tracks.values())) as advance:
        report = replaying.replay(file, world=world, first=first, last=last, advance=advance)
    replaying.show(report)
    if render is not None:
        replaying.film(file, render, world=world, first=first, last=last)
        print(f"wrote {render}")
    return 0 if report.verdict == "identical" else 1


def runs(
    action: Literal["list", "archive", "restore", "delete", "empty-trash", "plot"] = "list",
    run: Annotated[str, tyro.conf.arg(metavar="[RUN]", help_behavior_hint="")] = "",
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
        count = shelf.empty_trash()
        print(f"deleted {count} run{'s' * (count != 1)} for good")
    elif not run:
        raise PaddockError(f"which run? paddock runs {action} RUN")
    elif action == "archive":
        packed = shelf.archive(run)
        print(f"packed into {packed}\n\nBring it back  {_restore(packed.name.removesuffix('.tar.gz'), runs_dir)}")
    elif action == "restore":
        print(f"back in {shelf.restore(run)}")
    elif action == "delete":
        thrown = shelf.delete(run)
        print(f"moved to {thrown}\n\nBring it back  {_restore(thrown.name, runs_dir)}")
    else:
        from paddock.plots import plot_runs
        from paddock.trained import find

        found = find(run, runs_dir=runs_dir)
        print(f"wrote {plot_runs([found], found.path / 'curves.png')}")


def _restore(name: str, runs_dir: Path) -> str:
    return f"paddock runs restore {name}{where(runs_dir / name)}"


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
    from paddock.runs.folder import find_run, is_alive, status_of
    from paddock.runs.sockets import ask

    found = find_run(run, runs_dir)
    name = found.path.name
    if not is_alive(found.card()):
        raise PaddockError(f"{name} is not running: its status is {status_of(found.card())}.")
    answer = ask(found.socket, what)
    if what == "status":
        print(f"{name}  {_status(answer['status'])}")
    else:
        print(f"{name}  {TOLD[what]}")
    if what == "pause":
        print(f"\nGo on  paddock tell {name} resume{where(found.path)}")


TOLD = {
    "pause": "pauses after its present update.",
    "resume": "goes on.",
    "save": "writes a checkpoint after its present update.",
    "stop": "writes a checkpoint and stops, after its present update.",
}


def _status(told: object) -> str:
    from paddock.training_view import clock

    match told:
        case {"status": status, "env_steps": int(steps), "seconds": float(seconds)}:
            return f"{status}, {steps:,} steps in {clock(seconds)}"
        case _:
            return "starting"
