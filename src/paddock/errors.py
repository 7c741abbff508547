"""What a person reads when something they asked for cannot be done."""

from collections.abc import Iterable
from difflib import get_close_matches


class PaddockError(Exception):
    """A mistake in the input. The message says what was asked, what is known and what to do next."""


class UnknownName(PaddockError, KeyError):
    """A name that nothing answers to."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class BrokenModel(PaddockError):
    """A robot or scene that MuJoCo refuses to compile."""


class BadAction(PaddockError, ValueError):
    """An action of the wrong shape, or one that is not finite."""


class BadTerm(PaddockError):
    """A task term that returned the wrong shape, or a number that is not finite."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a misspelt name: the nearest known one, then all of them."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    listed = ", ".join(names) if names else "none"
    return UnknownName(f"unknown {kind} '{name}'.{hint} Known: {listed}")
