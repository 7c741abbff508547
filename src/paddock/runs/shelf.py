"""All runs of a folder: listed, put away without losing anything, brought back, thrown away with a way back."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from paddock.errors import PaddockError, unknown
from paddock.messages import RunCard, from_json
from paddock.messages.cockpit import Labels
from paddock.runs.atomic import PARTIAL, beside, remove_folder
from paddock.runs.folder import ARCHIVE, CARD, OVER, PACKED, TRASH, RunFolder, find_run, is_alive, runs_in, status_of
from paddock.runs.labels import LABELS, parse_labels

MAX_CARD_BYTES = 1_000_000
BROKEN = (tarfile.TarError, OSError, EOFError, KeyError, ValueError, zlib.error, RecursionError, PaddockError)
"""What reading a file that is no archive of a run raises."""


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
        here = [_shelved(path, "here") for path in runs_in(self.root).values()]
        packed = [_packed(name, path) for name, path in self._archives().items()]
        thrown = [_shelved(path, TRASH) for path in runs_in(self.root / TRASH).values()]
        return [*here, *packed, *thrown]

    def archive(self, wanted: str) -> Path:
        """Pack a run into one file, and take its folder away once every byte has been read back from there."""
        run = self._still(wanted)
        target = self._free(self.root / ARCHIVE / f"{run.path.name}{PACKED}")
        with beside(target) as partial:
            _pack(run.path, partial)
            if _digests_in(partial) != _digests(run.path):
                raise PaddockError(f"{run.path.name} changed while it was packed, and stays where it is. Try again.")
            _sync(partial)  # what it replaces is about to be deleted
        remove_folder(run.path)
        return target

    def restore(self, wanted: str) -> Path:
        """Bring a run back from the archive or the trash; where it is in both, the deleted one, which is newer."""
        packed, thrown = self._archives(), runs_in(self.root / TRASH)
        name = _one(wanted, {*packed, *thrown})
        target = self._free(self.root / name)
        if name in thrown:
            thrown[name].rename(target)
        else:
            _unpack(packed[name], name, target)
            packed[name].unlink()
        return target

    def delete(self, wanted: str) -> Path:
        """Move a run to the trash; `restore` brings it back until the trash is emptied."""
        run = self._still(wanted)
        return run.path.rename(self._free(self.root / TRASH / run.path.name))

    def empty_trash(self) -> int:
        """Delete for good what is in the trash; returns how many runs."""
        doomed = runs_in(self.root / TRASH)
        for path in doomed.values():
            remove_folder(path)
        return len(doomed)

    def _archives(self) -> dict[str, Path]:
        found = sorted((self.root / ARCHIVE).glob(f"*{PACKED}"))
        return {path.name.removesuffix(PACKED): path for path in found}

    def _still(self, wanted: str) -> RunFolder:
        run = find_run(wanted, self.root)
        if run.path.absolute().parent != self.root.absolute():
            raise PaddockError(f"{run.path} does not lie in {self.root}. Say where runs are kept: --runs-dir {run.path.parent}")
        if is_alive(run.card()):
            raise PaddockError(f"{run.path.name} is running. Stop it first: paddock tell {run.path.name} stop")
        return run

    @staticmethod
    def _free(target: Path) -> Path:
        """The place, with its folder made; nothing is ever written over."""
        if target.exists():
            raise PaddockError(f"{target} exists already; move it away first.")
        target.parent.mkdir(exist_ok=True)
        return target


def _pack(folder: Path, target: Path) -> None:
    """A folder as a tar.gz, run.json and labels.json first, so that a list finds them without reading the rest."""
    heads = [name for name in (CARD, LABELS) if (folder / name).is_file()]

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
            return None  # a live.sock that a crash left
        tarfile.data_filter(member, str(folder.parent))  # which refuses what `restore` would refuse
        return None if member.name in {f"{folder.name}/{name}" for name in heads} else member

    try:
        with tarfile.open(target, "w:gz", compresslevel=6) as packed:
            for name in heads:
                packed.add(folder / name, arcname=f"{folder.name}/{name}")
            packed.add(folder, arcname=folder.name, filter=kept)
    except tarfile.FilterError as refusal:
        raise PaddockError(f"{folder.name} cannot be packed, and stays where it is: {refusal}.") from None


def _digests(folder: Path) -> dict[str, str]:
    """Every file below `folder`, with its hash, and every link, with what it points to."""
    found: dict[str, str] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder.parent))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            with path.open("rb") as file:
                found[name] = file_digest(file, "sha256").hexdigest()
    return found


def _digests_in(target: Path) -> dict[str, str]:
    """The same of what was packed."""
    found: dict[str, str] = {}
    with tarfile.open(target) as packed:
        for member in packed:
            file = None if member.issym() else packed.extractfile(member)
            if member.issym():
                found[member.name] = member.linkname
            elif file is not None:
                found[member.name] = file_digest(file, "sha256").hexdigest()  # pyright: ignore[reportArgumentType]
    return found


def _unpack(file: Path, name: str, target: Path) -> None:
    """The folder `name` out of an archive that must hold nothing else, and nothing that would lie outside of it."""
    partial = target.with_name(f".{name}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with tarfile.open(file) as packed:
            packed.extractall(partial, filter="data")
        if [path.name for path in partial.iterdir()] != [name] or not (partial / name / CARD).is_file():
            raise PaddockError(f"it must hold {name}/{CARD}, and that folder alone")
        for path in partial.rglob("*"):
            if path.is_file():
                _sync(path)
        (partial / name).rename(target)
    except BROKEN as refusal:
        raise PaddockError(f"{file} cannot be unpacked, and stays where it is: {refusal}.") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _sync(path: Path) -> None:
    """Survive a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _one(wanted: str, known: set[str]) -> str:
    matches = [wanted] if wanted in known else sorted(name for name in known if wanted in name)
    if not matches:
        raise unknown("archived or deleted run", wanted, known)
    if len(matches) > 1:
        raise PaddockError(f"'{wanted}' could be any of {len(matches)} runs: {', '.join(matches)}. Give more of its name.")
    return matches[0]


def _shelved(path: Path, place: str) -> Shelved:
    run = RunFolder(path)
    size = run.size_bytes()
    try:
        card = run.card()
        return Shelved(id=path.name, place=place, status=status_of(card), card=card, size_bytes=size)
    except PaddockError as refusal:
        return Shelved(id=path.name, place=place, status=f"unreadable: {refusal}", card=None, size_bytes=size)


def _packed(name: str, path: Path) -> Shelved:
    try:
        card, _ = packed_run(path, name)
        status = card.progress.status if card.progress.status in OVER else "crashed"  # nothing packed is running
    except PaddockError as refusal:
        card, status = None, f"unreadable: {refusal}"
    return Shelved(id=name, place=ARCHIVE, status=status, card=card, size_bytes=path.stat().st_size)


def packed_run(path: Path, name: str) -> tuple[RunCard, Labels]:
    """The card of an archived run, and what people wrote on it, without reading the rest."""
    try:
        with tarfile.open(path) as packed:
            card = _head_of(packed, f"{name}/{CARD}")
            if card is None:
                raise PaddockError(f"{path} does not begin with {name}/{CARD}")
            labels = _head_of(packed, f"{name}/{LABELS}")
            return from_json(RunCard, card.decode()), parse_labels(labels or b"")
    except BROKEN as refusal:
        raise PaddockError(f"{path} cannot be read: {refusal}") from None


def _head_of(packed: tarfile.TarFile, wanted: str) -> bytes | None:
    """The next member, if it is the one that is wanted."""
    member = packed.next()
    file = packed.extractfile(member) if member is not None and member.name == wanted and member.isfile() else None
    return file.read(MAX_CARD_BYTES) if file is not None else None
