"""The command line: what it says, what it refuses, what it imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.cli import COMMANDS, main
from paddock.doctor import package_checks, within
from paddock.errors import PaddockError
from paddock.inspecting import task_card
from paddock.messages import TaskCard, TermRow, from_json, to_json
from paddock.tasks import TASK_NAMES

WITH_BIN = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
LEVER = """<mujoco model="lever">
  <worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
  <actuator><motor name="hinge" joint="hinge" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos name="joint_pos/hinge" joint="hinge"/></sensor>
</mujoco>"""
TASK = """
from pathlib import Path
from paddock import Robot, Task, terms as t
ROBOT = Robot(name="lever", xml=Path(__file__).with_name("lever.xml"), joints=("hinge",))
LEVER = Task(
    name="lever", robot=ROBOT, control_dt=0.02, episode_s=1.0, act=t.JointTorque(), observe={"q": t.joint_pos},
    reward={"alive": (1.0, t.alive)}, done={}, reset=t.NearHome(),
)
"""


def lever_task(folder: Path, xml: str) -> str:
    (folder / "lever.xml").write_text(xml)
    (folder / "lever_task.py").write_text(TASK)
    return str(folder / "lever_task.py")


def refusal(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says on stderr when it refuses: one screen, no traceback, exit code 2."""
    assert main(argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert len(said.err.splitlines()) < 24
    return said.err


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = "import sys; from paddock.cli import main; main(['--help']); print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")] == list(COMMANDS)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert "paddock" in loaded
    assert not loaded & {"torch", "mujoco", "numpy", "rich", "tyro", "PIL", "imageio", "gymnasium"}


def test_the_installed_script_answers() -> None:
    done = subprocess.run([str(Path(sys.executable).with_name("paddock")), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("paddock ")


def test_list_names_every_task_without_torch_or_mujoco() -> None:
    code = "import sys; from paddock.cli import main; main(['list', '--json']); assert not {'torch', 'mujoco'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tasks = json.loads(done.stdout)
    assert list(tasks)[: len(TASK_NAMES)] == list(TASK_NAMES)
    assert all(tasks.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert f"usage: paddock {name}" in said
    assert f"    paddock {name}" in said.split("Examples:")[1]


def test_unknown_names_suggest_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean 'inspect'?" in refusal(["inpsect"], capsys)
    assert "Did you mean 'quadruped-walk'?" in refusal(["inspect", "quadruped-wlak"], capsys)
    assert "Did you mean 'scripted'?" in refusal(["play", "cartpole-balance", "--agent", "scriptd"], capsys)
    assert "Agents: zero, random." in refusal(["play", "gym-ant", "--agent", "scripted", "--episodes", "1"], capsys)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (LEVER.replace('<geom size="0.1"/>', '<geom type="mesh" mesh="m"/>').replace(
            "<worldbody>", '<asset><mesh name="m" file="nowhere.stl"/></asset><worldbody>'), "nowhere.stl"),
        (LEVER.replace('name="arm"', 'name="arm" pos="0 nan 0"'), "arm"),
        (LEVER.replace('joint="hinge" ctrlrange', 'joint="hingee" ctrlrange'), "hingee"),
        (LEVER.replace("</worldbody>", ""), "lever.xml"),
    ],
    ids=["missing mesh", "NaN", "bad joint name", "not XML"],
)  # fmt: skip
def test_a_broken_model_is_one_screen(
    broken: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert broken != LEVER
    assert said in refusal(["inspect", lever_task(tmp_path, broken)], capsys)
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


def test_inspect_shows_a_users_own_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", lever_task(tmp_path, LEVER)]) == 0
    said = capsys.readouterr().out
    for part in ("lever", "50 Hz", "10 physics steps of 2 ms", "joint_pos/hinge", "JointTorque()", "-1 .. 1", "alive"):
        assert part in said


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_card_survives_json_and_adds_up(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", name, "--json"]) == 0
    card = from_json(TaskCard, capsys.readouterr().out)
    assert card == task_card(name)
    assert len(card.actions) == card.nu
    for group in card.observations:
        assert sum((row.shape or (1,))[0] for row in group.terms) == group.size
    assert card.substeps * card.timestep == pytest.approx(card.control_dt)


def test_actions_show_what_the_ends_do() -> None:
    rows = {row.name: row for row in task_card("quadruped-walk").actions}
    knee = rows["fl_knee"]
    assert (knee.kind, knee.unit, knee.low, knee.high, knee.force_limit) == ("position", "rad", -2.7, -0.6, 36.0)
    assert (knee.at_minus_one, knee.at_plus_one) == (-2.1, -1.1)
    cart = task_card("cartpole-balance").actions[0]
    assert (cart.kind, cart.unit, cart.at_minus_one, cart.at_plus_one) == ("force", "N", -10.0, 10.0)


def test_messages_are_read_strictly() -> None:
    row = TermRow(name="track", term="Near(error, 0.3)", what="", shape=(2, 3), weight=None)
    text = to_json(row)
    assert from_json(TermRow, text) == row
    whole = json.loads(text)
    for wrong in (
        {**whole, "extra": 1},
        {name: value for name, value in whole.items() if name != "what"},
        {**whole, "name": 4},
        {**whole, "shape": [2, "3"]},
        {**whole, "shape": [True]},
        {**whole, "weight": "none"},
        [],
    ):
        with pytest.raises(PaddockError, match="TermRow"):
            from_json(TermRow, json.dumps(wrong))
    with pytest.raises(PaddockError, match="TermRow"):
        from_json(TermRow, text[:-1])


def test_doctor_reads_version_limits() -> None:
    assert within("3.17.2", "==3.17.*") and not within("3.18.0", "==3.17.*")
    assert within("2.13.0+cpu", "<2.14,>=2.11") and not within("2.14.0", "<2.14,>=2.11") and not within("2.9", ">=2.11")
    assert within("14", ">=14.0") and within("1.0.16", "")
    lines = ["mujoco==3.17.*", "imageio[ffmpeg]>=2.36", "no-such-package>=1; extra == 'export'", "pytest>=8; extra == 'dev'"]
    found = {check.what: check for check in package_checks([*lines, "numpy<1"])}
    assert found["mujoco"].status == found["imageio"].status == "ok"
    assert found["no-such-package (export)"].status == "optional"
    assert found["no-such-package (export)"].fix == "pip install 'paddock[export]'"
    assert found["numpy"].status == "missing" and "outside <1" in found["numpy"].found
    assert not any(what.startswith("pytest") for what in found)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a choice of OpenGL")
def test_a_chosen_gl_is_kept() -> None:
    code = "import os, paddock; print(os.environ.get('MUJOCO_GL'))"
    chosen = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "MUJOCO_GL": "disabled"}, capture_output=True, text=True, check=True
    )
    assert chosen.stdout.strip() == "disabled"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--render", "film.avi"], "Known endings: .mp4, .gif"),
        (["--render", "/proc/film.mp4"], "cannot be written"),
        (["--render", "film.mp4", "--seconds", "-3"], "has no frames"),
    ],
)
def test_a_film_that_cannot_be_is_refused_before_anything_is_played(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", "cartpole-balance", *flags]) == 2
    shown = capsys.readouterr()
    assert message in shown.err and "success" not in shown.out


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "mujoco" in shown and "pictures" in shown and "Everything that is required is here." in shown


def test_a_reader_that_leaves_early_is_no_error() -> None:
    done = subprocess.run("paddock inspect cartpole-balance | head -n 1", shell=True, capture_output=True, text=True, env=WITH_BIN)
    assert done.stderr == ""
