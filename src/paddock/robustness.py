"""Policies x worlds that differ from nominal -> what each can stand: a transfer matrix, and which property hurts most."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from paddock.errors import PaddockError
from paddock.evaluation import FINAL_SEED, acting, check_episodes, play_out
from paddock.making import make
from paddock.runs.atomic import write_file
from paddock.scoring import Rate
from paddock.tasks.randomize_presets import OWN, with_randomization
from paddock.tasks.randomizers import Randomizer
from paddock.tasks.task import Task
from paddock.trained import Run

CONDITIONS = ("none", "light", "default", "heavy")
NUM_WORLDS = 64


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One policy under one condition."""

    condition: str
    mean_return: float
    success: Rate | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One policy under all of them."""

    run: str
    trained_under: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """What one property of the hardest condition does by itself."""

    name: str
    alone: Cell
    """Nothing differs from nominal but this."""
    without: Cell
    """Everything differs but this."""


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """What policies can stand."""

    task: str
    episodes: int
    seed: int
    conditions: tuple[str, ...]
    rows: tuple[Row, ...]
    hardest: str
    """The condition that the ablations take apart."""
    ablations: tuple[Ablation, ...]
    """Of the first policy, what hurts most first; empty where nobody asked."""


def examine(
    runs: Sequence[Run],
    *,
    conditions: Sequence[str] = CONDITIONS,
    ablate: str = "",
    episodes: int = 100,
    seed: int = FINAL_SEED,
    checkpoint: str | int = "best",
    advance: Callable[[int], None] = lambda episodes: None,
) -> Robustness:
    """Evaluate every run under every condition over the same episodes; take the condition `ablate` apart for the first run.

    A condition is what `--randomize` takes: a preset, with changes such as `heavy,push=off`.
    """
    check_episodes(episodes)
    tasks = {run.card.setup.task for run in runs}
    if len(tasks) != 1:
        raise PaddockError(f"these runs are of {len(tasks) or 'no'} tasks ({', '.join(sorted(tasks))}); wanted runs of one task.")

    def cell(run: Run, task: Task, name: str) -> Cell:
        env = make(task, num_worlds=min(NUM_WORLDS, episodes), seed=seed)
        found, _ = play_out(env, acting(run.load(checkpoint).policy), name=name, episodes=episodes, advance=advance)
        return Cell(condition=name, mean_return=found.mean_return, success=found.success)

    rows = tuple(
        Row(
            run=run.path.name,
            trained_under=str(run.card.setup.config.get("randomize", "")) or OWN,
            cells=tuple(cell(run, with_randomization(run.task, name), name) for name in conditions),
        )
        for run in runs
    )
    parts = with_randomization(runs[0].task, ablate).randomize if ablate else {}
    ablations = [
        Ablation(
            name=name,
            alone=cell(runs[0], _under(runs[0].task, {name: part}), f"{name} alone"),
            without=cell(runs[0], _under(runs[0].task, _without(parts, name)), f"{ablate} without {name}"),
        )
        for name, part in parts.items()
    ]
    return Robustness(
        task=tasks.pop(),
        episodes=episodes,
        seed=seed,
        conditions=tuple(conditions),
        rows=rows,
        hardest=ablate,
        ablations=tuple(sorted(ablations, key=_harmlessness)),
    )


def is_by_return(found: Robustness) -> bool:
    """Whether only the return tells anything: the task knows no success, or nothing ever succeeded."""
    cells = [cell for row in found.rows for cell in row.cells]
    cells += [cell for ablation in found.ablations for cell in (ablation.alone, ablation.without)]
    return not any(cell.success is not None and cell.success.count for cell in cells)


def evaluations(task: Task, *, runs: int, conditions: Sequence[str], ablate: str) -> int:
    """How many evaluations an examination takes."""
    return runs * len(conditions) + (2 * len(with_randomization(task, ablate).randomize) if ablate else 0)


def merit(cell: Cell) -> float:
    """What a cell is judged by: success where the task knows it, the return elsewhere."""
    return cell.mean_return if cell.success is None else cell.success.value


def write_robustness(found: Robustness, folder: Path) -> Path:
    """The numbers as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "robustness.json"
    write_file(file, json.dumps(asdict(found), indent=2).encode())
    return file


def _harmlessness(found: Ablation) -> tuple[float, float]:
    """How much better the policy does under this alone than under all but this; the return judges where success is equal."""
    return merit(found.alone) - merit(found.without), found.alone.mean_return - found.without.mean_return


def _without(parts: Mapping[str, Randomizer], name: str) -> dict[str, Randomizer]:
    return {other: part for other, part in parts.items() if other != name}


def _under(task: Task, randomize: Mapping[str, Randomizer]) -> Task:
    return replace(task, randomize=randomize)
