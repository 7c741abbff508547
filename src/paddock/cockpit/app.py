"""The application: every address there is, behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.types import ASGIApp

from paddock.cockpit import client_files, control, live_socket, run_keeping, run_reading
from paddock.cockpit.answers import HANDLERS
from paddock.cockpit.guard import Door, Guard
from paddock.cockpit.state import Cockpit

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def make_app(cockpit: Cockpit, door: Door) -> ASGIApp:
    """The whole server, to be run by uvicorn or mounted below a prefix."""
    routes = [*control.ROUTES, *run_keeping.ROUTES, *run_reading.ROUTES, *live_socket.ROUTES, *client_files.ROUTES]
    app = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=_lifespan(cockpit))
    app.state.cockpit = cockpit
    return Guard(app, door)  # outermost, so that its headers are on the answers to our own mistakes, too


def _lifespan(cockpit: Cockpit) -> Lifespan:
    @asynccontextmanager
    async def span(app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(cockpit.jobs.start)
        yield
        await cockpit.following.close()
        await cockpit.forms.close()
        await asyncio.to_thread(cockpit.plays.close)
        await asyncio.to_thread(cockpit.jobs.close)

    return span
