"""What a training can be told, and where each word comes from: preset, then file, then flags, the later ones winning."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from paddock.cores import usable_cores
from paddock.errors import PaddockError, unknown
from paddock.learn.ppo import PpoConfig
from paddock.tasks.task import Task

WORLDS_PER_CORE = 512
MAX_WORLDS = 4096
WORLD_MIB = 0.5
"""Memory that a world takes, generously."""
MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """What a training can be told."""

    seed: int = 0
    """Equal seeds give equal weights, bit for bit, on one machine."""
    steps: int = 5_000_000
    """Environment steps to train for, over all worlds; 0 for no limit."""
    minutes: float = 0.0
    """Minutes to train for at most; 0 for no limit. Given without steps, it is the only limit."""
    num_worlds: int = 0
    """Worlds stepped together; 0 chooses by cores and memory."""
    num_threads: int = 0
    """Threads of the physics and of learning; 0 takes every usable core."""
    sim: str = "cpu"
    """What steps the worlds."""
    ppo: PpoConfig = field(default_factory=PpoConfig)
    evaluate_every: int = 20
    """Updates between two evaluations on fixed seeds, which choose the best checkpoint; 0 for none."""
    evaluate_episodes: int = 32
    """Episodes of each such evaluation."""
    save_every_s: float = 30.0
    """Seconds between two checkpoints, at most; they are written between updates."""
    keep: int = 3
    """Checkpoints to keep beside the best."""
    watch_worlds: int = 4
    """Worlds of which every step is kept in the telemetry; 0 for none."""
    record_every: int = 0
    """Updates between two recordings of an episode that replay bit for bit; 0 for one at the end alone."""
    wandb: str = ""
    """Project on Weights & Biases to mirror the record to; empty for none."""


DEBUG: dict[str, object] = {"steps": 20_000, "num_worlds": 64, "evaluate_every": 3, "evaluate_episodes": 4}
"""The preset `debug` of a task that has none of its own: seconds, to see that everything runs."""


def presets_of(task: Task) -> dict[str, Mapping[str, object]]:
    """The task's presets by name; every task has `debug`, `default` and `full`."""
    default = task.presets.get("default", {})
    more: Mapping[str, object] = _over(default, {"steps": 4 * int(_resolved(default).steps)})
    return {"debug": _over(default, DEBUG), "default": default, "full": more, **task.presets}


def configure(
    task: Task, *, preset: str = "default", file: Path | None = None, flags: Mapping[str, object] | None = None
) -> TrainConfig:
    """Preset, then file (YAML, or another run's run.json), then flags; each says only what it changes."""
    presets = presets_of(task)
    if preset not in presets:
        raise unknown(f"preset of {task.name}:", preset, presets)
    words = dict(presets[preset])
    for more in (read_file(file) if file is not None else {}, flags or {}):
        alone = {"steps": 0} if "minutes" in more and "steps" not in more else {}
        words = _over(words, alone | dict(more))
    return _resolved(words)


def settle(config: TrainConfig) -> TrainConfig:
    """Put numbers where the config leaves the choice to the machine, and refuse what cannot be."""
    for name in ("steps", "minutes", "num_worlds", "num_threads", "evaluate_every", "watch_worlds", "record_every"):
        if getattr(config, name) < 0:
            raise PaddockError(f"{name} is {getattr(config, name)}; it cannot be negative. 0 leaves the choice to Paddock.")
    for name in ("evaluate_episodes", "keep"):
        if getattr(config, name) < 1:
            raise PaddockError(f"{name} is {getattr(config, name)}; it must be at least 1.")
    if not config.steps and not config.minutes:
        raise PaddockError("neither steps nor minutes limits this training. Give one: --minutes 10")
    threads = config.num_threads or usable_cores()
    worlds = config.num_worlds or _worlds(threads)
    ppo = config.ppo if config.ppo.learn_threads else replace(config.ppo, learn_threads=threads)
    return replace(config, num_worlds=worlds, num_threads=threads, ppo=ppo, watch_worlds=min(config.watch_worlds, worlds))


def _worlds(threads: int) -> int:
    """As many as keep the cores busy and fit into a quarter of what memory is free."""
    meminfo = Path("/proc/meminfo")
    room = MAX_WORLDS
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        room = int(int(lines["MemAvailable"].split()[0]) / 1024 / 4 / WORLD_MIB)
    return max(16, min(MAX_WORLDS, room, WORLDS_PER_CORE * threads))


def read_file(file: Path) -> dict[str, object]:
    """The settings in a YAML file, or those that another run was started with."""
    if not file.is_file():
        raise PaddockError(f"no config file {file} (looked in {file.absolute().parent}).")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise PaddockError(f"{file} has {file.stat().st_size:,} bytes; a config is smaller than {MAX_FILE_BYTES:,}.")
    words = _parsed(file)
    if isinstance(words, dict) and "setup" in words:  # a run.json
        words = words["setup"].get("config") if isinstance(words["setup"], dict) else None
    if words is None:
        return {}
    if not isinstance(words, dict):
        raise PaddockError(f"{file} holds a {type(words).__name__}; wanted names and values, such as `steps: 1000000`.")
    return words


def _parsed(file: Path) -> Any:
    import yaml

    text = file.read_text()
    try:
        if file.suffix == ".json":
            return json.loads(text)
        if "&" in text and any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise PaddockError(f"{file} uses YAML aliases (*name); write the values out.")  # a few lines of them fill any memory
        return yaml.safe_load(text)
    except (json.JSONDecodeError, yaml.YAMLError, RecursionError) as refusal:
        raise PaddockError(f"{file} cannot be read: {refusal}") from None


def _over(words: Mapping[str, object], more: Mapping[str, object]) -> dict[str, object]:
    """`words` with those of `more` on top, groups member by member."""
    result = dict(words)
    for name, value in more.items():
        before = result.get(name)
        result[name] = _over(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return result


def _resolved(words: Mapping[str, object]) -> TrainConfig:
    return _read(TrainConfig, words, "")


def as_words(config: TrainConfig) -> dict[str, object]:
    """The config as plain JSON."""
    return json.loads(json.dumps(asdict(config)))


def _read(kind: Any, value: Any, where: str) -> Any:
    """`value` as `kind`; a group may leave members out, and then has their defaults."""
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise PaddockError(f"setting {where or 'config'} is {value!r}; wanted names and values.")
        hints = typing.get_type_hints(kind)
        known = [member.name for member in fields(kind)]
        for name in value:
            if name not in known:
                raise unknown("setting", f"{where}{name}", [f"{where}{member}" for member in known])
        return typing.cast(Any, kind)(**{name: _read(hints[name], part, f"{where}{name}.") for name, part in value.items()})
    where = where.removesuffix(".")
    if typing.get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_read(typing.get_args(kind)[0], part, f"{where}[{i}].") for i, part in enumerate(value))
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)  # 5e6 is how people write steps
    if isinstance(kind, types.GenericAlias) or type(value) is not kind:
        raise PaddockError(f"setting {where} is {value!r}; wanted {getattr(kind, '__name__', kind)}.")
    return value
