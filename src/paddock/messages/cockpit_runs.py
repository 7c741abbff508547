"""What the cockpit tells of runs: rows, labels, files, curves, episodes, events, differences.

Numbers in bulk are not here: they travel as binary blocks, whose JSON heads are.
"""

from dataclasses import dataclass
from typing import Literal

from paddock.messages.run import RunCard

Place = Literal["runs", "archive", "trash"]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The body of every answer that is none: 400 and above."""

    error: str
    """A sentence that says what to do."""


@dataclass(frozen=True, kw_only=True)
class Hello:
    """Who answers."""

    protocol: int
    paddock: str
    runs_dir: str
    host: str
    """Name of the machine."""
    cores: int
    sims: tuple[str, ...]
    """That run on this machine."""
    slots: int
    """Trainings that run side by side; the rest waits."""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run as the table shows it."""

    id: str
    place: Place
    status: str
    """That of RunProgress, or `crashed`, or `unreadable`."""
    detail: str
    """Why it stopped, failed or cannot be read; empty otherwise."""
    alive: bool
    """Whether the process that writes it is there."""
    watchable: bool
    """Whether it has a live.sock: can be watched, paused, saved and stopped."""
    task: str
    algorithm: str
    preset: str
    seed: int
    sim: str
    num_worlds: int
    env_steps: int
    goal_steps: int
    """0 for no limit."""
    goal_minutes: float
    """0 for no limit."""
    share: float
    """Of the training that is done, 0 to 1; 0 where there is no limit."""
    seconds: float
    """Spent training."""
    steps_per_s: float | None
    """Over the last half minute where it runs, over all of it where it is over."""
    mean_return: float | None
    success: float | None
    best_success: float | None
    created: str
    """ISO time, UTC."""
    heartbeat: str
    """ISO time, UTC, of the last sign of life."""
    size_bytes: int
    """On disk; measured anew now and then."""
    resumed: int
    dropped_rows: int
    troubles: tuple[str, ...]
    pid: int
    host: str
    origin: Literal["cockpit", "shell"]
    """Who started it."""
    title: str
    """As a person calls it; empty where nobody did."""
    tags: tuple[str, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class RunList:
    """All runs, the oldest first."""

    runs: tuple[RunRow, ...]


@dataclass(frozen=True, kw_only=True)
class Labels:
    """labels.json of a run: what people wrote on it."""

    title: str
    tags: tuple[str, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class LabelChange:
    """What to write on a run; what is not given stays."""

    title: str | None = None
    tags: tuple[str, ...] | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class FileRow:
    """A file of a run that can be fetched by its name."""

    name: str
    size_bytes: int
    modified: str
    """ISO time, UTC."""


@dataclass(frozen=True, kw_only=True)
class CheckpointRow:
    """A checkpoint of a run."""

    env_steps: int
    size_bytes: int
    is_best: bool
    is_latest: bool


@dataclass(frozen=True, kw_only=True)
class RunDetail:
    """All there is to know of a run at once."""

    row: RunRow
    card: RunCard | None
    """None where it cannot be read."""
    scalars: tuple[str, ...]
    worlds: tuple[int, ...]
    """Whose steps are kept."""
    step_columns: tuple[str, ...]
    """What is kept of each of those steps."""
    terms: tuple[str, ...]
    """Reward terms."""
    causes: tuple[str, ...]
    """What can end an episode."""
    checkpoints: tuple[CheckpointRow, ...]
    recordings: tuple[FileRow, ...]
    evaluations: tuple[FileRow, ...]
    files: tuple[FileRow, ...]
    """Every file that can be fetched, those above among them."""
    can_play: bool
    """Whether it has a checkpoint and its task can be made."""


@dataclass(frozen=True, kw_only=True)
class SeriesBlock:
    """One block of a PDKS answer: float64 columns of n values each, one after the other."""

    run: str
    name: str
    """Of the scalar; `steps` of recorded steps."""
    columns: tuple[str, ...]
    n: int
    total: int
    """Values of this scalar so far. A point of the log lane with i < total is in here already."""
    whole: bool
    """Whether each point is one value, rather than a bucket of them."""
    first_time: float
    """Unix time of its first value; 0 where there is none."""
    error: str
    """Why there are no columns; empty otherwise."""


@dataclass(frozen=True, kw_only=True)
class SeriesHead:
    """The JSON in front of a PDKS answer. PDKS, u32 bytes of this JSON padded with blanks to 8, the JSON, the blocks."""

    series: tuple[SeriesBlock, ...]


EpisodeRow = tuple[int, int, int, int, int, float | None, bool | None, str, tuple[float | None, ...]]
"""Id, env step when it ended, world, episode, length, return, success, cause, sum of each reward term."""


@dataclass(frozen=True, kw_only=True)
class EpisodePage:
    """Episodes in the order in which they ended, the newest last."""

    terms: tuple[str, ...]
    rows: tuple[EpisodeRow, ...]
    total: int
    """Episodes in the record."""


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """Something that happened in a run."""

    id: int
    step: int
    time: float
    kind: str
    detail: dict[str, object]


@dataclass(frozen=True, kw_only=True)
class EventList:
    """What happened, the newest last."""

    events: tuple[RunEvent, ...]


@dataclass(frozen=True, kw_only=True)
class LogText:
    """The last lines of a log, the newest last."""

    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SourceText:
    """The task a run was made of."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A setting that two runs do not share."""

    name: str
    a: object
    b: object


@dataclass(frozen=True, kw_only=True)
class ConfigDiff:
    """What two runs were told differently."""

    a: str
    b: str
    rows: tuple[Difference, ...]
    same: int
    """Settings that are equal."""
