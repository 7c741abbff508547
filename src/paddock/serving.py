"""The cockpit with everything behind it: the folder of runs, whoever trains and plays, and the built page."""

from __future__ import annotations

import os
import secrets
import socket
import stat
import threading
import webbrowser
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import uvicorn

import paddock.cockpit
from paddock.asking import Forms, draw
from paddock.cockpit.app import make_app
from paddock.cockpit.catalogue import Catalogue
from paddock.cockpit.following import Following
from paddock.cockpit.guard import Door, door_for
from paddock.cockpit.plays import Plays
from paddock.cockpit.state import Cockpit
from paddock.cockpit.supervisor import Supervisor
from paddock.cores import usable_cores
from paddock.errors import PaddockError
from paddock.gl_choice import has_display
from paddock.messages.cockpit import PROTOCOL, Hello
from paddock.runs.atomic import write_file
from paddock.runs.shelf import Shelf

CLIENT = Path(paddock.cockpit.__file__).parent / "client"
OWN = ".cockpit"
"""Folder beside the runs where the cockpit keeps what must outlive it."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_CONNECTIONS = 256
MAX_MESSAGE = 256_000
"""Bytes of a socket's message."""


def serve(
    runs_dir: Path, *, host: str, port: int, allowed: tuple[str, ...], tasks: tuple[str, ...], browser: bool, slots: int
) -> None:
    """Run the cockpit until Ctrl-C."""
    if host not in LOOPBACK and not allowed:
        raise PaddockError(
            f"--host {host} lets other machines in, over a line that is not encrypted. If you want that, say by which name they "
            "come: --allow-host NAME. To look from elsewhere, an SSH tunnel is safer: ssh -L 8600:127.0.0.1:8600 THIS-MACHINE"
        )
    runs_dir.mkdir(parents=True, exist_ok=True)
    with _listen(host, port) as wire:
        port = wire.getsockname()[1]
        token = token_in(runs_dir)
        door = door_for(port, token=token, allowed=_with_ports(allowed, port))
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"
        server = uvicorn.Server(config_of(make_cockpit(runs_dir, slots=slots, tasks=tasks), door))
        print(f"Cockpit of {runs_dir.absolute()}\n\n  {address}\n\nCtrl-C ends it; trainings go on.", flush=True)
        if browser and has_display():
            threading.Timer(0.5, webbrowser.open, [address]).start()
        server.run([wire])


def config_of(cockpit: Cockpit, door: Door) -> uvicorn.Config:
    """How uvicorn runs it. Sockets are not compressed: poses do not get smaller, and it would cost most of the time."""
    return uvicorn.Config(
        make_app(cockpit, door),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws_per_message_deflate=False,
        ws_max_size=MAX_MESSAGE,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )


def make_cockpit(runs_dir: Path, *, slots: int, tasks: tuple[str, ...] = ()) -> Cockpit:
    """What the server has."""
    jobs, plays = Supervisor(runs_dir, slots), Plays(runs_dir)
    return Cockpit(
        hello=lambda: hello(runs_dir, jobs.jobs().slots),
        catalogue=Catalogue(runs_dir, started_here=jobs.runs_started),
        shelf=Shelf(runs_dir),
        following=Following(),
        jobs=jobs,
        plays=plays,
        forms=Forms(runs_dir / OWN / f"forms-{version('paddock')}.json", tasks),
        draw=draw,
        client=CLIENT,
    )


def hello(runs_dir: Path, slots: int) -> Hello:
    """What a page wants to know first."""
    return Hello(
        protocol=PROTOCOL,
        paddock=version("paddock"),
        runs_dir=str(runs_dir.absolute()),
        host=os.uname().nodename,
        cores=usable_cores(),
        sims=("cpu", "gpu") if has_gpu() else ("cpu",),
        slots=slots,
    )


def has_gpu() -> bool:
    """Whether the GPU sim can run, as far as can be told without loading it."""
    return Path("/dev/nvidia0").exists() and find_spec("mujoco_warp") is not None


def token_in(runs_dir: Path) -> str:
    """What opens this folder's cockpit. It is kept for its owner alone, so that open pages go on after the server began anew."""
    file = _own_folder(runs_dir) / "token"
    try:
        seen = file.stat()
        token = file.read_text().strip()
        if seen.st_uid == os.getuid() and not stat.S_IMODE(seen.st_mode) & 0o077 and len(token) >= 32:
            return token
    except OSError:
        pass  # there is none yet
    token = secrets.token_urlsafe(32)
    before = os.umask(0o077)
    try:
        write_file(file, token.encode())
    finally:
        os.umask(before)
    return token


def _own_folder(runs_dir: Path) -> Path:
    """Where the cockpit keeps its token and its queue. One that was not made here, but came along in somebody's archive or
    repository, is put aside: its queue would be begun, and its token is known. A copy has another inode, which none foresees.
    """
    folder = runs_dir / OWN
    folder.mkdir(exist_ok=True, mode=0o700)
    mark = folder / "made-here"
    if not mark.is_file() or mark.read_text() != str(folder.stat().st_ino):
        if any(folder.iterdir()):
            folder.rename(runs_dir / f"{OWN}-not-made-here-{secrets.token_hex(4)}")
            folder.mkdir(mode=0o700)
        mark.write_text(str(folder.stat().st_ino))
    return folder


def _with_ports(names: tuple[str, ...], port: int) -> tuple[str, ...]:
    """Names as a browser sends them: behind a proxy alone, otherwise with the port."""
    return tuple(said for name in names for said in ((name,) if ":" in name.rpartition("]")[2] else (name, f"{name}:{port}")))


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as refusal:
        raise PaddockError(
            f"nothing can listen at {host}, port {port}: {os.strerror(refusal.errno or 0)}. Is a cockpit running there already? "
            f"Take another port: paddock serve --port {port + 1}"
        ) from None
