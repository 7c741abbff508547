"""A first minute: a quadruped learns to stand under pushes; its score, its film, its curves, and what to try next."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paddock.evaluation import acting
from paddock.gl_choice import best_gl
from paddock.judging import NUM_WORLDS, film_episode, judge, write_judgement
from paddock.playing import agents_of
from paddock.plots import plot_runs
from paddock.scoring import show_all
from paddock.stopping import stop_signals
from paddock.terminal import progress, screen
from paddock.trained import train
from paddock.training_view import view_for

TASK = "quadruped-stand"
EPISODES = 64


def run(out: Path = Path("out"), *, quick: bool = False, cockpit: bool | None = None) -> None:
    """Train, evaluate, film, draw; everything goes below `out`. The cockpit is open meanwhile, and after it until Ctrl-C."""
    if cockpit is None:
        cockpit = sys.stdin.isatty() and sys.stdout.isatty()
    if not cockpit:
        _show(out, quick=quick)
        return
    with _cockpit(out / "runs") as address:
        screen().print(f"\n[bold]Watch it[/]  {address}", soft_wrap=True)
        _show(out, quick=quick)
        screen().print(f"\nThe cockpit is open: {address}\nCtrl-C ends it.", soft_wrap=True)
        with stop_signals() as heard:
            while not heard():
                time.sleep(0.2)


@contextmanager
def _cockpit(runs_dir: Path) -> Iterator[str]:
    """The cockpit in a process of its own; its address."""
    command = [sys.executable, "-m", "paddock", "serve", "--runs-dir", str(runs_dir), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        try:
            assert server.stdout is not None
            yield next((line.strip() for line in server.stdout if "http://" in line), "")
        finally:
            server.terminate()


def _show(out: Path, *, quick: bool) -> None:
    console = screen()
    console.print(f"\n[bold]Learning[/] [cyan]{TASK}[/]: twelve joint torques, a push every two seconds.\n")
    trained = train(TASK, preset="debug" if quick else "default", runs_dir=out / "runs", view=view_for(console))
    episodes = 4 if quick else EPISODES
    with progress("evaluating", episodes * (1 + len(agents_of(trained.task)))) as advance:
        judgement = judge(trained, episodes=episodes, advance=advance)
    write_judgement(judgement, trained.folder.evaluations)
    console.print(f"\n[bold]Scores[/] [dim]over {episodes} episodes it never saw[/]\n")
    show_all(judgement.scores)
    curves = plot_runs([trained], out / "demo-curves.png")
    console.print(f"\n[bold]Curves[/]  {curves}")
    if best_gl() is None:
        console.print("[bold]Film[/]    none: nothing here can draw. See `paddock doctor`.")
    else:
        film = out / "demo.mp4"
        with progress("filming", judgement.best.length * trained.task.control_dt) as told:
            film_episode(
                trained.task,
                acting(trained.load().policy),
                judgement.best,
                film,
                seed=judgement.seed,
                num_worlds=min(NUM_WORLDS, episodes),
                advance=told,
            )
        console.print(f"[bold]Film[/]    {film}")
    console.print(f"[bold]Run[/]     {trained.path}\n\n[bold]Next[/]\n")
    here = f"--runs-dir {out / 'runs'}"
    for command, why in {
        f"paddock evaluate latest {here}": "a longer look at what it learned",
        f"paddock export latest {here}": "the same policy as one ONNX graph for a robot",
        f"paddock resume latest --minutes 2 {here}": "let it learn on",
        "paddock train quadruped-walk": "teach it to walk",
        "paddock tour": "all tasks, and how fast this machine is",
    }.items():
        console.print(f"  {command:<56} [dim]{why}[/]", soft_wrap=True)
