"""Runs on a shelf, as a table or as JSON."""

import json as json_text
from dataclasses import asdict

from paddock.messages import to_json
from paddock.runs.shelf import Shelf
from paddock.terminal import plain_table, screen
from paddock.training_view import clock

COLOURS = {"running": "bold green", "paused": "bold yellow", "crashed": "bold red", "failed": "bold red"}


def show_runs(shelf: Shelf, *, json: bool) -> None:
    """Print every run, a line each."""
    found = shelf.runs()
    if json:
        print(json_text.dumps([asdict(run) | {"card": run.card and json_text.loads(to_json(run.card))} for run in found]))
        return
    if not found:
        print(f"No runs in {shelf.root.absolute()}. Start one: paddock train cartpole-balance")
        return
    table = plain_table()
    for name in ("run", "status", "steps", "time", "return", "success", "best", "size", "where"):
        table.add_column(name, justify="left" if name in ("run", "status", "where") else "right", no_wrap=True)
    for run in found:
        status = f"[{COLOURS.get(run.status, 'default')}]{run.status}[/]"
        size = f"{run.size_bytes / 2**20:.1f} MiB"
        if run.card is None:
            table.add_row(run.id, status, "", "", "", "", "", size, run.place)
            continue
        at = run.card.progress
        numbers = (_number(at.mean_return), _number(at.success), _number(at.best_success))
        table.add_row(run.id, status, f"{at.env_steps:,}", clock(at.seconds), *numbers, size, run.place)
    screen().print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
