"""A task is a value: what acts, what is seen, what is rewarded, what ends an episode, where one begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

import mujoco
import torch
from torch import Tensor

from paddock.contracts import Layout, Memory, Obs, State, Term
from paddock.errors import PaddockError, blame, broken_model
from paddock.robots import Robot
from paddock.tasks.cameras import Camera, check_cameras
from paddock.tasks.curriculum import Curriculum
from paddock.tasks.memories import ACT_MEMORY, History
from paddock.tasks.noise import Noise, NoiseScale
from paddock.tasks.randomize_every import Every, core_of
from paddock.tasks.randomizers import Disturbance, FitsModel, LookRandomizer, ModelRandomizer, Randomizer
from paddock.tasks.readings import READINGS, Reading, Readings, columns
from paddock.tasks.scenes import flat_floor
from paddock.tasks.sensors import SensorSpec, declare_sensors
from paddock.tasks.timing import Timing, apply_timing


class Act(Protocol):
    """How an action within [-1, 1] becomes ctrl. One that is a Memory too goes on from what it remembers."""

    def actuate(self, spec: mujoco.MjSpec, robot: Robot, /) -> None:
        """Fit the robot's actuators to this kind of action, before the model is compiled."""
        ...

    def size(self, layout: Layout, /) -> int:
        """Columns of the action."""
        ...

    def __call__(self, state: State, /) -> Tensor:
        """ctrl (n, nu) for `state.action`."""
        ...


class Reset(Protocol):
    """Where an episode begins."""

    def __call__(self, state: State, /) -> tuple[Tensor, Tensor]:
        """qpos (n, nq) and qvel (n, nv), drawn from the state's keys."""
        ...


@runtime_checkable
class Reflecting(Protocol):
    """A command or memory that knows what it is with left and right exchanged; without, what is observed of it has no mirror."""

    def reflected(self, value: Tensor, /) -> Tensor | None:
        """(n, ...); None where it was not said."""
        ...


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task. Every term is a pure, batched function of the State, named by its key."""

    name: str
    robot: Robot
    control_dt: float
    """Seconds between two actions; a whole number of the model's timesteps."""
    episode_s: float
    """Seconds until an episode is truncated."""
    act: Act
    observe: Mapping[str, Term]
    """What the policy sees: only what the hardware can measure."""
    reward: Mapping[str, tuple[float, Term]]
    """Weight and term by name. Their sum is the reward; nothing is scaled behind your back."""
    done: Mapping[str, Term]
    """Conditions that end an episode for good; bool."""
    reset: Reset
    privileged: Mapping[str, Term] = field(default_factory=dict)
    """What only a critic sees, and no robot needs."""
    success: Term | None = None
    """Recorded, not rewarded. An episode succeeds when this holds at its last step."""
    measure: Mapping[str, Term] = field(default_factory=dict)
    """What evaluations report beside the reward, as means over steps; never rewarded, never seen."""
    command: Mapping[str, Memory] = field(default_factory=dict)
    """What an operator may ask for, drawn at random in training."""
    memory: Mapping[str, Memory] = field(default_factory=dict)
    """What the task must remember; advanced once a step, in this order, each seeing the new values before it."""
    history: Mapping[str, int] = field(default_factory=dict)
    """Observations of `observe` to stack: the last so many control steps, oldest first."""
    noise: Mapping[str, Noise] = field(default_factory=dict)
    """What sensors add to the truth, by the name of the observation. A robot's own sensors bring theirs, so exports have none."""
    randomize: Mapping[str, Randomizer] = field(default_factory=dict)
    """What differs from one episode to the next: properties of the machine, pushes, looks."""
    curriculum: Curriculum | None = None
    """How training begins easy and grows harder."""
    sensors: Mapping[str, SensorSpec] = field(default_factory=dict)
    """What it measures beyond the robot's own sensors, by name."""
    timing: Mapping[str, Timing] = field(default_factory=dict)
    """How often sensors look and how late they report, by the name of a sensor or of a group such as `joint_pos`."""
    cameras: Mapping[str, Camera] = field(default_factory=dict)
    """What it sees, as observation groups of their own, by name. Tasks without one never open OpenGL."""
    scene: Callable[[Robot], mujoco.MjSpec] = flat_floor
    """The world around the robot."""
    fields: tuple[str, ...] = ()
    """MjData fields that terms read beyond qpos, qvel, act, ctrl and sensors."""
    stage: Literal["velocity", "engine"] = "velocity"
    """`engine` reads derived fields one substep late, as plain `mj_step` leaves them; only the CPU sim can."""
    expert: Term | None = None
    """A hand-written controller, state to action: the proof that the task is possible."""
    presets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """How to train it, by name: `default`, and others where they differ. Each says only what differs from the trainer's own."""
    summary: str = ""
    version: int = 0
    """Raised when learning results could change."""

    def spec(self) -> mujoco.MjSpec:
        """The scene with the robot in it, its actuators fitted to the task's actions, and the task's sensors."""
        spec = self.scene(self.robot)
        try:
            self.act.actuate(spec, self.robot)
            for randomizer in self.randomize.values():
                if isinstance(randomizer, FitsModel):
                    randomizer.fit(spec)
        except (ValueError, mujoco.FatalError) as refusal:
            raise broken_model(f"robot '{self.robot.name}'", refusal) from None
        self._equip(spec)
        return spec

    def _equip(self, spec: mujoco.MjSpec) -> None:
        what = "sensors"
        try:
            declare_sensors(spec, self.sensors, self.robot)
            what = "timing"
            apply_timing(spec, self.timing)
            what = "cameras"
            check_cameras(spec, self.cameras)
        except PaddockError as error:
            raise blame(self.name, what, "", error) from error

    @property
    def episode_steps(self) -> int:
        return round(self.episode_s / self.control_dt)

    @cached_property
    def memories(self) -> dict[str, Memory]:
        """The task's own memory, then that of its act and that of its observations."""
        acting = {ACT_MEMORY: self.act} if isinstance(self.act, Memory) else {}
        noisy = {READINGS: self.readings} if self.noise else {}
        stacked = {f"history/{name}": History(term=self.sensed[name], steps=k) for name, k in self.history.items()}
        return {**self.memory, **acting, **noisy, **stacked}

    @cached_property
    def readings(self) -> Readings:
        """What its noisy observations report."""
        scales = tuple(name for name, randomizer in self.randomize.items() if isinstance(core_of(randomizer), NoiseScale))
        return Readings(terms=self.observe, noise=self.noise, scales=scales)

    @cached_property
    def sensed(self) -> dict[str, Term]:
        """The policy's observations as sensors report them, before they are stacked."""
        return {name: Reading(self.readings, name) if name in self.noise else term for name, term in self.observe.items()}

    @cached_property
    def deployed(self) -> Task:
        """The task as a controller needs it: real sensors bring their own errors."""
        return replace(self, noise={})

    @cached_property
    def unseeing(self) -> Task:
        """The task for those who look at no picture: on a CPU pictures cost more than all else."""
        return replace(self, cameras={}) if self.cameras else self

    @cached_property
    def model_randomizers(self) -> dict[str, ModelRandomizer]:
        return {name: r for name, r in self.randomize.items() if isinstance(r, ModelRandomizer)}

    @cached_property
    def looks(self) -> dict[str, LookRandomizer]:
        return {name: r for name, r in self.randomize.items() if isinstance(r, LookRandomizer)}

    @cached_property
    def drawn(self) -> dict[str, ModelRandomizer | LookRandomizer]:
        """Those that draw something when an episode begins."""
        return {name: r for name, r in self.randomize.items() if isinstance(r, ModelRandomizer | LookRandomizer)}

    @cached_property
    def recurring(self) -> dict[str, Every]:
        """Those that draw again within an episode."""
        return {name: r for name, r in self.randomize.items() if isinstance(r, Every)}

    @cached_property
    def disturbances(self) -> dict[str, Disturbance]:
        return {name: r for name, r in self.randomize.items() if isinstance(r, Disturbance)}

    def begin(self, state: State) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Command and memory of a new episode, from the state it begins in."""
        return self._remember(state, lambda memory: memory.start)

    def advance(self, state: State) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Command and memory one step on, from the state the physics reached."""
        return self._remember(state, lambda memory: memory.next)

    def rewards(self, state: State) -> tuple[Tensor, dict[str, Tensor]]:
        """The reward, and each of its terms, weighted; (n,)."""
        raw = torch.stack([term(state) for _, term in self.reward.values()], dim=1)
        weighted = raw * state.constant(tuple(weight for weight, _ in self.reward.values()))
        return weighted.sum(1), dict(zip(self.reward, weighted.unbind(1), strict=True))

    def ends(self, state: State) -> dict[str, Tensor]:
        """Each termination; (n,) bool."""
        return {name: term(state) for name, term in self.done.items()}

    def succeeded(self, state: State) -> Tensor:
        """(n,) bool."""
        return torch.zeros_like(state.age, dtype=torch.bool) if self.success is None else self.success(state)

    def observations(self, state: State) -> Obs:
        """Each group's terms side by side; pure, so it may be called twice."""
        groups = {"policy": torch.cat(list(self.observed(state).values()), dim=1)}
        if self.privileged:
            groups["privileged"] = torch.cat([columns(term(state)) for term in self.privileged.values()], dim=1)
        return groups

    def observed(self, state: State) -> dict[str, Tensor]:
        """The policy's observation by name; (n, k) each."""
        return {
            name: state.memory[f"history/{name}"].flatten(1) if name in self.history else columns(term(state))
            for name, term in self.sensed.items()
        }

    def _remember(self, state: State, verb: Callable[[Memory], Term]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        now = state.replaced(command=dict(state.command), memory=dict(state.memory))
        for group, memories, values in (("command", self.command, now.command), ("memory", self.memories, now.memory)):
            for name, memory in memories.items():
                try:
                    values[name] = verb(memory)(now.scoped(f"{group}/{name}"))
                except Exception as error:  # a user's memory may raise anything
                    raise blame(self.name, group, name, error) from error
        return now.command, now.memory
