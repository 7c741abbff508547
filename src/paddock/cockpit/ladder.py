"""Stopping somebody: asked to save and stop at first, then told ever more firmly, with the time of the next step known."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from paddock.cockpit.processes import send
from paddock.errors import PaddockError
from paddock.runs.sockets import ask

ASK_S = 1.0
RUNGS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
"""What a run is sent, one after the other, that does not stop when it is asked."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Seconds to wait after each step; a run first ends its update and saves."""

    asked_s: float = 20.0
    interrupted_s: float = 10.0
    terminated_s: float = 5.0

    def after(self, rung: int) -> float:
        return (self.asked_s, self.interrupted_s, self.terminated_s)[rung]


@dataclass(kw_only=True, eq=False)
class Ladder:
    """On the way to the end of a process."""

    pid: int
    whole_group: bool
    patience: Patience
    rung: int = 0
    """The next of RUNGS; beyond them where nothing is left to send."""
    due: float = 0.0
    """Unix time of the next step."""

    def begin(self, socket: Path, now: float) -> None:
        """Ask it to save and stop. One that cannot hear yet, or any more, is interrupted at once."""
        try:
            ask(socket, "stop", timeout_s=ASK_S)
            self.due = now + self.patience.after(0)
        except PaddockError:
            self.due = now
            self.climb(now)

    def climb(self, now: float) -> bool:
        """Take the next step where it is due. Whether it was."""
        if self.rung == len(RUNGS) or now < self.due:
            return False
        send(self.pid, RUNGS[self.rung], whole_group=self.whole_group)
        self.rung += 1
        if self.rung < len(RUNGS):
            self.due = now + self.patience.after(self.rung)
        return True

    @property
    def next_signal(self) -> str:
        return RUNGS[self.rung].name if self.rung < len(RUNGS) else ""

    @property
    def was_killed(self) -> bool:
        return self.rung == len(RUNGS)
