"""Ranges to draw from, checked where they are written down."""

from collections.abc import Sequence

from paddock.errors import PaddockError


def check_ranges(owner: object, low: Sequence[float], high: Sequence[float]) -> None:
    """Refuse ranges that end before they begin, with the value they stand in."""
    if len(low) != len(high):
        raise PaddockError(f"{owner}: {len(low)} lower ends and {len(high)} upper ends.")
    for a, b in zip(low, high, strict=True):
        if not a <= b:
            raise PaddockError(f"{owner}: the range from {a} to {b} ends before it begins.")


def check_period(owner: object, seconds: float) -> None:
    """Refuse a period that never passes."""
    if not seconds > 0:
        raise PaddockError(f"{owner}: a period of {seconds} s is none.")
