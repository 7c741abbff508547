"""Processes by number and by when they began, so that one who got an old number is not taken for another."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
OOM_KILL = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat")


def began_of(pid: int) -> int:
    """When a process began, in the kernel's ticks; 0 where there is none, or only what a dead one left."""
    try:
        after_name = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if after_name[0] in "ZX" else int(after_name[19])


def spawn(command: tuple[str, ...], log: Path) -> int:
    """Begin a process as the leader of a session of its own, deaf to our terminal; what it prints goes into the log."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        command[0],
        command,
        os.environ | {"PYTHONUNBUFFERED": "1"},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
    )


def find_process(word: str) -> int:
    """The process that was called with this word among its words; 0 where there is none."""
    wanted = word.encode()
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "cmdline").read_bytes().split(b"\0") and began_of(int(folder.name)):
                return int(folder.name)
    return 0


def has_left_some(leader: int) -> bool:
    """Whether others of a process's group are still there, when it is gone itself."""
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[2]) == leader and int(folder.name) != leader and after_name[0] not in "ZX":
                return True
    return False


def send(pid: int, number: signal.Signals, *, whole_group: bool) -> None:
    """Signal a process, or all of its group; that it is gone already is what was wanted."""
    with suppress(ProcessLookupError):
        (os.killpg if whole_group else os.kill)(pid, number)


def oom_kills() -> int:
    """How many processes the kernel has ended for want of memory, here or around us; only a difference means something."""
    found = 0
    for name in OOM_COUNTERS:
        with suppress(OSError):
            found += sum(int(count) for count in OOM_KILL.findall(Path(name).read_text()))
    return found
