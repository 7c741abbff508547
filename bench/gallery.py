"""Draw the gallery: every robot at home (docs/robots.png) and every task at one moment (docs/tasks.png).

MUJOCO_GL=osmesa python bench/gallery.py [--only tasks]
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from paddock.making import make
from paddock.playing import camera_of, find_agent, marks, pose
from paddock.rendering import Camera
from paddock.robots import ROBOTS, Robot
from paddock.sheets import Strip, contact_sheet
from paddock.tasks import TASK_NAMES
from paddock.tasks.scenes import flat_floor

DOCS = Path(__file__).parent.parent / "docs"
ROBOT_COLUMNS, TASK_COLUMNS = 3, 4
CLOSER = {"creature": 2.2, "cartpole": 1.3, "quadruped": 1.1}
"""Robots that are small in their own camera's picture."""


def portrait(robot: Robot) -> np.ndarray:
    """The robot in its home pose, as its own camera sees it."""
    model = flat_floor(robot).compile()
    home = model.key("home").qpos if "home" in [model.key(i).name for i in range(model.nkey)] else model.qpos0
    with Camera(model, width=1280, height=960, camera=robot.camera) as camera:
        return part(camera.frame(home), zoom=CLOSER.get(robot.name, 1.0))


def part(frame: np.ndarray, *, zoom: float, centre: tuple[float, float] = (0.5, 0.5)) -> np.ndarray:
    """What is around `centre`, given as fractions of width and height."""
    size = np.array(frame.shape[:2])
    half = size / zoom / 2
    y, x = np.clip(size * centre[::-1], half, size - half)
    return frame[round(y - half[0]) : round(y + half[0]), round(x - half[1]) : round(x + half[1])]


def described(robot: Robot) -> str:
    model = robot.spec().compile()
    mass = model.body_subtreemass[0]
    return (
        f"{robot.name}: {model.nu} actuators, {mass:.0f} kg"
        if mass >= 1
        else f"{robot.name}: {model.nu} actuators, {1000 * mass:.0f} g"
    )


def robots() -> None:
    known = list(ROBOTS.values())
    rows = [known[i : i + ROBOT_COLUMNS] for i in range(0, len(known), ROBOT_COLUMNS)]
    strips = [
        Strip(title="", subtitle="", frames=[portrait(robot) for robot in row], captions=[described(robot) for robot in row])
        for row in rows
    ]
    contact_sheet(strips, title="Robots", subtitle="as the package brings them", tile_width=420).save(
        DOCS / "robots.png", optimize=True
    )


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A telling moment of an episode, and the part of the picture that tells it."""

    seconds: float
    zoom: float = 1.0
    centre: tuple[float, float] = (0.5, 0.5)
    """Of the part, as fractions of width and height."""


SHOTS = {
    "cartpole-balance": Shot(seconds=0.0, zoom=1.5, centre=(0.5, 0.45)),
    "cartpole-swingup": Shot(seconds=1.7, zoom=1.3),
    "cartpole-pair": Shot(seconds=2.7, zoom=1.3),
    "creature-goal": Shot(seconds=1.4, zoom=2.0, centre=(0.5, 0.7)),
    "ant-walk": Shot(seconds=12.1, zoom=1.2),
    "quadruped-stand": Shot(seconds=2.1, zoom=1.2),
    "quadruped-balance": Shot(seconds=4.9, zoom=1.1, centre=(0.48, 0.55)),
    "quadruped-walk": Shot(seconds=4.3, zoom=1.1),
    "humanoid-stand": Shot(seconds=2.1, zoom=1.15, centre=(0.5, 0.54)),
    "humanoid-walk": Shot(seconds=15.8, zoom=1.15, centre=(0.5, 0.54)),
    "arm-reach": Shot(seconds=0.4, zoom=1.2, centre=(0.55, 0.42)),
    "arm-reach-joint": Shot(seconds=0.1, zoom=1.2, centre=(0.55, 0.42)),
    "arm-push": Shot(seconds=1.4, zoom=1.3, centre=(0.55, 0.5)),
    "arm-pick-place": Shot(seconds=2.5, zoom=1.3, centre=(0.55, 0.5)),
}
AT_ONCE = Shot(seconds=0.1)


def shot(name: str) -> np.ndarray:
    """The task's moment, played by its scripted controller where it has one."""
    wanted = SHOTS.get(name, AT_ONCE)
    env = make(name)
    act = find_agent("zero" if env.task.expert is None else "scripted", env.task)
    env.reset()
    for _ in range(round(wanted.seconds / env.task.control_dt)):
        env.step(act(env))
    with Camera(env.visual_model, width=1280, height=960, camera=camera_of(env)) as camera:
        return part(camera.frame(*pose(env), marks=marks(env)), zoom=wanted.zoom, centre=wanted.centre)


def tasks() -> None:
    rows = [TASK_NAMES[i : i + TASK_COLUMNS] for i in range(0, len(TASK_NAMES), TASK_COLUMNS)]
    strips = [Strip(title="", subtitle="", frames=[shot(name) for name in row], captions=row) for row in rows]
    subtitle = "each at one moment, played by its scripted controller; Gymnasium's as they begin"
    contact_sheet(strips, title="Tasks", subtitle=subtitle, tile_width=360).save(DOCS / "tasks.png", optimize=True)


DRAWN = {"robots": robots, "tasks": tasks}

if __name__ == "__main__":
    mujoco.set_mju_user_warning(lambda message: None)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=DRAWN)
    only = parser.parse_args().only
    for name, draw in DRAWN.items():
        if only in (None, name):
            draw()
