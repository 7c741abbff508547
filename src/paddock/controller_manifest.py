"""Graph + model -> manifest: what a robot must supply, in which order and unit, and what it is given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.metadata import version

import mujoco
import numpy as np

from paddock.contracts import CAMERA_GROUP
from paddock.controller_graph import SENSOR, ControllerGraph
from paddock.deploy.controller import CARRIED, COMMAND, FORMAT_VERSION, Held, open_session, signature
from paddock.env import Environment
from paddock.inspecting import task_card
from paddock.messages import (
    ActuatorRow,
    ControllerAgreement,
    ControllerInput,
    ControllerManifest,
    ControllerOutput,
    ControllerVersions,
    ObservationSpan,
    RequiredReading,
    SensorRow,
)

AXES = {3: (".x", ".y", ".z"), 4: (".w", ".x", ".y", ".z")}
"""What the numbers of a vector and a quaternion are called."""
MOVES = {int(mujoco.mjtJoint.mjJNT_HINGE): "rad", int(mujoco.mjtJoint.mjJNT_SLIDE): "m"}
"""Units of the joints that move along one coordinate."""
ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
PACKAGES = ("paddock", "mujoco", "torch", "onnx", "onnxruntime")


def describe(env: Environment, graph: ControllerGraph, agreement: ControllerAgreement) -> ControllerManifest:
    """The manifest of a graph that was exported from `env` and found to agree with it."""
    task, model = env.task, env.model
    data = graph.model.SerializeToString()
    sides = signature(open_session(data))
    required = tuple(_required(env, graph, sides["inputs"]))
    units = {reading.input: reading.unit for reading in required}
    return ControllerManifest(
        format_version=FORMAT_VERSION,
        task=task.name,
        task_version=task.version,
        robot=task.robot.name,
        control_dt=task.control_dt,
        timestep=model.opt.timestep,
        action_size=env.action_size,
        joints=task.robot.joints,
        home_qpos=tuple(_home(model).tolist()),
        actuators=tuple(_actuator(model, i) for i in range(model.nu)),
        inputs=tuple(
            ControllerInput(
                name=name,
                shape=shape,
                dtype=dtype,
                unit=units.get(name, ""),
                source=_source(name),
                initial=0.0 if name.startswith(CARRIED) else None,
            )
            for name, (shape, dtype) in sides["inputs"].items()
        ),
        outputs=tuple(ControllerOutput(name=name, shape=shape, dtype=dtype) for name, (shape, dtype) in sides["outputs"].items()),
        required=required,
        unmeasurable=tuple(reading.name for reading in required if not reading.measurable),
        observations=_observations(env),
        controller_sha256=sha256(data).hexdigest(),
        model_sha256=sha256(env.model_text.encode()).hexdigest(),
        versions=ControllerVersions(**{package: version(package) for package in PACKAGES}),
        agreement=agreement,
    )


def _source(name: str) -> str:
    for prefix in (SENSOR, CAMERA_GROUP, COMMAND, CARRIED):
        if name.startswith(prefix):
            return prefix.removesuffix("/")
    return name if name in ("first", "key") else "simulator"


def _required(env: Environment, graph: ControllerGraph, inputs: Mapping[str, Held]) -> Iterator[RequiredReading]:
    card = task_card(env.task)
    for name, (shape, _) in inputs.items():
        if _source(name) == "camera":
            kind = name.rsplit("/", 1)[1]
            yield RequiredReading(
                name=name, input=name, kind=kind, unit="m" * (kind == "depth"), size=math.prod(shape), columns=(), measurable=True
            )
        if _source(name) in ("sensor", "simulator"):
            reading, measurable = name.removeprefix(SENSOR), _source(name) == "sensor"
            columns = graph.sensors[reading] if measurable else slice(0)
            rows = [row for row, at in zip(card.sensors, env.model.sensor_adr, strict=True) if columns.start <= at < columns.stop]
            yield RequiredReading(
                name=reading,
                input=name,
                kind=", ".join(dict.fromkeys(row.kind for row in rows)),
                unit=", ".join(dict.fromkeys(row.unit for row in rows)),
                size=math.prod(shape),
                columns=_columns(reading, rows, shape),
                measurable=measurable,
            )


def _columns(reading: str, rows: list[SensorRow], shape: tuple[int, ...]) -> tuple[str, ...]:
    """A name for each number: those of the sensors, or places in an array of the simulator."""
    if not rows:
        return tuple(f"{reading}{list(place)}" for place in np.ndindex(*shape))
    places = {1: ("",)} | AXES
    return tuple(f"{row.name}{place}" for row in rows for place in places.get(row.size, [f"[{i}]" for i in range(row.size)]))


def _observations(env: Environment) -> tuple[ObservationSpan, ...]:
    spans: list[ObservationSpan] = []
    for name, value in env.task.observed(env.state).items():
        offset = spans[-1].offset + spans[-1].size if spans else 0
        spans.append(ObservationSpan(term=name, offset=offset, size=value.shape[1]))
    return tuple(spans)


def _actuator(model: mujoco.MjModel, i: int) -> ActuatorRow:
    on_joint = int(model.actuator_trntype[i]) in ON_JOINT
    joint = model.joint(int(model.actuator_trnid[i, 0])) if on_joint else None
    moves = MOVES.get(int(joint.type[0])) if joint is not None else None
    kind, unit = _meaning(model, i, moves)
    low, high = model.actuator_ctrlrange[i].tolist() if model.actuator_ctrllimited[i] else (None, None)
    force_low, force_high = model.actuator_forcerange[i].tolist() if model.actuator_forcelimited[i] else (None, None)
    return ActuatorRow(
        name=model.actuator(i).name,
        joint=None if joint is None else joint.name,
        kind=kind,
        unit=unit,
        low=low,
        high=high,
        force_low=force_low,
        force_high=force_high,
        gear=float(model.actuator_gear[i, 0]),
        gain=float(model.actuator_gainprm[i, 0]),
        kp=0.0 - float(model.actuator_biasprm[i, 1]),
        kd=0.0 - float(model.actuator_biasprm[i, 2]),
        home=None if moves is None or joint is None else float(_home(model)[joint.qposadr[0]]),
    )


def _meaning(model: mujoco.MjModel, i: int, moves: str | None) -> tuple[str, str]:
    """What ctrl means and its unit: bare only where nothing scales it."""
    gain, (_, stiffness, damping), gear = model.actuator_gainprm[i, 0], model.actuator_biasprm[i, :3], model.actuator_gear[i, 0]
    is_linear = model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED
    if moves is None or not is_linear:
        return "general", ""
    turns = moves == "rad"
    if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE:
        return ("torque" if turns else "force"), "" if gain * gear != 1.0 else "N m" if turns else "N"
    integrates = model.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_INTEGRATOR
    if stiffness == -gain and not integrates:
        return "position", moves if gear == 1.0 else ""
    if (stiffness == 0.0 and damping == -gain) or (stiffness == -gain and integrates):
        return "velocity", f"{moves}/s" if gear == 1.0 else ""
    return "general", ""


def _home(model: mujoco.MjModel) -> np.ndarray:
    """The home pose in the model's own precision; a layout has it in that of the terms."""
    named = "home" in [model.key(i).name for i in range(model.nkey)]
    return model.key("home").qpos if named else model.qpos0
