"""Recording -> verdict: does the engine, here and now, do again what was recorded?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.table import Table
from rich.text import Text

from paddock.errors import PaddockError
from paddock.platforms import differences, this_platform
from paddock.playback import Frame, Playback, frames, recorded_model
from paddock.rendering import Camera
from paddock.runs.recording_reader import BrokenRecording, Condition, Recording, open_recording
from paddock.runs.recordings import LOOK_FILE, Reason
from paddock.terminal import screen
from paddock.videos import write_video

__all__ = [
    "BrokenRecording",
    "Divergence",
    "Frame",
    "Playback",
    "Recording",
    "ReplayReport",
    "film",
    "frames",
    "open_recording",
    "replay",
    "show",
]

Verdict = Literal["identical", "different platform", "corrupt", "diverged"]
VIDEO_FPS = 30
"""At most: a video takes every k-th step."""
STYLES = {"identical": "bold green", "different platform": "bold yellow", "corrupt": "bold red", "diverged": "bold red"}


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first step of a world that was not the recorded one."""

    world: int
    episode: int
    step: int
    """Counted over the recording."""
    step_of_episode: int
    field: str | None
    """What lay furthest apart at the next keyframe; None where the episode has no further one."""
    difference: float | None


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """What a re-simulation found."""

    path: Path
    task: str
    verdict: Verdict
    """`identical`: every step checked, bit for bit. `different platform`: it differs, and so does what decides the last bit.
    `corrupt`: the file is not what was written. `diverged`: it differs, and nothing explains it."""
    condition: Condition
    missing: str
    worlds: tuple[int, ...]
    recorded: int
    """Steps in the file, over all worlds asked for."""
    verified: int
    """Steps run again that reached the recorded state."""
    keyframes: int
    """Keyframes passed or begun from."""
    divergence: Divergence | None
    differences: tuple[str, ...]
    """What is otherwise here than where it was recorded."""
    seconds: float


def replay(
    path: Path,
    *,
    world: int | None = None,
    first: int = 0,
    last: int | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> ReplayReport:
    """Run a recording again and compare every step: one world or all, from the keyframe at or before `first` up to `last`.

    `advance` hears of steps as they are run. A file that is cut is judged by what is left of it.
    """
    began = time.perf_counter()
    recording = open_recording(path)
    worlds = recording.header.worlds if world is None else (world,)
    if world is not None and world not in recording.tracks:
        raise PaddockError(f"world {world} is not in {path}. Recorded: {', '.join(map(str, recording.header.worlds))}.")
    results = [_verify(recording, own, first, last, advance) for own in worlds] if recording.is_model_intact else []
    found = next((result.divergence for result in results if result.divergence is not None), None)
    differ = differences(recording.header.platform, this_platform())
    if recording.condition == "damaged":
        verdict: Verdict = "corrupt"
    elif found is None:
        verdict = "identical"
    else:
        verdict = "different platform" if differ else "diverged"
    report = ReplayReport(
        path=path,
        task=recording.header.task,
        verdict=verdict,
        condition=recording.condition,
        missing=recording.missing,
        worlds=worlds,
        recorded=sum(recording.tracks[own].steps for own in worlds),
        verified=sum(result.verified for result in results),
        keyframes=sum(result.keyframes for result in results),
        divergence=found,
        differences=differ,
        seconds=time.perf_counter() - began,
    )
    if verdict == "identical" and not report.verified:
        raise PaddockError(f"{path} holds no step to run again. {recording.missing}".strip())
    return report


@dataclass(frozen=True)
class _Result:
    verified: int
    keyframes: int
    divergence: Divergence | None


def _verify(recording: Recording, world: int, first: int, last: int | None, advance: Callable[[int], None]) -> _Result:
    """Run one world's steps until they are done or one differs."""
    playback = Playback(recording, world)
    end = min(playback.steps, playback.steps if last is None else last)
    if not playback.steps:
        return _Result(0, 0, None)
    if not 0 <= first < max(end, 1):
        dt = recording.header.control_dt
        asked = f"{first} ({first * dt:g} s) to {'the end' if last is None else f'{last} ({last * dt:g} s)'}"
        known = f"the steps 0 to {playback.steps - 1}, {playback.steps * dt:g} s"
        raise PaddockError(f"nothing was recorded from step {asked}: world {world} has {known}.")
    start = max(keyframe.step for keyframe in playback.track.keyframes if keyframe.step <= first)
    playback.seek(start)
    keyframes = 0
    for step in range(start, end):
        keyframes += playback.keyframe is not None
        if not playback.advance():
            return _Result(step - start, keyframes, _divergence(playback, step))
        advance(1)
    return _Result(end - start, keyframes, None)


def _divergence(playback: Playback, step: int) -> Divergence:
    """Where the world is off by then: seen at the next keyframe, if the episode lasts that long."""
    keyframes = playback.track.keyframes
    episode = playback.episode
    began = max(keyframe.step for keyframe in keyframes if keyframe.step <= step and keyframe.reason != Reason.DUE)
    following = next((keyframe for keyframe in keyframes if keyframe.step > step), None)
    if playback.difference is None and following is not None and following.reason == Reason.DUE:
        while playback.position < following.step:
            playback.advance()
        playback.enter()
    field, difference = playback.difference or (None, None)
    return Divergence(
        world=playback.world, episode=episode, step=step, step_of_episode=step - began, field=field, difference=difference
    )


def film(path: Path, video: Path, *, world: int | None = None, first: int = 0, last: int | None = None) -> int:
    """Draw a recording, or its steps from `first` to `last`, into an .mp4 or .gif: one world, the first by default.

    Returns the number of frames.
    """
    recording = open_recording(path)
    header = recording.header
    stride = max(1, math.ceil(1 / (VIDEO_FPS * header.control_dt)))
    shown = list(frames(recording, world=header.worlds[0] if world is None else world, first=first, last=last, every=stride))
    with Camera(recorded_model(recording, LOOK_FILE)) as camera:
        write_video(video, (camera.frame(frame.qpos, frame.qvel) for frame in shown), fps=1 / (stride * header.control_dt))
    return len(shown)


def show(report: ReplayReport) -> None:
    """A report for people, on stdout."""
    title = Text.assemble(("\n" + str(report.path), "bold cyan"), f"  {report.task}\n")
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row("verdict", Text(report.verdict, style=STYLES[report.verdict]))
    table.add_row("file", f"{report.condition}. {report.missing}".strip())
    worlds = f"world{'s' * (len(report.worlds) > 1)} {', '.join(map(str, report.worlds))}"
    steps = f"{report.verified:,} of {report.recorded:,} verified"
    table.add_row("steps", f"{steps} in {worlds}, over {report.keyframes:,} keyframe{'s' * (report.keyframes != 1)}")
    if report.divergence is not None:
        table.add_row("differs", _sentence(report.divergence))
    for line in report.differences:
        table.add_row("platform", line)
    table.add_row("speed", f"{report.verified / report.seconds:,.0f} steps/s")
    screen().print(title, table, "")


def _sentence(divergence: Divergence) -> str:
    episode = f"episode {divergence.episode}, step {divergence.step_of_episode}"
    where = f"world {divergence.world}, {episode} ({divergence.step} of the recording)"
    if divergence.field is None:
        return where
    return f"{where}; {divergence.field} is off by {divergence.difference:.3g} at the next keyframe"
