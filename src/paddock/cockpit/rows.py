"""A run's card as a row of the table."""

from __future__ import annotations

from typing import Literal

from paddock.messages import RunCard
from paddock.messages.cockpit import Labels, Place, RunRow
from paddock.runs.labels import NONE


def row_of(
    run: str,
    card: RunCard,
    *,
    place: Place,
    status: str,
    alive: bool,
    watchable: bool = False,
    steps_per_s: float | None = None,
    size_bytes: int = 0,
    labels: Labels = NONE,
    origin: Literal["cockpit", "shell"] = "shell",
) -> RunRow:
    """What a table shows of a run that can be read."""
    setup, progress, config = card.setup, card.progress, card.setup.config
    goal_steps, goal_minutes = int(_number(config.get("steps"))), _number(config.get("minutes"))
    return RunRow(
        id=run,
        place=place,
        status=status,
        detail=progress.detail,
        alive=alive,
        watchable=watchable,
        task=setup.task,
        algorithm=setup.algorithm,
        preset=setup.preset,
        seed=setup.seed,
        sim=str(config.get("sim", "")),
        num_worlds=setup.num_worlds,
        env_steps=progress.env_steps,
        goal_steps=goal_steps,
        goal_minutes=goal_minutes,
        share=1.0 if status == "finished" else _share(progress.env_steps, progress.seconds, goal_steps, goal_minutes),
        seconds=progress.seconds,
        steps_per_s=steps_per_s,
        mean_return=progress.mean_return,
        success=progress.success,
        best_success=progress.best_success,
        created=setup.created,
        heartbeat=progress.heartbeat,
        size_bytes=size_bytes,
        resumed=progress.resumed,
        dropped_rows=progress.dropped_rows,
        troubles=progress.troubles,
        pid=progress.pid,
        host=setup.host,
        origin=origin,
        title=labels.title,
        tags=labels.tags,
        note=labels.note,
    )


def unreadable_row(run: str, why: str, *, place: Place, size_bytes: int, labels: Labels = NONE) -> RunRow:
    """What a table shows of a folder whose run.json cannot be used."""
    return RunRow(
        id=run,
        place=place,
        status="unreadable",
        detail=why,
        alive=False,
        watchable=False,
        task="",
        algorithm="",
        preset="",
        seed=0,
        sim="",
        num_worlds=0,
        env_steps=0,
        goal_steps=0,
        goal_minutes=0.0,
        share=0.0,
        seconds=0.0,
        steps_per_s=None,
        mean_return=None,
        success=None,
        best_success=None,
        created="",
        heartbeat="",
        size_bytes=size_bytes,
        resumed=0,
        dropped_rows=0,
        troubles=(),
        pid=0,
        host="",
        origin="shell",
        title=labels.title,
        tags=labels.tags,
        note=labels.note,
    )


def _share(steps: int, seconds: float, goal_steps: int, goal_minutes: float) -> float:
    parts = [steps / goal_steps] if goal_steps else []
    parts += [seconds / (60 * goal_minutes)] if goal_minutes else []
    return min(1.0, max(parts, default=0.0))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
