"""Draw the gallery: every robot at home (docs/robots.png) and moments of every task (docs/tour.png).

MUJOCO_GL=osmesa python bench/gallery.py [--only robots]
"""

import argparse
from pathlib import Path

import mujoco
import numpy as np

from paddock.rendering import Camera
from paddock.robots import ROBOTS, Robot
from paddock.sheets import Strip, contact_sheet
from paddock.tasks.scenes import flat_floor
from paddock.tour import TASKS, strip

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS = 4


def portrait(robot: Robot) -> np.ndarray:
    """The robot in its home pose, as its own camera sees it."""
    model = flat_floor(robot).compile()
    home = model.key("home").qpos if "home" in [model.key(i).name for i in range(model.nkey)] else model.qpos0
    with Camera(model, width=640, height=480, camera=robot.camera) as camera:
        return camera.frame(home)


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
    rows = [known[i : i + COLUMNS] for i in range(0, len(known), COLUMNS)]
    strips = [
        Strip(title="", subtitle="", frames=[portrait(robot) for robot in row], captions=[described(robot) for robot in row])
        for row in rows
    ]
    contact_sheet(strips, title="Robots", subtitle="as the package brings them", tile_width=420).save(DOCS / "robots.png")


def tasks() -> None:
    page = contact_sheet([strip(name) for name in TASKS], title="Paddock", subtitle="tasks played by their scripted controllers")
    page.save(DOCS / "tour.png")


if __name__ == "__main__":
    mujoco.set_mju_user_warning(lambda message: None)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("robots", "tasks"))
    only = parser.parse_args().only
    if only != "tasks":
        robots()
    if only != "robots":
        tasks()
