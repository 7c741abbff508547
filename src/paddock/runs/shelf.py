"""All runs of a folder: listed, put away without losing anything, brought back, thrown away with a way back."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path

from paddock.errors import PaddockError, unknown
from paddock.messages import RunCard, from_json
from paddock.runs.atomic import PARTIAL, remove_folder
from paddock.runs.folder import CARD, RunFolder, find_run, is_alive, status_of

ARCHIVE, TRASH = "archive", "trash"
SUFFIX = ".tar.gz"


@dataclass(frozen=True, kw_only=True)
class Shelved:
    """A run as a list shows it."""

    id: str
    place: str
    """`here`, `archive` or `trash`."""
    status: str
    card: RunCard | None
    """None for one that cannot be read, whose `status` then says why."""
    size_bytes: int


class Shelf:
    """A folder of runs. Archived ones lie packed in `archive/`, deleted ones whole in `trash/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def runs(self) -> list[Shelved]:
        """Every run, the oldest first, those put away after those that are here."""
        here = [_shelved(path.parent, "here") for path in sorted(self.root.glob(f"*/{CARD}"))]
        packed = [_packed(path) for path in sorted((self.root / ARCHIVE).glob(f"*{SUFFIX}"))]
        thrown = [_shelved(path.parent, TRASH) for path in sorted((self.root / TRASH).glob(f"*/{CARD}"))]
        return [*here, *packed, *thrown]

    def archive(self, wanted: str) -> Path:
        """Pack a run into one file and take its folder away, once the file has been read back whole."""
        run = self._still(wanted)
        target = self.root / ARCHIVE / f"{run.path.name}{SUFFIX}"
        target.parent.mkdir(exist_ok=True)
        partial = target.with_name(f".{target.name}{PARTIAL}")
        with tarfile.open(partial, "w:gz", compresslevel=6) as packed:
            packed.add(run.path, arcname=run.path.name, filter=_no_sockets)
        kept = sorted(str(path.relative_to(run.path.parent)) for path in run.path.rglob("*") if path.is_file())
        with tarfile.open(partial) as packed:
            found = sorted(member.name for member in packed if member.isfile())  # reads the whole file, checksums included
        if found != kept:
            partial.unlink()
            raise PaddockError(f"{run.path.name} changed while it was packed, and stays where it is. Try again.")
        partial.replace(target)
        remove_folder(run.path)
        return target

    def restore(self, wanted: str) -> Path:
        """Bring a run back from the archive or the trash."""
        packed = {path.name.removesuffix(SUFFIX): path for path in (self.root / ARCHIVE).glob(f"*{SUFFIX}")}
        thrown = {path.parent.name: path.parent for path in (self.root / TRASH).glob(f"*/{CARD}")}
        name = _one(wanted, [*packed, *thrown], "archived or deleted run")
        target = self.root / name
        if target.exists():
            raise PaddockError(f"{target} exists already; move it away first.")
        if name in thrown:
            thrown[name].rename(target)
            return target
        partial = self.root / f".{name}{PARTIAL}"
        with tarfile.open(packed[name]) as file:
            file.extractall(partial, filter="data")
        (partial / name).rename(target)
        partial.rmdir()
        packed[name].unlink()
        return target

    def delete(self, wanted: str) -> Path:
        """Move a run to the trash; `restore` brings it back until the trash is emptied."""
        run = self._still(wanted)
        target = self.root / TRASH / run.path.name
        target.parent.mkdir(exist_ok=True)
        run.path.rename(target)
        return target

    def empty_trash(self) -> int:
        """Delete for good what is in the trash; returns how many runs."""
        doomed = [path.parent for path in (self.root / TRASH).glob(f"*/{CARD}")]
        for path in doomed:
            remove_folder(path)
        return len(doomed)

    def _still(self, wanted: str) -> RunFolder:
        run = find_run(wanted, self.root)
        if run.path.absolute().parent != self.root.absolute():
            raise PaddockError(f"{run.path} does not lie in {self.root}.")
        if is_alive(run.card()):
            raise PaddockError(f"{run.path.name} is running. Stop it first: paddock tell {run.path.name} stop")
        return run


def _one(wanted: str, known: list[str], what: str) -> str:
    matches = [wanted] if wanted in known else [name for name in known if wanted in name]
    if len(matches) != 1:
        raise unknown(what, wanted, known)
    return matches[0]


def _shelved(path: Path, place: str) -> Shelved:
    run = RunFolder(path)
    try:
        card = run.card()
        return Shelved(id=path.name, place=place, status=status_of(card), card=card, size_bytes=run.size_bytes())
    except PaddockError as refusal:
        return Shelved(id=path.name, place=place, status=f"unreadable: {refusal}", card=None, size_bytes=run.size_bytes())


def _packed(path: Path) -> Shelved:
    name = path.name.removesuffix(SUFFIX)
    size = path.stat().st_size
    try:
        with tarfile.open(path) as packed:
            file = packed.extractfile(f"{name}/{CARD}")
            card = from_json(RunCard, file.read().decode()) if file is not None else None
    except (tarfile.TarError, OSError, EOFError, KeyError, PaddockError) as refusal:
        return Shelved(id=name, place=ARCHIVE, status=f"unreadable: {refusal}", card=None, size_bytes=size)
    return Shelved(id=name, place=ARCHIVE, status=card.progress.status if card else "unknown", card=card, size_bytes=size)


def _no_sockets(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return member if member.isfile() or member.isdir() else None
