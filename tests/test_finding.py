"""Tasks from files, from installed packages and from the table."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

import paddock
from paddock.errors import PaddockError, UnknownName
from paddock.tasks.finding import find_task

LEAN = """
from paddock import Task, terms as t
from paddock.robots import QUADRUPED

LEAN = Task(name="lean", robot=QUADRUPED, control_dt=0.02, episode_s=10,
    act=t.JointPosition(scale=0.3), observe=t.proprioception(QUADRUPED),
    reward={"lean": (1.0, t.Roll(target_deg=20))}, done={"fell": t.Fell()}, reset=t.NearHome())
"""


def test_a_task_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my_lean.py"
    file.write_text(LEAN)
    env = paddock.make(str(file), num_worlds=2)
    env.reset()
    assert env.step(env.sample()).terms.keys() == {"lean"}
    assert find_task(f"{file}:LEAN").name == "lean"


def test_a_file_with_several_tasks_asks_which(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(LEAN + "\nfrom dataclasses import replace\nSTEEP = replace(LEAN, name='steep')\n")
    with pytest.raises(PaddockError, match=r"has 2 tasks \(LEAN, STEEP\). Pick one"):
        find_task(str(file))
    assert find_task(f"{file}:STEEP").name == "steep"
    with pytest.raises(UnknownName, match="'STEP'. Did you mean 'STEEP'"):
        find_task(f"{file}:STEP")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "no Task at its top level"),
        ("import not_there\n", "odd.py, line 1, cannot be imported: ModuleNotFoundError: No module named 'not_there'"),
        ("def (\n", "cannot be imported: SyntaxError"),
        ("from paddock import Task\nTask(nam='x')\n", "odd.py, line 2, cannot be imported: TypeError"),
        ("raise ValueError('mine')\n", "line 1, cannot be imported: ValueError: mine"),
    ],
)
def test_a_file_that_is_no_task_says_why(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "odd.py"
    file.write_text(text)
    with pytest.raises(PaddockError, match=message):
        find_task(str(file))


def test_a_missing_file_is_said() -> None:
    with pytest.raises(PaddockError, match="no task file nowhere.py"):
        find_task("nowhere.py")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real installed distribution, as far as Python can tell: a module and its metadata on the path."""
    (tmp_path / "their_tasks.py").write_text(LEAN + "\nNOT_A_TASK = 3\n")
    info = tmp_path / "their_tasks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-tasks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[paddock.tasks]\ntheir-lean = their_tasks:LEAN\ntheir-odd = their_tasks:NOT_A_TASK\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("package")
def test_a_task_of_an_installed_package() -> None:
    assert "their-lean" in entry_points(group="paddock.tasks").names
    assert find_task("their-lean").name == "lean"
    with pytest.raises(PaddockError, match="'their-odd' is a int, not a paddock.Task"):
        find_task("their-odd")
    with pytest.raises(UnknownName, match="Did you mean 'their-lean'"):
        find_task("their-leen")
