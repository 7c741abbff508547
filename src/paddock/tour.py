"""A look around: every task played by nobody, by chance and by its own controller; scores, speed and a picture."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paddock.making import make
from paddock.marks import marks
from paddock.playing import agents_of, camera_of, find_agent, play, pose
from paddock.rendering import Camera
from paddock.scoring import show_all
from paddock.sheets import Strip, contact_sheet
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task
from paddock.terminal import plain_table, progress, screen

TASKS = tuple(name for name in TASK_NAMES if not name.startswith("gym-"))  # those are here for comparison, not to show
EPISODES = 8
SPEED_WORLDS = 256
SPEED_S = 1.5
COLUMNS = 6
FRAME = (640, 400)
NEXT = {
    "paddock list": "the tasks",
    "paddock inspect quadruped-walk": "what one is made of",
    "paddock play quadruped-walk --agent scripted --render out/walk.mp4": "a film",
    "paddock bench --quick": "how fast this machine is",
    "paddock doctor": "what is missing here",
}


def run(out: Path = Path("out")) -> None:
    """Play, measure, draw; the picture goes to `out`/tour.png."""
    console = screen()
    agents = [(name, agent) for name in TASKS for agent in agents_of(find_task(name))]
    with progress("playing", len(agents)) as advance:
        scores = []
        for name, agent in agents:
            scores.append(play(name, agent=agent, episodes=EPISODES, num_worlds=EPISODES))
            advance(1)
    console.print(f"\n[bold]Scores[/] [dim]over {EPISODES} episodes[/]\n")
    show_all(scores)

    table = plain_table()
    for name in ("task", "env steps/s", "physics steps/s"):
        table.add_column(name, justify="left" if name == "task" else "right")
    with progress("measuring", len(TASKS)) as advance:
        for name in TASKS:
            env_steps, physics_steps = throughput(name)
            table.add_row(f"[bold cyan]{name}[/]", f"{env_steps:,.0f}", f"{physics_steps:,.0f}")
            advance(1)
    console.print(f"\n[bold]Speed[/] [dim]{SPEED_WORLDS} worlds on the CPU, random actions, rewards and observations included[/]\n")
    console.print(table)

    with progress("drawing", len(TASKS)) as advance:
        strips = []
        for name in TASKS:
            strips.append(strip(name))
            advance(1)
    picture = out / "tour.png"
    out.mkdir(parents=True, exist_ok=True)
    contact_sheet(strips, title="Paddock", subtitle="tasks played by their scripted controllers").save(picture)
    console.print(f"\n[bold]Picture[/] {picture}\n\n[bold]Next[/]\n")
    for command, why in NEXT.items():
        console.print(f"  {command:<68} [dim]{why}[/]")


def throughput(task: str) -> tuple[float, float]:
    """Environment steps and physics steps a second of `task` under random actions, summed over worlds."""
    env = make(find_task(task).unseeing, num_worlds=SPEED_WORLDS)
    env.reset()
    env.step(env.sample())
    steps, began = 0, time.perf_counter()
    while (seconds := time.perf_counter() - began) < SPEED_S:
        env.step(env.sample())
        steps += 1
    rate = steps * SPEED_WORLDS / seconds
    return rate, rate * env.substeps


def strip(name: str) -> Strip:
    """Moments of one episode under the task's controller, closer together where more happens."""
    env = make(find_task(name).unseeing)
    act = find_agent("scripted", env.task)
    env.reset()
    ended, moments = False, []
    while not ended:
        moments.append((env.state.time[0].item(), *(np.copy(part) for part in pose(env)), marks(env)))
        ended = bool(env.step(act(env)).ended[0])
    chosen = [moments[i] for i in eventful([qvel for _, _, qvel, _ in moments], COLUMNS)]
    with Camera(env.visual_model, width=FRAME[0], height=FRAME[1], camera=camera_of(env)) as camera:
        frames = [camera.frame(qpos, qvel, marks=seen) for _, qpos, qvel, seen in chosen]
    return Strip(title=name, subtitle=env.task.summary, frames=frames, captions=[f"{t:.1f} s" for t, *_ in chosen])


def eventful(qvel: Sequence[np.ndarray], count: int) -> list[int]:
    """Steps from the first to the last, between which equal amounts of motion and of time pass."""
    motion = np.linalg.norm(np.array(qvel), axis=1)
    passed = np.cumsum(motion / motion.sum() + 1 / len(motion))
    return [int(np.argmin(np.abs(passed - goal))) for goal in np.linspace(passed[0], passed[-1], count)]
