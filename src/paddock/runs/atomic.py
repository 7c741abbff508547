"""Files that exist whole or not at all, whatever happens while they are written."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from paddock.runs.faults import point

PARTIAL = ".partial"


def write_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file in one move; `durable` also survives a power cut."""
    with beside(path) as partial:
        _write(partial, content, durable=durable)
    if durable:
        _sync_folder(path.parent)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Where to write a file that takes this path in one move at the end; an error leaves nothing behind, and `path` as it was."""
    partial = path.with_name(f".{path.name}{PARTIAL}")
    partial.unlink(missing_ok=True)
    try:
        yield partial
        point("file.before_rename")
        partial.replace(path)
        point("file.after_rename")
    except BaseException as error:
        partial.unlink(missing_ok=True)  # on a full disk half a file is in the way of the next attempt
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a write that fails does not say of what
        raise


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """A new folder with these files: written beside, synced, then renamed. There must be none of the name yet.

    Replacing one would take two renames, and a kill between them would leave neither.
    """
    partial = path.with_name(f".{path.name}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        point("folder.after_mkdir")
        for name, content in files.items():
            _write(partial / name, content, durable=True)
            point("folder.after_file")
        _sync_folder(partial)
        point("folder.before_rename")
        partial.rename(path)
        point("folder.after_rename")
        _sync_folder(path.parent)
        point("folder.after_sync")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Take a folder away in one move, then delete it: no reader finds half of it."""
    if path.exists():
        doomed = path.with_name(f".{path.name}.doomed{PARTIAL}")
        shutil.rmtree(doomed, ignore_errors=True)
        path.rename(doomed)
        point("folder.after_doom")
        shutil.rmtree(doomed)
        point("folder.after_removal")


def sweep(folder: Path) -> None:
    """Delete what a crash left half-written."""
    for left in folder.glob(f".*{PARTIAL}"):
        point("sweep.before_each")
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()


def _write(path: Path, content: bytes, *, durable: bool) -> None:
    with path.open("wb", buffering=0) as file:
        half = len(content) // 2
        view = memoryview(content)
        for part in (view[:half], view[half:]):
            while part:
                part = part[file.write(part) or 0 :]
            point("file.after_write")
        if durable:
            os.fsync(file.fileno())
    point("file.after_fsync")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
