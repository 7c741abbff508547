"""What a training can be told, and where each word comes from: preset, then file, then flags, the later ones winning."""

from __future__ import annotations

import json
import math
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from reprlib import repr as short
from typing import Any

import torch

from paddock.cores import usable_cores
from paddock.errors import PaddockError, unknown
from paddock.learn.crew import processes_here
from paddock.learn.ppo_config import PpoConfig
from paddock.tasks.task import Task

WORLDS_PER_CORE = 512
MAX_WORLDS = 4096
WORLD_MIB = 0.5
"""Memory that a world takes, generously."""
GPU_WORLDS = 4096
GPU_WORLD_MIB = 0.5
"""Memory that a world and its part of a rollout take on a GPU, generously."""
GPU_STEPS = 3
"""On a GPU a preset takes so many times the steps, in more worlds at once: they cost a fortieth of the time."""
THREADED_SAMPLES = 1024
"""Below so many samples in a minibatch, a second thread costs more than it brings."""
MAX_FILE_BYTES = 100_000
LEAST: dict[str, int] = dict.fromkeys(
    ("evaluate_episodes", "keep", *(f"ppo.{name}" for name in ("horizon", "epochs", "minibatches", "memory_size", "node_size"))), 1
)
"""Of these settings; 0 of every other number but `ANY`."""
MOST = {"ppo.discount": 1, "ppo.trace": 1}
ANY = ("seed", "ppo.log_std", "ppo.calm_log_std")
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text", tuple: "a list of whole numbers"}


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
    randomize: str = ""
    """Other randomisation than the task's own: none, light, default, heavy, with changes: heavy,friction=0.5:1.5,push=off."""
    sim: str = "cpu"
    """What steps the worlds."""
    ppo: PpoConfig = field(default_factory=PpoConfig)
    evaluate_every: int = 20
    """Updates between two evaluations on fixed seeds, which choose the best checkpoint; 0 for one at the end alone."""
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
    return {"debug": _over(default, DEBUG), "default": default, "full": more, **task.presets, "gpu": _on_gpu(task)}


def _on_gpu(task: Task) -> dict[str, object]:
    """The default preset for thousands of worlds at once; what a task's own preset `gpu` says comes on top."""
    default = _resolved(task.presets.get("default", {}))
    ppo = {"calm_steps": GPU_STEPS * default.ppo.calm_steps, "anneal_steps": GPU_STEPS * default.ppo.anneal_steps}
    scaled = {"sim": "gpu", "steps": GPU_STEPS * default.steps, "num_worlds": 0, "evaluate_every": 50, "ppo": ppo}
    return _over(_over(task.presets.get("default", {}), scaled), task.presets.get("gpu", {}))


def configure(
    task: Task, *, preset: str = "default", file: Path | None = None, flags: Mapping[str, object] | None = None
) -> TrainConfig:
    """Preset, then file (YAML, or another run's run.json), then flags; each says only what it changes."""
    presets = presets_of(task)
    if preset not in presets:
        raise unknown(f"preset of {task.name}:", preset, presets)
    given = (read_file(file) if file is not None else {}, flags or {})
    preset = preset_for(preset, {**given[0], **given[1]}.get("sim"))
    words = dict(presets[preset])
    for more in given:
        alone = {"steps": 0} if more.get("minutes") and "steps" not in more else {}
        words = _over(words, alone | dict(more))
    return _resolved(words)


def preset_for(preset: str, sim: object) -> str:
    """The preset meant by the one named: `default` is another on a GPU."""
    return "gpu" if preset == "default" and sim == "gpu" else preset


def settle(config: TrainConfig) -> TrainConfig:
    """Put numbers where the config leaves the choice to the machine, and refuse what cannot be."""
    _check(config)
    threads = config.num_threads or max(1, usable_cores() // processes_here())
    worlds = config.num_worlds or (_gpu_worlds() if config.sim == "gpu" else _worlds(threads))
    samples = worlds * config.ppo.horizon
    if config.ppo.minibatches > samples:
        raise PaddockError(
            f"ppo.minibatches is {config.ppo.minibatches}, but {worlds} worlds and ppo.horizon {config.ppo.horizon} give only "
            f"{samples} samples to split."
        )
    learn_threads = config.ppo.learn_threads or (threads if samples // config.ppo.minibatches >= THREADED_SAMPLES else 1)
    ppo = replace(config.ppo, learn_threads=learn_threads)
    return replace(config, num_worlds=worlds, num_threads=threads, ppo=ppo, watch_worlds=min(config.watch_worlds, worlds))


def _check(config: TrainConfig) -> None:
    for name, value in _numbers(config):
        least, most = LEAST.get(name, 0), MOST.get(name)
        if name not in ANY and not least <= value <= (math.inf if most is None else most):
            raise PaddockError(f"{name} is {value}; wanted {least} {'or more' if most is None else f'to {most}'}.")
    if not config.ppo.hidden or min(config.ppo.hidden) < 1:
        raise PaddockError(f"ppo.hidden is {config.ppo.hidden}; wanted the width of each hidden layer, such as 128 128.")
    if not config.steps and not config.minutes:
        raise PaddockError("neither steps nor minutes limits this training. Give one: --minutes 10")


def plan(config: TrainConfig) -> str:
    """A settled config in a few words."""
    limits = [f"{config.steps:,} steps"] if config.steps else []
    limits += [f"{config.minutes:g} minutes"] if config.minutes else []
    threads = f"{config.num_threads} thread{'s' * (config.num_threads > 1)}"
    return f"{' or '.join(limits)}, {config.num_worlds:,} worlds on {threads}, seed {config.seed}"


def _numbers(config: Any, group: str = "") -> Iterator[tuple[str, float]]:
    """Every setting that is a number, by its name."""
    for member in fields(config):
        value = getattr(config, member.name)
        if is_dataclass(value):
            yield from _numbers(value, f"{group}{member.name}.")
        elif isinstance(value, int | float):
            yield f"{group}{member.name}", value


def _worlds(threads: int) -> int:
    """As many as keep the cores busy and fit into a quarter of what memory is free."""
    meminfo = Path("/proc/meminfo")
    room = MAX_WORLDS
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        room = int(int(lines["MemAvailable"].split()[0]) / 1024 / 4 / WORLD_MIB)
    return max(16, min(MAX_WORLDS, room, WORLDS_PER_CORE * threads))


def _gpu_worlds() -> int:
    """As many as learn well together, where half of the GPU's free memory has room for them."""
    if not torch.cuda.is_available():
        return GPU_WORLDS  # the sim will say what is missing
    free, _ = torch.cuda.mem_get_info()
    return max(64, min(GPU_WORLDS, int(free / 2**20 / 2 / GPU_WORLD_MIB)))


def read_file(file: Path) -> dict[str, object]:
    """The settings in a YAML file, or those that another run was started with."""
    if not file.is_file():
        raise PaddockError(f"no config file {file} (looked in {file.absolute().parent}).")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise PaddockError(f"{file} has {file.stat().st_size:,} bytes; a config is smaller than {MAX_FILE_BYTES:,}.")
    words = _parsed(file)
    if isinstance(words, dict) and "setup" in words:  # a run.json
        setup = words["setup"]
        words = setup.get("config") if isinstance(setup, dict) else None
        if not isinstance(words, dict):
            raise PaddockError(f"{file} looks like a run.json, but holds no settings.")
    if words is None:  # an empty file changes nothing
        return {}
    if not isinstance(words, dict):
        raise PaddockError(f"{file} holds {short(words)}; wanted names and values, such as `steps: 1000000`.")
    return words


def _parsed(file: Path) -> Any:
    import yaml

    class Plain(yaml.SafeLoader):
        """YAML without objects and without aliases, a few lines of which fill any memory."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise PaddockError(f"{file} uses a YAML alias (*name); write the values out.")
            return super().compose_node(parent, index)

    # 5e6 and 3e-4 are how people write numbers; YAML 1.1 would read text
    Plain.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), [*"-+0123456789"])
    try:
        text = file.read_text(encoding="utf-8")
        return json.loads(text) if file.suffix == ".json" else yaml.load(text, Plain)
    except (ValueError, yaml.YAMLError) as refusal:
        raise PaddockError(f"{file} cannot be read: {refusal}") from None
    except RecursionError:
        raise PaddockError(f"{file} cannot be read: it is nested too deeply.") from None


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
        return _read_group(kind, value, where)
    where = where.removesuffix(".")
    if typing.get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_read(typing.get_args(kind)[0], part, f"{where}[{i}]") for i, part in enumerate(value))
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)  # 5e6 is how people write steps
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        raise PaddockError(f"setting {where} is {short(value)}; wanted {WANTED[typing.get_origin(kind) or kind]}.")
    return value


def _read_group(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise PaddockError(f"setting {where.removesuffix('.') or 'config'} is {short(value)}; wanted names and values.")
    hints = typing.get_type_hints(kind)
    known = [member.name for member in fields(kind)]
    for name in value:
        if name not in known:
            raise unknown("setting", f"{where}{name}", _names(kind, where))
    return kind(**{name: _read(hints[name], part, f"{where}{name}.") for name, part in value.items()})


def _names(kind: Any, where: str) -> Iterator[str]:
    """Every setting in a group and the groups in it, such as `ppo.learning_rate`."""
    for name, hint in typing.get_type_hints(kind).items():
        yield from _names(hint, f"{where}{name}.") if is_dataclass(hint) else [f"{where}{name}"]
