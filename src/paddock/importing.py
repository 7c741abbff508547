"""Anyone's robot as a file of yours: NAME.py to read and edit, NAME.xml beside it, NAME_assets/ with the meshes."""

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paddock.errors import PaddockError
from paddock.messages import ImportReport
from paddock.robots.import_model import Base, ImportRequest
from paddock.robots.model_jail import Jail, Limits
from paddock.runs.atomic import remove_folder, write_file, write_folder

WIDTH = 120


@dataclass(frozen=True, kw_only=True)
class RobotFiles:
    """Where an imported robot lies."""

    robot: Path
    """The Python file with the Robot in it."""
    report: ImportReport

    @property
    def xml(self) -> Path:
        return self.robot.with_suffix(".xml")

    @property
    def assets(self) -> Path:
        return self.robot.with_name(f"{self.robot.stem}_assets")


def import_robot(
    file: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    base: Base = "auto",
    package_dirs: Iterable[str | Path] = (),
    force: bool = False,
    limits: Limits | None = None,
) -> RobotFiles:
    """Import an MJCF or URDF file from anyone: read and compiled in a child process with limits, then written as a robot file."""
    source = Path(file)
    robot, name = _destination(source, out, name)
    planned = [robot, robot.with_suffix(".xml"), robot.with_name(f"{robot.stem}_assets")]
    if source.resolve() in [path.resolve() for path in planned]:
        raise PaddockError(f"{source} would be replaced by the robot made of it. Give --out elsewhere/{robot.name}, or --name.")
    existing = [str(path) for path in planned if path.exists()]
    if existing and not force:
        raise PaddockError(f"{', '.join(existing)} exists already. Add --force to replace, or give --out or --name.")
    request = ImportRequest(
        file=str(source.absolute()),
        name=name,
        assets=planned[2].name,
        base=base,
        package_dirs=tuple(str(Path(folder).absolute()) for folder in package_dirs),
    )
    with Jail(limits) as jail:
        done = jail.ask(request).robot(source.name)
    files = RobotFiles(robot=robot, report=done.report)
    robot.parent.mkdir(parents=True, exist_ok=True)
    _write(files, robot_text(done.report, robot.stem), done.xml, done.assets)
    return files


def _destination(source: Path, out: str | Path | None, name: str | None) -> tuple[Path, str]:
    """The robot file and the robot's name, which is its stem unless both were given."""
    if name is not None and not _is_name(name):
        raise PaddockError(f"the name '{name}' is no Python name; letters, digits and _ make one.")
    path = Path(out) if out is not None else Path(f"{name or _name_of(source)}.py")
    if path.is_dir():
        path /= f"{name or _name_of(source)}.py"
    if path.suffix != ".py":
        raise PaddockError(f"a robot is written as .py, not '{path.name}'.")
    if not _is_name(path.stem):
        raise PaddockError(f"'{path.name}' cannot be imported by Python; letters, digits and _ make a name that can.")
    return path, name or path.stem


def _name_of(source: Path) -> str:
    name = re.sub(r"\W+", "_", source.stem, flags=re.ASCII).strip("_").lower()
    return name if _is_name(name) else f"robot_{name}"


def _is_name(text: str) -> bool:
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


def _write(files: RobotFiles, text: str, xml: str, assets: dict[str, bytes]) -> None:
    """Each file in one move, the one that a task imports last. An error takes back what was written."""
    written: list[Path] = []
    try:
        remove_folder(files.assets)
        if assets:
            write_folder(files.assets, assets)
            written.append(files.assets)
        write_file(files.xml, xml.encode())
        written.append(files.xml)
        write_file(files.robot, text.encode())
    except BaseException:
        for path in written:
            remove_folder(path) if path.is_dir() else path.unlink()
        raise


def robot_text(report: ImportReport, stem: str) -> str:
    """The Python file. Names come from a stranger's model, so each is written as the literal it is."""
    names = report.robot
    origin = re.sub(r"[^\w. +-]", "_", Path(report.source).name)
    rows = [
        f"    name={quoted(names.name)},",
        f"    xml=Path(__file__).with_name({quoted(f'{stem}.xml')}),",
        _row("joints", [quoted(joint) for joint in names.joints], "()"),
    ]
    if names.base is not None:
        rows.append(f"    base={quoted(names.base)},")
    if names.feet:
        rows.append(_row("feet", [quoted(foot) for foot in names.feet], "()"))
    if names.tool is not None:
        rows.append(f"    tool={quoted(names.tool)},")
    rows += _gain_rows(report)
    body = "\n".join(rows)
    return (
        f'"""{names.name}, imported from {origin}. What was guessed is yours to edit, here and in the XML."""\n\n'
        "from pathlib import Path\n\nfrom paddock import Robot\n\n"
        f"{stem.upper()} = Robot(\n{body}\n)\n"
    )


def _gain_rows(report: ImportReport) -> list[str]:
    """Gains of the joints, unless the model's own servos are kept."""
    held = {joint.name: (joint.stiffness, joint.damping) for joint in report.joints if joint.stiffness is not None}
    if report.robot.own_servos or not held:
        return []
    comment = "    # stiffness and damping of position servos: guessed from the motors' strength, about critically damped at home"
    if len(set(held.values())) == 1 and len(held) == len(report.joints):
        return [comment, f"    gains={next(iter(held.values()))},"]
    return [comment, _row("gains", [f"{quoted(name)}: {pair}" for name, pair in held.items()], "{}")]


def _row(name: str, items: list[str], brackets: str) -> str:
    """A tuple or mapping on one line where it fits, else one item a line."""
    opening, closing = brackets
    comma = "," if len(items) == 1 and brackets == "()" else ""
    line = f"    {name}={opening}{', '.join(items)}{comma}{closing},"
    if len(line) <= WIDTH:
        return line
    return f"    {name}={opening}\n" + "".join(f"        {item},\n" for item in items) + f"    {closing},"


def quoted(text: str) -> str:
    """A Python literal of a text, in double quotes where that changes nothing else."""
    literal = repr(text)
    return f'"{literal[1:-1]}"' if literal[0] == "'" and '"' not in literal else literal


def next_steps(files: RobotFiles) -> list[str]:
    """Commands worth trying with the robot."""
    steps = {
        "legged": [
            "paddock play stand@{0} --agent zero --render {1}.mp4",
            "paddock train stand --robot {0}",
            "paddock train walk --robot {0}",
        ],
        "arm": ["paddock play reach@{0} --agent scripted --render {1}.mp4", "paddock train reach --robot {0}"],
        "other": ["paddock inspect my_task.py    # a task of your own, with `from {1} import {2}`"],
    }
    robot = files.robot
    return [step.format(robot, robot.stem, robot.stem.upper()) for step in steps[files.report.kind]]
