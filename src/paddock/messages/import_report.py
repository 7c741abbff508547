"""What an import read, dropped, added, guessed and would warn about."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ImportNote:
    """One thing that a person should know about an imported robot."""

    kind: str
    """`dropped`, `added`, `changed`, `guessed` or `warning`."""
    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class ImportedPath:
    """A file that the model names."""

    asked: str
    """As the model says it."""
    found: str
    """Where it lay; empty where it is missing."""
    bytes: int


@dataclass(frozen=True, kw_only=True)
class MimicJoint:
    """A joint that follows another: its position is `offset + multiplier * leader`."""

    joint: str
    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True, kw_only=True)
class ImportedJoint:
    """What an action moves: an actuator and, where it drives one, its joint."""

    name: str
    kind: str
    """`hinge`, `slide`, `ball`, or what the actuator drives instead: `tendon`, `site`, `body`."""
    drive: str
    """`motor`, `servo` or `other`."""
    low: float | None
    """Range of the joint; None where it has none."""
    high: float | None
    force: float | None
    """Largest torque or force, N m or N; None where there is no limit."""
    home: float
    stiffness: float | None
    """Of the position servo: the file's own, or a guess."""
    damping: float | None


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """What a model is made of."""

    bodies: int
    joints: int
    dof: int
    actuators: int
    geoms: int
    meshes: int
    tendons: int
    equalities: int
    sensors: int
    keyframes: int
    mass: float
    """Of everything that moves, kg."""


@dataclass(frozen=True, kw_only=True)
class RobotNames:
    """What the robot file says."""

    name: str
    joints: tuple[str, ...]
    base: str | None
    feet: tuple[str, ...]
    tool: str | None
    own_servos: bool
    """Whether the model's own servos are kept, so that the robot names no gains."""
    camera: str


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """Everything `paddock import` says about a robot."""

    source: str
    format: str
    """`mjcf` or `urdf`."""
    kind: str
    """`legged`, `arm` or `other`, guessed from the model."""
    read: ModelSize
    """The model as it was read."""
    written: ModelSize
    """The robot that came of it."""
    timestep: float
    robot: RobotNames
    joints: tuple[ImportedJoint, ...]
    mimics: tuple[MimicJoint, ...]
    paths: tuple[ImportedPath, ...]
    notes: tuple[ImportNote, ...]
