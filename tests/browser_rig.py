"""A person at the cockpit: a real Chromium before a real `paddock serve`, and everything the page complains of."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from chromium import chromium
from playwright.sync_api import Browser, Page, expect

from cockpit_rig import Visitor
from paddock.serving import CLIENT

T = TypeVar("T")
is_ready = chromium() is not None and (CLIENT / "index.html").exists()
is_needed = os.environ.get("CI") == "true"
needs_chromium = pytest.mark.skipif(not is_ready and not is_needed, reason="no Chromium here, or no page: make web")
PATIENCE_S = 60.0
"""For what takes a moment, on a machine that does much else."""
expect.set_options(timeout=1000 * PATIENCE_S)
UNREACHABLE = ("ERR_CONNECTION", "WebSocket connection to", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED")
"""What Chromium itself writes while there is no server."""


class Visit:
    """One tab, in a profile of its own."""

    def __init__(self, page: Page, visitor: Visitor) -> None:
        self.page, self.visitor, self.complaints = page, visitor, list[str]()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(f"http://127.0.0.1:{visitor.port}/?token={visitor.token}")
        assert "token" not in page.url

    def go(self, where: str) -> None:
        """To a page of the cockpit, as a link in it would."""
        self.page.goto(f"{self.page.url.partition('#')[0]}#/{where}")

    def read(self, script: str) -> Any:
        """A number of the page's own; undefined is None."""
        return self.page.evaluate(f"() => {script}")

    def scene(self) -> Any:
        """The counters of the 3D view as they are now; None where there is none."""
        return self.read(
            "{ const s = window.__paddock?.scene; return s && {...s, checksum: s.checksum, worlds: s.worlds, calls: s.calls} }"
        )

    def curve(self, name: str) -> list[tuple[float, float]]:
        """The points that a chart's only line was drawn from."""
        line = f"window.__paddock?.charts?.['{name}']?.[0]"
        found = self.read(f"{line} && [[...{line}.x], [...{line}.y]]")
        return list(zip(*found, strict=True)) if found else []

    def until(self, is_so: Callable[[], T], timeout: float = PATIENCE_S) -> T:
        """Polls, as the page's policy forbids what Playwright would put into it."""
        end = time.monotonic() + timeout
        while not (said := is_so()):
            assert time.monotonic() < end, f"it never came to be; the page says: {self.page.locator('body').inner_text()[-1500:]}"
            self.page.wait_for_timeout(50)
        return said


@contextmanager
def visit(browser: Browser, visitor: Visitor, *, offline: bool = False) -> Iterator[Visit]:
    """Nobody leaves without having looked into the console. `offline`: the server was away for a while."""
    with browser.new_context(viewport={"width": 1000, "height": 700}) as context:
        visit = Visit(context.new_page(), visitor)
        yield visit
        heard = [said for said in visit.complaints if not (offline and any(word in said for word in UNREACHABLE))]
        assert [said for said in heard if "GPU stall due to ReadPixels" not in said] == []


@contextmanager
def training(root: Path, task: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """`paddock train` in a shell of its own."""
    command = [sys.executable, "-m", "paddock", "train", task, "--runs-dir", str(root), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def recording(run: Path, *, rate: float = 250.0) -> Iterator[subprocess.Popen[bytes]]:
    """Something that writes fifty scalars, five times a second, and learns nothing."""
    script = Path(__file__).parents[1] / "bench" / "load_run.py"
    process = subprocess.Popen([sys.executable, str(script), str(run), "--rate", str(rate)], stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
