"""A run: what it is, how far it has come, what it saved."""

from dataclasses import dataclass, field

from paddock.messages.platform import Platform


@dataclass(frozen=True, kw_only=True)
class TaskSource:
    """Where a run's task came from. The run keeps a copy, and nothing ever imports one whose hash is another."""

    typed: str
    """As it was asked for: a name, or file.py:NAME."""
    constant: str
    """Name of the Task in its file."""
    folder: str
    """Where the file was, so that it finds its neighbours."""
    sha256: str
    """Of the file; empty for a task that had none, made in a notebook."""


@dataclass(frozen=True, kw_only=True)
class GitState:
    """The working tree a run was started in."""

    commit: str
    dirty: bool


@dataclass(frozen=True, kw_only=True)
class RunSetup:
    """What a run is: all of it is known before its first step, and none of it changes."""

    format: int
    id: str
    task: str
    task_version: int
    source: TaskSource
    model_sha256: str
    """Of the XML text that the sim compiled."""
    algorithm: str
    preset: str
    config: dict[str, object]
    """Resolved: presets, files and flags are in it, and so are the numbers of worlds and threads."""
    randomize: dict[str, str] = field(default_factory=dict)
    """What differs between episodes, by name, as one would write it; runs of before 0.2 do not say."""
    seed: int
    num_worlds: int
    """Of each process."""
    processes: int = 1
    """That learned together."""
    command: tuple[str, ...]
    """The command line, or what called `paddock.train`."""
    created: str
    """ISO time, UTC."""
    host: str
    paddock: str
    torch: str
    numpy: str
    python: str
    git: GitState | None
    platform: Platform


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """How far a run has come; rewritten while it runs."""

    status: str
    """`starting`, `running`, `paused`, `finished`, `stopped`, `failed`. One that runs without a heartbeat has crashed."""
    detail: str
    """Why it stopped or failed; empty otherwise."""
    heartbeat: str
    """ISO time, UTC, of the last sign of life."""
    pid: int
    env_steps: int
    updates: int
    seconds: float
    """Spent training, over all sittings."""
    mean_return: float | None
    """Of the last episodes in training."""
    success: float | None
    best_success: float | None
    """In the periodic evaluation."""
    resumed: int
    """How often it was resumed."""
    dropped_rows: int
    """Of telemetry, for want of disk."""
    troubles: tuple[str, ...]
    """What went wrong without stopping the run."""


@dataclass(frozen=True, kw_only=True)
class RunCard:
    """run.json."""

    setup: RunSetup
    progress: RunProgress


@dataclass(frozen=True, kw_only=True)
class BestCheckpoint:
    """best.json: which checkpoint the periodic evaluation liked most."""

    env_steps: int
    success: float | None
    mean_return: float


@dataclass(frozen=True, kw_only=True)
class CheckpointCard:
    """checkpoint.json, beside the tensors it vouches for."""

    format: int
    run: str
    task: str
    source_sha256: str
    algorithm: str
    env_steps: int
    updates: int
    seconds: float
    sha256: str = ""
    """Of state.safetensors; filled in when it is written."""
    size_bytes: int = 0
