"""Replays of recordings in which one thing was changed: everything that must be noticed is, and is named."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paddock.errors import PaddockError
from paddock.messages import to_json
from paddock.platforms import differences, this_platform
from paddock.playback import Playback, recorded_model
from paddock.replaying import open_recording, replay, show
from paddock.runs.recordings import (
    CHANGE,
    HEADER_TOPIC,
    MODEL_FILE,
    Keyframe,
    Reason,
    Steps,
)
from recording_samples import (
    EVERY,
    STEPS,
    chunks,
    columns,
    edited,
    recorded_walk,
    rewritten,
)


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_walk(tmp_path_factory.mktemp("walk") / "walk.mcap")


def test_a_dropped_warm_start_is_noticed(walk: Path, tmp_path: Path) -> None:
    warm = columns(open_recording(walk).header, "qacc_warmstart")

    def cold(keyframe: Keyframe) -> Keyframe:
        row = keyframe.row.copy()
        row[warm] = 0.0
        return replace(keyframe, row=row)

    path = edited(walk, tmp_path / "cold.mcap", keyframe=cold)
    report = replay(path)
    assert (report.verdict, report.condition) == ("diverged", "complete")
    assert report.divergence is not None and report.divergence.field == "qacc_warmstart"
    due = [keyframe.step for keyframe in open_recording(path).tracks[0].keyframes if keyframe.reason == Reason.DUE]
    assert len(due) == 12
    assert {replay(walk, world=0, first=step, last=step + 5).verdict for step in due} == {"identical"}
    verdicts = [replay(path, world=0, first=step, last=step + 5).verdict for step in due]
    assert verdicts.count("diverged") > 6  # where nothing touches, a cold start does no harm
    assert replay(path, world=2).verdict == "identical"


def test_a_state_in_single_precision_is_noticed(walk: Path, tmp_path: Path) -> None:
    def rounded(keyframe: Keyframe) -> Keyframe:
        return replace(keyframe, row=keyframe.row.astype(np.float32).astype(np.float64))

    path = edited(walk, tmp_path / "rounded.mcap", keyframe=rounded)
    report = replay(path, world=0, first=EVERY, last=EVERY + 15)
    assert report.verdict == "diverged" and report.divergence is not None and report.divergence.step == EVERY


def test_one_bit_of_one_input_is_noticed(walk: Path, tmp_path: Path) -> None:
    def bent(steps: Steps) -> Steps:
        if not steps.first <= 100 < steps.first + len(steps.crc):
            return steps
        ctrl = steps.ctrl.copy()
        ctrl[100 - steps.first].view(np.uint32)[3] ^= 1
        return replace(steps, ctrl=ctrl)

    report = replay(edited(walk, tmp_path / "bent.mcap", steps=bent))
    assert report.verdict == "diverged" and report.verified == 100 + STEPS
    found = report.divergence
    assert found is not None and (found.world, found.episode, found.step, found.step_of_episode) == (0, 1, 100, 35)
    assert found.field is not None and found.difference is not None and found.difference > 0


def test_nominal_model_fields_are_noticed(walk: Path, tmp_path: Path) -> None:
    recording = open_recording(walk)
    nominal = recorded_model(recording, MODEL_FILE)
    for place, field in enumerate(recording.header.model_fields):

        def forgotten(keyframe: Keyframe, place: int = place, name: str = field.name) -> Keyframe:
            fields = list(keyframe.fields)
            fields[place] = getattr(nominal, name)
            return replace(keyframe, fields=tuple(fields))

        report = replay(edited(walk, tmp_path / f"{field.name}.mcap", keyframe=forgotten))
        assert report.verdict == "diverged", field.name

    def constants(keyframe: Keyframe) -> Keyframe:
        return replace(keyframe, constants=False)

    assert replay(edited(walk, tmp_path / "constants.mcap", keyframe=constants)).verdict == "diverged"


def test_forgotten_pushes_are_noticed(walk: Path, tmp_path: Path) -> None:
    def unpushed(steps: Steps) -> Steps:
        return replace(steps, changes=np.zeros(0, CHANGE))

    report = replay(edited(walk, tmp_path / "unpushed.mcap", steps=unpushed))
    assert report.verdict == "diverged"
    assert report.divergence is not None and report.divergence.step == open_recording(walk).tracks[0].change_steps[0]


def test_another_model_is_corrupt_and_is_not_run(walk: Path, tmp_path: Path) -> None:
    def heavier(name: str, data: bytes) -> bytes:
        return data.replace(b"implicitfast", b"implicit") if name == MODEL_FILE else data

    report = replay(rewritten(walk, tmp_path / "model.mcap", heavier))
    assert (report.verdict, report.condition, report.verified) == ("corrupt", "damaged", 0)
    assert "model.xml is not what was recorded" in report.missing
    with pytest.raises(PaddockError, match="not the one that was recorded"):
        Playback(open_recording(tmp_path / "model.mcap"), 0)


def test_a_damaged_file_is_judged_by_what_is_left(walk: Path, tmp_path: Path) -> None:
    content = bytearray(walk.read_bytes())
    place = chunks(content)[4] + 500
    content[place] ^= 1
    (tmp_path / "damaged.mcap").write_bytes(content)
    report = replay(tmp_path / "damaged.mcap")
    assert report.verdict == "corrupt" and 0 < report.verified == report.recorded < 2 * STEPS
    (tmp_path / "cut.mcap").write_bytes(content[:place])
    left = replay(tmp_path / "cut.mcap")
    assert (left.verdict, left.condition, left.verified, left.recorded) == ("identical", "cut", report.verified, report.recorded)


def test_another_platform_is_blamed_only_for_a_difference(walk: Path, tmp_path: Path) -> None:
    here = this_platform()
    there = replace(here, cpu="Another 9000", cpu_flags=(*here.cpu_flags, "magic"), libm="0")
    assert len(differences(there, here)) == 3 and differences(here, here) == ()

    def moved(name: str, data: bytes) -> bytes:
        if name != HEADER_TOPIC:
            return data
        header = json.loads(data)
        return json.dumps(header | {"platform": json.loads(to_json(there))}).encode()

    path = rewritten(walk, tmp_path / "moved.mcap", moved)
    report = replay(path)
    assert report.verdict == "identical" and len(report.differences) == 3
    colder = edited(path, tmp_path / "colder.mcap", keyframe=lambda own: replace(own, row=own.row * (1 + 1e-12)))
    report = replay(colder)
    assert report.verdict == "different platform" and any("lacks magic" in line for line in report.differences)


def test_a_motion_that_drifts_is_led_back_by_keyframes(walk: Path, tmp_path: Path) -> None:
    """As on another platform, where steps differ and keyframes are the truth."""
    bent = edited(walk, tmp_path / "bent.mcap", steps=lambda own: replace(own, ctrl=own.ctrl * 0.5))
    playback, truth = Playback(open_recording(bent), 0), Playback(open_recording(walk), 0)
    for step in (3 * EVERY - 1, 3 * EVERY):
        playback.seek(0)
        while playback.position < step:
            playback.advance()
        playback.enter()
        truth.seek(step)
        assert (playback.row.tobytes() == truth.row.tobytes()) == (step == 3 * EVERY)


def test_a_report_is_for_people(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(replay(walk))
    said = capsys.readouterr().out
    assert "identical" in said and f"{2 * STEPS} of {2 * STEPS} verified in worlds 0, 2" in said
    bent = edited(walk, tmp_path / "bent.mcap", steps=lambda own: replace(own, ctrl=own.ctrl * 0.5))
    show(replay(bent))
    said = capsys.readouterr().out
    assert "diverged" in said and "world 0, episode 0, step 0" in said and "is off by" in said
