"""The nouns in memory: what boxes pass to each other, and nothing about how they are made.

Shapes: n is the number of worlds. Floats are float32 unless said; every tensor of one State lies on one device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from paddock import randomness
from paddock.anatomy import Anatomy
from paddock.errors import BadTerm, unknown
from paddock.worlds import Worlds

if TYPE_CHECKING:
    import mujoco

Obs = dict[str, Tensor]
"""Observation groups by name: `policy` always, `privileged` (for critics) where the task has one; (n, k) each.
Behind them the task's pictures, such as `camera/wrist/rgb`; (n, h, w, channels)."""

CAMERA_GROUP = "camera/"
"""What the names of groups of pictures begin with."""

Range = float | tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Where each named thing lies in the arrays of a State, resolved once, with the model's constants as tensors."""

    sensors: Mapping[str, slice]
    """Columns of sensordata. A prefix before '/' names the whole run: `joint_pos` covers `joint_pos/fl_hip` and on."""
    qpos: Mapping[str, slice]
    """Columns of qpos, by joint."""
    qvel: Mapping[str, slice]
    """Columns of qvel, by joint."""
    actuators: Mapping[str, slice]
    """Columns of ctrl, by actuator."""
    bodies: Mapping[str, int]
    home_qpos: Tensor
    """The keyframe `home`, or the model's qpos0; (nq,)."""
    home_room: tuple[tuple[float, float], ...]
    """How far each column of qpos may go down and up from home until its joint's limits; infinite where there are none."""
    home_joint: Tensor
    """Home position of each actuator's joint, or the middle of its range where it drives none; (nu,)."""
    on_joint: Tensor
    """Whether each actuator drives a joint; (nu,) bool."""
    home_sensordata: Tensor
    """What the sensors read at rest in the home pose; (nsensordata,)."""
    max_range: Tensor
    """Where each column of sensordata is cut off, infinite where it is not; (nsensordata,)."""
    ctrl_low: Tensor
    ctrl_high: Tensor
    """Ends of each actuator's range, infinite where it has none; (nu,)."""
    ctrl_middle: Tensor
    ctrl_half: Tensor
    """Middle and half width of that range, 0 and 1 where it has none; (nu,)."""
    nv: int
    control_dt: float
    """Seconds between two control steps."""
    model: mujoco.MjModel = field(repr=False)  # the nominal one
    constants: dict[Range, Tensor] = field(default_factory=dict, repr=False)

    def constant(self, value: Range) -> Tensor:
        """A Python number or tuple as a float32 tensor: made once, on this layout's device."""
        if value not in self.constants:
            self.constants[value] = torch.tensor(value, dtype=torch.float32, device=self.home_qpos.device)
        return self.constants[value]


@dataclass(kw_only=True, eq=False)
class State:
    """Everything a task's terms may read. Environments write these tensors in place; terms never do."""

    layout: Layout
    qpos: Tensor
    qvel: Tensor
    act: Tensor
    ctrl: Tensor
    sensordata: Tensor
    fields: dict[str, Tensor]
    """MjData fields beyond these that the task asked for, in the engine's own precision."""
    key: Tensor
    """Random key of each world's episode; (n,) int64."""
    age: Tensor
    """Control steps since the episode began; (n,) int64."""
    action: Tensor
    """The action of this step, within [-1, 1]; (n, na). Zero right after a reset."""
    last_action: Tensor
    """The action of the step before; (n, na)."""
    memory: dict[str, Tensor]
    command: dict[str, Tensor]
    params: dict[str, Tensor]
    """What randomisation drew for this episode."""
    scope: str = ""
    """Name of the term being evaluated: two terms of one kind draw different numbers."""
    sensors: dict[str, Tensor] = field(default_factory=dict, repr=False)
    """Views of sensordata that were asked for before."""

    def sensor(self, name: str) -> Tensor:
        """A sensor's columns, or those of a group such as `joint_pos`; (n, k)."""
        if name not in self.sensors:
            if name not in self.layout.sensors:
                raise unknown("sensor", name, self.layout.sensors)
            self.sensors[name] = self.sensordata[:, self.layout.sensors[name]]
        return self.sensors[name]

    def joint_pos(self, name: str) -> Tensor:
        """A joint's part of qpos; (n, 1) for a hinge or slide, (n, 7) for a free joint."""
        if name not in self.layout.qpos:
            raise unknown("joint", name, self.layout.qpos)
        return self.qpos[:, self.layout.qpos[name]]

    def joint_vel(self, name: str) -> Tensor:
        """A joint's part of qvel; (n, 1) for a hinge or slide, (n, 6) for a free joint."""
        if name not in self.layout.qvel:
            raise unknown("joint", name, self.layout.qvel)
        return self.qvel[:, self.layout.qvel[name]]

    @property
    def num_worlds(self) -> int:
        return self.key.shape[0]

    @property
    def time(self) -> Tensor:
        """Seconds since the episode began; (n,)."""
        return self.age.to(torch.float32) * self.layout.control_dt

    def constant(self, value: Range) -> Tensor:
        """A number or tuple of the term as a tensor beside the state's own."""
        return self.layout.constant(value)

    def uniform(self, count: int, low: Range = 0.0, high: Range = 1.0, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        """Uniform draws between low and high, a number or one for each column; (n, count). `index` tells repeated draws apart."""
        bits = randomness.unit_bits(self.key, self._stream(label), count, index)
        if isinstance(low, tuple) and isinstance(high, tuple):
            spans = tuple((b - a) * randomness.UNIFORM_UNIT for a, b in zip(low, high, strict=True))
            return bits * self.constant(spans) + self.constant(low)
        assert not isinstance(low, tuple) and not isinstance(high, tuple)
        return bits * ((high - low) * randomness.UNIFORM_UNIT) + low

    def normal(self, count: int, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        """Standard normal draws; (n, count)."""
        return randomness.normal(self.key, self._stream(label), count, index)

    def choice(self, options: int, count: int = 1, *, label: str = "", index: Tensor | int = 0) -> Tensor:
        """Integers below `options`; (n, count) int64."""
        return randomness.choice(self.key, self._stream(label), options, count, index)

    def scoped(self, name: str) -> State:
        """The same state, drawing from the streams of the term `name`."""
        return self.replaced(scope=name)

    def replaced(self, **changes: Any) -> State:
        """The same state with some members exchanged."""
        other = object.__new__(State)
        other.__dict__ = self.__dict__ | changes
        if "sensordata" in changes:
            other.sensors = {}
        return other

    def of(self, worlds: Worlds) -> State:
        """The state of some worlds alone."""
        taken: dict[str, Any] = {name: worlds.take(getattr(self, name)) for name in SINGLE_TENSORS}
        for group in TENSOR_GROUPS:
            taken[group] = {name: worlds.take(value) for name, value in getattr(self, group).items()}
        return State(layout=self.layout, **taken)

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor by a flat name, such as `qpos` or `memory/goal`: what is saved, and what graphs take."""
        flat = {name: getattr(self, name) for name in SINGLE_TENSORS}
        for group in TENSOR_GROUPS:
            flat |= {f"{group}/{name}": value for name, value in getattr(self, group).items()}
        return flat

    @staticmethod
    def from_tensors(layout: Layout, flat: Mapping[str, Tensor]) -> State:
        """The inverse of `tensors`."""
        members: dict[str, Any] = {name: flat[name] for name in SINGLE_TENSORS}
        for group in TENSOR_GROUPS:
            prefix = f"{group}/"
            members[group] = {name.removeprefix(prefix): t for name, t in flat.items() if name.startswith(prefix)}
        return State(layout=layout, **members)

    def _stream(self, label: str) -> str:
        if not self.scope:
            asked = "observations and rewards are functions of the state. Draw in a memory and read it with Remembered."
            raise BadTerm(f"only reset, command, memory and randomize may draw random numbers: {asked}")
        return f"{self.scope}:{label}"


SIM_TENSORS = ("qpos", "qvel", "act", "ctrl", "sensordata")
SINGLE_TENSORS = (*SIM_TENSORS, "key", "age", "action", "last_action")
TENSOR_GROUPS = ("fields", "memory", "command", "params")


class Term(Protocol):
    """A pure, batched function of the state; (n,), or (n, k) for an observation."""

    def __call__(self, state: State, /) -> Tensor: ...


@runtime_checkable
class Memory(Protocol):
    """Something a task remembers between steps: a goal, a timer, a command."""

    def start(self, state: State, /) -> Tensor:
        """The value when an episode begins; (n, ...)."""
        ...

    def next(self, state: State, /) -> Tensor:
        """The value one control step later; it may read its own present one."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """What an environment returns; the tensors are the caller's to keep. Where no episode ended, obs is final_obs."""

    obs: Obs
    """What to act on next. Where an episode just ended, the first observation of the next one."""
    reward: Tensor
    """(n,). The sum of `terms`."""
    terminated: Tensor
    """(n,) bool: the episode ended in a state that has no future."""
    truncated: Tensor
    """(n,) bool: the episode ran out of time, and its final observation still has a value."""
    final_obs: Obs
    """The observation of the state reached, before any reset."""
    success: Tensor
    """(n,) bool: the task's success holds in the state reached. An episode succeeds by its last step."""
    failed: Tensor
    """(n,) bool: the engine gave up on this world in this step; it is terminated, its reward is zero."""
    terms: dict[str, Tensor]
    """Each reward term, weighted; (n,)."""
    ends: dict[str, Tensor]
    """Each termination; (n,) bool."""

    @property
    def ended(self) -> Tensor:
        return self.terminated | self.truncated


class Sim(Protocol):
    """n worlds of one compiled model. Knows no task.

    Between steps a sim rests at the velocity stage: positions, velocities and their sensors belong to the state just
    reached; force, touch and accelerometer belong to the last substep and read zero right after a reset.
    """

    model: mujoco.MjModel
    num_worlds: int
    device: torch.device
    qpos: Tensor
    qvel: Tensor
    act: Tensor
    ctrl: Tensor
    sensordata: Tensor
    mocap_pos: Tensor
    mocap_quat: Tensor
    fields: dict[str, Tensor]
    failed: Tensor
    """(n,) bool: worlds in which the last step diverged, raised or was given a bad control."""

    by_rows: bool
    """Whether `Worlds` of this sim should carry rows. Where they do not, a step is captured, and nothing may look at a value."""
    crowded: Tensor
    """How often a world had less room than it needed since the last `grow`; (1,)."""
    model_fields: dict[str, Tensor]
    """Views of the expanded model fields; write with `write_model`."""
    derives_constants: bool
    """Whether `set_const` has run, so that what the engine derives from the model fields differs between worlds too."""

    @property
    def rows(self) -> Tensor:
        """All that the next step depends on, but for the model: the engine's integration state; (n, size) float64, a view."""
        ...

    def step(self, ctrl: Tensor, substeps: int) -> None:
        """Advance every world by `substeps` under ctrl (n, nu)."""

    def reset(self, worlds: Worlds) -> None:
        """Put some worlds back to the model's defaults. Follow with writes, then `forward`."""

    def write(self, name: str, value: Tensor, worlds: Worlds | None = None, *, index: int | None = None) -> None:
        """Set a state field (qpos, qvel, xfrc_applied, ...) as `Worlds.put` does; `index` picks one of its rows."""

    def forward(self, worlds: Worlds) -> None:
        """Bring what follows from the state up to date in some worlds; what only a step can tell reads zero there."""

    def expand(self, name: str) -> None:
        """Give a model field a value per world."""

    def write_model(self, name: str, value: Tensor, worlds: Worlds) -> None:
        """Set an expanded model field; value is (k, ...) with MjModel's shape behind. It holds from the next step on."""

    def grow(self) -> None:
        """Make more room for contacts and constraints, where it is set aside beforehand."""

    def set_const(self, worlds: Worlds) -> None:
        """Recompute what the engine derives from the model fields written."""

    def save(self) -> dict[str, Tensor]:
        """Everything needed to go on bit for bit."""
        ...

    def load(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from what `save` returned."""


class Tap(Protocol):
    """Listens to an environment's physics."""

    def stepping(self, sim: Sim) -> None:
        """All inputs but ctrl are written, and the step comes next."""

    def stepped(self, sim: Sim) -> None:
        """The state was reached, and nothing has been reset yet."""

    def begun(self, sim: Sim, worlds: Worlds) -> None:
        """Some worlds are where an episode begins, or where a save was loaded."""


class Env(Protocol):
    """What a learner sees."""

    num_worlds: int
    device: torch.device
    obs_sizes: dict[str, int]
    """Columns of each observation group but the pictures."""

    @property
    def image_shapes(self) -> Mapping[str, tuple[int, int, int]]:
        """Height, width and channels of each observation group that is a picture."""
        ...

    @property
    def anatomy(self) -> Anatomy:
        """How the robot is built, for networks that are built like it."""
        ...

    @property
    def action_size(self) -> int: ...

    @property
    def is_captured(self) -> bool:
        """Whether what is `repeated` is recorded once and then replayed, so that nothing in it may look at a value."""
        ...

    def repeated(self, work: Callable[[], None], *, generators: Sequence[torch.Generator] = ()) -> Callable[[], None]:
        """`work`, made quick to do over and over. It may step this environment and draw from `generators`; it writes in place."""
        ...

    def reset(self, *, seed: int | None = None) -> Step:
        """Begin a new episode in every world; with a seed, the first one of that seed."""
        ...

    def step(self, action: Tensor, /) -> Step:
        """Advance every world by one control step; worlds whose episode ends begin the next one."""
        ...
