"""telemetry.db against oracles: what goes in comes out, rolled up, rewound and gone on with."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from paddock.errors import PaddockError, UnknownName
from paddock.runs import rollups
from paddock.runs.telemetry import EpisodeBatch, Telemetry, rewind
from paddock.runs.telemetry_reader import TelemetryReader
from telemetry_feed import CAUSES, COLUMNS, STRIDE, TERMS, batch, buckets, contents, feed, opened, query, row_of, stored_buckets


def test_everything_comes_back(tmp_path: Path) -> None:
    path, began = tmp_path / "telemetry.db", time.time()
    given = batch(5)
    with opened(path) as run:
        for k in range(300):
            run.step_row(k * STRIDE, row_of(k * STRIDE))
        run.scalars(512, {"loss": 1 / 3, "reward/upright": -2.0})
        run.scalars(512, {"loss": 1e300})
        run.episodes(512, given)
        run.event(512, "status", {"status": "running", "loss": float("nan"), "list": [1, (2.5, None)]})
        run.event(513, "note", {})
    with TelemetryReader(path) as reader:
        assert reader.names() == ["loss", "reward/upright"]
        curve = reader.scalar("loss")
        assert (curve.step.tolist(), curve.mean.tolist(), curve.count.tolist()) == ([512, 512], [1 / 3, 1e300], [1, 1])
        last = reader.last("reward/upright")
        assert (last.step, last.value, last.i) == (512, -2.0, 0) and began <= last.time <= time.time()
        table = reader.episodes()
        for name, values in vars(given).items():
            np.testing.assert_array_equal(getattr(table, name), values)
        assert table.step.tolist() == [512] * 5
        assert (table.term_names, table.causes) == (TERMS, CAUSES)
        assert reader.worlds() == [3, 7] and reader.columns.steps == COLUMNS
        for place, world in enumerate((3, 7)):
            steps, rows = reader.step_rows(world, 10 * STRIDE + 1, 290 * STRIDE)
            assert steps.tolist() == [k * STRIDE for k in range(11, 291)] and rows.dtype == np.float32
            np.testing.assert_array_equal(rows, np.stack([row_of(step)[place] for step in steps.tolist()]))
        assert reader.step_rows(5, 0, 10**9)[1].shape == (0, 3)
        assert [(event.step, event.kind, event.detail) for event in reader.events()] == [
            (512, "status", {"status": "running", "loss": "nan", "list": [1, [2.5, None]]}),
            (513, "note", {}),
        ]
        assert [event.kind for event in reader.events("note")] == ["note"]


def test_a_file_that_stands_alone_holds_everything(tmp_path: Path) -> None:
    """Copied without its WAL, while a reader still has it open."""
    with opened(tmp_path / "telemetry.db") as run:
        feed(run, 0, 20)
        run.flush()
        reader = TelemetryReader(tmp_path / "telemetry.db")
    with closing(reader):
        (tmp_path / "copy.db").write_bytes((tmp_path / "telemetry.db").read_bytes())
        assert contents(tmp_path / "copy.db") == contents(tmp_path / "telemetry.db")


def test_unevenly_spaced_step_rows_keep_their_steps(tmp_path: Path) -> None:
    path, given = tmp_path / "telemetry.db", [0, 4, 8, 9, 10, 11, 400, 401, 500]
    with opened(path) as run:
        for step in given:
            run.step_row(step, row_of(step))
            assert step != 10 or run.flush()
    with TelemetryReader(path) as reader:
        for first in range(12):
            steps, rows = reader.step_rows(7, first, 450)
            assert steps.tolist() == [step for step in given if first <= step <= 450]
            np.testing.assert_array_equal(rows, [row_of(step)[1] for step in steps.tolist()])


def test_nan_is_counted_and_never_stored_as_a_scalar(tmp_path: Path) -> None:
    with opened(tmp_path / "telemetry.db") as run:
        run.scalars(1, {"loss": float("nan"), "reward": float("inf"), "fine": 1.0})
        given = batch(1)
        given.total[:], given.success[:] = np.nan, -1
        run.episodes(1, given)
        assert run.flush() and run.health().not_finite == 2
    with TelemetryReader(tmp_path / "telemetry.db") as reader:
        assert reader.names() == ["fine"]
        assert np.isnan(reader.episodes().total[0]) and reader.episodes().success[0] == -1


def test_roll_ups_equal_an_oracle_also_after_reopening(tmp_path: Path) -> None:
    path, rng = tmp_path / "telemetry.db", np.random.default_rng(1)
    given: dict[str, dict[int, float]] = {"loss": {}, "rare": {}}
    step = 0
    for session in (5000, 17, 4500):
        with Telemetry(path) as run:
            for _ in range(session):
                step += int(rng.integers(1, 9))
                values = {"loss": float(rng.normal() * 10.0 ** rng.integers(-9, 9))}
                if step % 7 == 0:
                    values["rare"] = float(step)
                run.scalars(step, values)
                for name, value in values.items():
                    given[name][step] = value
        for name, size in ((name, size) for name in given for size in rollups.SIZES):
            assert stored_buckets(path, name, size) == buckets(given[name], size)
    assert len(given["loss"]) > 2 * 4096


@pytest.mark.parametrize("k", [0, 1, 255, 256, 300, 511, 512, 599])
def test_rewound_equals_never_gone_further(tmp_path: Path, k: int) -> None:
    with opened(tmp_path / "short.db") as run:
        feed(run, 0, k + 1)
    with opened(tmp_path / "long.db") as run:
        feed(run, 0, 600)
    assert k == 599 or contents(tmp_path / "long.db") != contents(tmp_path / "short.db")
    rewind(tmp_path / "long.db", k * STRIDE + STRIDE - 1)
    assert contents(tmp_path / "long.db") == contents(tmp_path / "short.db")
    rewound = tmp_path / "long.db"
    with opened(rewound) as run:
        feed(run, k + 1, 610)
    with opened(tmp_path / "straight.db") as run:
        feed(run, 0, 610)
    assert contents(rewound) == contents(tmp_path / "straight.db")


def test_rewinding_keeps_status_events_and_needs_a_file(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with Telemetry(path) as run:
        run.event(100, "status", {"status": "failed"})
        run.event(100, "note", {})
        run.scalars(100, {"late": 1.0})
    rewind(path, 50)
    with TelemetryReader(path) as reader:
        assert [event.kind for event in reader.events()] == ["status"]
        assert reader.scalar("late").step.size == 0
        with pytest.raises(PaddockError, match="no value left"):
            reader.last("late")
    with pytest.raises(PaddockError, match="no telemetry at"):
        rewind(tmp_path / "other.db", 50)


def test_a_curve_has_the_finest_resolution_that_fits(tmp_path: Path) -> None:
    path, values = tmp_path / "telemetry.db", np.random.default_rng(2).normal(size=9000)
    with Telemetry(path) as run:
        for i, value in enumerate(values):
            run.scalars(10 * i, {"x": value})
    with TelemetryReader(path) as reader:
        for max_points, size in ((9000, 1), (8999, 16), (563, 16), (562, 256), (36, 256), (35, 4096), (3, 4096)):
            curve = reader.scalar("x", max_points=max_points)
            parts = [values[k : k + size] for k in range(0, 9000, size)]
            assert curve.count.tolist() == [len(part) for part in parts]
            assert curve.step.tolist() == [10 * min(k + size - 1, 8999) for k in range(0, 9000, size)]
            np.testing.assert_array_equal(curve.min, [part.min() for part in parts])
            np.testing.assert_array_equal(curve.max, [part.max() for part in parts])
            np.testing.assert_allclose(curve.mean, [part.mean() for part in parts], rtol=1e-11)
        zoomed = reader.scalar("x", first=2001, last=4000)
        assert zoomed.step.tolist() == list(range(2010, 4001, 10))
        np.testing.assert_array_equal(zoomed.mean, values[201:401])
        assert reader.scalar("x", first=90_001).step.size == 0 and reader.scalar("x", first=3, last=2).step.size == 0
        whole = reader.scalar("x", max_points=1)
        assert (whole.step.tolist(), whole.count.tolist()) == ([89_990], [9000])
        assert (whole.min[0], whole.max[0], whole.mean[0]) == (values.min(), values.max(), pytest.approx(values.mean()))
        seen = reader.points({"x": 4321}, at_most=50)
        assert [(point.i, point.value) for point in seen] == [(i, values[i]) for i in range(4321, 4371)]
        assert reader.points({"x": 9000}) == []
        with pytest.raises(UnknownName, match="Did you mean 'x'"):
            reader.scalar("xx")


def test_status_events_are_synced_at_once_and_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with Telemetry(path) as run:
        run.event(0, "note", {})
        while run.health().queued:
            time.sleep(0.01)
        assert query(path, "SELECT value FROM meta WHERE key = 'synced'") == [("0",)]
        run.event(0, "status", {"status": "paused"})
        while run.health().queued:
            time.sleep(0.01)
        assert query(path, "SELECT value FROM meta WHERE key = 'synced'") != [("0",)]


def test_what_is_no_telemetry_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    opened(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
        db.commit()
    for open_it in (opened, TelemetryReader, lambda path: rewind(path, 0)):
        with pytest.raises(PaddockError, match="has schema version 99; this Paddock knows version 1"):
            open_it(path)
    (tmp_path / "noise.db").write_bytes(bytes(range(256)) * 32)
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = (tmp_path / "foreign.db").read_bytes()
    for name in ("noise.db", "foreign.db"):
        with pytest.raises(PaddockError, match=f"{name} (is no telemetry|cannot be written)"):
            opened(tmp_path / name)
        with pytest.raises(PaddockError, match="is no telemetry that can be read"):
            TelemetryReader(tmp_path / name)
    assert (tmp_path / "foreign.db").read_bytes() == before
    with pytest.raises(PaddockError, match="there is no folder"):
        opened(tmp_path / "nowhere" / "telemetry.db")


def test_a_run_goes_on_only_as_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with opened(path) as run:
        feed(run, 0, 10)
    with pytest.raises(PaddockError, match="begun with the term names upright, effort; asked to go on with upright"):
        Telemetry(path, terms=("upright",))
    with Telemetry(path) as run:  # whoever only adds an event need not know the names
        run.event(5000, "status", {"status": "failed"})
        run.episodes(5000, batch(1))
    with opened(path) as run:
        with pytest.raises(PaddockError, match="scalar 'loss' at step 100, but the record has reached step 2304"):
            run.scalars(100, {"loss": 1.0})
        with pytest.raises(PaddockError, match="step row at step 2304, but the record has reached step 2304"):
            run.step_row(2304, row_of(0))


def test_arguments_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="worlds must differ"):
        Telemetry(tmp_path / "telemetry.db", worlds=(1, 1))
    with pytest.raises(PaddockError, match="term names must differ"):
        Telemetry(tmp_path / "telemetry.db", terms=("a", "a"))
    with opened(tmp_path / "telemetry.db") as run:
        with pytest.raises(PaddockError, match=r"shape \(3, 2\); wanted \(2, 3\)"):
            run.step_row(0, np.zeros((3, 2), np.float32))
        wrong = batch(3)
        with pytest.raises(PaddockError, match=r"'terms' of an episode batch has the shape \(3, 1\); wanted \(3, 2\)"):
            run.episodes(0, EpisodeBatch(**(vars(wrong) | {"terms": wrong.terms[:, :1]})))
        with pytest.raises(PaddockError, match="wanted places among the causes: fell, truncated"):
            run.episodes(0, EpisodeBatch(**(vars(wrong) | {"cause": wrong.cause + 2})))
        with pytest.raises(PaddockError, match="'odd' event cannot be written as JSON"):
            run.event(0, "odd", {"what": object()})
    with pytest.raises(PaddockError, match="closed"):
        run.scalars(0, {"x": 1.0})
    run.close()


def test_arrays_are_the_callers_again_after_a_call(tmp_path: Path) -> None:
    rows, given = np.ones((2, 3), np.float32), batch(2)
    kept = {name: value.copy() for name, value in vars(given).items()}
    with opened(tmp_path / "telemetry.db") as run:
        run.step_row(0, rows)
        run.episodes(0, given)
        rows[:] = 9.0
        for value in vars(given).values():
            value[:] = 0
    with TelemetryReader(tmp_path / "telemetry.db") as reader:
        np.testing.assert_array_equal(reader.step_rows(3, 0, 0)[1], np.ones((1, 3), np.float32))
        np.testing.assert_array_equal(reader.episodes().terms, kept["terms"])
