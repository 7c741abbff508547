"""How long a person waits for a thousand runs, and for a chart of a hundred long curves to be drawn again."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from chromium import WITHOUT_3D, browser
from cockpit_process import serving
from load_client import line
from playwright.sync_api import Page
from pretended_runs import pretended

from paddock.runs.telemetry import Telemetry

LISTED, TAGS = 1000, 50
CURVES, POINTS, DIFFERENT = 100, 10_000, 10
"""Of a hundred runs ten curves differ; the others are the same files once more."""
REDRAWS = 11
REDRAW = """async (box) => {
    const began = performance.now();
    box.click();
    await new Promise((done) => setTimeout(done));
    const canvas = document.querySelector("[data-scalar=loss] canvas");
    canvas.getContext("2d").getImageData(0, 0, 1, 1); // waits for the picture
    return performance.now() - began;
}"""


@dataclass(frozen=True, kw_only=True)
class Pages:
    list_push_s: float
    """From a fresh server's start of listening to the whole table of a thousand runs at a socket."""
    list_again_s: float
    """The same at the next socket."""
    list_page_s: float
    """From a click on the link that the server printed to the first lines of the table in the browser."""
    redraw_ms: float
    """From a click that changes a chart of a hundred curves to the finished picture; drawn without a GPU."""
    draw_ms: float
    """Inside the drawing itself, before the canvas is painted."""

    @property
    def is_good(self) -> bool:
        return self.list_push_s < 3.0 and self.list_page_s < 3.0 and self.redraw_ms <= 100.0


def measure_pages(root: Path) -> Pages:
    push_s, again_s, page_s = _list(_listed(root / "listed"))
    redraw_ms, draw_ms = _redraw(_curves(root / "curves"))
    return Pages(list_push_s=push_s, list_again_s=again_s, list_page_s=page_s, redraw_ms=redraw_ms, draw_ms=draw_ms)


def _listed(root: Path) -> Path:
    first, *others = pretended(root, LISTED)
    with Telemetry(first / "telemetry.db") as telemetry:
        for step in range(20):
            telemetry.scalars(step, {f"tag/{i}": float(step) for i in range(TAGS)})
    for run in others:
        os.link(first / "telemetry.db", run / "telemetry.db")
    return root


def _curves(root: Path) -> Path:
    runs = pretended(root, CURVES)
    for k, run in enumerate(runs):
        if k >= DIFFERENT:
            os.link(runs[k % DIFFERENT] / "telemetry.db", run / "telemetry.db")
            continue
        with Telemetry(run / "telemetry.db") as telemetry:
            for step in range(POINTS):
                telemetry.scalars(step, {"loss": 1000.0 * (k + 1) / (step + 100.0) + ((step * 7919 + k) % 1000) / 1000.0})
    return root


def _list(root: Path) -> tuple[float, float, float]:
    with serving(root) as served, browser(WITHOUT_3D) as chrome:
        waited = []
        for _ in range(2):
            began = time.perf_counter()
            with line(served.port, served.token) as wire:
                wire.send('{"do": "list"}')
                assert len(str(wire.recv(60))) > 100 * LISTED
                waited.append(time.perf_counter() - began)
        page, began = chrome.new_page(), time.perf_counter()
        page.goto(served.address)
        page.locator("[role=rowgroup] [role=row]").nth(9).wait_for()
        return waited[0], waited[1], time.perf_counter() - began


def _redraw(root: Path) -> tuple[float, float]:
    ids = ",".join(run.name for run in sorted(root.iterdir()) if run.is_dir() and not run.name.startswith("."))
    with serving(root) as served, browser(WITHOUT_3D) as chrome:
        page = chrome.new_page(viewport={"width": 1400, "height": 860})
        page.goto(served.address)
        page.goto(f"{page.url.partition('#')[0]}#/compare?runs={ids}")
        chart = page.locator("[data-scalar=loss]")
        chart.get_by_label("Make it larger").click()
        _settled(page)
        found = []
        for _ in range(REDRAWS):
            ms = page.get_by_label("log y").evaluate(REDRAW)
            found.append((float(ms), float(_draw_ms(page) or "nan")))
        return median(ms for ms, _ in found), median(ms for _, ms in found)


def _settled(page: Page) -> None:
    """Every curve has come: the chart is drawn no more."""
    before, calm = "", 0
    while calm < 10:
        now = _draw_ms(page)
        calm = calm + 1 if now == before and now else 0
        before = now
        page.wait_for_timeout(200)


def _draw_ms(page: Page) -> str:
    return page.locator("[data-scalar=loss] [data-draw-ms]").get_attribute("data-draw-ms") or ""
