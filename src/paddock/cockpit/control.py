"""What starts something: the form, the queue of trainings, plays."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from paddock.cockpit.answers import Conflict, answer, body_of
from paddock.cockpit.state import cockpit_of, entry_of
from paddock.errors import PaddockError
from paddock.messages.cockpit import Done, JobRequest, PlayRequest, SlotsChange, TaskList

MAX_SLOTS = 64


async def hello(request: Request) -> Response:
    return answer(await asyncio.to_thread(cockpit_of(request).hello))


async def tasks(request: Request) -> Response:
    cockpit = cockpit_of(request)
    known = await cockpit.forms.tasks()
    await cockpit.catalogue.fresh()
    trained = Counter(row.task for row in cockpit.catalogue.rows() if row.place == "runs")
    return answer(TaskList(tasks=tuple(replace(task, trained=trained[task.name]) for task in known.tasks)))


async def form(request: Request) -> Response:
    asked = request.query_params
    words = (_task(asked.get("task", "")), asked.get("preset") or "default", asked.get("sim") or "")
    return answer(await cockpit_of(request).forms.form(*words))


def _task(name: str) -> str:
    if not name:
        raise PaddockError("say which task, such as cartpole-balance.")
    return name


async def list_jobs(request: Request) -> Response:
    return answer(await asyncio.to_thread(cockpit_of(request).jobs.jobs))


async def submit(request: Request) -> Response:
    asked, cockpit = await body_of(request, JobRequest), cockpit_of(request)
    if asked.resume:
        form = None
        await entry_of(request, asked.resume)
    else:
        form = await cockpit.forms.form(_task(asked.task), asked.preset, asked.sim)
    return answer(await asyncio.to_thread(cockpit.jobs.submit, asked, form), status=201)


async def cancel(request: Request) -> Response:
    return answer(await asyncio.to_thread(cockpit_of(request).jobs.cancel, request.path_params["job"]))


async def set_slots(request: Request) -> Response:
    asked = await body_of(request, SlotsChange)
    if not 1 <= asked.slots <= MAX_SLOTS:
        raise PaddockError(f"slots is {asked.slots}; wanted 1 to {MAX_SLOTS}.")
    return answer(await asyncio.to_thread(cockpit_of(request).jobs.set_slots, asked.slots))


async def play(request: Request) -> Response:
    asked = await body_of(request, PlayRequest)
    if (await entry_of(request, asked.run)).place != "runs":
        raise Conflict(f"{asked.run} is put away. Restore it to play with it.")
    return answer(await asyncio.to_thread(cockpit_of(request).plays.start, asked), status=201)


async def end_play(request: Request) -> Response:
    await asyncio.to_thread(cockpit_of(request).plays.end, request.path_params["play"])
    return answer(Done(ok="The play is over."))


ROUTES = [
    Route("/c/hello", hello),
    Route("/c/tasks", tasks),
    Route("/c/form", form),
    Route("/c/jobs", list_jobs),
    Route("/c/jobs", submit, methods=["POST"]),
    Route("/c/jobs/{job}/cancel", cancel, methods=["POST"]),
    Route("/c/slots", set_slots, methods=["POST"]),
    Route("/c/plays", play, methods=["POST"]),
    Route("/c/plays/{play}", end_play, methods=["DELETE"]),
]
