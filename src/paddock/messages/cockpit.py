"""What the cockpit and its page tell each other: rows of runs, forms, jobs, and what goes over the socket.

Numbers in bulk are not here: they travel as binary blocks, whose JSON heads are.
"""

from dataclasses import dataclass
from typing import Literal

from paddock.messages.run import RunCard

PROTOCOL = 1
"""The socket's subprotocol is `paddock.v1`; a page of another number asks to be loaded again."""
FRAME_HEAD_BYTES = 32
"""PDKF, u8 version, u8 kind, u16 stream, u32 seq, u32 worlds, u32 nq, u32 bytes of tail, f64 env steps; little-endian."""

Place = Literal["runs", "archive", "trash"]
JobStatus = Literal["queued", "starting", "running", "stopping", "ended"]
FieldKind = Literal["integer", "number", "boolean", "text", "choice", "integers"]


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


@dataclass(frozen=True, kw_only=True)
class RunsPush:
    """Rows that are new or have changed, and runs that are no more."""

    kind: Literal["runs"] = "runs"
    whole: bool
    """Whether these are all there are: the first push after `list`."""
    rows: tuple[RunRow, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class JobsPush:
    """All jobs, after one of them changed."""

    kind: Literal["jobs"] = "jobs"
    jobs: tuple[Job, ...]
    slots: int


ScalarPoint = tuple[str, int, int, float, float]
"""Name, its number among the values of that name from 0, env step, Unix time, value."""


@dataclass(frozen=True, kw_only=True)
class LogPush:
    """What a followed run has written since the last push: every scalar, event and line of its log, in order."""

    kind: Literal["log"] = "log"
    run: str
    seq: int
    """Counts this subscription's pushes from 0."""
    points: tuple[ScalarPoint, ...]
    episodes: tuple[EpisodeRow, ...]
    """The newest; `skipped` came before them and can be fetched."""
    skipped: int
    events: tuple[RunEvent, ...]
    lines: tuple[str, ...]
    live: bool
    """False while it still catches up."""
    cursor: dict[str, object]
    """What to send with `follow` after a lost connection."""


@dataclass(frozen=True, kw_only=True)
class RewoundPush:
    """A resumed run took back what it had written after its checkpoint: fetch everything again. Following goes on."""

    kind: Literal["rewound"] = "rewound"
    run: str


@dataclass(frozen=True, kw_only=True)
class WatchingPush:
    """What this socket shows, after it was asked for and whenever it changes."""

    kind: Literal["watching"] = "watching"
    stream: int
    """Its frames carry this number."""
    run: str
    """Empty for a play."""
    play: str
    """Empty for a run."""
    worlds: tuple[int, ...]
    hz: float
    focus: int
    state: Literal["running", "paused", "waiting", "over"]
    """`waiting` until the first step; `over` where nobody sends frames any more."""
    reason: str
    """Why it is over; empty otherwise."""


@dataclass(frozen=True, kw_only=True)
class CommandPart:
    """One number of a command."""

    name: str
    low: float
    high: float
    value: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class PlayCommand:
    """What a policy can be told, such as a velocity."""

    name: str
    parts: tuple[CommandPart, ...]


@dataclass(frozen=True, kw_only=True)
class PlayPush:
    """What a play is, before its first frame and whenever one of these changes."""

    kind: Literal["play"] = "play"
    play: str
    title: str
    policy: str
    """Such as `best at 1,000,000 steps`."""
    commands: tuple[PlayCommand, ...]
    control_dt: float
    recording: str | None
    """Name of the run's file that keeps it; None where none does."""
    checkpoints: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RefusedPush:
    """A play does not do what it was told."""

    kind: Literal["refused"] = "refused"
    play: str
    what: dict[str, object]
    why: str


@dataclass(frozen=True, kw_only=True)
class TroublePush:
    """Something that was asked for cannot be; the socket stays open."""

    kind: Literal["trouble"] = "trouble"
    about: str
    """What was asked: `follow`, `watch`, ..."""
    run: str
    error: str


FromServer = RunsPush | JobsPush | LogPush | RewoundPush | WatchingPush | PlayPush | RefusedPush | TroublePush


@dataclass(frozen=True, kw_only=True)
class ListAsk:
    """Tell me of runs and jobs as they change."""

    do: Literal["list"] = "list"


@dataclass(frozen=True, kw_only=True)
class FollowAsk:
    """Tell me what a run writes; from a cursor, or from now on where it is null. `{}` begins at the run's beginning."""

    do: Literal["follow"] = "follow"
    run: str
    cursor: dict[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class UnfollowAsk:
    """No more of that."""

    do: Literal["unfollow"] = "unfollow"
    run: str


@dataclass(frozen=True, kw_only=True)
class WatchAsk:
    """Show me worlds of a run, in place of what this socket showed before."""

    do: Literal["watch"] = "watch"
    run: str
    worlds: tuple[int, ...] = (0,)
    hz: float = 30.0
    focus: int = 0
    """The world whose rewards, observations and contacts come along."""


@dataclass(frozen=True, kw_only=True)
class PlayAsk:
    """Show me a play, in place of what this socket showed before."""

    do: Literal["play"] = "play"
    play: str
    hz: float = 30.0
    focus: int = 0


@dataclass(frozen=True, kw_only=True)
class UnwatchAsk:
    """No more frames."""

    do: Literal["unwatch"] = "unwatch"


@dataclass(frozen=True, kw_only=True)
class AckAsk:
    """The frame was drawn; the next one may come."""

    do: Literal["ack"] = "ack"
    stream: int
    seq: int


@dataclass(frozen=True, kw_only=True)
class TellAsk:
    """Steer a play: pause, resume, step, reset, speed, command, drag, release."""

    do: Literal["tell"] = "tell"
    play: str
    what: dict[str, object]


ToServer = ListAsk | FollowAsk | UnfollowAsk | WatchAsk | PlayAsk | UnwatchAsk | AckAsk | TellAsk


@dataclass(frozen=True, kw_only=True)
class FrameTail:
    """The JSON behind a frame's poses: what is known of the world in focus. What a task has not is not there."""

    dropped: int
    """Frames that this viewer was not sent, because it was still drawing."""
    steps_per_s: float
    world: int
    reward: dict[str, float] | None = None
    """Of the last step, by term."""
    obs: dict[str, tuple[float, ...]] | None = None
    action: tuple[float, ...] | None = None
    command: dict[str, tuple[float, ...]] | None = None
    contacts: tuple[tuple[float, float, float, float, float, float, float], ...] | None = None
    """Position, normal, force."""
    mocap: tuple[tuple[tuple[float, float, float], tuple[float, float, float, float]], ...] | None = None
    """Position and quaternion of each mocap body."""
    markers: tuple[dict[str, object], ...] | None = None
    cameras: dict[str, object] | None = None
    total: float | None = None
    """Return of the episode so far."""
    success: bool | None = None
    ended: str | None = None
    """What ended the episode at this step."""
    paused: bool = False
    speed: float | None = None
    """Of a play: simulated seconds in a second."""
