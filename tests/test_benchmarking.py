"""The benchmark measures what it says; how fast is for people to read, not for tests."""

import json
from pathlib import Path

import pytest

from paddock import benchmarking
from paddock.contenders import envpool_ant, gymnasium_ant, gymnasium_async_ant, paddock_env, raw_batch
from paddock.messages import BenchRun, from_json

TINY = benchmarking.Effort(sizes=(2,), rounds=1, seconds=0.01, ants=4)


def test_every_contender_steps() -> None:
    env, ours = paddock_env("gym-ant", 4)
    pool = envpool_ant(4, 1)
    assert pool is not None
    rows = benchmarking.compare(
        "gym-ant",
        [raw_batch(env, lean=False), ours, pool, gymnasium_async_ant(2), gymnasium_ant()],
        TINY,
    ).rows
    assert [row.worlds for row in rows] == [4, 4, 4, 2, 1]
    assert rows[0].ratio == 1.0
    for row in rows:
        assert row.env_steps_per_s > 0
        assert row.physics_steps_per_s == pytest.approx(5 * row.env_steps_per_s)


def test_raw_physics_starts_where_the_environment_is() -> None:
    env, ours = paddock_env("quadruped-walk", 2)
    raw = raw_batch(env, lean=True)
    before = env.sim.save()["rows"]
    raw.prepare()
    raw.run(3)
    assert (env.sim.save()["rows"] == before).all()  # and leaves it alone
    ours.run(3)
    assert not (env.sim.save()["rows"] == before).all()


def test_a_quick_run_writes_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmarking, "QUICK", TINY)
    out = tmp_path / "deep" / "bench.json"
    bench = benchmarking.run(quick=True, out=out)
    assert from_json(BenchRun, out.read_text()) == bench
    assert json.loads(out.read_text())["comparisons"][0]["task"] == "quadruped-walk"
    shown = capsys.readouterr().out
    assert "EnvPool" in shown and "KiB a world" in shown
