"""What a viewer costs a training: 16 robots at 30 Hz, and nobody. Writes bench/results/cockpit_cost.json.

python bench/cockpit_cost.py               # about a minute and a half: real learning, viewer and nobody in turns
python bench/cockpit_cost.py --seconds 2   # a look
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from torch import Tensor

from paddock import __version__
from paddock.configuring import TrainConfig, settle
from paddock.contracts import Step
from paddock.cores import usable_cores
from paddock.learn.ppo import Ppo
from paddock.making import make
from paddock.monitoring import Monitor, causes_of, step_columns
from paddock.platforms import this_platform
from paddock.runs.live import Live
from paddock.runs.telemetry import Telemetry

RESULT = Path(__file__).parent / "results" / "cockpit_cost.json"
VIEWER = Path(__file__).with_name("one_viewer.py")
TASKS = ("quadruped-walk", "humanoid-walk")
WORLDS, WATCHED, HZ = 64, 16, 30.0
ROUNDS, SECONDS = 3, 8.0
CHECKS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one training, in shares of wall time; medians over rounds."""

    task: str
    num_worlds: int
    calls: float
    """Processor time inside calls on the training's thread, somebody watching."""
    calls_with_waits: float
    """Wall time inside these calls: on a machine that others use too, it is they who are waited for."""
    thread: float
    """Processor time of the socket's thread, somebody watching."""
    total: float
    us_per_frame: float
    """Both, for each frame that was sent."""
    frames_per_s: float
    """As the viewer counted them; none come while the policy learns."""
    bytes_per_frame: float
    nobody: float
    """Calls, checks and thread together, nobody watching."""
    control_steps_per_s: float
    """Of all worlds together."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Of one stretch of training."""

    seconds: float
    calls_s: float
    calls_wall_s: float
    thread_s: float
    steps: int
    frames: int
    frame_bytes: int


class TimedMonitor(Monitor):
    """Knows how long it took to show something."""

    calls_s = calls_wall_s = 0.0
    steps = 0

    def show(self, *, paused: bool = False) -> None:
        began, began_wall = time.thread_time(), time.perf_counter()
        super().show(paused=paused)
        self.calls_s += time.thread_time() - began
        self.calls_wall_s += time.perf_counter() - began_wall

    def step(self, action: Tensor, /) -> Step:
        self.steps += 1
        return super().step(action)


@contextmanager
def viewer(path: Path) -> Iterator[dict[str, int]]:
    """Somebody in another process; what was seen is in the dictionary afterwards."""
    seen: dict[str, int] = {}
    command = [sys.executable, str(VIEWER), str(path), "--worlds", str(WATCHED), "--hz", str(HZ)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield seen
        seen |= json.loads(process.communicate()[0])


class Training:
    """A learner at work, with its record and its socket, in stretches of some seconds."""

    def __init__(self, task: str, folder: Path) -> None:
        env = make(task, num_worlds=WORLDS)
        self._config = settle(TrainConfig(num_worlds=WORLDS))
        self.live = Live(folder / "live.sock", num_worlds=WORLDS)
        self.telemetry = Telemetry(
            folder / "telemetry.db",
            terms=tuple(env.task.reward),
            causes=causes_of(env),
            step_columns=step_columns(env),
            worlds=range(self._config.watch_worlds),
        )
        self._monitor = TimedMonitor(env, self.telemetry, watched=self._config.watch_worlds, live=self.live)
        self._learner = Ppo(env, self._config.ppo, seed=0)
        assert self.live._thread.ident is not None
        self._clock = time.pthread_getcpuclockid(self.live._thread.ident)
        self._learner.update(self._monitor)

    def stretch(self, seconds: float) -> Tally:
        monitor = self._monitor
        calls, calls_wall, steps = monitor.calls_s, monitor.calls_wall_s, monitor.steps
        thread, began = time.clock_gettime(self._clock), time.perf_counter()
        while time.perf_counter() - began < seconds:
            self._learner.update(monitor)
        return Tally(
            seconds=time.perf_counter() - began,
            calls_s=monitor.calls_s - calls,
            calls_wall_s=monitor.calls_wall_s - calls_wall,
            thread_s=time.clock_gettime(self._clock) - thread,
            steps=monitor.steps - steps,
            frames=0,
            frame_bytes=0,
        )

    def close(self) -> None:
        self.live.close()
        self.telemetry.close()


def cost(task: str, *, seconds: float, rounds: int) -> Cost:
    watched: list[Tally] = []
    alone: list[Tally] = []
    with tempfile.TemporaryDirectory() as name:
        training = Training(task, Path(name))
        check_s = timeit.timeit(lambda: training.live.wanted, number=CHECKS) / CHECKS
        for _ in range(rounds):
            alone.append(training.stretch(seconds))
            with viewer(Path(name) / "live.sock") as seen:
                while not training.live.wanted:
                    time.sleep(0.01)
                tally = training.stretch(seconds)
            watched.append(Tally(**asdict(tally) | {"frames": seen["frames"], "frame_bytes": seen["bytes"]}))
        training.close()
    return Cost(
        task=task,
        num_worlds=WORLDS,
        calls=median(tally.calls_s / tally.seconds for tally in watched),
        calls_with_waits=median(tally.calls_wall_s / tally.seconds for tally in watched),
        thread=median(tally.thread_s / tally.seconds for tally in watched),
        total=median((tally.calls_s + tally.thread_s) / tally.seconds for tally in watched),
        us_per_frame=median(1e6 * (tally.calls_s + tally.thread_s) / tally.frames for tally in watched),
        frames_per_s=median(tally.frames / tally.seconds for tally in watched),
        bytes_per_frame=median(tally.frame_bytes / tally.frames for tally in watched),
        nobody=median((tally.calls_s + tally.thread_s + tally.steps * check_s) / tally.seconds for tally in alone),
        control_steps_per_s=median(tally.steps / tally.seconds for tally in alone),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    costs = [cost(task, seconds=asked.seconds, rounds=asked.rounds) for task in TASKS]
    for own in costs:
        somebody = f"{own.total:.2%} ({own.calls:.2%} calls, {own.thread:.2%} thread; {own.calls_with_waits:.2%} with waits)"
        frames = f"{own.frames_per_s:.1f} frames/s of {own.bytes_per_frame:.0f} bytes at {own.us_per_frame:.0f} us"
        print(f"{own.task:16} somebody {somebody}, {frames}; nobody {own.nobody:.4%}")
    if asked.seconds == SECONDS:
        setting = {"watched": WATCHED, "hz": HZ, "rounds": asked.rounds, "seconds": asked.seconds}
        machine = {"python": platform.python_version(), "cores": usable_cores(), **asdict(this_platform())}
        result = {"paddock": __version__, "setting": setting, "costs": [asdict(own) for own in costs], "machine": machine}
        RESULT.write_text(json.dumps(result, indent=2) + "\n")
    if any(own.total >= 0.03 or own.nobody >= 0.001 for own in costs):
        sys.exit("above 3 % with a viewer, or 0.1 % without")


if __name__ == "__main__":
    main()
