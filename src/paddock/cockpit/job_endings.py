"""Why a training ended, in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.messages import RunCard
from paddock.runs.folder import OVER

SIGNS = (
    (
        ("CUDA out of memory", "OutOfMemoryError", "CUDA_ERROR_OUT_OF_MEMORY"),
        "The GPU has too little memory for this. Take fewer worlds (num_worlds), or smaller networks.",
    ),
    (
        ("MemoryError", "std::bad_alloc", "Cannot allocate memory", "can't allocate memory"),
        "The machine has too little memory for this. Take fewer worlds (num_worlds).",
    ),
    (
        ("No space left on device",),
        "The disk is full. Make room, then go on with the run: nothing up to its last checkpoint is lost.",
    ),
    (
        ("finds no NVIDIA GPU", "built without CUDA"),
        "There is no GPU here that can be used. Start it again with the simulator cpu.",
    ),
)
"""What the last lines may say, and what to do then."""
OUT_OF_MEMORY = (
    "The kernel ended it because memory ran out. Take fewer worlds (num_worlds), or let fewer trainings run side by side."
)
CUT_SHORT = "It was cut short. Go on with the run from its last checkpoint."
KILLED = "Somebody killed it, or the machine ran out of memory. Go on with the run from its last checkpoint."


def reason_of(
    *, exit_code: int | None, signal: str, card: RunCard | None, lines: Sequence[str], was_asked: bool, was_killed: bool
) -> str:
    """Why it ended: what the run says itself, else what its process left behind."""
    if signal == "SIGKILL" and was_killed:
        return "It did not stop when it was asked, and was killed. Its last checkpoint is kept."
    if card is not None and card.progress.status in OVER:
        detail = f": {card.progress.detail}" if card.progress.detail else ""
        return f"{card.progress.status}{detail}"
    if was_asked and card is None:
        return "stopped before it had begun"
    if signal:
        return f"{'stopped' if was_asked else 'ended'} by {signal}"
    if exit_code:
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"exit code {exit_code}{f': {last}' if last else ''}"
    return "ended while no cockpit looked" if exit_code is None else "ended before it had a run"


def hint_of(
    *, was_seen: bool, signal: str, card: RunCard | None, lines: Sequence[str], more_ooms: bool, was_killed: bool, sim: str
) -> str:
    """What to do about it; empty where there is nothing."""
    if signal == "SIGKILL" and not was_killed:
        return OUT_OF_MEMORY if more_ooms else KILLED
    if card is not None and not was_seen and card.progress.status not in OVER:
        return CUT_SHORT
    if card is None or card.progress.status == "failed":
        said = "\n".join(lines)
        for signs, hint in SIGNS:
            if any(sign in said for sign in signs):
                return hint
    return fallback_hint(card, sim)


def fallback_hint(card: RunCard | None, sim: str) -> str:
    """Loud words where a run does not use the sim that was asked for; empty otherwise."""
    runs_on = "" if card is None else str(card.setup.config.get("sim", ""))
    if sim and runs_on and runs_on != sim:
        return f"You asked for the simulator {sim}, but this run uses {runs_on}."
    return ""
