"""Where a second of training goes."""

import json
from pathlib import Path

import pytest

from paddock.cli import main
from paddock.configuring import configure, settle
from paddock.profiling import PARTS, profile
from paddock.tasks.finding import find_task


def test_the_parts_make_up_the_whole_and_grow_with_their_work() -> None:
    task = find_task("cartpole-balance")
    flags: dict[str, object] = {"num_worlds": 16, "num_threads": 1}
    light = profile(task, settle(configure(task, preset="debug", flags=flags)), updates=3)
    assert list(light.seconds) == list(PARTS) and min(light.seconds.values()) > 0.0
    assert light.env_steps == 3 * 16 * configure(task, preset="debug").ppo.horizon
    heavy = profile(task, settle(configure(task, preset="debug", flags=flags | {"ppo": {"epochs": 60}})), updates=3)
    share = [found.seconds["learning"] / sum(found.seconds.values()) for found in (light, heavy)]
    assert share[1] > share[0]


def test_the_command_shows_bars_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "profile.json"
    args = ["--profile", "cartpole-balance", "--preset", "debug", "--quick", "--num-worlds", "8", "--out", str(out)]
    assert main(["bench", *args]) == 0
    said = capsys.readouterr().out
    assert "8 worlds" in said and all(name in said for name in PARTS) and "Everything but physics costs" in said
    assert set(json.loads(out.read_text())["seconds"]) == set(PARTS)
