"""Robots of other projects, imported and put through what every task of ours must pass. Writes bench/results/imports.json.

python bench/import_zoo.py                    # installs the packages named below into a scratch folder, then imports from them
python bench/import_zoo.py --folder /tmp/zoo  # keeps them there for the next time
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import mujoco
import torch
import tyro

import paddock
from paddock import Robot, Task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.exporting import disagreement, export_graph
from paddock.importing import import_robot
from paddock.robots.finding import find_robot
from paddock.tasks.finding import of_family
from paddock.terminal import plain_table, screen

RESULT = Path(__file__).parent / "results" / "imports.json"
WORLDS, STEPS = 4, 200
FAMILY = {"legged": ("stand", "walk"), "arm": ("reach",), "other": ()}


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A robot in somebody's package."""

    name: str
    package: str
    file: str
    """Below the folder that the package was installed into."""
    allow: str = ""
    """A folder that its author reads from beside the model's own."""


URDFS = "cmeel.prefix/share/example-robot-data/robots"
FETCH = "gymnasium_robotics/envs/assets"
ZOO = (
    Exhibit(name="go1", package="mjlab", file="mjlab/asset_zoo/robots/unitree_go1/xmls/go1.xml"),
    Exhibit(name="g1", package="mjlab", file="mjlab/asset_zoo/robots/unitree_g1/xmls/g1.xml"),
    Exhibit(name="yam", package="mjlab", file="mjlab/asset_zoo/robots/i2rt_yam/xmls/yam.xml"),
    Exhibit(name="panda_hil", package="gym-hil", file="gym_hil/assets/scene.xml"),
    Exhibit(name="aloha", package="gym-aloha", file="gym_aloha/assets/bimanual_viperx_transfer_cube.xml"),
    Exhibit(name="shadow_hand", package="gymnasium-robotics", file=f"{FETCH}/hand/reach.xml", allow=FETCH),
    Exhibit(name="fetch", package="gymnasium-robotics", file=f"{FETCH}/fetch/reach.xml", allow=FETCH),
    Exhibit(name="dm_quadruped", package="dm_control", file="dm_control/suite/quadruped.xml"),
    Exhibit(name="dm_humanoid", package="dm_control", file="dm_control/suite/humanoid.xml"),
    Exhibit(name="dm_dog", package="dm_control", file="dm_control/suite/dog.xml"),
    Exhibit(name="iiwa", package="robosuite", file="robosuite/models/assets/robots/iiwa/robot.xml"),
    Exhibit(name="go2", package="example-robot-data", file=f"{URDFS}/go2_description/urdf/go2.urdf"),
    Exhibit(name="solo12", package="example-robot-data", file=f"{URDFS}/solo_description/robots/solo12.urdf"),
    Exhibit(name="anymal_c", package="example-robot-data", file=f"{URDFS}/anymal_c_simple_description/urdf/anymal.urdf"),
    Exhibit(name="talos", package="example-robot-data", file=f"{URDFS}/talos_data/robots/talos_full_v2.urdf"),
    Exhibit(name="panda", package="example-robot-data", file=f"{URDFS}/panda_description/urdf/panda.urdf"),
    Exhibit(name="ur5", package="example-robot-data", file=f"{URDFS}/ur_description/urdf/ur5_robot.urdf"),
    Exhibit(name="xarm7", package="example-robot-data", file=f"{URDFS}/xarm_description/urdf/xarm7.urdf"),
    Exhibit(name="so100", package="example-robot-data", file=f"{URDFS}/so_arm_description/urdf/so100.urdf"),
    Exhibit(name="tiago", package="example-robot-data", file=f"{URDFS}/tiago_description/robots/tiago.urdf"),
    Exhibit(name="allegro", package="example-robot-data", file=f"{URDFS}/allegro_hand_description/urdf/allegro_right_hand.urdf"),
)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a robot does under random actions."""

    finite: bool
    """Observations, rewards and states of every step."""
    failed_steps: int
    """Steps in which the engine gave up on a world."""
    repeatable: bool
    """Two environments with one seed agree bit for bit."""
    stuck: tuple[str, ...]
    """Sensors that never changed."""
    graph_error: float
    """Largest difference between the observations in onnxruntime and in PyTorch."""

    @property
    def passed(self) -> bool:
        return self.finite and self.repeatable and not (self.failed_steps or self.stuck) and self.graph_error < 1e-6


@dataclass(frozen=True, kw_only=True)
class Result:
    """One robot's row."""

    name: str
    package: str
    format: str
    kind: str
    bodies: int
    dof: int
    actuators: int
    tendons: int
    equalities: int
    mimics: int
    mass: float
    warnings: int
    import_s: float
    checks: dict[str, Checked]
    """By task: `trial`, and those of the families that suit its kind."""
    passed: bool
    problem: str = ""


def trial(robot: Robot) -> Task:
    """The smallest task that uses all a robot has: hold a pose around home, and feel it."""
    return Task(
        name=f"{robot.name}-trial",
        robot=robot,
        control_dt=0.02,
        episode_s=2.0,
        act=t.JointPosition(scale=0.3),
        observe=t.proprioception(robot),
        reward={"alive": (1.0, t.alive)},
        done={},
        reset=t.NearHome(joint=0.02, vel=0.02),
    )


def check(task: Task) -> Checked:
    """Two hundred random steps, twice; every sensor; the observation as a graph."""
    env, twin = (paddock.make(task, num_worlds=WORLDS, seed=11) for _ in range(2))
    env.reset()
    twin.reset()
    finite = repeatable = True
    failed = 0
    seen: list[torch.Tensor] = []
    for _ in range(STEPS):
        action = env.sample()
        step, other = env.step(action), twin.step(action)
        repeatable &= torch.equal(env.state.qpos, twin.state.qpos) and torch.equal(
            step.final_obs["policy"], other.final_obs["policy"]
        )
        finite &= bool(
            step.final_obs["policy"].isfinite().all() and step.reward.isfinite().all() and env.state.qpos.isfinite().all()
        )
        failed += int(step.failed.sum())
        seen.append(env.state.sensordata.clone())
    spread = torch.cat(seen).std(dim=0)
    sensors = env.state.layout.sensors
    ours = [
        name for name in sensors if name.split("/")[0] in ("joint_pos", "joint_vel", "gyro", "up", "base_pos", "touch", "tool_pos")
    ]
    stuck = tuple(
        name for name in ours if "/" in name or name not in ("joint_pos", "joint_vel", "touch") if not spread[sensors[name]].any()
    )
    graph = export_graph(env, "observe")
    assert graph is not None
    return Checked(
        finite=finite,
        failed_steps=failed,
        repeatable=repeatable,
        stuck=stuck,
        graph_error=disagreement(graph, "observe", task, env.state),
    )


def examine(exhibit: Exhibit, folder: Path, scratch: Path) -> Result:
    """Import one robot and try it."""
    row = {"name": exhibit.name, "package": exhibit.package}
    nothing = dict.fromkeys(("bodies", "dof", "actuators", "tendons", "equalities", "mimics", "warnings"), 0)
    place = folder / exhibit.package
    began = time.perf_counter()
    try:
        files = import_robot(
            place / exhibit.file,
            out=scratch / f"{exhibit.name}.py",
            package_dirs=[place / exhibit.allow] if exhibit.allow else (),
            force=True,
        )
        seconds = time.perf_counter() - began
        robot, report = find_robot(files.robot), files.report
        tasks = {"trial": trial(robot)} | {family: of_family(family, robot) for family in FAMILY[report.kind]}
        checks = {name: check(task) for name, task in tasks.items()}
    except (PaddockError, ValueError, mujoco.FatalError) as error:
        return Result(**row, **nothing, format="", kind="", mass=0.0, import_s=0.0, checks={}, passed=False, problem=str(error))  # type: ignore[arg-type]
    size = report.written
    return Result(
        name=exhibit.name,
        package=exhibit.package,
        format=report.format,
        kind=report.kind,
        bodies=size.bodies,
        dof=size.dof,
        actuators=size.actuators,
        tendons=size.tendons,
        equalities=size.equalities,
        mimics=len(report.mimics),
        mass=round(size.mass, 2),
        warnings=sum(note.kind == "warning" for note in report.notes),
        import_s=round(seconds, 2),
        checks=checks,
        passed=all(checked.passed for checked in checks.values()),
    )


def install(packages: set[str], folder: Path) -> None:
    """Put packages into folders of their own, without what they depend on: only their data is wanted."""
    for package in sorted(packages):
        target = folder / package
        if not target.exists():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), package]
            subprocess.run(command, check=False)


def main(
    folder: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None, only: tuple[str, ...] = (), write: bool = True
) -> None:
    """Import the zoo.

    Args:
        folder: Where packages are kept; a temporary folder by default.
        only: Names of robots; the others' rows stay.
        write: Write the result.
    """
    chosen = [exhibit for exhibit in ZOO if not only or exhibit.name in only]
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary) / "packages"
        install({exhibit.package for exhibit in chosen}, place)
        results: list[Result] = []
        for exhibit in chosen:
            results.append(examine(exhibit, place, Path(temporary)))
            _show(results[-1])
    print(f"\n{sum(result.passed for result in results)} of {len(results)} pass")
    if write:
        rows = {row["name"]: row for row in json.loads(RESULT.read_text())["robots"]} | {row.name: asdict(row) for row in results}
        kept = [rows[exhibit.name] for exhibit in ZOO if exhibit.name in rows]
        RESULT.write_text(json.dumps({"steps": STEPS, "worlds": WORLDS, "robots": kept}, indent=1) + "\n")


def _show(result: Result) -> None:
    table = plain_table()
    table.show_header = False
    size = f"{result.bodies} bodies, {result.dof} dof, {result.actuators} actuators, {result.warnings} warnings"
    bad = [f"{name}: {checked}" for name, checked in result.checks.items() if not checked.passed]
    table.add_row(
        f"{result.name:<13}",
        "passed" if result.passed else "FAILED",
        f"{result.format} {result.kind}",
        size,
        result.problem or "; ".join(bad),
    )
    screen().print(table)


if __name__ == "__main__":
    tyro.cli(main)
