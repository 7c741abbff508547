"""Runs on a shelf, as a table or as JSON."""

import json as json_text
from dataclasses import asdict

from rich.text import Text

from paddock.messages import RunCard, to_json
from paddock.runs.shelf import Shelf
from paddock.terminal import plain_table, screen
from paddock.training_view import clock

COLOURS = {"running": "bold green", "paused": "bold yellow", "crashed": "bold red", "failed": "bold red", "unreadable": "bold red"}


def show_runs(shelf: Shelf, *, json: bool) -> None:
    """Print every run, a line each."""
    found = shelf.runs()
    if json:
        print(json_text.dumps([asdict(run) | {"card": run.card and json_text.loads(to_json(run.card))} for run in found]))
        return
    if not found:
        print(f"No runs in {shelf.root.absolute()}. Start one: paddock train cartpole-balance")
        return
    away = any(run.place != "here" for run in found)
    table = plain_table()
    for name in ("run", "status", "steps", "time", "return", "success", "best", "size", *(["where"] if away else [])):
        table.add_column(name, justify="left" if name in ("run", "status", "where") else "right", no_wrap=True)
    for run in found:
        status = Text(run.status.split(":")[0], style=COLOURS.get(run.status.split(":")[0], ""))
        place = [run.place] if away else []
        table.add_row(Text(run.id), status, *_numbers(run.card), f"{run.size_bytes / 2**20:.1f} MiB", *place)
    screen().print(table)
    for run in found:
        if run.card is None:
            print(f"\n{run.id} is {run.status}")


def _numbers(card: RunCard | None) -> list[str]:
    """Steps, time, return and success in training, success in evaluation."""
    if card is None:
        return [""] * 5
    at = card.progress
    return [f"{at.env_steps:,}", clock(at.seconds), _number(at.mean_return), _number(at.success), _number(at.best_success)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
