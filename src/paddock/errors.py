"""What a person reads when something they asked for cannot be done."""

from collections.abc import Iterable
from difflib import get_close_matches
from traceback import extract_tb


class PaddockError(Exception):
    """A mistake in the input. The message says what was asked, what is known and what to do next."""


class UnknownName(PaddockError, KeyError):
    """A name that nothing answers to."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class BrokenModel(PaddockError):
    """A robot or scene that MuJoCo refuses to compile."""


class UnsafeFile(PaddockError):
    """A file from elsewhere that asks for what no model needs: other files, endless work, numbers that are none."""


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


def broken_model(what: object, refusal: Exception) -> BrokenModel:
    """MuJoCo's own words about a model, and what to do."""
    return BrokenModel(f"MuJoCo cannot compile {what}: {str(refusal).strip()}\nFix the model and try again.")


def blame(task: str, group: str, name: str, error: Exception) -> BadTerm:
    """The error of a term, said together with the term's name and, where it is not ours, with its place."""
    term = f"{group} term '{name}'" if name else group
    if isinstance(error, PaddockError):
        return BadTerm(f"task '{task}', {term}: {error}")
    frame = extract_tb(error.__traceback__)[-1]
    return BadTerm(f"task '{task}', {term}: {type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})")
