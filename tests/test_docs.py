"""What the documents show is run, word for word."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from report import pages

import paddock
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.inspecting import written
from paddock.tasks.noise import PRESETS

ROOT = Path(__file__).parent.parent

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, file name and text of every code block."""
    return BLOCK.findall((ROOT / page).read_text())


def followed(page: str, folder: Path, said: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Do in the folder it is in what a page says, in its order; every command speaks of `said`. Returns what its Python prints."""
    script = []
    for language, file, text in blocks(page):
        if file:
            (folder / file).write_text(text)
        elif language == "console":
            for line in text.splitlines():
                assert main(shlex.split(line)[1:]) == 0
                assert said in capsys.readouterr().out
        elif language == "python":
            script.append(text)
    (folder / "page.py").write_text("\n".join(script))
    runpy.run_path(str(folder / "page.py"))
    return capsys.readouterr().out


def test_your_first_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    printed = followed("docs/your_first_task.md", tmp_path, "park", capsys)
    assert "['act', 'begin', 'done', 'observe', 'reset', 'reward', 'update']" in printed


def test_your_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    printed = followed("docs/your_robot.md", tmp_path, "crane", capsys)
    assert printed.startswith("('yaw', 'shoulder', 'elbow') tool\ntorch.Size([16, ")


def test_noise_and_terrain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    printed = followed("docs/noise_and_terrain.md", tmp_path, "harder", capsys)
    assert printed.strip() == "tensor([0.])"
    assert (tmp_path / "senses.png").stat().st_size > 10_000


def test_the_noise_presets_in_the_documents_are_those_of_the_code() -> None:
    page = (ROOT / "docs/noise_and_terrain.md").read_text()
    table = page.split("<!-- presets -->\n")[1].split("<!-- /presets -->")[0]
    rows = [f"| `{name.upper()}` | `{written(noise)}` |\n" for name, noise in PRESETS.items()]
    assert table == "".join(["| preset | model |\n", "|---|---|\n", *rows])


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    first, own_task = (text for language, _, text in blocks("README.md") if language == "python")
    (tmp_path / "first.py").write_text(first.replace("minutes=0.2", "minutes=0.02"))  # it is the same, only sooner
    (tmp_path / "my_lean.py").write_text(own_task)
    runpy.run_path("first.py")
    assert capsys.readouterr().out.startswith("torch.Size([256, 45])")
    assert main(["play", str(tmp_path / "my_lean.py"), "--agent", "zero", "--episodes", "2", "--view", "off"]) == 0


def test_sensors_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert followed("docs/sensors.md", tmp_path, "", capsys) == "torch.Size([4, 76]) torch.Size([4, 16])\n"


def test_links_in_the_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_figures_in_the_documents_are_those_measured() -> None:
    for page, text in pages().items():
        assert page.read_text() == text, f"run bench/report.py: {page.name} is not what it would write"


def test_the_error_shown_is_the_one_a_user_reads(tmp_path: Path) -> None:
    (task_file,) = (text for _, file, text in blocks("docs/your_first_task.md") if file)
    file = tmp_path / "park.py"
    file.write_text(task_file.replace('cart = state.sensor("joint_pos")', 'cart = state.sensor("joint_poss")'))
    with pytest.raises(PaddockError) as caught:
        paddock.make(str(file))
    shown = (ROOT / "docs/your_first_task.md").read_text()
    assert str(caught.value).split(" Known:")[0] in shown
