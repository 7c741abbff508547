"""The system's Chromium, driven as a person would, with graphics that need no GPU."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")
WITH_3D = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""WebGL on the processor."""
WITHOUT_3D = ("--disable-gpu",)
"""Canvases are painted as browsers paint them where there is no GPU, not by a GPU that is pretended."""


def chromium() -> str | None:
    """Where it is; None on machines without."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser(graphics: tuple[str, ...] = WITH_3D) -> Iterator[Browser]:
    """One with a fresh profile."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, *graphics])
        try:
            yield started
        finally:
            started.close()
