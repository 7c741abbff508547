"""What goes back: messages as JSON, and refusals as a sentence with the right status."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import fields, is_dataclass
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from paddock.cockpit.guard import TOO_MUCH, TooMuch
from paddock.errors import PaddockError, UnknownName
from paddock.messages import from_json
from paddock.messages.cockpit import Refusal

M = TypeVar("M")
Handler = Callable[[Request, Exception], Awaitable[Response]]


class NotFound(PaddockError):
    """Nothing of this name is here; 404."""


class Conflict(PaddockError):
    """It cannot be done as things are now; 409."""


def answer(message: object, *, status: int = 200) -> Response:
    """A message as JSON."""
    return text_answer(encode(message), status=status)


def text_answer(text: str, *, status: int = 200) -> Response:
    """JSON that is encoded already."""
    return Response(text, status_code=status, media_type="application/json")


def encode(message: object) -> str:
    """A message as JSON that every browser reads: whoever has a number that is none says null."""
    return json.dumps(message, default=_fields_of, allow_nan=False, separators=(",", ":"))


def _fields_of(message: object) -> dict[str, object]:
    """As they are: `asdict` would copy every point of a long push."""
    assert is_dataclass(message) and not isinstance(message, type)
    return {field.name: getattr(message, field.name) for field in fields(message)}


async def body_of(request: Request, kind: type[M]) -> M:
    """The message that was sent."""
    content = await request.body()
    try:
        return from_json(kind, content.decode() or "{}")
    except (UnicodeDecodeError, RecursionError) as refusal:
        raise PaddockError(f"a {kind.__name__} cannot be read: {refusal}") from None


def number_of(request: Request, name: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
    """A whole number out of the address."""
    told = request.query_params.get(name)
    if told is None or told == "":
        return default
    try:
        value = int(told) if len(told) < 20 else None
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        raise PaddockError(f"{name} is '{told[:40]}'; wanted a whole number from {least} to {most}.")
    return value


async def _refused(request: Request, refusal: Exception) -> Response:
    status = 404 if isinstance(refusal, NotFound | UnknownName) else 409 if isinstance(refusal, Conflict) else 400
    return answer(Refusal(error=str(refusal)), status=status)


async def _unreadable(request: Request, refusal: Exception) -> Response:
    """A damaged record, or a run that was moved while it was read."""
    why = f"that cannot be read just now: {refusal}. Look at the list of runs, then try again."
    return answer(Refusal(error=why[:2000]), status=409)


async def _too_much(request: Request, refusal: Exception) -> Response:
    return answer(Refusal(error=TOO_MUCH), status=413)


async def _no_such_way(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, HTTPException)
    said = {404: "nothing is at this address.", 405: f"{request.method} is not for this address."}
    return answer(Refusal(error=said.get(refusal.status_code, refusal.detail)), status=refusal.status_code)


async def _fault(request: Request, fault: Exception) -> Response:
    """A mistake of ours: the page hears what it is, and uvicorn's log has the rest."""
    why = f"the cockpit made a mistake: {type(fault).__name__}: {fault}. Its terminal says where; please report it."
    return answer(Refusal(error=why[:2000]), status=500)


HANDLERS: dict[type[Exception] | int, Handler] = {
    PaddockError: _refused,
    TooMuch: _too_much,
    OSError: _unreadable,
    sqlite3.Error: _unreadable,
    HTTPException: _no_such_way,
    500: _fault,
}
