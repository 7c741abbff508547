"""The page: the built client where there is one, and otherwise how to build it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from paddock.cockpit.state import Cockpit, cockpit_of
from paddock.errors import PaddockError

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
"""Said outright: what a machine's own table says of .js may be wrong, and the page would not start."""
HASHED = "assets/"
"""Files whose names change with their content."""
UNBUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Paddock</title>
<h1>The page is not built yet</h1>
<p>The server runs, and its page is missing from this checkout. Build it once, in the checkout:</p>
<pre>make web</pre>
<p>Then load this page again. An installed wheel has it built in.</p>
</html>
"""


async def client_file(request: Request) -> Response:
    """A file of the client by its name, which is looked up among those there are."""
    client, name = cockpit_of(request).client, request.path_params["name"] or "index.html"
    background = BackgroundTask(_prepare, cockpit_of(request)) if name == "index.html" else None
    known = {path.relative_to(client).as_posix(): path for path in client.rglob("*") if path.is_file()}
    if name == "index.html" and name not in known:
        return HTMLResponse(UNBUILT, status_code=503)
    found = known.get(name)
    if found is None:
        raise HTTPException(404)
    kept = "public, max-age=31536000, immutable" if name.startswith(HASHED) else "no-cache"
    return FileResponse(
        found,
        media_type=TYPES.get(Path(name).suffix, "application/octet-stream"),
        headers={"cache-control": kept},
        background=background,
    )


async def _prepare(cockpit: Cockpit) -> None:
    """Find out what can be trained while the page still loads: the first answer takes seconds."""
    with suppress(PaddockError):  # whoever asks for it will hear
        await cockpit.forms.tasks()


ROUTES = [Route("/{name:path}", client_file)]
