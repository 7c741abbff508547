"""What is asked of the cockpit: trainings with their forms, jobs and slots, orders to runs, plays."""

from dataclasses import dataclass
from typing import Literal

JobStatus = Literal["queued", "starting", "running", "stopping", "ended"]
FieldKind = Literal["integer", "number", "boolean", "text", "choice", "integers"]


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task that can be trained."""

    name: str
    line: str
    presets: tuple[str, ...]
    trained: int
    """Runs of it that are here."""


@dataclass(frozen=True, kw_only=True)
class TaskList:
    """What can be trained."""

    tasks: tuple[TaskRow, ...]


@dataclass(frozen=True, kw_only=True)
class FormField:
    """A setting of a training."""

    name: str
    """Dotted, as in `ppo.learning_rate`; the key in JobRequest.settings."""
    title: str
    kind: FieldKind
    default: object
    """As the preset settles it."""
    help: str
    unit: str
    choices: tuple[str, ...]
    low: float | None
    high: float | None
    advanced: bool
    """Whether most people leave it alone."""


@dataclass(frozen=True, kw_only=True)
class FormGroup:
    """Settings that belong together."""

    name: str
    title: str
    fields: tuple[FormField, ...]


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a person may choose before a training."""

    task: str
    preset: str
    sim: str
    presets: tuple[str, ...]
    sims: tuple[str, ...]
    groups: tuple[FormGroup, ...]
    warnings: tuple[str, ...]
    """What to know before starting, such as a GPU that is not there."""


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """Please train this."""

    task: str = ""
    preset: str = "default"
    seed: int = 0
    sim: str = ""
    """Empty for the preset's own."""
    settings: dict[str, object] | None = None
    """Dotted names of fields, with values; what is not named keeps its default."""
    title: str = ""
    resume: str = ""
    """Id of a run to go on with, instead of a new one of `task`."""
    steps: int = 0
    """So many steps more, for a run that is gone on with."""
    minutes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training that the cockpit started or will start."""

    id: str
    status: JobStatus
    place: int
    """In the queue, from 1; 0 where it does not wait."""
    request: JobRequest
    run: str
    """Id of its run; empty until there is one."""
    pid: int
    queued: str
    """ISO times, UTC; empty until then."""
    started: str
    ended: str
    exit_code: int | None
    signal: str
    """That ended it; empty where none did."""
    reason: str
    """Why it ended, in words."""
    hint: str
    """What to do about it; empty where there is nothing."""
    next_signal: str
    """While it stops: what it is sent next."""
    next_signal_at: float
    """Unix time of that; 0 where nothing comes."""
    lines: tuple[str, ...]
    """The last it printed."""


@dataclass(frozen=True, kw_only=True)
class JobList:
    """All jobs, the newest last."""

    jobs: tuple[Job, ...]
    slots: int


@dataclass(frozen=True, kw_only=True)
class SlotsChange:
    """So many trainings side by side, please."""

    slots: int


@dataclass(frozen=True, kw_only=True)
class RunOrder:
    """What a running run should do after its present update."""

    do: Literal["pause", "resume", "save"]


@dataclass(frozen=True, kw_only=True)
class PlayRequest:
    """Please let me play with a run's policy."""

    run: str
    checkpoint: str = "best"
    worlds: int = 1


@dataclass(frozen=True, kw_only=True)
class Play:
    """A simulation of a policy, beside whatever trains."""

    play: str
    """Its id."""
    run: str
    checkpoint: str
    worlds: int


@dataclass(frozen=True, kw_only=True)
class Done:
    """It was done."""

    ok: str
    """What was, in words."""
