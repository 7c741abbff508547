"""labels.json of a run: the title, tags and note that people gave it. The run itself never reads or writes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from paddock.errors import PaddockError
from paddock.messages import from_json, to_json
from paddock.messages.cockpit import LabelChange, Labels
from paddock.runs.atomic import write_file

LABELS = "labels.json"
MAX_TITLE, MAX_TAG, MAX_TAGS, MAX_NOTE = 200, 60, 50, 20_000
NONE = Labels(title="", tags=(), note="")


def read_labels(folder: Path) -> Labels:
    """What was written on a run; nothing where nobody did, or where the file is damaged."""
    try:
        return parse_labels((folder / LABELS).read_bytes())
    except OSError:
        return NONE


def parse_labels(content: bytes) -> Labels:
    """Labels as a file has them."""
    try:
        return from_json(Labels, content.decode())
    except (PaddockError, ValueError, RecursionError):
        return NONE


def change_labels(folder: Path, change: LabelChange) -> Labels:
    """Write what is given on a run, and leave the rest."""
    if change.title is not None and len(change.title) > MAX_TITLE:
        raise PaddockError(f"the title has {len(change.title)} letters; wanted at most {MAX_TITLE}.")
    if change.note is not None and len(change.note) > MAX_NOTE:
        raise PaddockError(f"the note has {len(change.note):,} letters; wanted at most {MAX_NOTE:,}.")
    tags = None if change.tags is None else tuple(dict.fromkeys(tag.strip() for tag in change.tags if tag.strip()))
    if tags is not None and (len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG for tag in tags)):
        raise PaddockError(f"wanted at most {MAX_TAGS} tags of at most {MAX_TAG} letters each.")
    given = {"title": change.title and change.title.strip(), "tags": tags, "note": change.note}
    labels = replace(read_labels(folder), **{name: value for name, value in given.items() if value is not None})
    write_file(folder / LABELS, to_json(labels).encode())
    return labels
