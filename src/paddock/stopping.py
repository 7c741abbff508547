"""Signals that ask a process to stop, heard where it is convenient to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedAtOnce(KeyboardInterrupt):
    """Ctrl-C, and again before the update had ended."""


@contextmanager
def stop_signals() -> Iterator[Callable[[], str]]:
    """The name of the signal that asked to stop, or nothing. A second Ctrl-C does not wait for the update to end."""
    heard: list[str] = []

    def hear(number: int, frame: object) -> None:
        if heard and number == signal.SIGINT:
            raise StoppedAtOnce
        heard.append(signal.Signals(number).name)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: ""
        return
    is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    wanted = [number for number in STOPPING if not (is_nohup and number == signal.SIGHUP)]
    before = {number: signal.signal(number, hear) for number in wanted}
    try:
        yield lambda: heard[0] if heard else ""
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
