"""The flags of `paddock train`: every setting, with the defaults of the task, preset and file that were named."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from paddock.configuring import TrainConfig, configure, preset_for
from paddock.errors import PaddockError
from paddock.repeating import config_to_repeat, task_to_repeat
from paddock.runs.folder import RunFolder, find_run
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task
from paddock.trained import RUNS_DIR
from paddock.typed_numbers import registry

HELP = """Train a task and keep a run of it. The TASK comes first.

Settings come from the task's preset, then from --config, then from flags; the later ones win.

Examples:
    paddock train quadruped-balance
    paddock train cartpole-swingup --seed 3 --minutes 2
    paddock train my_task.py:LEAN --preset debug
    paddock train walk --robot my_robot.py
    paddock train quadruped-walk --ppo.learning-rate 3e-4 --ppo.hidden 256 128
    paddock train quadruped-walk --config runs/20261116-120000-quadruped-walk-s0-1a2b/run.json --seed 1
    paddock train --like latest     # the same run again: on the same platform, the same weights"""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for on the command line."""

    task: str
    settings: TrainConfig
    preset: str
    runs_dir: Path
    like: RunFolder | None
    """The run that this one repeats."""
    run_id: str
    """Of the run; empty for one that is made up."""


def parse(args: Sequence[str]) -> Asked:
    """What the words behind `paddock train` ask for."""
    run_to_repeat, chosen = None, "default"
    if repeated := _given(args, "--like"):
        if not args[0].startswith("-"):
            rest = " ".join(args[1:])
            raise PaddockError(f"--like repeats a run with its own task, so no task stands in front: paddock train {rest}")
        run_to_repeat = find_run(repeated, Path(_given(args, "--runs-dir") or RUNS_DIR))
        args = [task_to_repeat(run_to_repeat), *args]
    task, *rest = args or ["--help"]
    if task in ("-h", "--help"):
        task, base, rest = "TASK", TrainConfig(), ["--help"]
    elif task.startswith("-"):
        named = next((word for word in args if word in TASK_NAMES or ".py" in word), "quadruped-balance")
        raise PaddockError(
            f"the task comes first, not '{task}': paddock train {named} {' '.join(word for word in args if word != named)}"
        )
    else:
        if robot := _given(rest, "--robot"):
            task = f"{task}@{robot}"
        file = _given(rest, "--config")
        chosen = preset_for(_given(rest, "--preset") or "default", _given(rest, "--sim"))
        base = (
            config_to_repeat(run_to_repeat)
            if run_to_repeat
            else configure(find_task(task), preset=chosen, file=Path(file) if file else None)
        )

    def wanted(
        settings: Annotated[TrainConfig, tyro.conf.arg(name="")] = base,
        *,
        robot: Annotated[str, tyro.conf.arg(metavar="ROBOT")] = "",
        preset: str = chosen,
        config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
        like: Annotated[str, tyro.conf.arg(metavar="RUN")] = "",
        runs_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = RUNS_DIR,
        run_id: Annotated[str, tyro.conf.arg(name="id", metavar="ID")] = "",
    ) -> Asked:
        """Flags.

        Args:
            settings: What the training is told.
            robot: For the tasks of any robot (stand, walk, reach): a robot's name, or file.py, or file.py:NAME.
            preset: debug (seconds, to see that everything runs), default, full, gpu (for --sim gpu), or one of the task's own.
            config: A YAML file with settings, or another run's run.json.
            like: Repeat a run, its task and all its settings, and say whether the weights are the same; without a TASK in front.
            runs_dir: Where runs are kept.
            run_id: What to call the run, and its folder; empty for time, task and seed.
        """
        if settings.minutes and _given(rest, "--minutes") and not _given(rest, "--steps"):
            settings = replace(settings, steps=0)
        return Asked(task=task, settings=settings, preset=preset, runs_dir=runs_dir, like=run_to_repeat, run_id=run_id)

    return tyro.cli(
        wanted,
        prog=f"paddock train {task.partition('@')[0]}",
        description=HELP,
        args=rest,
        config=(tyro.conf.FlagCreatePairsOff,),
        registry=registry(),
    )


def _given(args: Sequence[str], flag: str) -> str:
    """The value of a flag on which the defaults of the others depend."""
    for i, word in enumerate(args):
        if word == flag and i + 1 < len(args):
            return args[i + 1]
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return ""
