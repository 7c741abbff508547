"""Runs in the browser, from the first step to the trash and back: what a person does with the mouse, and what they see of it."""

import io
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from chromium import browser as open_browser
from PIL import Image
from playwright.sync_api import Browser, expect

import paddock
from browser_rig import Visit, needs_chromium, training, visit
from cockpit_rig import Visitor, serving
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig
from paddock.replaying import open_recording, replay

pytestmark = needs_chromium
AT_ONCE_S = 2.0 if os.environ.get("CI") != "true" else 6.0
"""From a number's first moment on disk to its place on the page; where tests run side by side, browsers wait for them."""
SMALL = ("--num-worlds=16", "--num-threads=1", "--steps=0", "--minutes=10", "--evaluate-every=0", "--ppo.horizon=16")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def visitor(root: Path) -> Iterator[Visitor]:
    with serving(root) as (_, visitor):
        yield visitor


def first_of(run: Path, name: str) -> float:
    """When the first value of a scalar was written."""
    with closing(sqlite3.connect(run / "telemetry.db")) as database:
        query = "SELECT min(time) FROM scalars WHERE name = (SELECT id FROM names WHERE name = ?)"
        return database.execute(query, (name,)).fetchone()[0]


def picture(visit: Visit) -> np.ndarray:
    """The 3D view as it is on the screen, in grey."""
    image = Image.open(io.BytesIO(visit.page.locator(".picture canvas").screenshot()))
    return np.asarray(image.convert("L"), dtype=np.float32)


def test_a_run_of_a_terminal_appears_by_itself_and_is_seen_at_once(browser: Browser, visitor: Visitor, root: Path) -> None:
    with visit(browser, visitor) as table, visit(browser, visitor) as viewer:
        expect(table.page.get_by_text("Nothing has been trained here yet")).to_be_visible()
        with training(root, "cartpole-balance", *SMALL) as shell:
            link = table.page.locator("[role=row] a", has_text="cartpole-balance")
            link.wait_for()
            run = (link.get_attribute("href") or "").rpartition("/")[2]
            table.go(f"run/{run}/charts")
            viewer.go(f"run/{run}/live")
            table.until(lambda: table.curve("episode/return"))
            shown_at = time.time()
            assert shown_at - first_of(root / run, "episode/return") < AT_ONCE_S
            first = viewer.until(lambda: (scene := viewer.scene()) and scene["frames"] > 2 and scene["draws"] > 2 and scene)
            assert first["worlds"] == list(range(16)) and first["instances"] >= 32 and first["calls"] > 0
            seen = picture(viewer)
            assert seen.std() > 5.0
            viewer.until(lambda: viewer.scene()["draws"] > first["draws"] + 2 and viewer.scene()["checksum"] != first["checksum"])
            assert np.abs(picture(viewer) - seen).mean() > 0.05
            shell.kill()
            shell.wait()
            expect(table.page.locator(".status", has_text="Crashed").first).to_be_visible()
            expect(table.page.get_by_text("Its process is gone without a word")).to_be_visible()
            expect(viewer.page.get_by_text("This run is over")).to_be_visible()


def test_a_run_is_started_steered_and_put_away_while_another_page_looks_on(browser: Browser, visitor: Visitor) -> None:
    with visit(browser, visitor) as desk, visit(browser, visitor) as other:
        page = desk.page
        page.get_by_role("link", name="New run").click()
        page.get_by_placeholder("Search tasks").fill("cartpole-balance")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="debug").click()
        page.get_by_label("Title").fill("of the form")
        start = page.get_by_role("button", name="Start", exact=True)
        expect(start).to_be_enabled()  # the preset's values have come
        for name, value in (("steps", "0"), ("minutes", "10"), ("num_worlds", "16"), ("num_threads", "1")):
            set_field(desk, name, value)
        start.click()
        page.get_by_role("toolbar", name="Of this run").wait_for()
        run = page.url.partition("#/run/")[2].partition("/")[0]
        status = other.page.locator("[role=row]", has_text="of the form").locator(".status")
        expect(status).to_have_text("Running")
        row = desk.until(lambda: (row := visitor.rows()[run])["env_steps"] > 0 and row)
        assert (row["title"], row["num_worlds"], row["origin"]) == ("of the form", 16, "cockpit")

        tools = page.get_by_role("toolbar", name="Of this run")
        tools.get_by_role("button", name="Pause").click()
        expect(status).to_have_text("Paused")
        steps = visitor.rows()[run]["env_steps"]
        page.wait_for_timeout(500)
        assert visitor.rows()[run]["env_steps"] == steps
        tools.get_by_role("button", name="Save now").click()
        desk.until(lambda: steps in [saved["env_steps"] for saved in visitor.json(f"/c/runs/{run}")["checkpoints"]])
        tools.get_by_role("button", name="Resume").click()
        expect(status).to_have_text("Running")
        desk.until(lambda: visitor.rows()[run]["env_steps"] > steps)
        tools.get_by_role("button", name="Stop").click()
        expect(tools.get_by_role("status")).to_contain_text("saving")
        expect(status).to_have_text("Stopped")
        assert visitor.rows()[run]["troubles"] == []

        tools.get_by_role("button", name="Archive").click()
        expect(page.get_by_role("heading", name="of the form lies in the archive")).to_be_visible()
        page.get_by_role("button", name="Restore it").click()
        tools.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="of the form lies in the trash")).to_be_visible()
        expect(status).to_have_count(0)  # no longer in the other's table
        page.get_by_role("button", name="Undo").last.click()
        expect(tools.get_by_role("button", name="Delete")).to_be_visible()
        expect(status).to_have_text("Stopped")


def set_field(visit: Visit, name: str, value: str) -> None:
    """Type into the field of a setting, wherever the form has folded it away."""
    field = visit.page.locator(f".field:has(label[title='{name}']) input")
    if not field.is_visible():
        visit.page.get_by_placeholder("Search settings").fill(name)
    field.fill(value)


def test_a_policy_is_played_with_and_what_is_pulled_moves(browser: Browser, visitor: Visitor, root: Path) -> None:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=64, num_worlds=8, num_threads=1, evaluate_episodes=1, ppo=ppo)
    run = paddock.train("cartpole-balance", config=config, runs_dir=root).path.name
    with visit(browser, visitor) as player:
        player.go(f"run/{run}/play")
        player.until(lambda: (player.scene() or {}).get("draws", 0) > 3 and player.scene()["frames"] > 3)
        page, canvas = player.page, player.page.locator(".picture canvas")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(canvas).to_have_attribute("data-doing", "paused")
        box = canvas.bounding_box()
        assert box is not None
        hold(player, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for _ in range(5):
            step(player)  # the mouse is still held
        page.mouse.up()
        step(player)
        page.get_by_role("link", name="Charts").click()  # which ends the play
        player.until(lambda: visitor.json(f"/c/runs/{run}")["recordings"])
        (file,) = (root / run / "recordings").glob("play-*.mcap")
        player.until(lambda: open_recording(file).condition == "complete")
    recording = open_recording(file)
    assert [event["do"] for event in recording.events if event["do"] in ("drag", "release")][-2:] == ["drag", "release"]
    assert np.abs(recording.tracks[0].change_values).max() > 0.1  # newtons that entered the engine
    assert replay(file).verdict == "identical"  # with them, and so not without


def step(player: Visit) -> None:
    """One control step, by the keyboard, until it is seen."""
    before = player.scene()["checksum"]
    player.page.get_by_role("button", name="Step").focus()
    player.page.keyboard.press(".")
    player.until(lambda: player.scene()["checksum"] != before)


def hold(player: Visit, x: float, y: float) -> None:
    """Take hold of the robot near a place of the picture, and pull it to the side."""
    mouse = player.page.mouse
    for dy in (0, 20, -20, 40, -40, 60, -60, 80, -80, 110, -110):
        for dx in (0, 15, -15, 40, -40):
            mouse.move(x + dx, y + dy)
            mouse.down()
            mouse.move(x + dx + 250, y + dy, steps=3)
            player.page.wait_for_timeout(150)
            if player.scene()["told"].get("drag"):
                return
            mouse.up()
    raise AssertionError("there is no robot in the middle of the picture")
