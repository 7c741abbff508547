"""Checkpoints: safetensors and JSON, written beside and renamed, verified when read."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor

from paddock.errors import PaddockError
from paddock.messages import BestCheckpoint, CheckpointCard, from_json, to_json
from paddock.runs import atomic
from paddock.runs.faults import point

TENSORS, CARD, BEST = "state.safetensors", "checkpoint.json", "best.json"
ORDER = "order"
"""Under which the head of the tensors says how they were ordered; under CARD and BEST it says what those files say."""
ANOTHER = "Use another checkpoint of the run."
MAX_HEAD_BYTES = 100_000_000
"""What safetensors itself allows."""


class BadCheckpoint(PaddockError):
    """A checkpoint that is missing, damaged or of something else."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What was read back and found whole."""

    path: Path
    card: CheckpointCard
    tensors: dict[str, Tensor]
    """In the order in which they were saved."""
    passed_over: tuple[str, ...] = ()
    """Why newer ones were not taken."""

    def under(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin with `prefix`, without it."""
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}


class Checkpoints:
    """The folder of a run's checkpoints: one folder each, named by its environment step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> list[int]:
        """Environment steps of the checkpoints that exist, oldest first."""
        return sorted(int(path.name) for path in self.folder.glob("*") if path.name.isdecimal() and path.is_dir())

    def path(self, step: int) -> Path:
        return self.folder / f"{step:012d}"

    def save(self, tensors: Mapping[str, Tensor], card: CheckpointCard, *, keep: int, best: BestCheckpoint | None = None) -> Path:
        """Write one, then delete those beyond the last `keep`, but never the best.

        `best` is given where this one scored better than any before: the rename that makes it exist also makes it the best.
        """
        notes = {CARD: to_json(card), ORDER: json.dumps(list(tensors))} | ({BEST: to_json(best)} if best is not None else {})
        content = bytes_from_tensors({name: value.contiguous() for name, value in tensors.items()}, metadata=notes)
        path = self.path(card.env_steps)
        atomic.write_folder(path, {TENSORS: content, CARD: to_json(_sealed(card, content)).encode()})
        if best is not None:
            self.mark_best(best)
        self._prune(keep)
        return path

    def mark_best(self, best: BestCheckpoint) -> None:
        """Remember which one scored best; it must exist."""
        point("checkpoint.before_best")
        atomic.write_file(self.folder / BEST, to_json(best).encode())
        point("checkpoint.after_best")

    def best(self) -> BestCheckpoint | None:
        file = self.folder / BEST
        try:
            return from_json(BestCheckpoint, file.read_text()) if file.exists() else None
        except (PaddockError, UnicodeDecodeError, OSError) as refusal:
            raise BadCheckpoint(f"{file} cannot be read: {refusal} Take the latest checkpoint instead.") from None

    def drop_after(self, step: int, *, keep: int | None = None) -> None:
        """Be again what it was when the checkpoint of `step` was written: a run that goes on from there writes the rest again.

        With `keep`, those beyond the last so many are deleted too, as `save` would have done had nobody killed it.
        """
        point("checkpoint.before_drop")
        for later in self.steps():
            if later > step:
                atomic.remove_folder(self.path(later))
        self._settle_best()
        if keep is not None:
            self._prune(keep)

    def _settle_best(self) -> None:
        """Make best.json say what the checkpoints know: a kill may have come before it was written, or have undone what it says."""
        steps = self.steps()
        try:
            said = self.best()
        except BadCheckpoint:
            said = None
        noted = (_noted_best(self.path(step)) for step in steps)
        known = [best for best in (said, *noted) if best is not None and best.env_steps in steps]
        best = max(known, key=lambda best: best.env_steps, default=None)  # a later one was marked because it was better
        if best is None:
            (self.folder / BEST).unlink(missing_ok=True)
        elif best != said:
            self.mark_best(best)

    def _prune(self, keep: int) -> None:
        point("checkpoint.before_prune")
        best = self.best()
        for step in self.steps()[:-keep]:
            if best is None or step != best.env_steps:
                atomic.remove_folder(self.path(step))

    def load(self, which: str | int = "latest") -> Checkpoint:
        """The checkpoint named `latest`, `best` or by its step, verified. `latest` is the newest that is whole."""
        steps = self.steps()
        if not steps:
            raise BadCheckpoint(f"{self.folder} has no checkpoint yet: the run ended before the first was written.")
        if which == "latest":
            return self._newest_whole(steps)
        if which == "best":
            best = self.best()
            if best is None:
                raise BadCheckpoint(f"{self.folder} has no best checkpoint yet. Take the latest instead.")
            which = best.env_steps
        if int(which) not in steps:
            known = ", ".join(map(str, steps))
            raise BadCheckpoint(f"{self.folder} has no checkpoint of step {which}. There are latest, best and {known}.")
        return read(self.path(int(which)))

    def _newest_whole(self, steps: list[int]) -> Checkpoint:
        refusals: list[str] = []
        for step in reversed(steps):
            try:
                return replace(read(self.path(step)), passed_over=tuple(refusals))
            except BadCheckpoint as refusal:
                refusals.append(str(refusal))
        raise BadCheckpoint("no checkpoint of this run can be read:\n" + "\n".join(refusals))


def read(path: Path) -> Checkpoint:
    """One checkpoint folder, refused unless every byte is what was written."""
    for name in (CARD, TENSORS):
        if not (path / name).is_file():
            raise BadCheckpoint(f"{path} is no checkpoint: it has no {name}.")
    try:
        text, content = (path / CARD).read_bytes(), (path / TENSORS).read_bytes()
    except OSError as refusal:
        raise BadCheckpoint(f"{refusal.filename or path} cannot be read: {refusal.strerror}. {ANOTHER}") from None
    try:
        card = from_json(CheckpointCard, text.decode())
    except (PaddockError, UnicodeDecodeError) as refusal:
        raise BadCheckpoint(f"{path / CARD} is damaged: {refusal} {ANOTHER}") from None
    if hashlib.sha256(content).hexdigest() != card.sha256:
        raise BadCheckpoint(
            f"{path / TENSORS} is damaged: {len(content):,} of {card.size_bytes:,} bytes, and its checksum is another than "
            f"{CARD} says. {ANOTHER}"
        )
    try:
        tensors = tensors_from_bytes(content)
    except SafetensorError as refusal:
        raise BadCheckpoint(f"{path / TENSORS} cannot be read: {refusal}. {ANOTHER}") from None
    notes = _notes(io.BytesIO(content))
    if CARD not in notes or text.decode() != to_json(_sealed(from_json(CheckpointCard, notes[CARD]), content)):
        raise BadCheckpoint(f"{path / CARD} is damaged: {TENSORS} was saved with another. {ANOTHER}")
    order = json.loads(notes[ORDER])  # safetensors returns them in a random one
    return Checkpoint(path, card, {name: tensors[name] for name in order})


def _sealed(card: CheckpointCard, content: bytes) -> CheckpointCard:
    return replace(card, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))


def _notes(file: BinaryIO) -> dict[str, str]:
    """What was written into the head of the safetensors beside the tensors' names and shapes."""
    size = int.from_bytes(file.read(8), "little")
    if size > MAX_HEAD_BYTES:
        raise ValueError(f"a head of {size:,} bytes")
    return json.loads(file.read(size)).get("__metadata__", {})


def _noted_best(path: Path) -> BestCheckpoint | None:
    """The score with which a checkpoint was saved as the best one; None for others, and for what cannot be read."""
    try:
        with (path / TENSORS).open("rb") as file:
            text = _notes(file).get(BEST)
        return from_json(BestCheckpoint, text) if text is not None else None
    except (OSError, ValueError, PaddockError):
        return None
