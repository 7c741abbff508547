"""The files of a run that can be fetched: a list of names first, then one of those names. No name is ever joined to a path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from paddock.messages.cockpit import CheckpointRow, FileRow
from paddock.runs.atomic import PARTIAL

MAX_FILES = 5_000
SHOWN = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".csv": "text/plain; charset=utf-8",
    ".py": "text/plain; charset=utf-8",
}
"""What a browser may show. Everything else is bytes: a run's files come from anywhere, and none may act as a page."""


def media_type(name: str) -> str:
    """Of a file, by its name."""
    return SHOWN.get(Path(name).suffix.lower(), "application/octet-stream")


def files_in(folder: Path) -> dict[str, FileRow]:
    """Every plain file of a run by its name, links and sockets left out."""
    found: dict[str, FileRow] = {}
    for name, seen in _walk(folder):
        modified = datetime.fromtimestamp(seen.st_mtime, UTC).isoformat(timespec="milliseconds")
        found[name] = FileRow(name=name, size_bytes=seen.st_size, modified=modified)
        if len(found) >= MAX_FILES:
            break
    return dict(sorted(found.items()))


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    for inside, folders, names in os.walk(folder):  # which follows no links
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or name.endswith(PARTIAL):
                continue
            path = Path(inside, name)
            try:
                seen = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(seen.st_mode):
                yield path.relative_to(folder).as_posix(), seen


def checkpoints_in(files: dict[str, FileRow], best: int | None) -> tuple[CheckpointRow, ...]:
    """The checkpoints among a run's files, the newest last."""
    steps = sorted(
        int(parts[1])
        for name in files
        if len(parts := name.split("/")) == 3 and name.endswith("/checkpoint.json") and parts[1].isdecimal()
    )
    return tuple(
        CheckpointRow(
            env_steps=step,
            size_bytes=sum(file.size_bytes for name, file in files.items() if name.startswith(f"checkpoints/{step:012d}/")),
            is_best=step == best,
            is_latest=step == steps[-1],
        )
        for step in steps
    )
