"""Where a run's task came from: copied, hashed, and never imported once it has changed."""

import sys
from dataclasses import replace
from hashlib import sha256
from importlib import invalidate_caches
from pathlib import Path

import pytest

import paddock
from paddock.configuring import TrainConfig
from paddock.errors import PaddockError
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.folder import RunFolder
from paddock.sources import source_of, task_of
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task
from paddock.trained import find

SMALL = TrainConfig(
    steps=64,
    num_worlds=8,
    num_threads=1,
    evaluate_episodes=2,
    ppo=PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,)),
)
TASK = """
from paddock import Task, terms as t
from paddock.robots import CARTPOLE
from {neighbour} import WEIGHT

LEAN = Task(name="lean", robot=CARTPOLE, control_dt=0.02, episode_s=1.0, act=t.JointTorque(), observe={{"q": t.joint_pos}},
    reward={{"alive": (WEIGHT, t.alive)}}, done={{}}, reset=t.NearHome())
"""

LEVER = """<mujoco model="lever">
  <worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
  <actuator><motor name="hinge" joint="hinge" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos name="joint_pos/hinge" joint="hinge"/></sensor>
</mujoco>"""
LEVER_TASK = """
from pathlib import Path
from paddock import Robot, Task, terms as t

ROBOT = Robot(name="lever", xml=Path(__file__).with_name("lever.xml"), joints=("hinge",))
LEVER = Task(name="lever", robot=ROBOT, control_dt=0.02, episode_s=1.0, act=t.JointTorque(), observe={"q": t.joint_pos},
    reward={"alive": (1.0, t.alive)}, done={}, reset=t.NearHome())
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder: a task and a module beside it, whose name no other test has."""
    neighbour = f"weights_{tmp_path.name}"
    (tmp_path / f"{neighbour}.py").write_text("WEIGHT = 2.5\n")
    (tmp_path / "my_task.py").write_text(TASK.format(neighbour=neighbour))
    monkeypatch.chdir(tmp_path)
    invalidate_caches()
    return tmp_path


@pytest.mark.parametrize("typed", ["my_task.py", "my_task.py:LEAN", "./my_task.py", "absolute"])
def test_a_task_file_is_copied_and_hashed(typed: str, project: Path) -> None:
    typed = str(project / "my_task.py") if typed == "absolute" else typed
    source, content = source_of(typed)
    assert content == (project / "my_task.py").read_bytes()
    assert source.sha256 == sha256(content or b"").hexdigest()
    assert (source.typed, source.constant, Path(source.folder)) == (typed, "LEAN", project)


def test_a_run_keeps_its_task_whatever_becomes_of_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = (project / "my_task.py").read_bytes()
    run = paddock.train("my_task.py", config=SMALL, runs_dir="runs")
    assert (run.path / "task.py").read_bytes() == original
    (project / "my_task.py").write_text("raise SystemExit('the file has moved on')\n")
    for name in [name for name in sys.modules if name.startswith(("weights_", "paddock_file_"))]:
        monkeypatch.delitem(sys.modules, name)
    again = find("latest", runs_dir=project / "runs")
    assert again.task.name == "lean" and again.task.reward["alive"][0] == 2.5  # by the neighbour, found from the copy
    assert again.load().task is again.task
    assert str(project) not in sys.path


def test_a_run_finds_the_model_beside_its_task(tmp_path: Path) -> None:
    (tmp_path / "lever.xml").write_text(LEVER)
    (tmp_path / "lever.py").write_text(LEVER_TASK)
    run = paddock.train(tmp_path / "lever.py", config=SMALL, runs_dir=tmp_path / "runs")
    assert find(run.path).evaluate(episodes=2).task == "lever"


def test_a_changed_copy_is_refused(project: Path) -> None:
    run = paddock.train("my_task.py", config=SMALL, runs_dir="runs")
    copy, before = run.path / "task.py", (run.path / "task.py").read_bytes()
    copy.write_bytes(before + b"\nraise SystemExit('imported')\n")
    for use in (task_of, lambda folder: find(folder.path).load()):
        with pytest.raises(PaddockError, match=r"task.py has changed since the run began: its hash is \w{12}, run.json says"):
            use(run.folder)
    with pytest.raises(PaddockError, match="has changed since the run began"):
        find(run.path).resume(steps=64)
    copy.write_bytes(before)
    assert task_of(run.folder).name == "lean"
    copy.unlink()
    with pytest.raises(PaddockError, match="task.py is gone"):
        task_of(run.folder)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_built_in_task_is_found_in_its_file(name: str) -> None:
    source, content = source_of(name)
    assert content is not None and f"\n{source.constant} = ".encode() in content
    assert source.sha256 == sha256(content).hexdigest()
    assert (source.typed, Path(source.folder)) == (name, Path(paddock.__file__).parent / "tasks")


def test_a_built_in_task_comes_back_from_the_copy(tmp_path: Path) -> None:
    run = paddock.train("cartpole-balance", config=SMALL, runs_dir=tmp_path)
    again = task_of(run.folder)
    assert again == find_task("cartpole-balance") and again is not find_task("cartpole-balance")


def test_an_installed_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_package.py").write_text(TASK.replace("from {neighbour} import WEIGHT", "WEIGHT = 3.0").format())
    info = tmp_path / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[paddock.tasks]\ntheir-lean = their_package:LEAN\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    source, content = source_of("their-lean")
    assert content == (tmp_path / "their_package.py").read_bytes()
    assert (source.typed, source.constant, source.folder) == ("their-lean", "LEAN", str(tmp_path))


def test_what_is_no_task_is_said(project: Path) -> None:
    with pytest.raises(PaddockError, match="unknown task 'cartpole-balence'. Did you mean 'cartpole-balance'?"):
        source_of("cartpole-balence")
    with pytest.raises(PaddockError, match="no task file nowhere.py"):
        source_of("nowhere.py")


def test_a_task_made_on_the_spot_trains_and_cannot_be_found_again(tmp_path: Path) -> None:
    task = replace(find_task("cartpole-balance"), name="made-here")
    run = paddock.train(task, config=SMALL, runs_dir=tmp_path)
    assert run.status == "finished" and run.card.setup.source.sha256 == "" and not (run.path / "task.py").exists()
    assert run.task is task and run.evaluate(episodes=2).task == "made-here"  # whoever made it still has it
    message = "was made on the spot and has no file, so it cannot be found again. Write tasks that you want to keep into a file"
    with pytest.raises(PaddockError, match=message):
        task_of(RunFolder(run.path))
    with pytest.raises(PaddockError, match=message):
        find(run.path).load()
