"""What a person at a terminal sees: text that fits, and a bar while something long runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

PIPED_WIDTH = 120


def screen() -> Console:
    """Standard output; wide enough for tables where it is a file or a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPED_WIDTH)


def plain_table() -> Table:
    """A table of columns alone, without lines."""
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)


@contextmanager
def progress(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar on stderr while something long runs, gone when it ends; nothing where nobody looks."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        handle = bar.add_task(what, total=total)
        yield lambda done: bar.advance(handle, done)
