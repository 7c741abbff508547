"""All runs of a folder: listed, packed without losing a byte, brought back, thrown away with a way back."""

import io
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import paddock
from brief_tasks import BRIEF_CARTPOLE
from paddock.cli import main
from paddock.configuring import TrainConfig
from paddock.errors import PaddockError, UnknownName
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.folder import RunFolder, find_run, now, status_of
from paddock.runs.logbook import Logbook
from paddock.runs.shelf import Shelf
from paddock.runs.sockets import address_of

A, B = "20261101-120000-cartpole-balance-s0-aaaa", "20261102-120000-cartpole-balance-s1-bbbb"
LONG_AGO = "2020-01-01T00:00:00.000+00:00"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=128, num_worlds=8, num_threads=1, evaluate_episodes=2, ppo=ppo)
    return paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=tmp_path_factory.mktemp("runs")).path


@pytest.fixture
def root(trained: Path, tmp_path: Path) -> Path:
    """A folder with two runs."""
    for name in (A, B):
        shutil.copytree(trained, tmp_path / "runs" / name)
    return tmp_path / "runs"


def hashes(folder: Path) -> dict[str, str]:
    """Every file by name, with its hash, every link with its target, every folder."""
    found: dict[str, str] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = sha256(path.read_bytes()).hexdigest()
        elif path.is_dir():
            found[name] = "a folder"
    return found


def rewrite(run: Path, **progress: object) -> None:
    """Change what run.json says about how far the run has come."""
    folder = RunFolder(run)
    card = folder.card()
    folder.write(replace(card, progress=replace(card.progress, **progress)))  # pyright: ignore[reportArgumentType]


def dead_process() -> int:
    """The number of a process that was."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def listed(root: Path) -> dict[str, tuple[str, str]]:
    return {run.id: (run.place, run.status.split(":")[0]) for run in Shelf(root).runs()}


def test_an_archived_run_comes_back_to_the_last_byte(root: Path) -> None:
    run = root / A
    (run / "notes").mkdir()
    (run / "notes" / "empty").touch()
    (run / "no files").mkdir()
    (run / ".hidden").write_bytes(os.urandom(100_000))
    (run / "latest-notes").symlink_to("notes")
    os.link(run / "log.txt", run / "same-log.txt")
    with socket.socket(socket.AF_UNIX) as left_by_a_crash, address_of(run / "live.sock") as address:
        left_by_a_crash.bind(address)
    before, other = hashes(run), hashes(root / B)
    assert len(before) > 15 and before["latest-notes"] == "-> notes"

    packed = Shelf(root).archive(A)
    assert packed == root / "archive" / f"{A}.tar.gz" and not run.exists()
    assert listed(root) == {B: ("here", "finished"), A: ("archive", "finished")}
    assert Shelf(root).restore("aaaa") == run
    assert hashes(run) == before and hashes(root / B) == other
    assert not packed.exists() and find_run("aaaa", root).card().progress.status == "finished"
    assert [path.name for path in root.iterdir() if path.name.startswith(".")] == []


def test_a_list_reads_the_card_of_an_archive_and_nothing_behind_it(root: Path) -> None:
    packed = Shelf(root).archive(A)
    with tarfile.open(packed) as file:
        assert file.getnames()[0] == f"{A}/run.json"
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])  # its end is lost, its card is not
    assert listed(root)[A] == ("archive", "finished")
    with pytest.raises(PaddockError, match="cannot be unpacked, and stays where it is"):
        Shelf(root).restore(A)
    assert packed.exists() and not (root / A).exists()
    assert [path.name for path in root.iterdir() if path.name.startswith(".")] == []


def test_a_run_that_changes_while_it_is_packed_stays(root: Path) -> None:
    (root / A / "large").write_bytes(os.urandom(16_000_000))  # so that packing takes a while
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            with (root / A / "log.txt").open("a") as log:
                log.write("more\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(PaddockError, match=f"{A} changed while it was packed, and stays where it is. Try again."):
            Shelf(root).archive(A)
    finally:
        done.set()
        writer.join()
    assert (root / A / "large").exists() and list((root / "archive").iterdir()) == []
    Shelf(root).archive(A)


def test_what_could_not_be_restored_is_not_packed(root: Path) -> None:
    (root / A / "elsewhere").symlink_to("/etc/hostname")
    before = hashes(root / A)
    with pytest.raises(PaddockError, match="cannot be packed, and stays where it is: .*elsewhere"):
        Shelf(root).archive(A)
    assert hashes(root / A) == before and list((root / "archive").iterdir()) == []


def test_nothing_is_packed_twice_or_restored_over_another(root: Path, trained: Path) -> None:
    packed = Shelf(root).archive(A)
    content = packed.read_bytes()
    shutil.copytree(trained, root / A)
    with pytest.raises(PaddockError, match=r"tar.gz exists already; move it away first"):
        Shelf(root).archive(A)
    with pytest.raises(PaddockError, match=f"{A} exists already"):
        Shelf(root).restore(A)
    assert packed.read_bytes() == content and hashes(root / A) == hashes(trained)


def test_a_deleted_run_comes_back_until_the_trash_is_emptied(root: Path) -> None:
    before = hashes(root / A)
    assert Shelf(root).delete("latest") == root / "trash" / B
    assert Shelf(root).delete(A) == root / "trash" / A
    assert listed(root) == {A: ("trash", "finished"), B: ("trash", "finished")}
    assert Shelf(root).restore(A) == root / A and hashes(root / A) == before
    assert Shelf(root).empty_trash() == 1
    assert listed(root) == {A: ("here", "finished")} and list((root / "trash").iterdir()) == []
    with pytest.raises(UnknownName, match=f"unknown archived or deleted run '{B}'. Known: none"):
        Shelf(root).restore(B)


def test_a_running_run_is_left_alone(root: Path) -> None:
    rewrite(root / A, status="running", pid=os.getpid(), heartbeat=now())
    for put_away in (Shelf(root).archive, Shelf(root).delete):
        with pytest.raises(PaddockError, match=f"{A} is running. Stop it first: paddock tell {A} stop"):
            put_away(A)
    assert listed(root)[A] == ("here", "running")
    rewrite(root / A, pid=dead_process())
    Shelf(root).archive(A)
    assert listed(root)[A] == ("archive", "crashed")


@pytest.mark.parametrize(
    ("pid", "host", "heartbeat", "status"),
    [
        (os.getpid, "", now, "running"),
        (dead_process, "", now, "crashed"),
        (os.getpid, "", lambda: LONG_AGO, "crashed"),  # a younger process that was given the number
        (lambda: 1, "", now, "running"),  # somebody else's process exists too
        (dead_process, "another", now, "running"),
        (os.getpid, "another", lambda: LONG_AGO, "crashed"),
    ],
)  # fmt: skip
def test_who_is_alive(pid: Callable[[], int], host: str, heartbeat: Callable[[], str], status: str, root: Path) -> None:
    rewrite(root / A, status="running", pid=pid(), heartbeat=heartbeat())
    card = find_run(A, root).card()
    if host:
        card = replace(card, setup=replace(card.setup, host=host))
    assert status_of(card) == status
    assert status_of(replace(card, progress=replace(card.progress, status="stopped"))) == "stopped"


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b'{"setup": 3}'])
def test_a_run_that_cannot_be_read_is_listed(content: bytes, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / A / "run.json").write_bytes(content)
    Shelf(root).archive(B)
    (root / "archive" / "junk.tar.gz").write_bytes(content)
    assert listed(root) == {A: ("here", "unreadable"), B: ("archive", "finished"), "junk": ("archive", "unreadable")}
    assert main(["runs", "--runs-dir", str(root)]) == 0
    shown = capsys.readouterr().out
    assert f"{A} is unreadable: " in shown and "junk is unreadable: " in shown
    assert max(map(len, shown.splitlines()[:4])) < 130
    assert main(["runs", "--json", "--runs-dir", str(root)]) == 0
    with pytest.raises(PaddockError, match="run.json cannot be used"):
        find_run(A, root)


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def pack(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    with tarfile.open(path, "w:gz") as file:
        for member, content in members:
            member.size = len(content) if member.isfile() else 0
            file.addfile(member, io.BytesIO(content) if member.isfile() else None)


@pytest.mark.parametrize(
    "members",
    [
        [tarfile.TarInfo("../escaped")],
        [tarfile.TarInfo(f"{A}/../../../escaped")],
        [link(f"{A}/up", "../.."), tarfile.TarInfo(f"{A}/up/escaped")],
        [link(f"{A}/up", "/")],
        [tarfile.TarInfo("another/run.json")],
        [tarfile.TarInfo("escaped")],
    ],
    ids=["parent", "parents", "through a link", "absolute link", "another folder", "another file"],
)
def test_a_hostile_archive_writes_nothing_anywhere_else(members: list[tarfile.TarInfo], root: Path, tmp_path: Path) -> None:
    packed = Shelf(root).archive(A)
    with tarfile.open(packed) as file:
        good = [(member, extracted.read() if (extracted := file.extractfile(member)) else b"") for member in file]
    pack(packed, [*good, *((member, b"owned") for member in members)])
    before = hashes(tmp_path)
    with pytest.raises(PaddockError, match="cannot be unpacked, and stays where it is"):
        Shelf(root).restore(A)
    assert hashes(tmp_path) == before
    assert not list(tmp_path.parent.glob("escaped")) and not Path("/escaped").exists()


def test_an_absolute_name_stays_inside(root: Path) -> None:
    """The one trick that is disarmed rather than refused: `/x` is unpacked as `x`, which no run holds."""
    packed = Shelf(root).archive(A)
    pack(packed, [(tarfile.TarInfo("/tmp/owned-by-tar"), b"owned")])
    with pytest.raises(PaddockError, match=f"it must hold {A}/run.json, and that folder alone"):
        Shelf(root).restore(A)
    assert not Path("/tmp/owned-by-tar").exists()


def test_a_run_is_found_by_what_people_type(root: Path) -> None:
    assert find_run("latest", root).path.name == B
    assert find_run("aaaa", root).path == root / A == find_run(root / A, Path("elsewhere")).path
    shutil.copytree(root / A, root / f"{A}-2")
    assert find_run(A, root).path.name == A  # a whole name is not a part of another
    with pytest.raises(PaddockError, match=f"'cartpole' could be any of 3 runs: {A}, {A}-2, {B}. Give more of its name."):
        find_run("cartpole", root)
    with pytest.raises(UnknownName, match="unknown run '20261102-120000-cartpole-balance-s1-bbbc'. Did you mean '.*bbbb'"):
        find_run("20261102-120000-cartpole-balance-s1-bbbc", root)
    with pytest.raises(UnknownName, match="has none. Start one: paddock train"):
        find_run("latest", root / "nothing here")
    Shelf(root).archive(B)
    with pytest.raises(PaddockError, match=f"run {B} is put away. Bring it back: paddock runs restore {B}"):
        find_run("bbbb", root)


def test_many_runs_do_not_flood_an_error(root: Path) -> None:
    for i in range(60):
        (root / f"2026110{i // 10}-{i}-walk").mkdir()
        shutil.copy(root / A / "run.json", root / f"2026110{i // 10}-{i}-walk")
    for wanted in ("walk", "zzz"):
        with pytest.raises(PaddockError) as refusal:
            find_run(wanted, root)
        assert len(str(refusal.value)) < 500


def test_what_is_being_deleted_is_no_run(root: Path) -> None:
    (root / B).rename(root / f".{B}.doomed.partial")
    assert list(listed(root)) == [A] and find_run("latest", root).path.name == A


def test_only_runs_of_the_shelf_are_put_away(root: Path, tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="does not lie in .*. Say where runs are kept: --runs-dir"):
        Shelf(tmp_path / "other").archive(str(root / A))


def test_the_size_of_a_run(root: Path) -> None:
    run = RunFolder(root / A)
    assert run.size_bytes() == sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
    (run.path / "dangling").symlink_to("nowhere")
    assert run.size_bytes() > 0


def test_a_log_is_one_line_an_event(tmp_path: Path) -> None:
    log = Logbook(tmp_path / "log.txt")
    log.write("saved", env_steps=4608, seconds=1 / 3, detail="")
    log.write("trouble", "warning", text='two\nlines, a "quote" and \x1b[31m', path="/tmp/é", odd="\udcff")
    first, second = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()
    assert first.split(" ", 1)[1] == 'info saved env_steps=4608 seconds=0.333333 detail=""'
    assert 'warning trouble text="two\\nlines, a \\"quote\\" and \\u001b[31m" path=/tmp/é' in second
    assert log.lost == 0
    nowhere = Logbook(tmp_path / "none" / "log.txt")
    nowhere.write("saved")
    assert nowhere.lost == 1
