"""Named places where a write can be cut short, so that a test can aim at them: kills at random times hit almost nothing."""

from collections.abc import Callable

_ARMED: dict[str, Callable[[], None]] = {}


def point(name: str) -> None:
    """Run what was armed here: nothing, outside tests and benchmarks."""
    if action := _ARMED.get(name):
        action()


def arm(name: str, action: Callable[[], None]) -> None:
    """Let `action` run whenever this process passes the point, in the thread that passes it."""
    _ARMED[name] = action


def disarm(name: str) -> None:
    """Make the point do nothing again."""
    _ARMED.pop(name, None)
