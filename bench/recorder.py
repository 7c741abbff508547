"""What a recording costs, that it replays, and that neither damage nor a kill goes unseen. Writes bench/results/recorder.json.

python bench/recorder.py            # two or three minutes
python bench/recorder.py --quick    # a fraction of it, written nowhere
"""

import json
import multiprocessing
import platform
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from statistics import median

import numpy as np
from torch import Tensor

import paddock
from paddock import Environment, Task
from paddock import terms as t
from paddock.cores import usable_cores
from paddock.platforms import this_platform
from paddock.playback import Playback
from paddock.playing import scripted
from paddock.recording import Recorder
from paddock.recording_block import BLOCK_STEPS
from paddock.replaying import BrokenRecording, Recording, open_recording, replay
from paddock.runs.recordings import Reason
from paddock.tasks.finding import find_task
from paddock.terminal import plain_table, screen

RESULT = Path(__file__).parent / "results" / "recorder.json"
WALK = "quadruped-walk"


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured."""

    stretches: int
    """Of two blocks each, with a recorder and without in turns."""
    replayed: int
    """Steps, over REPLAYED_WORLDS worlds."""
    flips: int
    kills: int


FULL = Effort(stretches=150, replayed=100_000, flips=200, kills=20)
QUICK = Effort(stretches=20, replayed=4_000, flips=20, kills=3)
RECORDED = (1, 4, 16)
REPLAYED_WORLDS = 4


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one recorded world and control step."""

    worlds: int
    us: float
    """Time inside the recorder, in an environment of the recorded worlds, as `paddock record` runs; median over stretches."""
    us_quiet: float
    """The same in the quietest tenth of the stretches: the machine may have had other work."""
    us_among: float
    """The same among 16 worlds, which leave less of the recorder in the processor's caches."""
    us_warm: float
    """The same without physics in between to empty the processor's caches."""
    bytes: float
    slowdown: float
    """Time of a control step of 16 worlds on one core, against the same steps without a recorder; median of pairs."""


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """Steps recorded in one process state and run again with plain MuJoCo."""

    steps: int
    identical: int
    episodes: int
    keyframes: int
    pushes: int
    mean_contacts: float
    starts: int
    """Keyframes in the middle of episodes that a second replay began from."""
    identical_from_starts: int
    """Of those replays."""
    steps_per_s: float


@dataclass(frozen=True, kw_only=True)
class Flips:
    """Single bits flipped in a file."""

    flips: int
    seen: int
    """The file was refused or said to be cut or damaged."""
    wrong: int
    """Read as if nothing were wrong, or read as something that was never recorded."""


@dataclass(frozen=True, kw_only=True)
class Kills:
    """Recording processes killed with SIGKILL; half of them end a chunk at every step, so that most die while writing."""

    kills: int
    steps_said: int
    steps_lost: int
    """Said to be written, and not in the file."""
    not_identical: int
    """Files whose steps did not replay."""


def shaken() -> Task:
    """The quadruped, pushed, and with another friction and mass in every episode."""
    push = t.Push(body="trunk", newtons=(10.0, 60.0), every_s=0.5, duration_s=0.1)
    drawn = {"friction": t.Friction((0.4, 1.4)), "mass": t.Mass((0.7, 1.6), "trunk"), "push": push}
    return replace(find_task(WALK), randomize=drawn, episode_s=4.0)


def stumbling(env: Environment) -> Tensor:
    return 0.7 * scripted(env) + 0.6 * env.sample()


class Timed:
    """A tap that measures another."""

    def __init__(self, recorder: Recorder) -> None:
        self.seconds = 0.0
        self._recorder = recorder

    def __getattr__(self, name: str) -> object:
        call = getattr(self._recorder, name)

        def timed(*arguments: object) -> None:
            before = time.perf_counter()
            call(*arguments)
            self.seconds += time.perf_counter() - before

        return timed


def cost(worlds: int, effort: Effort, folder: Path) -> Cost:
    """Two equal environments in turns, one of them recorded."""
    envs = [paddock.make(WALK, num_worlds=max(RECORDED), num_threads=1) for _ in range(2)]
    for env in envs:
        env.reset()
    steps = 2 * BLOCK_STEPS
    count = worlds * steps / 1e6
    ratios, warm = [], []
    with Recorder(envs[0], folder / f"{worlds}.mcap", worlds=range(worlds)) as recorder:
        for _ in range(effort.stretches):
            recorded, plain = (_stretch(env, steps) for env in envs)
            ratios.append(recorded / plain)
        among = _inside(envs[0], recorder, worlds, effort)
    size = (folder / f"{worlds}.mcap").stat().st_size / recorder.steps / worlds
    with Recorder(envs[1], folder / f"{worlds}-warm.mcap", worlds=range(worlds)) as recorder:
        for _ in range(effort.stretches):
            before = time.perf_counter()
            for _ in range(steps):
                recorder.stepping(envs[1].sim)
                recorder.stepped(envs[1].sim)
            warm.append((time.perf_counter() - before) / count)
    alone = paddock.make(WALK, num_worlds=worlds, num_threads=1)
    alone.reset()
    with Recorder(alone, folder / f"{worlds}-alone.mcap", worlds=range(worlds)) as recorder:
        inside = _inside(alone, recorder, worlds, effort)
    return Cost(
        worlds=worlds,
        us=median(inside),
        us_quiet=sorted(inside)[len(inside) // 10],
        us_among=median(among),
        us_warm=median(warm),
        bytes=size,
        slowdown=median(ratios),
    )


def _inside(env: Environment, recorder: Recorder, worlds: int, effort: Effort) -> list[float]:
    """Microseconds inside the recorder per recorded world and step, of each stretch."""
    timed, found = Timed(recorder), []
    env.tap = timed  # pyright: ignore[reportAttributeAccessIssue]
    for _ in range(effort.stretches):
        timed.seconds = 0.0
        _stretch(env, 2 * BLOCK_STEPS)
        found.append(timed.seconds * 1e6 / (2 * BLOCK_STEPS * worlds))
    return found


def _stretch(env: Environment, steps: int) -> float:
    before = time.perf_counter()
    for _ in range(steps):
        env.step(env.sample())
    return time.perf_counter() - before


def replayed(effort: Effort, folder: Path) -> Replayed:
    path = folder / "long.mcap"
    env = paddock.make(shaken(), num_worlds=REPLAYED_WORLDS, seed=1)
    env.reset()
    with Recorder(env, path, worlds=range(REPLAYED_WORLDS)):
        for _ in range(effort.replayed // REPLAYED_WORLDS):
            env.step(stumbling(env))
    report = replay(path)
    recording = open_recording(path)
    due = [(world, k.step) for world, own in recording.tracks.items() for k in own.keyframes if k.reason == Reason.DUE]
    starts = random.Random(0).sample(due, min(20, len(due)))
    again = [replay(path, world=world, first=step, last=step + 500).verdict for world, step in starts]
    return Replayed(
        steps=report.recorded,
        identical=report.verified,
        episodes=sum(len({k.episode for k in own.keyframes}) for own in recording.tracks.values()),
        keyframes=report.keyframes,
        pushes=sum(len(np.unique(own.change_steps)) for own in recording.tracks.values()) // 2,
        mean_contacts=_contacts(recording),
        starts=len(starts),
        identical_from_starts=again.count("identical"),
        steps_per_s=report.verified / report.seconds,
    )


def _contacts(recording: Recording) -> float:
    playback = Playback(recording, 0)
    found = []
    for _ in range(min(2000, playback.steps)):
        playback.advance()
        found.append(playback.data.ncon)
    return float(np.mean(found))


def flips(effort: Effort, folder: Path) -> Flips:
    path, flipped = folder / "whole.mcap", folder / "flipped.mcap"
    env = paddock.make(shaken(), num_worlds=2, seed=2)
    env.reset()
    with Recorder(env, path, worlds=(0, 1)) as recorder:
        for step in range(300):
            env.step(stumbling(env))
            if step % 40 == 0:
                recorder.flush()
    whole, content = open_recording(path), path.read_bytes()
    seen = wrong = 0
    for bit in random.Random(0).sample(range(8 * len(content)), effort.flips):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        flipped.write_bytes(damaged)
        try:
            found = open_recording(flipped)
        except BrokenRecording:
            seen += 1
            continue
        seen += found.condition != "complete"
        wrong += found.condition == "complete" or not all(
            own.crc.tobytes() == whole.tracks[world].crc[: own.steps].tobytes()
            and own.ctrl.tobytes() == whole.tracks[world].ctrl[: own.steps].tobytes()
            for world, own in found.tracks.items()
        )
    return Flips(flips=effort.flips, seen=seen, wrong=wrong)


def kills(effort: Effort, folder: Path) -> Kills:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["paddock.recording"])
    draw = random.Random(0)
    said = lost = different = 0
    for kill in range(effort.kills):
        path, written = folder / f"killed{kill}.mcap", context.Value("q", 0)
        child = context.Process(target=record_forever, args=(path, written, kill % 2 == 0))
        child.start()
        while written.value == 0:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.5))
        child.kill()
        child.join()
        found = open_recording(path)
        said += written.value
        lost += max(0, written.value - found.steps)
        different += replay(path).verdict != "identical"
    return Kills(kills=effort.kills, steps_said=said, steps_lost=lost, not_identical=different)


def record_forever(path: Path, written: "Synchronized[int]", always: bool) -> None:
    """What the killed processes do."""
    env = paddock.make(shaken(), num_worlds=2, num_threads=1)
    env.reset()
    with Recorder(env, path, worlds=(0, 1)) as recorder:
        while True:
            env.step(stumbling(env))
            if always:
                recorder.flush()
            written.value = recorder.written


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    effort = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs = [cost(worlds, effort, folder) for worlds in RECORDED]
        long, bits, dead = replayed(effort, folder), flips(effort, folder), kills(effort, folder)
    here = this_platform()
    table = plain_table()
    for column in ("recorded worlds", "us per step", "quietest", "among 16", "warm", "bytes per step", "step of 16 worlds"):
        table.add_column(column, justify="right")
    for own in costs:
        times = f"{own.us:.1f}", f"{own.us_quiet:.1f}", f"{own.us_among:.1f}", f"{own.us_warm:.1f}"
        table.add_row(str(own.worlds), *times, f"{own.bytes:.0f}", f"x {own.slowdown:.2f}")
    console = screen()
    console.print(table)
    console.print(
        f"replay: {long.identical:,} of {long.steps:,} steps identical, {long.steps_per_s:,.0f} a second; "
        f"{long.episodes} episodes, {long.keyframes:,} keyframes, {long.pushes:,} pushes, {long.mean_contacts:.1f} contacts; "
        f"{long.identical_from_starts} of {long.starts} identical from the middle of an episode\n"
        f"flips: {bits.seen} of {bits.flips} seen, {bits.wrong} silently wrong\n"
        f"kills: {dead.steps_lost} of {dead.steps_said:,} acknowledged steps lost in {dead.kills}, "
        f"{dead.not_identical} did not replay"
    )
    if not quick:
        result = {
            "paddock": paddock.__version__,
            "mujoco": here.mujoco,
            "python": platform.python_version(),
            "machine": f"{here.cpu}, {usable_cores()} cores",
            "task": WALK,
            "cost": [asdict(own) for own in costs],
            "replay": asdict(long),
            "flips": asdict(bits),
            "kills": asdict(dead),
        }
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(f"wrote {RESULT}")


if __name__ == "__main__":
    main()
