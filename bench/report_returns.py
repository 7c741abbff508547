"""The part of docs/benchmarks.md about returns on Gymnasium's tasks: ours and our runs of others, beside what others publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from paddock.aggregates import aggregate

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "bench" / "results" / "returns.json"
NAMES = {
    "paddock": "Paddock, preset `million`",
    "sb3": "Stable-Baselines3, its zoo's settings",
    "single-file": "PPO in a single file",
}
PUBLISHED: dict[str, dict[str, str]] = {
    "CleanRL PPO (v4)": {
        "gym-half-cheetah": "1,443 ± 46",
        "gym-hopper": "2,383 ± 272",
        "gym-walker2d": "2,288 ± 572",
        "gym-humanoid": "716 ± 49",
    },
    "SB3 zoo PPO (v3, one run, best agent)": {
        "gym-half-cheetah": "5,819 ± 664",
        "gym-hopper": "2,410 ± 10",
        "gym-walker2d": "3,479 ± 822",
        "gym-ant": "1,327 ± 452",
    },
    "Tianshou PPO (most reached within 1 M)": {
        "gym-half-cheetah": "5,784 ± 1,244",
        "gym-hopper": "2,609 ± 701",
        "gym-walker2d": "3,589 ± 757",
        "gym-ant": "3,258 ± 1,079",
        "gym-humanoid": "787 ± 194",
    },
}
"""As their own pages say, on older versions of the tasks and by their own ways of judging: a mirror, not a comparison."""


def returns() -> list[str]:
    if not TABLE.exists():
        return []
    rows = json.loads(TABLE.read_text())["rows"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    lines = ["| | " + " | ".join(tasks) + " |", "|---|" + "---|" * len(tasks)]
    for library, name in NAMES.items():
        cells = [_cell([row for row in rows if row["task"] == task and row["library"] == library]) for task in tasks]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    mirrored = ["| published by others | " + " | ".join(tasks) + " |", "|---|" + "---|" * len(tasks)]
    mirrored += [f"| {name} | " + " | ".join(own.get(task, "") for task in tasks) + " |" for name, own in PUBLISHED.items()]
    machines = " and ".join(dict.fromkeys(row["machine"] for row in rows))
    return [
        "## Returns after a million steps",
        "`python bench/returns.py`: mean return of the last policy, not the best, over 100 unseen episodes without exploration "
        "in Gymnasium's own -v5 environments (Ant and Humanoid without contact forces); interquartile mean over seeds with its "
        f"bootstrap interval, the number of seeds, and minutes of training. {machines}.",
        "\n".join(lines),
        "\n".join(mirrored),
    ]


def _cell(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    found = aggregate([row["return"] for row in rows])
    interval = f" [{found.low:,.0f}, {found.high:,.0f}]" if found.count > 1 else ""
    minutes = sorted(row["minutes"] for row in rows)
    return f"{found.middle:,.0f}{interval}, {len(rows)} seed{'s' * (len(rows) > 1)}, {minutes[len(minutes) // 2]:.0f} min"
