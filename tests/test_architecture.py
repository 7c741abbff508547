"""The shape of the code: boxes and arrows, no cycles, no names that say nothing."""

import ast
from importlib import import_module
from pathlib import Path

import paddock
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task

ROOT = Path(paddock.__file__).parent
LEAVES = {"errors", "randomness", "messages", "anatomy", "worlds", "contracts", "policies", "gl_choice", "cores", "user_files"}
BOXES = {"robots", "tasks", "sims", "learn", "data", "runs", "cockpit", "deploy"}
MAY_IMPORT = {"tasks": {"robots"}, "cockpit": {"runs"}}
LEAF_ORDER = ("errors", "user_files", "randomness", "messages", "anatomy", "worlds", "contracts", "policies")


def imports(file: Path) -> set[str]:
    """First component below `paddock` of everything a file imports, lazily or not."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{file} imports by dots, which this test cannot follow"
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "paddock":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name.split(".")[1] for name in node.names if name.name.startswith("paddock.")}
    return found


def violations(root: Path) -> list[str]:
    wrong: list[str] = []
    for file in sorted(root.rglob("*.py")):
        own = file.relative_to(root).parts[0].removesuffix(".py")
        used = imports(file) - {own}
        if own in BOXES:
            allowed = LEAVES | MAY_IMPORT.get(own, set())
        elif own in LEAVES:
            allowed = set(LEAF_ORDER[: LEAF_ORDER.index(own)]) if own in LEAF_ORDER else set()
        elif own in ("cli", "__init__", "__main__"):
            continue
        else:
            allowed = used - {"cli"}
        wrong += [f"{file.relative_to(root)} imports {name}" for name in sorted(used - allowed)]
    return wrong


def test_boxes_import_only_what_lies_below_them() -> None:
    assert violations(ROOT) == []


def test_a_planted_violation_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sims").mkdir()
    (tmp_path / "sims" / "cpu.py").write_text("def f():\n    from paddock.tasks.task import Task\n")
    (tmp_path / "contracts.py").write_text("import paddock.env\n")
    assert violations(tmp_path) == ["contracts.py imports env", "sims/cpu.py imports tasks"]


def test_no_file_outgrows_one_concept() -> None:
    lengths = {file.name: len(file.read_text().splitlines()) for file in ROOT.rglob("*.py")}
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_no_name_says_nothing() -> None:
    empty = {"utils", "util", "common", "helpers", "helper", "base", "manager"}
    assert [str(path) for path in ROOT.rglob("*") if path.stem in empty] == []


def test_every_public_name_resolves() -> None:
    for name in paddock.__all__:
        assert getattr(paddock, name) is not None


def test_every_task_follows_the_naming_rule() -> None:
    for name in TASK_NAMES:
        assert find_task(name).name == name


def test_every_module_says_what_it_is() -> None:
    for file in ROOT.rglob("*.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), f"{file} has no docstring"


MODULES = (
    *("actions", "conditions", "memories", "pushes", "randomize_bodies", "randomize_contacts", "randomize_joints"),
    *("randomize_looks", "randomize_motors", "resets", "rewards", "sensing", "scenes"),
)
"""In which the vocabulary of tasks is written."""


def test_the_vocabulary_is_complete() -> None:
    """Every public term of a task's building blocks can be reached through `paddock.terms`."""
    terms = import_module("paddock.tasks.terms")
    for module in MODULES:
        tree = ast.parse((ROOT / "tasks" / f"{module}.py").read_text())
        defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        internal = {"own", "heading", "turned", "History", "servos", "is_servo"}
        missing = [name for name in defined if not name.startswith("_") and name not in internal and not hasattr(terms, name)]
        assert missing == []
