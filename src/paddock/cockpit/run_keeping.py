"""What can be done with a run: labelled, told to pause or save, stopped, archived, deleted, brought back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from paddock.cockpit.answers import Conflict, answer, body_of
from paddock.cockpit.state import cockpit_of, entry_of, folder_of
from paddock.errors import PaddockError
from paddock.messages.cockpit import Done, LabelChange, RunOrder
from paddock.runs.labels import change_labels
from paddock.runs.sockets import ask

SHELVING = ThreadPoolExecutor(2, thread_name_prefix="shelf")
"""Packing a run takes as long as it takes; reading others does not wait for it."""
TOLD = {"pause": "It pauses after its present update.", "resume": "It goes on.", "save": "It saves after its present update."}
_busy: set[str] = set()


async def label(request: Request) -> Response:
    run = await folder_of(request)
    change = await body_of(request, LabelChange)
    labels = await asyncio.to_thread(change_labels, run.path, change)
    await cockpit_of(request).catalogue.fresh(at_most_s=0.0)
    return answer(labels)


async def tell(request: Request) -> Response:
    entry, told = await entry_of(request), await body_of(request, RunOrder)
    if not entry.row.alive:
        raise Conflict(f"{entry.id} is not running: its status is {entry.row.status}.")
    try:
        await asyncio.to_thread(ask, entry.path / "live.sock", told.do)
    except PaddockError as refusal:
        raise Conflict(str(refusal)) from None
    return answer(Done(ok=TOLD[told.do]))


async def stop(request: Request) -> Response:
    entry = await entry_of(request)
    if not entry.row.alive:
        raise Conflict(f"{entry.id} is not running: its status is {entry.row.status}.")
    return answer(await asyncio.to_thread(cockpit_of(request).jobs.stop_run, entry.id))


async def archive(request: Request) -> Response:
    shelf = cockpit_of(request).shelf
    return await _shelve(request, shelf.archive, "It is packed into the archive, whole. Restore it to go on with it.")


async def delete(request: Request) -> Response:
    return await _shelve(request, cockpit_of(request).shelf.delete, "It is in the trash. Restore brings it back.")


async def restore(request: Request) -> Response:
    return await _shelve(request, cockpit_of(request).shelf.restore, "It is back.")


async def empty_trash(request: Request) -> Response:
    cockpit = cockpit_of(request)
    with _alone("the trash"):
        count = await asyncio.get_running_loop().run_in_executor(SHELVING, cockpit.shelf.empty_trash)
    await cockpit.catalogue.fresh(at_most_s=0.0)
    return answer(Done(ok=f"{count} run{'s' * (count != 1)} deleted for good."))


async def _shelve(request: Request, move: Callable[[str], object], done: str) -> Response:
    entry = await entry_of(request)
    with _alone(entry.id):
        try:
            await asyncio.get_running_loop().run_in_executor(SHELVING, move, entry.id)
        except PaddockError as refusal:
            raise Conflict(str(refusal)) from None
        finally:
            await cockpit_of(request).catalogue.fresh(at_most_s=0.0)
    return answer(Done(ok=done))


@contextmanager
def _alone(what: str) -> Iterator[None]:
    """One move at a time of one run."""
    if what in _busy:
        raise Conflict(f"{what} is being moved already. Wait until that is done.")
    _busy.add(what)
    try:
        yield
    finally:
        _busy.discard(what)


ROUTES = [
    Route("/c/runs/{run}", label, methods=["PATCH"]),
    Route("/c/runs/{run}/tell", tell, methods=["POST"]),
    Route("/c/runs/{run}/stop", stop, methods=["POST"]),
    Route("/c/runs/{run}/archive", archive, methods=["POST"]),
    Route("/c/runs/{run}/delete", delete, methods=["POST"]),
    Route("/c/runs/{run}/restore", restore, methods=["POST"]),
    Route("/c/trash/empty", empty_trash, methods=["POST"]),
]
