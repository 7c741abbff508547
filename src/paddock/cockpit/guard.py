"""Who may come in: a fixed list of hosts, then the page's own origin, then a token; and the headers on every answer.

The order matters. A page of a stranger that lets its name point to this machine sends a Host and an Origin that agree with
each other, so neither is ever compared with the other: both must be on the list.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 1_000_000
"""Bytes that a request may carry."""
API = "/c/"
COLD, STRANGER = 4401, 4403
"""Why a socket was closed: no token; another page's origin."""
ADDRESS = "Open the address that `paddock serve` printed"
UNKNOWN_HOST = f"this server does not answer to that name. {ADDRESS}, or allow the name: paddock serve --allow-host NAME"
FOREIGN_PAGE = f"another page asked for this; only the cockpit's own may. {ADDRESS}."
NO_TOKEN = f"the token is missing or is not this server's. {ADDRESS}."
TOO_MUCH = f"that is too much: a request may carry {MAX_BODY:,} bytes."
LOCKED = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True, kw_only=True)
class Door:
    """What opens it."""

    token: str
    cookie: str
    """Name of the cookie that holds the token."""
    hosts: frozenset[str]
    """Values of Host that are this server, with the port where it is not the scheme's own; lower case."""

    def origins(self) -> frozenset[str]:
        """Pages that may talk to it."""
        return frozenset(f"{scheme}://{host}" for host in self.hosts for scheme in ("http", "https"))


def door_for(port: int, *, token: str, allowed: tuple[str, ...] = ()) -> Door:
    """The door of a server on this machine's own address, and of the names that were allowed beside it."""
    names = ("127.0.0.1", "localhost", "[::1]")
    own = (*(f"{name}:{port}" for name in names), *(names if port == 80 else ()))
    return Door(token=token, cookie=f"paddock_{port}", hosts=frozenset(name.lower() for name in (*own, *allowed)))


class Guard:
    """Stands before the whole application; every request and every socket passes it."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door, self._origins = app, door, door.origins()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._door.hosts:
            await _refuse(scope, receive, send, 421, UNKNOWN_HOST)
            return
        locked = LOCKED | {"content-security-policy": _policy(headers["host"])}
        send = _with_headers(send, locked)
        if not self._is_ours(scope, headers):
            await _refuse(scope, receive, send, 403, FOREIGN_PAGE, code=STRANGER)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["type"] == "http" and path == "/" and (token := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            await self._let_in(token[0], send)
            return
        if (path + "/").startswith(API) and not self._knows_token(headers):
            await _refuse(scope, receive, send, 401, NO_TOKEN, code=COLD)
            return
        if scope["type"] == "http":
            receive = _Counted(receive)
            if _length(headers) > MAX_BODY:
                await _refuse(scope, receive, send, 413, TOO_MUCH)
                return
        await self._app(scope, receive, send)

    def _is_ours(self, scope: Scope, headers: Headers) -> bool:
        """Whether the page that asks is the cockpit's own. A script has no origin; on a socket it shows its token in a header."""
        origin = headers.get("origin")
        if origin is not None:
            return origin.lower() in self._origins
        if scope["type"] == "websocket":
            return "authorization" in headers
        # Pages of other ports are the same site, so a cookie that is strict about sites goes along with what they embed.
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin") or headers.get("sec-fetch-mode") == "navigate"

    def _knows_token(self, headers: Headers) -> bool:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        shown = shown if scheme.lower() == "bearer" else cookie_parser(headers.get("cookie", "")).get(self._door.cookie, "")
        return hmac.compare_digest(shown.encode(), self._door.token.encode())

    async def _let_in(self, token: str, send: Send) -> None:
        """Trade the token in the address for a cookie, and take it out of the address."""
        headers = [(b"location", b"./"), (b"cache-control", b"no-store"), (b"content-length", b"0")]
        if hmac.compare_digest(token.encode(), self._door.token.encode()):  # a cookie without a path fits below a prefix, too
            cookie = f"{self._door.cookie}={token}; HttpOnly; SameSite=Strict; Max-Age=31536000"
            headers.append((b"set-cookie", cookie.encode("latin-1")))
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


class TooMuch(Exception):
    """A body without a length that went on and on."""


class _Counted:
    """A body's pieces, up to the cap."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._left = receive, MAX_BODY

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooMuch
        return message


def _length(headers: Headers) -> int:
    told = headers.get("content-length", "0")
    return int(told) if told.isdecimal() else 0


def _policy(host: str) -> str:
    """What the page may load: its own files. Nothing inline runs; MuJoCo and ONNX in the page are WebAssembly."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self' 'wasm-unsafe-eval'",
            "style-src 'self'",
            "style-src-attr 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "media-src 'self' blob:",
            "font-src 'self'",
            f"connect-src 'self' ws://{host} wss://{host}",
            "worker-src 'self' blob:",
            "manifest-src 'self'",
            "frame-src 'self'",
            "frame-ancestors 'self'",
            "base-uri 'none'",
            "form-action 'self'",
        )
    )


def _with_headers(send: Send, added: Mapping[str, str]) -> Send:
    async def adding(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in added.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return adding


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str, *, code: int = 0) -> None:
    """Say no. A socket is opened and closed with a code, since a page is not told why one did not open."""
    if scope["type"] == "websocket" and code:
        await receive()
        await send({"type": "websocket.accept", "subprotocol": next(iter(scope["subprotocols"]), None)})
        await send({"type": "websocket.close", "code": code, "reason": why[:120]})
        return
    kind = "websocket.http" if scope["type"] == "websocket" else "http"
    body = json.dumps({"error": why}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "x-content-type-options": "nosniff"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": f"{kind}.response.start", "status": status, "headers": raw})
    await send({"type": f"{kind}.response.body", "body": body})
