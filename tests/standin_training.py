"""A process that a supervisor takes for a training, without waiting for PyTorch: it has a run folder and a live.sock.

What it does is in its task: `polite` stops when asked, `deaf` hears nothing, `orphans` leaves a process behind, `crash` raises,
`gpu-full` runs out of memory, `quick` is done at once, `dies` kills itself, `slow` takes a minute to begin.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from paddock.messages import Platform, RunCard, RunSetup, TaskSource
from paddock.runs.folder import RunFolder, _unbegun, now
from paddock.runs.live import Live

PLATFORM = Platform(machine="", system="", cpu="", cpu_flags=(), libc="", libm="", mujoco="")


def setup(run: str, task: str) -> RunSetup:
    source = TaskSource(typed=task, constant="", folder="", sha256="")
    versions = {"paddock": "", "torch": "", "numpy": "", "python": "", "git": None, "platform": PLATFORM}
    about = {"algorithm": "ppo", "preset": "default", "config": {"sim": "cpu"}, "seed": 0, "num_worlds": 1}
    host = {"command": (), "created": now(), "host": os.uname().nodename}
    return RunSetup(format=1, id=run, task=task, task_version=0, source=source, model_sha256="", **about, **host, **versions)


def begin(root: Path, run: str, task: str) -> RunFolder:
    folder = RunFolder(root / run)
    if not folder.path.exists():
        folder.path.mkdir(parents=True)
        folder.write(RunCard(setup=setup(run, task), progress=_unbegun()))
    return folder


def say(run: RunFolder, status: str, detail: str = "") -> None:
    card = run.card()
    run.write(replace(card, progress=replace(card.progress, status=status, detail=detail, heartbeat=now(), pid=os.getpid())))


def main() -> None:
    verb, task, *flags = sys.argv[1:]
    given = {name: value for name, _, value in (flag.removeprefix("--").partition("=") for flag in flags)}
    root = Path(given["runs-dir"])
    if task == "slow":
        time.sleep(60)
    run = begin(root, given["id"] if verb == "train" else Path(task).name, task)
    task = run.card().setup.task
    print(f"{verb} {task}", flush=True)
    if task == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: print("la la la", flush=True))
    if task == "orphans":
        print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
    if task == "crash":
        raise ValueError("the world is flat")
    if task == "gpu-full":
        say(run, "failed", "OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
        sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
    with Live(run.socket, num_worlds=1) as live:
        say(run, "running")
        if task == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        while task != "quick" and (task == "deaf" or "stop" not in live.commands()):
            time.sleep(0.01)
    say(run, *(("finished",) if task == "quick" else ("stopped", "asked to stop over live.sock")))


if __name__ == "__main__":
    main()
