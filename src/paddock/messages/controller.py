"""A controller for a robot: what its graph takes, returns and needs."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ControllerInput:
    """A tensor that a controller's graph takes."""

    name: str
    shape: tuple[int, ...]
    """Of one robot; the graph has the number of robots in front."""
    dtype: str
    """`float32`, `float64`, `int64`, `bool`, or `uint8` and `int32` for pictures."""
    unit: str
    """Empty where it is unknown or there is none."""
    source: str
    """Who supplies it: `sensor`, `camera`, `command` (the operator), `carried` (the graph's own output of the step before),
    `first` (true on an episode's first step), `key` (an integer that random draws hang on) or `simulator` (no robot can
    measure it)."""
    initial: float | None
    """Every number of a carried input before the first step; None for the others."""


@dataclass(frozen=True, kw_only=True)
class ControllerOutput:
    """A tensor that a controller's graph returns. `carried/X` is fed what `X` returned."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class RequiredReading:
    """What a robot must measure before each control step."""

    name: str
    input: str
    """The graph's input."""
    kind: str
    """Of the MuJoCo sensor, such as `gyro`."""
    unit: str
    size: int
    columns: tuple[str, ...]
    """A name for each number, in order; none for the pixels of a picture."""
    measurable: bool
    """False for what only a simulator knows: such a controller runs in simulation alone."""


@dataclass(frozen=True, kw_only=True)
class ActuatorRow:
    """One column of ctrl, and how the trained model turned it into force."""

    name: str
    joint: str | None
    """The joint it drives; None where it drives something else."""
    kind: str
    """What ctrl means: `position`, `velocity`, `torque`, `force`, or `general` for a scale of its own."""
    unit: str
    low: float | None
    """Limits of ctrl; None where there are none."""
    high: float | None
    force_low: float | None
    """Limits of the force or torque; None where there are none."""
    force_high: float | None
    gear: float
    gain: float
    """Force per unit of ctrl, before the gear."""
    kp: float
    """Stiffness of the servo; zero for a motor."""
    kd: float
    """Damping of the servo; zero for a motor."""
    home: float | None
    """Position of its joint in the home pose."""


@dataclass(frozen=True, kw_only=True)
class ObservationSpan:
    """Columns of the policy's observation that belong to one term."""

    term: str
    offset: int
    size: int


@dataclass(frozen=True, kw_only=True)
class ControllerAgreement:
    """How far the graph and PyTorch came apart in closed loop."""

    steps: int
    worlds: int
    episodes: int
    """That began on the way."""
    worst: float
    """Largest difference of any number returned, relative to it where it is above 1 or, for ctrl, above half of its range."""
    output: str
    """Where that was."""


@dataclass(frozen=True, kw_only=True)
class ControllerVersions:
    """What made a controller."""

    paddock: str
    mujoco: str
    torch: str
    onnx: str
    onnxruntime: str


@dataclass(frozen=True, kw_only=True)
class ControllerManifest:
    """What a robot must know to run `controller.onnx`, and what vouches for it. No number is rounded."""

    format_version: int
    task: str
    task_version: int
    robot: str
    control_dt: float
    timestep: float
    """Of the physics it was trained in."""
    action_size: int
    joints: tuple[str, ...]
    """The robot's actuated joints, in the order of actions."""
    home_qpos: tuple[float, ...]
    actuators: tuple[ActuatorRow, ...]
    """In the order of ctrl."""
    inputs: tuple[ControllerInput, ...]
    outputs: tuple[ControllerOutput, ...]
    required: tuple[RequiredReading, ...]
    unmeasurable: tuple[str, ...]
    """A warning: names in `required` that no robot can supply."""
    observations: tuple[ObservationSpan, ...]
    controller_sha256: str
    model_sha256: str
    """Of the model's XML text."""
    versions: ControllerVersions
    agreement: ControllerAgreement
