"""Checkpoints: safetensors and JSON, written beside and renamed, verified when read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor

from paddock.errors import PaddockError
from paddock.messages import BestCheckpoint, CheckpointCard, from_json, to_json
from paddock.runs import atomic

TENSORS, CARD, BEST = "state.safetensors", "checkpoint.json", "best.json"


class BadCheckpoint(PaddockError):
    """A checkpoint that is missing, damaged or of something else."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What was read back and found whole."""

    path: Path
    card: CheckpointCard
    tensors: dict[str, Tensor]

    def under(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin with `prefix`, without it."""
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}


class Checkpoints:
    """The folder of a run's checkpoints: one folder each, named by its environment step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> list[int]:
        """Environment steps of the checkpoints that exist, oldest first."""
        return sorted(int(path.name) for path in self.folder.glob("*") if path.name.isdigit())

    def path(self, step: int) -> Path:
        return self.folder / f"{step:012d}"

    def save(self, tensors: Mapping[str, Tensor], card: CheckpointCard, *, keep: int) -> Path:
        """Write one, then delete those beyond the last `keep`, but never the best."""
        content = bytes_from_tensors({name: value.contiguous() for name, value in tensors.items()})
        whole = _sealed(card, content)
        path = self.path(card.env_steps)
        atomic.write_folder(path, {TENSORS: content, CARD: to_json(whole).encode()})
        best = self.best()
        for step in self.steps()[:-keep]:
            if best is None or step != best.env_steps:
                atomic.remove_folder(self.path(step))
        return path

    def mark_best(self, best: BestCheckpoint) -> None:
        """Remember which one scored best; it must exist."""
        atomic.write_file(self.folder / BEST, to_json(best).encode())

    def best(self) -> BestCheckpoint | None:
        file = self.folder / BEST
        return from_json(BestCheckpoint, file.read_text()) if file.exists() else None

    def drop_after(self, step: int) -> None:
        """Delete what is later than `step`: a run that goes on from there will write it again."""
        best = self.best()
        if best is not None and best.env_steps > step:
            (self.folder / BEST).unlink()
        for later in self.steps():
            if later > step:
                atomic.remove_folder(self.path(later))

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
                return read(self.path(step))
            except BadCheckpoint as refusal:
                refusals.append(str(refusal))
        raise BadCheckpoint("no checkpoint of this run can be read:\n" + "\n".join(refusals))


def read(path: Path) -> Checkpoint:
    """One checkpoint folder, refused unless every byte is what was written."""
    for name in (CARD, TENSORS):
        if not (path / name).is_file():
            raise BadCheckpoint(f"{path} is no checkpoint: it has no {name}.")
    try:
        card = from_json(CheckpointCard, (path / CARD).read_text())
    except (PaddockError, UnicodeDecodeError) as refusal:
        raise BadCheckpoint(f"{path / CARD} is damaged: {refusal} Use another checkpoint of the run.") from None
    content = (path / TENSORS).read_bytes()
    if hashlib.sha256(content).hexdigest() != card.sha256:
        raise BadCheckpoint(
            f"{path / TENSORS} is damaged: {len(content):,} of {card.size_bytes:,} bytes, and its checksum is another. "
            "Use another checkpoint of the run."
        )
    try:
        return Checkpoint(path, card, tensors_from_bytes(content))
    except SafetensorError as refusal:
        raise BadCheckpoint(f"{path / TENSORS} cannot be read: {refusal}. Use another checkpoint of the run.") from None


def _sealed(card: CheckpointCard, content: bytes) -> CheckpointCard:
    return replace(card, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))
