"""The command that opens the cockpit. It imports what it uses when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import tyro


def serve(
    *,
    runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs"),
    port: int = 8600,
    host: str = "127.0.0.1",
    allow_host: tuple[str, ...] = (),
    slots: int = 1,
    task: tuple[str, ...] = (),
    browser: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = True,
) -> None:
    """Open the cockpit: start, watch, steer, compare and keep runs, in the browser.

    Examples:
        paddock serve
        paddock serve --runs-dir /data/runs --port 8601
        paddock serve --task my_task.py:LEAN
        paddock serve --allow-host lab.example.org      # behind a proxy of that name

    Args:
        runs_dir: Where runs are kept. Those started from a shell appear there, too.
        port: Where it listens; 0 for any that is free.
        host: The address it listens at; this machine alone by default.
        allow_host: Other names by which browsers may come, such as that of a proxy.
        slots: Trainings that the page starts side by side; the rest waits.
        task: Tasks of your own that the page may start, each a file.py or file.py:NAME.
        browser: Do not open a browser.
    """
    from paddock import serving

    serving.serve(runs_dir, host=host, port=port, allowed=allow_host, tasks=task, browser=browser, slots=slots)
