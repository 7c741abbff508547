"""Names for the arrows, nothing else. A command imports what it uses when it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from paddock import import_commands, run_commands, serve_commands, study_commands, sweep_commands, train_commands
from paddock.errors import PaddockError, unknown

if TYPE_CHECKING:
    import tyro


def list_(*, json: bool = False) -> None:
    """List the tasks, with a line each.

    Examples:
        paddock list
        paddock list --json

    Args:
        json: Print a JSON object, name to line.
    """
    from paddock.listing import known_tasks

    tasks = known_tasks()
    if json:
        from json import dumps

        print(dumps(tasks))
        return
    _print_pairs(tasks)
    print("\nLook at one: paddock inspect quadruped-walk. Your own: a file.py with a Task in it.")


def inspect(
    task: Annotated[str, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    randomize: str = "",
    json: bool = False,
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
) -> None:
    """Show what a task is made of: rates, actions with limits, observations, sensors, rewards, ends.

    Examples:
        paddock inspect quadruped-walk
        paddock inspect my_task.py:LEAN
        paddock inspect quadruped-walk --randomize heavy
        paddock inspect cartpole-swingup --json | jq .rewards
        paddock inspect quadruped-walk --plot senses.png

    Args:
        task: A name from `paddock list`, or file.py, or file.py:NAME, or walk@ROBOT.
        randomize: Other randomisation than the task's own: none, light, default or heavy, and changes: heavy,push=off.
        json: Print the card as JSON instead of tables.
        plot: Also draw what its sensors report, with noise and without, and what its randomisers draw.
    """
    from paddock.inspecting import show, task_card
    from paddock.messages import to_json
    from paddock.tasks.finding import find_task
    from paddock.tasks.randomize_presets import with_randomization

    found = with_randomization(find_task(task), randomize)
    card = task_card(found)
    if json:
        print(to_json(card))
    else:
        show(card)
    if plot is not None:
        from paddock.senses_plot import plot_senses

        plot_senses(found, plot)
        if not json:
            print(f"Picture: {plot}")


def play(
    task: Annotated[str, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    agent: Annotated[str, tyro.conf.arg(metavar="NAME")] = "random",
    episodes: int = 64,
    num_worlds: int = 64,
    seed: int = 0,
    randomize: str = "",
    render: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    seconds: float = 10.0,
    view: Literal["auto", "on", "off"] = "auto",
) -> None:
    """Play episodes of a task, print the score, then film it or watch it.

    Examples:
        paddock play cartpole-swingup --agent scripted
        paddock play quadruped-walk --agent scripted --render out/walk.mp4
        paddock play my_task.py:LEAN --agent zero --episodes 10 --seed 3

    Args:
        task: A name from `paddock list`, or file.py, or file.py:NAME, or walk@ROBOT.
        agent: Who acts: zero (nobody), random, or scripted (the task's own controller).
        episodes: Episodes that count; every world plays a fixed share of them.
        num_worlds: Worlds played side by side.
        seed: Equal seeds give equal episodes.
        randomize: Other randomisation than the task's own: none, light, default or heavy, and changes: heavy,push=off.
        render: Film the first world into this .mp4 or .gif.
        seconds: Length of the film.
        view: A live window after the score; auto opens one where there is a display and nothing is filmed.
    """
    from paddock import playing, scoring
    from paddock.gl_choice import has_display
    from paddock.tasks.finding import find_task
    from paddock.tasks.randomize_presets import with_randomization
    from paddock.terminal import progress
    from paddock.videos import check_video

    if render is not None:
        check_video(render, seconds)  # before the episodes are played, not after
    found = with_randomization(find_task(task), randomize)
    with progress("episodes", episodes) as advance:
        score = playing.play(found, agent=agent, episodes=episodes, seed=seed, num_worlds=num_worlds, advance=advance)
    scoring.show(score)
    if render is not None:
        with progress("seconds filmed", seconds) as advance:
            playing.record(found, agent=agent, path=render, seed=seed, seconds=seconds, advance=advance)
        print(f"wrote {render}")
    elif view == "on" or (view == "auto" and has_display()):
        playing.view(found, agent=agent, seed=seed)
    elif view == "auto":
        print("No display here: add `--render out.mp4` for a video.")


def bench(
    *,
    quick: bool = False,
    profile: Annotated[str, tyro.conf.arg(metavar="TASK")] = "",
    preset: str = "default",
    num_worlds: int = 0,
    sim: str = "",
    compiled: bool = False,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
) -> None:
    """Measure steps per second on this machine, or where a second of training goes.

    Examples:
        paddock bench --quick
        paddock bench --out bench.json
        paddock bench --profile quadruped-walk

    Args:
        quick: Half a minute instead of six: fewer sizes, shorter runs; of a profile, fewer updates.
        profile: Train this task for a few updates instead, and show what physics, task, record, policy and learning cost.
        preset: Of that training.
        num_worlds: Of that training; 0 for the preset's own.
        sim: Of that training; the preset's own by default.
        compiled: Learn by compiled code in that training, as `paddock train --ppo.compiled` does.
        out: Also write the numbers as JSON.
    """
    if profile:
        settings = {"num_worlds": num_worlds or None, "sim": sim or None, "ppo": {"compiled": True} if compiled else None}
        _profile(profile, preset, settings, updates=3 if quick else 10, out=out)
        return
    from paddock import benchmarking

    benchmarking.run(quick=quick, out=out)


def _profile(task: str, preset: str, settings: dict[str, object], *, updates: int, out: Path | None) -> None:
    from dataclasses import asdict
    from json import dumps

    from paddock import profiling
    from paddock.configuring import configure, settle
    from paddock.tasks.finding import find_task

    found = find_task(task)
    flags = {name: value for name, value in settings.items() if value is not None}
    seen = profiling.profile(found, settle(configure(found, preset=preset, flags=flags)), updates=updates)
    profiling.show(seen)
    if out is not None:
        out.write_text(dumps(asdict(seen), indent=2) + "\n")
        print(f"wrote {out}")


def doctor() -> int:
    """Check what is installed, what draws, what is missing and how to get it.

    Examples:
        paddock doctor
    """
    from paddock.doctor import run

    return run()


def tour(*, out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out")) -> None:
    """Play every task for a moment, print scores and throughput, and draw a contact sheet.

    Examples:
        paddock tour
        paddock tour --out /tmp/paddock

    Args:
        out: Where tour.png goes.
    """
    from paddock.tour import run

    run(out)


def demo(
    *,
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out"),
    quick: bool = False,
    cockpit: Literal["auto", "on", "off"] = "auto",
) -> None:
    """Teach a quadruped to stand under pushes, on this CPU, in about a minute; watch it, evaluate it, film it, draw its curves.

    Examples:
        paddock demo
        paddock demo --out /tmp/paddock

    Args:
        out: Where the run, the film and the curves go.
        quick: Train for seconds instead, to see that everything works here.
        cockpit: A page to watch it in, which stays open until Ctrl-C; auto opens it where somebody sits at a terminal.
    """
    from paddock.demo import run

    run(out, quick=quick, cockpit=None if cockpit == "auto" else cockpit == "on")


COMMANDS: dict[str, Callable[..., int | None]] = {
    "list": list_,
    "inspect": inspect,
    "play": play,
    "import": import_commands.import_,
    "train": train_commands.train,
    "resume": train_commands.resume,
    "evaluate": run_commands.evaluate,
    "export": run_commands.export,
    "record": run_commands.record,
    "replay": run_commands.replay,
    "runs": run_commands.runs,
    "tell": run_commands.tell,
    "serve": serve_commands.serve,
    "compare": study_commands.compare,
    "robustness": study_commands.robustness,
    "parity": study_commands.parity,
    "sweep": sweep_commands.sweep,
    "sweeps": sweep_commands.sweeps,
    "bench": bench,
    "doctor": doctor,
    "tour": tour,
    "demo": demo,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. A mistake in the input is one screen on stderr and exit code 2."""
    name, *args = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help", "help"):
        _print_help()
        return 0
    if name in ("-V", "--version"):
        from paddock import __version__

        print(f"paddock {__version__}")
        return 0
    try:
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS)
        return _run(name, args) or 0
    except PaddockError as error:
        print(f"paddock: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stderr.close()
        return 0
    except OSError as error:
        print(f"paddock: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(name: str, args: Sequence[str]) -> int | None:
    import tyro

    for module in (import_commands, run_commands, serve_commands, study_commands, sweep_commands, train_commands):
        module.__dict__["tyro"] = tyro  # annotations are text until now, so that the help needs no tyro
    globals()["tyro"] = tyro
    command = COMMANDS[name]
    if command is train_commands.train:  # whose flags depend on the task
        return train_commands.train(args)
    from paddock.typed_numbers import registry

    return tyro.cli(
        command,
        prog=f"paddock {name}",
        description=cleandoc(command.__doc__ or "").split("\nArgs:")[0].strip(),
        args=args,
        config=(tyro.conf.FlagCreatePairsOff,),
        registry=registry(),
    )


def _print_help() -> None:
    print("Paddock: write a robot task once; play it, measure it, train it.\n\nusage: paddock COMMAND [OPTIONS]\n")
    _print_pairs({name: (command.__doc__ or "").split("\n")[0] for name, command in COMMANDS.items()})
    print("\nStart with `paddock demo`. Every command explains itself: paddock play --help")


def _print_pairs(pairs: dict[str, str]) -> None:
    width = max(map(len, pairs)) + 2
    for name, line in pairs.items():
        print(f"  {name:<{width}} {line}")
