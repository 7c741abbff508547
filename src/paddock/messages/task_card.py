"""A task as `paddock inspect` shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TermRow:
    """A named term of a task: an observation, a reward, a condition, a command, a memory or a randomisation."""

    name: str
    term: str
    """How it is written, such as `Near(velocity_error, 0.35)`."""
    what: str
    """What it means, in a line."""
    shape: tuple[int, ...] | None = None
    """Of one world; () for a number. None where a term has no value of its own."""
    weight: float | None = None
    """Of a reward."""


@dataclass(frozen=True, kw_only=True)
class ObservationGroup:
    """Terms side by side in one vector: `policy`, or `privileged` for critics."""

    name: str
    size: int
    terms: tuple[TermRow, ...]


@dataclass(frozen=True, kw_only=True)
class SensorRow:
    """A sensor of the compiled model."""

    name: str
    kind: str
    size: int
    stage: str
    """What it is computed from: `position` and `velocity` are fresh, `acceleration` belongs to the last substep."""
    unit: str
    every_s: float = 0.0
    """Seconds between two readings; 0 for one every timestep."""
    delay_s: float = 0.0
    """How late a reading comes."""


@dataclass(frozen=True, kw_only=True)
class PictureRow:
    """A picture among the observations."""

    group: str
    camera: str
    """The model's."""
    shape: tuple[int, ...]
    """Height, width and channels."""


@dataclass(frozen=True, kw_only=True)
class ActionRow:
    """An actuator and what an action does to it."""

    name: str
    kind: str
    """What ctrl means: `torque`, `force`, `position` or the actuator's own scale."""
    unit: str
    at_minus_one: float
    """ctrl under an action of -1, in the home pose."""
    at_plus_one: float
    low: float | None
    """Limits of ctrl; None where the actuator has none."""
    high: float | None
    force_limit: float | None
    """Largest force or torque, where it is limited."""


@dataclass(frozen=True, kw_only=True)
class MotorRow:
    """A motor of the robot, as its joint sees it: behind the gearbox."""

    joints: tuple[str, ...]
    """Those that have it."""
    torque: float
    """The most it gives, N m or N."""
    speed: float | None
    """At which nothing is left of it, rad/s or m/s; None where torque does not fall with speed."""
    lag: float
    """Electrical time constant, s."""
    delay: float
    """From a command to its effect, s: whole substeps."""
    inertia: float
    """Of the rotor, kg m^2 or kg; 0 leaves it to the model."""
    backlash: float
    """Width of the play, rad or m."""
    friction: str
    """As it is written; empty where it is the model's."""
    runs: str
    """Where it is computed: `engine` or `control rate`."""


@dataclass(frozen=True, kw_only=True)
class TaskCard:
    """Everything `paddock inspect` shows of a task."""

    name: str
    version: int
    summary: str
    robot: str
    sim_stage: str
    control_dt: float
    timestep: float
    substeps: int
    episode_s: float
    episode_steps: int
    act: str
    """How an action within [-1, 1] becomes ctrl."""
    actions: tuple[ActionRow, ...]
    motors: tuple[MotorRow, ...]
    """What the robot names; none where its model has them all."""
    observations: tuple[ObservationGroup, ...]
    sensors: tuple[SensorRow, ...]
    rewards: tuple[TermRow, ...]
    ends: tuple[TermRow, ...]
    success: TermRow | None
    commands: tuple[TermRow, ...]
    memory: tuple[TermRow, ...]
    noise: tuple[TermRow, ...]
    randomization: tuple[TermRow, ...]
    curriculum: TermRow | None
    reset: TermRow
    expert: TermRow | None
    cameras: tuple[str, ...]
    pictures: tuple[PictureRow, ...]
    nq: int
    nv: int
    nu: int
    mass: float
    """Of everything that moves, kg."""
    arena_bytes: int
    """Memory for contacts and constraints of each world."""
