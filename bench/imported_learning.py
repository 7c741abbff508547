"""Robots of other projects that learn to walk and to reach, by the presets. Writes bench/results/imported_learning.json.

python bench/imported_learning.py                    # installs the packages, imports, trains: a quarter of an hour a robot
python bench/imported_learning.py --only go1-walk    # one of them; the others' rows stay

Each robot is imported as `paddock import FILE` does, and nothing of what that wrote is edited. Then `paddock train FAMILY --robot
ROBOT.py --seed 0` runs in a process of its own, and its best checkpoint plays 100 episodes that training never saw. A run that is
there already is not trained again.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro
from import_zoo import ZOO, Exhibit, install

from paddock.benchmarking import machine
from paddock.importing import import_robot
from paddock.tasks.finding import find_task
from paddock.trained import Run, find

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "bench" / "results" / "imported_learning.json"
RUNS = ROOT / "bench" / "runs"
LESSONS = ("go1-walk", "yam-reach", "panda_hil-reach")
EPISODES = 100


@dataclass(frozen=True, kw_only=True)
class Row:
    """What came of one robot's training."""

    name: str
    package: str
    file: str
    task: str
    asks: str
    """The task in its own words, which say what a success is."""
    seed: int
    minutes: float
    env_steps: int
    episodes: int
    success: float
    success_interval: tuple[float, float]
    measures: dict[str, float]


def taught(name: str, folder: Path) -> Row:
    """Import a robot, train it and see what it can do."""
    robot, _, family = name.rpartition("-")
    exhibit = next(exhibit for exhibit in ZOO if exhibit.name == robot)
    install({exhibit.package}, folder)
    file = imported(exhibit, folder)
    run = trained(f"{robot}-{family}", ["train", family, "--robot", str(file), "--seed", "0"])
    score = run.evaluate(episodes=EPISODES)
    assert score.success is not None
    low, high = score.success.interval
    return Row(
        name=robot,
        package=exhibit.package,
        file=exhibit.file,
        task=family,
        asks=find_task(f"{family}@{file}").summary,
        seed=run.card.setup.seed,
        minutes=round(run.card.progress.seconds / 60, 2),
        env_steps=run.card.progress.env_steps,
        episodes=EPISODES,
        success=score.success.value,
        success_interval=(round(low, 3), round(high, 3)),
        measures=score.measures,
    )


def imported(exhibit: Exhibit, folder: Path) -> Path:
    """The robot file of an exhibit."""
    place = folder / exhibit.package
    packages = [place / exhibit.allow] if exhibit.allow else ()
    out = RUNS / "robots" / f"{exhibit.name}.py"
    return import_robot(place / exhibit.file, out=out, package_dirs=packages, force=True).robot


def trained(task: str, words: list[str]) -> Run:
    """The finished run of a task, trained now unless it exists."""
    ids = sorted(path.parent.name for path in RUNS.glob(f"*-{task}-s0-*/run.json"))
    done = [run for run in (find(name, runs_dir=RUNS) for name in ids) if run.status == "finished"]
    if done:
        return done[-1]
    subprocess.run([sys.executable, "-m", "paddock", *words, "--runs-dir", str(RUNS)], check=True)
    return trained(task, words)


def main(folder: Path = RUNS / "zoo", only: tuple[str, ...] = LESSONS) -> None:
    """Train robots of the zoo.

    Args:
        folder: Where packages are kept.
        only: Robots and tasks, as `go1-walk`.
    """
    rows = {f"{row['name']}-{row['task']}": row for row in json.loads(RESULT.read_text())["rows"]} if RESULT.exists() else {}
    for name in only:
        rows[name] = asdict(taught(name, folder))
        print(json.dumps(rows[name]), flush=True)
        RESULT.write_text(json.dumps({"machine": machine(), "rows": [rows[key] for key in sorted(rows)]}, indent=1) + "\n")


if __name__ == "__main__":
    tyro.cli(main)
