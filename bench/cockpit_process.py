"""`paddock serve` in a process of its own, as a person starts it, and what it costs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")


@dataclass(frozen=True, kw_only=True)
class Served:
    """A server that answers."""

    process: subprocess.Popen[str]
    port: int
    token: str

    @property
    def address(self) -> str:
        """What it printed, for a browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(runs_dir: Path, *words: str, port: int = 0) -> Iterator[Served]:
    """One over a folder, from when it has said where it is."""
    command = ["serve", "--runs-dir", str(runs_dir), "--no-browser", "--port", str(port), *words]
    process = subprocess.Popen(
        [sys.executable, "-m", "paddock", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        said = ""
        while not (found := ADDRESS.search(said)):
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"paddock serve ended: {said}")
            said += line
        yield Served(process=process, port=int(found[1]), token=found[2])
    finally:
        process.kill()
        process.communicate()


def processor_s(pid: int) -> float:
    """Processor time of a process so far, its own and the kernel's for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Memory of a process that is in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
