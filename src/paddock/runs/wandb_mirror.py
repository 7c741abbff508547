"""Scalars of a run on Weights & Biases: a process of its own follows telemetry.db, so that no hang there reaches training.

In the run folder, `wandb/mirror.json` says how far it came: a resumed run goes on in the same W&B run and sends nothing twice.
What the process prints goes to `wandb/mirror.log`.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import PaddockError
from paddock.runs.atomic import write_file
from paddock.runs.telemetry_reader import TelemetryReader

if TYPE_CHECKING:
    from wandb import Run

STEP = "env_step"
"""The x axis of every curve: W&B's own step must never go back, an env step may."""
STOP_S = 15.0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What was sent, as it stands in mirror.json."""

    wandb_id: str = field(default_factory=lambda: secrets.token_hex(4))
    sent: Mapping[str, int] = field(default_factory=dict)
    """Values of each scalar that were handed to W&B."""
    errors: int = 0
    last_error: str = ""

    def failed(self, error: Exception) -> "Progress":
        return replace(self, errors=self.errors + 1, last_error=f"{type(error).__name__}: {error}")


@dataclass(frozen=True, kw_only=True)
class MirrorHealth:
    """How the mirroring goes."""

    running: bool
    sent: int
    """Values handed to W&B, over all sessions of the run."""
    errors: int
    last_error: str
    since_pass_s: float
    """Since the mirror last looked for new values and was done with them: large where W&B hangs."""


class WandbMirror:
    """The mirror process of a run, from the side of whoever trains."""

    def __init__(self, run_folder: Path, *, project: str, every_s: float = 5.0) -> None:
        require_wandb()
        self._folder, self._project, self._every_s = run_folder, project, every_s
        self._process: subprocess.Popen[bytes] | None = None
        self._began = time.time()

    def start(self) -> None:
        """Begin to follow. Returns at once; W&B is imported and reached in the other process."""
        command = [sys.executable, "-m", __name__, str(self._folder.absolute()), self._project]
        command += ["--every-s", str(self._every_s), "--parent", str(os.getpid())]
        _state_file(self._folder).parent.mkdir(exist_ok=True)
        self._began = time.time()
        with (_state_file(self._folder).parent / "mirror.log").open("ab") as log:
            # a session of its own: Ctrl-C at the terminal stops the training, which then stops the mirror when all is written
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def stop(self, timeout: float = STOP_S) -> None:
        """Send what is left. A mirror that takes longer than `timeout` seconds is killed; it can go on another time."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def health(self) -> MirrorHealth:
        """How the mirroring goes, now."""
        file = _state_file(self._folder)
        progress = _load(self._folder)
        seen_at = max(self._began, file.stat().st_mtime if file.exists() else 0.0)
        return MirrorHealth(
            running=self._process is not None and self._process.poll() is None,
            sent=sum(progress.sent.values()),
            errors=progress.errors,
            last_error=progress.last_error,
            since_pass_s=max(0.0, time.time() - seen_at),
        )


def mirror(run_folder: Path, *, project: str, stop: threading.Event, every_s: float = 5.0) -> None:
    """Send new scalars every `every_s` seconds until `stop`, and once more then. Errors are counted and tried again."""
    require_wandb()
    run, progress = None, _load(run_folder)
    is_last = False
    while not is_last:
        is_last = stop.is_set()
        try:
            run = run or _begin(run_folder, project, progress.wandb_id)
            progress = _send(run, run_folder, progress)
        except Exception as error:  # whatever W&B raises: the next pass tries again, and health tells
            progress = progress.failed(error)
        _save(run_folder, progress)
        if not is_last:
            stop.wait(every_s)
    if run is not None:
        try:
            run.finish()
        except Exception as error:  # W&B's files stay in the run folder: `wandb sync` can send them
            _save(run_folder, progress.failed(error))


def require_wandb() -> None:
    """Say how to get W&B where it is not installed."""
    if find_spec("wandb") is None:
        raise PaddockError("mirroring to Weights & Biases needs the package wandb: pip install 'paddock[wandb]'")


def _begin(run_folder: Path, project: str, wandb_id: str) -> "Run":
    import wandb

    # scalars only: what code and repository the run had stands in its run.json
    settings = wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True)
    try:
        run = wandb.init(project=project, dir=str(run_folder), id=wandb_id, name=run_folder.name, resume="allow", settings=settings)
    except Exception:
        wandb.teardown()  # otherwise its service holds the id as in use, and no later attempt could succeed
        raise
    run.define_metric(STEP)
    run.define_metric("*", step_metric=STEP)
    return run


def _send(run: "Run", run_folder: Path, progress: Progress) -> Progress:
    """Hand over every value that is new, one row for each step."""
    while True:
        with TelemetryReader(run_folder / "telemetry.db") as reader:
            points = reader.points(progress.sent)
        if not points:
            return progress
        sent = dict(progress.sent)
        for step, of_step in groupby(points, key=lambda point: point.step):
            row: dict[str, float] = {STEP: step}
            for point in of_step:
                row[point.name] = point.value
                sent[point.name] = point.i + 1
            run.log(row)
        progress = replace(progress, sent=sent)


def _state_file(run_folder: Path) -> Path:
    return run_folder / "wandb" / "mirror.json"


def _load(run_folder: Path) -> Progress:
    file = _state_file(run_folder)
    return Progress(**json.loads(file.read_text())) if file.exists() else Progress()


def _save(run_folder: Path, progress: Progress) -> None:
    file = _state_file(run_folder)
    file.parent.mkdir(exist_ok=True)
    write_file(file, json.dumps(asdict(progress)).encode(), durable=False)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Follow a run and send its scalars to Weights & Biases.")
    parser.add_argument("run_folder", type=Path)
    parser.add_argument("project")
    parser.add_argument("--every-s", type=float, default=5.0)
    parser.add_argument("--parent", type=int, help="stop when this process is gone")
    given = parser.parse_args()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if given.parent:
        threading.Thread(target=_stop_with, args=(given.parent, stop), daemon=True).start()
    mirror(given.run_folder, project=given.project, stop=stop, every_s=given.every_s)


def _stop_with(parent: int, stop: threading.Event) -> None:
    """A training that was killed tells nobody; its mirror is then handed to another parent."""
    while os.getppid() == parent:
        time.sleep(1.0)
    stop.set()


if __name__ == "__main__":
    _main()
