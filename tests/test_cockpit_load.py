"""The cockpit under load, in short: what many write, everybody is told, to the last digit."""

from pathlib import Path

from cockpit_load import load


def test_nothing_is_lost_on_the_way_to_anybody(tmp_path: Path) -> None:
    found = load(tmp_path / "runs", minutes=0.1, runs=6, clients=2, rate=3000.0)
    assert found.faults == () and found.unequal_curves == 0
    assert set(found.points_told) == {found.points_written} and found.points_written > 3000
    quick, slow = zip(found.frames_per_s, found.dropped_per_s, strict=True)
    assert min(found.frames_per_s) > 1.0
    assert slow[1] > quick[1]  # who draws slowly is told what it missed
