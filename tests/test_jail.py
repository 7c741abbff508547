"""The jail: hostile models are refused in time and with a reason, and nothing outside their folder is read."""

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mutated_models import ARM, CANARY, LEGS, Case, asks_for_trouble, attempt, holds_canary, prepare, run

from paddock.errors import BrokenModel, PaddockError, UnsafeFile
from paddock.robots.import_model import ImportRequest
from paddock.robots.model_jail import Answer, Jail, Limits
from paddock.robots.model_scan import number_of, parse, scan
from paddock.robots.stl import stl_of


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    with Jail(Limits(wall_s=10.0, cpu_s=10)) as jail:
        yield jail


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepare(tmp_path)


def ask(jail: Jail, folder: Path, text: str, suffix: str = ".xml") -> Answer:
    return attempt(Case(number=0, mutation="", suffix=suffix, text=text), folder, jail)


def test_what_the_mutants_are_made_of_is_sound(jail: Jail, folder: Path) -> None:
    for text, suffix in ((ARM, ".xml"), (LEGS, ".urdf")):
        assert ask(jail, folder, text, suffix).outcome == "imported"


REFUSED = {
    "nan": (ARM.replace('pos="0.3 0 0"', 'pos="nan 0 0"', 1), 'pos="nan 0 0"'),
    "infinity in hexadecimal": (ARM.replace('kp="20"', 'kp="0x1p2000"'), 'kp="0x1p2000"'),
    "endless coordinate": (ARM.replace('pos="0.2 0 0.05"', 'pos="2147483648 0 0"'), "2147483648"),
    "replicate": (ARM.replace("<worldbody>", '<worldbody><replicate count="1000000"><geom size=".1"/></replicate>'), "unrolls"),
    "composite": (ARM.replace("<worldbody>", '<worldbody><composite type="grid" count="900 900 1"/>'), "unrolls"),
    "memory": (ARM.replace('memory="1M"', 'memory="900G"'), "memory"),
    "user data": (ARM.replace('memory="1M"', 'nuser_geom="2000000000"'), "nuser_geom"),
    "texture": (ARM.replace('width="64"', 'width="100000"'), "width"),
    "plugin": (ARM.replace("<option", '<extension><plugin plugin="mujoco.pid"/></extension><option'), "<extension>"),
    "entity": ('<!DOCTYPE x [<!ENTITY a "aa">]>' + ARM, "entity"),
    "nesting": ("<mujoco>" + "<body>" * 5000 + "</body>" * 5000 + "</mujoco>", "nests"),
    "absolute path": (ARM.replace('"tip.stl"', '"/etc/passwd"'), "absolute"),
    "parent path": (ARM.replace('"tip.stl"', '"../../canary.stl"'), "outside"),
    "parent folder": (ARM.replace('meshdir="meshes"', 'meshdir=".."').replace('"tip.stl"', '"canary.stl"'), "outside"),
    "link": (ARM.replace('"tip.stl"', '"link.stl"'), "outside"),
    "include": (ARM.replace("<worldbody>", '<include file="../canary.stl"/><worldbody>'), "outside"),
    "attached model": (ARM.replace("<asset>", '<asset><model name="x" file="/etc/passwd"/>'), "absolute"),
    "file of an odd kind": (ARM.replace('"tip.stl"', '"tip.txt"'), ".stl"),
    "file where none belongs": (ARM.replace('<key name="home"', '<key name="home" file="x.stl"'), "unheard of"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_hostile_model_is_refused_with_a_reason(jail: Jail, folder: Path, what: str) -> None:
    text, reason = REFUSED[what]
    assert text != ARM
    answer = ask(jail, folder, text)
    assert (answer.outcome, answer.error) == ("refused", "UnsafeFile")
    assert reason in answer.detail and answer.seconds < 5
    with pytest.raises(UnsafeFile):
        answer.robot("arm.xml")


def test_a_mass_that_is_no_number(jail: Jail, folder: Path) -> None:
    answer = ask(jail, folder, LEGS.replace('<mass value="4"/>', '<mass value="nan"/>'), ".urdf")
    assert answer.outcome == "refused" and answer.detail


@pytest.mark.parametrize("lure", ["package://tmp/canary.stl", "package://home/x.stl", "package://models/../../canary.stl"])
def test_a_package_is_no_way_out(jail: Jail, folder: Path, lure: str) -> None:
    answer = ask(jail, folder, LEGS.replace("meshes/tip.stl", lure), ".urdf")
    assert not holds_canary(answer)
    assert answer.outcome == "refused" or (answer.imported is not None and not answer.imported.assets)


def test_the_canary_would_be_seen(jail: Jail, folder: Path) -> None:
    """Given the right to read it, an import does hold what lies outside: the other tests can fail."""
    file = folder / "arm.xml"
    file.write_text(ARM.replace('meshdir="meshes"', 'meshdir=".."').replace('"tip.stl"', '"canary.stl"'))
    allowed = ImportRequest(file=str(file), name="arm", assets="arm_assets", package_dirs=[str(folder.parent)])
    answer = jail.ask(allowed)
    assert answer.outcome == "imported" and holds_canary(answer)
    assert answer.imported is not None and str(CANARY) not in answer.imported.xml


def test_an_engine_that_takes_too_long_is_ended(folder: Path) -> None:
    points = np.random.default_rng(0).normal(size=(60_000, 3, 3))
    (folder / "meshes" / "tip.stl").write_bytes(stl_of(points / np.linalg.norm(points, axis=2, keepdims=True)))
    for limits, said in ((Limits(wall_s=1.0, cpu_s=10), "1.0 s"), (Limits(wall_s=30.0, cpu_s=1), "processor")):
        with Jail(limits) as jail:
            answer = ask(jail, folder, ARM)
            assert answer.outcome == "timeout" and said in answer.detail
            with pytest.raises(UnsafeFile, match="given up"):
                answer.robot("arm.xml")
            assert (
                ask(jail, folder, LEGS.replace("meshes/tip.stl", "none.stl"), ".urdf").outcome == "imported"
            )  # the warden goes on


def test_a_slow_start_is_not_the_files_fault(folder: Path) -> None:
    """The clock of one import begins when the process that does it is ready, which on a busy machine takes a while."""
    with Jail(Limits(wall_s=10.0, cpu_s=10)) as jail:
        began = time.monotonic()
        answer = ask(jail, folder, ARM)
        assert answer.outcome == "imported" and answer.seconds < 0.7 * (time.monotonic() - began)


def test_memory_is_limited(folder: Path) -> None:
    with Jail(Limits(memory=2**20)) as jail, pytest.raises(UnsafeFile, match="given up"):
        ask(jail, folder, ARM).robot("arm.xml")


SEALED = """
import sys, mujoco
from paddock.robots.jail_server import _limit, _seal
mujoco.MjModel.from_xml_string("<mujoco/>")
_limit(cpu_s=10, memory=2**30)
if sys.argv[2] == "sealed":
    _seal()
try:
    mujoco.MjModel.from_xml_string(f'<mujoco><asset><mesh name="m" file="{sys.argv[1]}"/></asset></mujoco>')
    print("read")
except ValueError:
    print("refused")
"""


@pytest.mark.parametrize(("how", "what"), [("sealed", "refused"), ("open", "read")])
def test_a_sealed_process_opens_nothing(tmp_path: Path, how: str, what: str) -> None:
    """The last line of defence alone: the engine itself is asked for a file that exists."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    mesh = tmp_path / "mesh.stl"
    mesh.write_bytes(stl_of(corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]))
    done = subprocess.run([sys.executable, "-c", SEALED, str(mesh), how], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == what


def test_a_broken_model_is_said_in_the_engines_words(jail: Jail, folder: Path) -> None:
    with pytest.raises(BrokenModel, match="repeated name"):
        ask(jail, folder, ARM.replace('body name="lower"', 'body name="upper"')).robot("arm.xml")
    with pytest.raises(PaddockError, match="no model file"):
        jail.ask(ImportRequest(file=str(folder / "none.xml"), name="x", assets="x")).robot("none.xml")


def test_numbers_as_the_engine_reads_them() -> None:
    assert number_of("0x10") == 16 and number_of("1e3") == 1000 and number_of("left") is None
    for word in ("nan", "-inf", "NaN(7)", "INFINITY", "1e999", "0x1p5000"):
        number = number_of(word)
        assert number is not None and not math.isfinite(number)


def test_a_link_may_be_called_inf() -> None:
    scan(parse(b'<mujoco><body name="inf" pos="0 0 1e5"/><geom size="1 2 3"/></mujoco>', "x"), "x")
    with pytest.raises(UnsafeFile, match="not finite"):
        scan(parse(b'<mujoco><body pos="0 0 inf"/></mujoco>', "x"), "x")


def test_a_hundred_mutants() -> None:
    tally = run(count=105, seed=2, jails=2, wall_s=4.0)
    assert sum(tally.outcomes.values()) == 105
    assert tally.reached_outside == 0 and tally.wrongly_imported == 0
    assert set(tally.outcomes) <= {"imported", "refused", "timeout"} and tally.outcomes.get("timeout", 0) <= 3
    assert tally.outcomes["imported"] > 10 and tally.slowest_s < 6


def test_trouble_is_told_from_none() -> None:
    assert asks_for_trouble(Case(number=0, mutation="", suffix=".xml", text='<!ENTITY a "b">'))
    assert not asks_for_trouble(Case(number=0, mutation="", suffix=".xml", text=ARM))
