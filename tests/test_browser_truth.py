"""What the page draws is what the disk holds, to the last digit; also after the server, a run, or both were killed."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from chromium import browser as open_browser
from playwright.sync_api import Browser, Locator, Page, expect
from pretended_runs import pretended

from browser_rig import Visit, needs_chromium, recording, visit
from cockpit_rig import serving
from paddock.runs.telemetry import Telemetry
from paddock.runs.telemetry_reader import TelemetryReader

pytestmark = needs_chromium
LONG = 9000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


def stored(run: Path, name: str) -> list[tuple[float, float]]:
    """Every point of a scalar, by a plain query."""
    with closing(sqlite3.connect(run / "telemetry.db")) as database:
        query = "SELECT step, value FROM scalars WHERE name = (SELECT id FROM names WHERE name = ?) ORDER BY i"
        return [(float(step), value) for step, value in database.execute(query, (name,))]


def drawn_is_stored(visit: Visit, run: Path, name: str) -> None:
    visit.until(lambda: (points := stored(run, name)) and visit.curve(name) == points)


def test_charts_draw_every_point_exactly_and_a_long_curve_between_its_true_extremes(browser: Browser, tmp_path: Path) -> None:
    (run,) = pretended(tmp_path / "runs", 1)
    with Telemetry(run / "telemetry.db") as telemetry:
        for step in range(300):
            telemetry.scalars(step * 16, {"group/short": (step * 7919 % 1000) / 7.0})
        for step in range(LONG):
            telemetry.scalars(step * 16, {"group/long": float(step * 7919 % 1000) if step != 4321 else 1e6})
    with serving(tmp_path / "runs") as (_, visitor), visit(browser, visitor) as reader:
        reader.go(f"run/{run.name}/charts")
        drawn_is_stored(reader, run, "group/short")
        card = reader.page.locator("[data-scalar='group/short'] .now")
        expect(card).to_contain_text(f"{stored(run, 'group/short')[-1][1]:.4g}")

        assert 300 < len(reader.curve("group/long")) <= 2500  # an envelope
        high = reader.read("Math.max(...window.__paddock.charts['group/long'][0].high)")
        low = reader.read("Math.min(...window.__paddock.charts['group/long'][0].low)")
        assert (low, high) == (0.0, 1e6)  # the one point of nine thousand, too
        with TelemetryReader(run / "telemetry.db") as truth:
            curve = truth.scalar("group/long")
        assert [value for _, value in reader.curve("group/long")] == list(curve.mean)

        box = reader.page.locator("[data-scalar='group/long'] .u-over").bounding_box()
        assert box is not None
        reader.page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + 40)
        reader.page.mouse.down()
        reader.page.mouse.move(box["x"] + box["width"] * 0.50, box["y"] + 40, steps=4)
        reader.page.mouse.up()
        every = stored(run, "group/long")
        reader.until(lambda: is_part(reader.curve("group/long"), every))


def is_part(near: list[tuple[float, float]], every: list[tuple[float, float]]) -> bool:
    """Whether these are a few hundred true values, none left out between them."""
    first = every.index(near[0]) if near and near[0] in every else 0
    return first > 0 and len(near) > 300 and near == every[first : first + len(near)]


def test_a_followed_curve_has_no_gap_when_the_server_is_killed_and_states_are_told_truly(browser: Browser, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    run, other = pretended(root, 2)
    name = "group_0/scalar_0"

    def status_of(page: Page, run: Path) -> Locator:
        return page.locator(f"[role=row]:has(a[href*='{run.name}']) .status")

    with ExitStack() as stack:
        writer, other_writer = stack.enter_context(recording(run)), stack.enter_context(recording(other))
        server, visitor = stack.enter_context(serving(root))
        reader = stack.enter_context(visit(browser, visitor, offline=True))
        table = stack.enter_context(visit(browser, visitor, offline=True))
        reader.go(f"run/{run.name}/charts")
        reader.until(lambda: len(reader.curve(name)) > 3)
        kill(server)
        alert = reader.page.get_by_role("alert")
        expect(alert).to_contain_text("Connection lost")
        seen, count = len(reader.curve(name)), len(stored(run, name))
        reader.until(lambda: len(stored(run, name)) > count + 5)  # it goes on without a server
        assert len(reader.curve(name)) == seen
        with serving(root, "--port", str(visitor.port)) as (again, _):
            expect(alert).to_have_count(0)
            reader.until(lambda: len(reader.curve(name)) > count + 5)
            expect(status_of(table.page, run)).to_have_text("Running")
            kill(writer)
            expect(status_of(table.page, run)).to_have_text("Crashed")
            expect(alert).to_contain_text("Its process is gone without a word")
            drawn_is_stored(reader, run, name)
            kill(again)  # both at once
            kill(other_writer)
        with serving(root, "--port", str(visitor.port)):
            expect(status_of(table.page, other)).to_have_text("Crashed")
            table.go(f"run/{other.name}/charts")
            drawn_is_stored(table, other, name)


def kill(process: subprocess.Popen[Any]) -> None:
    """As `kill -9` does."""
    process.kill()
    process.wait()
