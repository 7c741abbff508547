"""`paddock import`: the command, and how its report reads at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

if TYPE_CHECKING:
    import tyro

    from paddock.importing import RobotFiles
    from paddock.messages import ImportReport

TITLES = {
    "warning": "Look at this",
    "guessed": "Guessed",
    "added": "Added",
    "changed": "Changed",
    "dropped": "Dropped",
}
MOST_PATHS = 12
MOST_NOTES = 4
"""Shown of those with one reason; `--json` has them all."""


def import_(
    file: Annotated[Path, tyro.conf.arg(metavar="FILE")],
    /,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="ROBOT.py")] = None,
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None,
    base: Literal["auto", "free", "fixed"] = "auto",
    package_dir: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FOLDER")] = (),
    force: bool = False,
    json: bool = False,
) -> None:
    """Import anyone's MJCF or URDF as a robot file, and say what was read, dropped, added and guessed.

    Examples:
        paddock import go1/scene.xml --name go1
        paddock import ur5.urdf --package-dir ~/ros/src
        paddock import humanoid.urdf --base free --out robots/

    Args:
        file: An .xml (MJCF) or .urdf file. It is read and compiled in a process with limits: nobody need trust it.
        out: The Python file to write, or a folder for it; NAME.py here by default. NAME.xml and NAME_assets/ go beside it.
        name: What the robot is called; the file's name by default.
        base: Whether a URDF's root floats: auto looks for legs.
        package_dir: Folders that hold ROS packages, or that a model may read from beside its own.
        force: Replace files that are there already.
        json: Print the report as JSON.
    """
    from paddock.importing import import_robot
    from paddock.messages import to_json

    files = import_robot(file, out=out, name=name, base=base, package_dirs=package_dir, force=force)
    if json:
        print(to_json(files.report))
    else:
        show(files)


def show(files: RobotFiles) -> None:
    """The report for a person."""
    from paddock.importing import next_steps
    from paddock.terminal import screen

    report = files.report
    screen().print(
        f"[bold]{report.robot.name}[/]: {_kind(report)}, {report.written.mass:.3g} kg, from {report.source} ({report.format})",
        soft_wrap=True,
    )
    _show_sizes(report)
    _show_joints(report)
    _show_paths(report)
    _show_notes(report)
    print(f"\nwrote {files.robot}\nwrote {files.xml}" + (f"\nwrote {files.assets}/" if files.assets.exists() else ""))
    print("\nTry next")
    for step in next_steps(files):
        print(f"  {step}")


def _kind(report: ImportReport) -> str:
    names = report.robot
    if names.feet:
        return f"{len(names.feet)} legs ({', '.join(names.feet)}) under '{names.base}'"
    if names.tool is not None:
        return f"an arm with the tool '{names.tool}'"
    return f"a robot that floats, base '{names.base}'" if names.base else "a robot that is bolted down"


def _show_sizes(report: ImportReport) -> None:
    from dataclasses import asdict

    from paddock.terminal import plain_table, screen

    table = plain_table()
    read, written = asdict(report.read), asdict(report.written)
    table.add_column("")
    for name in read:
        table.add_column(name, justify="right")
    for title, size in (("read", read), ("written", written)):
        table.add_row(title, *(f"{value:.4g}" for value in size.values()))
    screen().print(table)


def _show_joints(report: ImportReport) -> None:
    from rich.markup import escape

    from paddock.terminal import plain_table, screen

    table = plain_table()
    table.add_column("\nmoves")
    table.add_column("\nby")
    for title in ("range", "force", "home", "stiffness", "damping"):
        table.add_column(f"\n{title}", justify="right")
    for joint in report.joints:
        ends = "none" if joint.low is None or joint.high is None else f"{joint.low:.3g} to {joint.high:.3g}"
        numbers = (joint.force, joint.home, joint.stiffness, joint.damping)
        table.add_row(
            escape(joint.name), f"{joint.drive} on {joint.kind}", ends, *("none" if n is None else f"{n:.3g}" for n in numbers)
        )
    for mimic in report.mimics:
        table.add_row(
            escape(mimic.joint), f"follows {escape(mimic.leader)}", f"{mimic.multiplier:g} x {mimic.offset:+g}", *[""] * 4
        )
    screen().print(table)


def _show_paths(report: ImportReport) -> None:
    missing = [path for path in report.paths if not path.found]
    found = len(report.paths) - len(missing)
    if report.paths:
        size = sum(path.bytes for path in report.paths) / 2**20
        print(f"\nFiles: {found} found ({size:.1f} MB), {len(missing)} missing")
    for path in missing[:MOST_PATHS]:
        print(f"  missing  {path.asked}")


def _show_notes(report: ImportReport) -> None:
    from rich.markup import escape

    from paddock.terminal import screen

    for kind, title in TITLES.items():
        notes = [note for note in report.notes if note.kind == kind]
        if notes:
            screen().print(f"\n[bold]{title}[/]")
        reasons = dict.fromkeys(note.why for note in notes)
        for why in reasons:
            said = _listed([note.what for note in notes if note.why == why])
            screen().print(f"  {escape(said)}: [dim]{escape(why)}[/]", soft_wrap=True)


def _listed(items: list[str]) -> str:
    """Some of what one reason is given for."""
    return "; ".join(items[:MOST_NOTES]) + (f"; and {len(items) - MOST_NOTES} more" if len(items) > MOST_NOTES else "")
