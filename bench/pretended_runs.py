"""Run folders as a training would leave them, without the training."""

import os
from pathlib import Path

from paddock.messages import RunCard, RunProgress, RunSetup, TaskSource, to_json
from paddock.platforms import this_platform
from paddock.runs.folder import FORMAT, now


def pretended(root: Path, count: int) -> list[Path]:
    """So many runs that have begun and have no record yet."""
    platform, made = this_platform(), []
    for k in range(count):
        run = root / f"20261101-{k:06d}-cartpole-balance-s{k}-aaaa"
        run.mkdir(parents=True)
        setup = RunSetup(
            format=FORMAT,
            id=run.name,
            task="cartpole-balance",
            task_version=1,
            source=TaskSource(typed="cartpole-balance", constant="", folder="", sha256=""),
            model_sha256="",
            algorithm="ppo",
            preset="default",
            config={"steps": 0, "minutes": 10.0, "num_worlds": 16, "ppo": {"learning_rate": 1e-3, "discount": 0.99}},
            seed=k,
            num_worlds=16,
            command=("paddock", "train", "cartpole-balance", "--seed", str(k)),
            created=now(),
            host=os.uname().nodename,
            paddock="",
            torch="",
            numpy="",
            python="",
            git=None,
            platform=platform,
        )
        progress = RunProgress(
            status="finished",
            detail="",
            heartbeat=now(),
            pid=os.getpid(),
            env_steps=0,
            updates=0,
            seconds=0.0,
            mean_return=None,
            success=None,
            best_success=None,
            resumed=0,
            dropped_rows=0,
            troubles=(),
        )
        (run / "run.json").write_text(to_json(RunCard(setup=setup, progress=progress)))
        made.append(run)
    return made
