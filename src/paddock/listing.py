"""The names a user can type, with a line each, found without importing what they name."""

import ast
from importlib.metadata import entry_points
from pathlib import Path

import paddock.tasks
from paddock.tasks import ENTRY_POINTS, FAMILY_NAMES, TASK_NAMES


def known_tasks() -> dict[str, str]:
    """Tasks of the table, of any robot and of installed packages, each with its file's first line of documentation."""
    folder = Path(paddock.tasks.__file__).parent
    own = {name: _first_line(folder / f"{name.replace('-', '_')}.py") for name in TASK_NAMES}
    families = {f"{name}@ROBOT": _first_line(folder / f"{name}.py") for name in FAMILY_NAMES}
    installed = {entry.name: f"installed, from {entry.value}" for entry in entry_points(group=ENTRY_POINTS)}
    return own | families | dict(sorted(installed.items()))


def _first_line(source: Path) -> str:
    doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
    return (doc or "").split("\n")[0]
