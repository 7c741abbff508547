"""What motors do with a command: how strong they are, how stiffly servos hold, what gears make of it, how late it arrives."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import torch
from torch import Tensor

from paddock.contracts import Layout, State
from paddock.errors import PaddockError, unknown
from paddock.tasks.ranges import RangeLike, check_factor, check_positive, range_of

FIXED, NO_BIAS, AFFINE = int(mujoco.mjtGain.mjGAIN_FIXED), int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE)
ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


@dataclass(frozen=True)
class MotorStrength:
    """Scales what motors can do: the torque of a command, and the limit of the force; of a servo, the limit alone."""

    factor: RangeLike
    actuators: tuple[str, ...] = ()
    """All, if none is named."""
    each: bool = False
    model_fields = ("actuator_gainprm", "actuator_forcerange")
    changes_constants = False

    def __post_init__(self) -> None:
        check_factor(self.factor, self)
        _check_names(self, self.actuators)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, len(_rows(state.layout, self.actuators)) if self.each else 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        model, rows = layout.model, _rows(layout, self.actuators)
        for row in rows:
            _check_kind(self, model, row)
            if model.actuator_biastype[row] == AFFINE and not model.actuator_forcelimited[row]:
                raise PaddockError(
                    f"{self}: servo '{model.actuator(row).name}' has no force limit, so nothing says how strong it is. "
                    "Give it a forcerange, or draw its gains with ServoGains."
                )
        gain, limit = values["actuator_gainprm"].clone(), values["actuator_forcerange"].clone()
        is_motor = torch.tensor([model.actuator_biastype[row] == NO_BIAS for row in rows], device=drawn.device)
        gain[:, rows, 0] = torch.where(is_motor, gain[:, rows, 0] * drawn, gain[:, rows, 0])
        limit[:, rows] = limit[:, rows] * drawn[:, :, None]
        return {"actuator_gainprm": gain, "actuator_forcerange": limit}


@dataclass(frozen=True)
class ServoGains:
    """Scales stiffness and damping of position servos, gain and bias together: the set point stays where it was."""

    stiffness: RangeLike = 1.0
    damping: RangeLike = 1.0
    actuators: tuple[str, ...] = ()
    """All servos, if none is named."""
    each: bool = False
    model_fields = ("actuator_gainprm", "actuator_biasprm")
    changes_constants = False

    def __post_init__(self) -> None:
        check_factor(self.stiffness, self)
        check_factor(self.damping, self)
        _check_names(self, self.actuators)

    def draw(self, state: State) -> Tensor:
        """Factors of stiffness and of damping, side by side; (n, 2), or with `each` (n, 2 k)."""
        count = len(self._servos(state.layout)) if self.each else 1
        stiffness = range_of(self.stiffness, self).draw(state, count)
        return torch.cat([stiffness, range_of(self.damping, self).draw(state, count, label="damping")], dim=1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        rows = self._servos(layout)
        if self.stiffness == 1.0 and not layout.model.actuator_biasprm[rows, 2].any():
            raise PaddockError(f"{self}: the servos have no damping of their own to scale. Draw that of the joints with Damping.")
        gain, bias = values["actuator_gainprm"].clone(), values["actuator_biasprm"].clone()
        stiffness, damping = drawn.chunk(2, dim=1)
        gain[:, rows, 0] *= stiffness
        bias[:, rows, :2] *= stiffness[:, :, None]
        bias[:, rows, 2] *= damping
        return {"actuator_gainprm": gain, "actuator_biasprm": bias}

    def _servos(self, layout: Layout) -> list[int]:
        model = layout.model
        rows = _rows(layout, self.actuators)
        servos = [row for row in rows if is_servo(model, row)]
        if not servos or (self.actuators and servos != rows):
            names = [model.actuator(row).name for row in rows if row not in servos]
            raise PaddockError(f"{self}: {', '.join(names)}: no position servo, so there are no gains to scale. Try MotorStrength.")
        return servos


@dataclass(frozen=True)
class GearRatio:
    """Scales the ratio of gearboxes: torque with it, and the inertia of the rotor, as the joint feels it, with its square."""

    factor: RangeLike
    actuators: tuple[str, ...] = ()
    """All with a gear other than 1, if none is named."""
    model_fields = ("actuator_gear", "dof_armature")
    changes_constants = True

    def __post_init__(self) -> None:
        check_factor(self.factor, self)
        _check_names(self, self.actuators)

    def draw(self, state: State) -> Tensor:
        return range_of(self.factor, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        model = layout.model
        geared = [row for row in _rows(layout, self.actuators) if self.actuators or abs(model.actuator_gear[row, 0]) != 1.0]
        if not geared:
            raise PaddockError(f"{self}: no actuator has a gear other than 1. Draw the strength with MotorStrength.")
        for row in geared:
            if model.actuator_biastype[row] != NO_BIAS:
                raise PaddockError(
                    f"{self}: actuator '{model.actuator(row).name}' is a servo, whose set point would move with its gear. "
                    "Draw its gains with ServoGains."
                )
        gear, armature = values["actuator_gear"].clone(), values["dof_armature"].clone()
        gear[:, geared] *= drawn[:, :, None]
        driven = [int(model.jnt_dofadr[model.actuator_trnid[row, 0]]) for row in geared if model.actuator_trntype[row] in ON_JOINT]
        armature[:, driven] *= drawn * drawn
        return {"actuator_gear": gear, "dof_armature": armature}


@dataclass(frozen=True)
class CommandDelay:
    """Sets how late commands reach the actuators that declare a delay [s]; those need `nsample` for the longest one."""

    seconds: RangeLike
    actuators: tuple[str, ...] = ()
    """All that declare a delay, if none is named."""
    model_fields = ("actuator_delay",)
    changes_constants = False

    def __post_init__(self) -> None:
        check_positive(self.seconds, self)
        _check_names(self, self.actuators)

    def draw(self, state: State) -> Tensor:
        return range_of(self.seconds, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        model = layout.model
        rows = _rows(layout, self.actuators)
        delay = _delayed(self, "actuator", rows, bool(self.actuators), model, self.seconds)
        value = values["actuator_delay"].clone()
        value[:, delay] = drawn.to(value.dtype)
        return {"actuator_delay": value}


@dataclass(frozen=True)
class SensorDelay:
    """Sets how late sensors that declare a delay report [s]; those need `nsample` for the longest one."""

    seconds: RangeLike
    sensors: tuple[str, ...] = ()
    """All that declare a delay, if none is named."""
    model_fields = ("sensor_delay",)
    changes_constants = False

    def __post_init__(self) -> None:
        check_positive(self.seconds, self)
        _check_names(self, self.sensors)

    def draw(self, state: State) -> Tensor:
        return range_of(self.seconds, self).draw(state, 1)

    def apply(self, drawn: Tensor, values: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
        model = layout.model
        names = [model.sensor(i).name for i in range(model.nsensor)]
        for name in self.sensors:
            if name not in names:
                raise unknown("sensor", name, names)
        rows = [names.index(name) for name in self.sensors or names]
        delay = _delayed(self, "sensor", rows, bool(self.sensors), model, self.seconds)
        value = values["sensor_delay"].clone()
        value[:, delay] = drawn.to(value.dtype)
        return {"sensor_delay": value}


def is_servo(model: mujoco.MjModel, row: int) -> bool:
    """Whether an actuator pulls towards the position it is told, with gains that a factor scales."""
    kinds = model.actuator_gaintype[row], model.actuator_biastype[row]
    return kinds == (FIXED, AFFINE) and bool(model.actuator_biasprm[row, 1] < 0)


def _delayed(owner: object, kind: str, rows: list[int], named: bool, model: mujoco.MjModel, seconds: RangeLike) -> list[int]:
    """Those of `rows` that keep a history; an error where it is missing, or too short for the longest delay."""
    samples = getattr(model, f"{kind}_history")[:, 0]
    kept = [row for row in rows if samples[row]]
    longest = range_of(seconds, owner).ends[1]
    need = round(longest / model.opt.timestep + 0.499) + 1
    lacking = [getattr(model, kind)(row).name for row in (rows if named or not kept else kept) if samples[row] < need]
    if lacking:
        raise PaddockError(
            f"{owner}: {', '.join(lacking)} {'keep' if len(lacking) > 1 else 'keeps'} too short a history for {longest:g} s. "
            f'Declare delay="{model.opt.timestep:g}" nsample="{need}", or more, on each {kind} in the model.'
        )
    return kept


def _rows(layout: Layout, names: tuple[str, ...]) -> list[int]:
    for name in names:
        if name not in layout.actuators:
            raise unknown("actuator", name, layout.actuators)
    return [layout.actuators[name].start for name in names or layout.actuators]


def _check_kind(owner: object, model: mujoco.MjModel, row: int) -> None:
    if model.actuator_gaintype[row] != FIXED or model.actuator_biastype[row] not in (NO_BIAS, AFFINE):
        kind = mujoco.mjtGain(model.actuator_gaintype[row]).name
        raise PaddockError(f"{owner}: actuator '{model.actuator(row).name}' has a gain of kind {kind}, which no factor scales.")


def _check_names(owner: object, names: tuple[str, ...]) -> None:
    if isinstance(names, str):
        raise PaddockError(f"{owner}: '{names}' is one text; wanted a tuple of names, ('{names}',).")
