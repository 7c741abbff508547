"""Simulations to play with, each in a process of its own: begun, reached by a socket, and ended with whoever asked for them."""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.cockpit.answers import Conflict, NotFound
from paddock.cockpit.jobs import FOLDER
from paddock.cockpit.processes import send, spawn
from paddock.errors import PaddockError
from paddock.messages.cockpit import Play, PlayRequest
from paddock.runs.folder import RunFolder

MAX_PLAYS, MAX_WORLDS = 4, 16
BEGIN_S = 120.0
"""How long a policy and its task may take to be loaded."""
END_S = 5.0
"""How long a play may take to close its recording."""
LOOK_S = 0.05
CHECKPOINT = re.compile(r"best|latest|[0-9]{1,15}")


@dataclass(frozen=True, kw_only=True)
class _Playing:
    play: Play
    pid: int
    socket: Path
    log: Path


class Plays:
    """The plays of one folder of runs."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir.absolute()
        self._folder = self._runs_dir / FOLDER / "plays"
        self._playing: dict[str, _Playing] = {}
        self._lock = threading.Lock()

    def start(self, request: PlayRequest, /) -> Play:
        """Begin one, and return when it can be watched; what stands in its way is in the refusal."""
        run = RunFolder(self._runs_dir / request.run)
        if Path(request.run).name != request.run or not run.path.is_dir():
            raise NotFound(f"there is no run '{request.run[:80]}' to play.")
        if not CHECKPOINT.fullmatch(request.checkpoint):
            raise PaddockError(f"checkpoint is '{request.checkpoint[:40]}'; wanted best, latest or a number of steps.")
        if not 1 <= request.worlds <= MAX_WORLDS:
            raise PaddockError(f"worlds is {request.worlds}; wanted 1 to {MAX_WORLDS}.")
        with self._lock:
            self._forget_ended()
            if len(self._playing) >= MAX_PLAYS:
                raise Conflict(f"{MAX_PLAYS} plays run already. Close one of them first.")
            own = self._begin(secrets.token_hex(6), request, run)
            self._playing[own.play.play] = own
        self._wait(own)
        return own.play

    def socket_of(self, play: str, /) -> Path:
        """Where a play shows itself and listens."""
        with self._lock:
            if play not in self._playing:
                raise NotFound("this play is over. Begin another.")
            return self._playing[play].socket

    def end(self, play: str, /) -> None:
        """Let it close its recording and go."""
        with self._lock:
            own = self._playing.pop(play, None)
        if own is not None:
            self._end(own)

    def close(self) -> None:
        """End them all."""
        for play in list(self._playing):
            self.end(play)

    def _begin(self, name: str, request: PlayRequest, run: RunFolder) -> _Playing:
        self._folder.mkdir(parents=True, exist_ok=True)
        socket, log = self._folder / f"{name}.sock", self._folder / f"{name}.log"
        words = ("-m", "paddock.play_session", str(run.path), f"--checkpoint={request.checkpoint}")
        more = (f"--socket={socket}", f"--worlds={request.worlds}", f"--name={name}")
        pid = spawn((sys.executable, "-u", *words, *more), log)
        play = Play(play=name, run=request.run, checkpoint=request.checkpoint, worlds=request.worlds)
        return _Playing(play=play, pid=pid, socket=socket, log=log)

    def _wait(self, own: _Playing) -> None:
        """Until it can be watched."""
        deadline = time.monotonic() + BEGIN_S
        while not own.socket.exists():
            if not _is_there(own.pid):
                self._playing.pop(own.play.play, None)
                said = own.log.read_text(errors="replace").strip().splitlines() or ["its process ended without a word"]
                own.log.unlink()
                raise PaddockError(f"{own.play.run} cannot be played: {said[-1][:500]}")
            if time.monotonic() > deadline:
                self.end(own.play.play)
                raise PaddockError(f"{own.play.run} could not be loaded within {BEGIN_S:.0f} s.")
            time.sleep(LOOK_S)

    def _end(self, own: _Playing) -> None:
        send(own.pid, signal.SIGTERM, whole_group=True)
        deadline = time.monotonic() + END_S
        while _is_there(own.pid):
            if time.monotonic() > deadline:
                send(own.pid, signal.SIGKILL, whole_group=True)
            time.sleep(LOOK_S)
        for file in (own.socket, own.log):
            file.unlink(missing_ok=True)

    def _forget_ended(self) -> None:
        """Those that ended by themselves, because nobody was there."""
        for name, own in list(self._playing.items()):
            if not _is_there(own.pid):
                del self._playing[name]
                own.log.unlink(missing_ok=True)


def _is_there(pid: int) -> bool:
    """Whether a child of ours still is; one that is not is laid to rest."""
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    return False
