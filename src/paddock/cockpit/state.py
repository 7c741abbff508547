"""What the routes share: the runs, who starts and plays them, and what was found out once and is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from starlette.requests import HTTPConnection

from paddock.cockpit.answers import Conflict, NotFound
from paddock.cockpit.catalogue import Catalogue, Entry
from paddock.cockpit.following import Following
from paddock.messages.cockpit import Done, Form, Hello, Job, JobList, JobRequest, Play, PlayRequest, TaskList
from paddock.runs.folder import RunFolder
from paddock.runs.shelf import Shelf


class Jobs(Protocol):
    """Whoever starts trainings, and stops them. Called from worker threads."""

    version: int
    """Another one whenever `jobs` would tell something else."""

    def start(self) -> None: ...
    def close(self) -> None: ...
    def jobs(self) -> JobList: ...
    def submit(self, request: JobRequest, form: Form | None, /) -> Job: ...
    def cancel(self, job: str, /) -> Job: ...
    def set_slots(self, slots: int, /) -> JobList: ...
    def stop_run(self, run: str, /) -> Done: ...
    def runs_started(self) -> Collection[str]: ...


class Plays(Protocol):
    """Whoever lets policies be played with. Called from worker threads."""

    def start(self, request: PlayRequest, /) -> Play: ...
    def end(self, play: str, /) -> None: ...
    def socket_of(self, play: str, /) -> Path: ...
    def close(self) -> None: ...


class Forms(Protocol):
    """Whoever knows what can be trained, and what can be chosen for it."""

    async def tasks(self) -> TaskList: ...
    async def form(self, task: str, preset: str, sim: str, /) -> Form: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Cockpit:
    """All that the server has."""

    hello: Callable[[], Hello]
    catalogue: Catalogue
    shelf: Shelf
    following: Following
    jobs: Jobs
    plays: Plays
    forms: Forms
    draw: Callable[[Path], Awaitable[None]]
    """Writes the scene of a run that has none."""
    drawing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One scene at a time."""
    client: Path
    """The built page."""


def cockpit_of(connection: HTTPConnection) -> Cockpit:
    """That of the server a request came to."""
    return cast(Cockpit, connection.app.state.cockpit)


async def entry_of(connection: HTTPConnection, run: str | None = None) -> Entry:
    """The run that an address names; looked for once more before it is said to be unknown."""
    wanted = connection.path_params["run"] if run is None else run
    catalogue = cockpit_of(connection).catalogue
    entry = catalogue.find(wanted)
    if entry is None:
        await catalogue.fresh(at_most_s=0.0)
        entry = catalogue.find(wanted)
    if entry is None:
        raise NotFound(f"there is no run '{wanted[:80]}' here. It may have been moved or deleted; look at the list of runs.")
    return entry


async def folder_of(connection: HTTPConnection, run: str | None = None) -> RunFolder:
    """The folder of a run, which one that is packed has not."""
    entry = await entry_of(connection, run)
    if entry.place == "archive":
        raise Conflict(f"{entry.id} is archived: its files are packed. Restore it to look into it.")
    return RunFolder(entry.path)
