"""What goes over the cockpit's socket: pushes from the server, asks from the page, and the JSON behind a frame's poses."""

from dataclasses import dataclass
from typing import Literal

from paddock.messages.cockpit_control import Job
from paddock.messages.cockpit_runs import EpisodeRow, RunEvent, RunRow

PROTOCOL = 1
"""The socket's subprotocol is `paddock.v1`; a page of another number asks to be loaded again."""
FRAME_HEAD_BYTES = 32
"""PDKF, u8 version, u8 kind, u16 stream, u32 seq, u32 worlds, u32 nq, u32 bytes of tail, f64 env steps; little-endian."""


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
    """Jobs that are new or have changed, the newest last, and jobs that are forgotten."""

    kind: Literal["jobs"] = "jobs"
    whole: bool
    """Whether these are all there are: the first push after `list`."""
    jobs: tuple[Job, ...]
    gone: tuple[str, ...]
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
