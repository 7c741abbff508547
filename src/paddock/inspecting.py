"""Task -> card -> tables: what acts, what is seen, what is rewarded and when it ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import mujoco
import torch
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from paddock.env import Environment
from paddock.making import make
from paddock.messages import ActionRow, MotorRow, ObservationGroup, PictureRow, SensorRow, TaskCard, TermRow
from paddock.robots.drivetrain import CONTROLS
from paddock.robots.motors import Motor
from paddock.tasks.readings import READINGS
from paddock.tasks.task import Task
from paddock.terminal import plain_table, screen

STAGES = {0: "", 1: "position", 2: "velocity", 3: "acceleration"}
UNITS = {
    "jointpos": "rad",
    "jointvel": "rad/s",
    "jointactfrc": "N m",
    "actuatorpos": "rad",
    "actuatorvel": "rad/s",
    "actuatorfrc": "N m",
    "gyro": "rad/s",
    "accelerometer": "m/s²",
    "velocimeter": "m/s",
    "framepos": "m",
    "framelinvel": "m/s",
    "frameangvel": "rad/s",
    "framelinacc": "m/s²",
    "subtreecom": "m",
    "rangefinder": "m",
    "height scan": "m",
    "touch": "N",
    "contact": "N",
    "force": "N",
    "torque": "N m",
}
SLIDE_UNITS = {"rad": "m", "rad/s": "m/s", "N m": "N"}


def task_card(wanted: str | Task) -> TaskCard:
    """What there is to know about a task, from one world of it."""
    env = make(wanted)
    task, model, state = env.task, env.model, env.state
    return TaskCard(
        name=task.name,
        version=task.version,
        summary=task.summary,
        robot=task.robot.name,
        sim_stage=task.stage,
        control_dt=task.control_dt,
        timestep=model.opt.timestep,
        substeps=env.substeps,
        episode_s=task.episode_s,
        episode_steps=task.episode_steps,
        act=written(task.act),
        actions=_actions(env),
        motors=_motors(env),
        observations=_observations(env),
        sensors=tuple(_sensor(model, i, task.control_dt) for i in range(model.nsensor)),
        rewards=tuple(_row(name, term, weight=weight) for name, (weight, term) in task.reward.items()),
        ends=_rows(task.done),
        success=None if task.success is None else _row("success", task.success),
        commands=_rows(task.command, state.command),
        memory=_rows({name: memory for name, memory in task.memories.items() if name != READINGS}, state.memory),
        noise=_rows(task.noise),
        randomization=_rows(task.randomize, state.params),
        curriculum=None if task.curriculum is None else _row("curriculum", task.curriculum),
        reset=_row("reset", task.reset),
        expert=None if task.expert is None else _expert(task.expert),
        cameras=tuple(model.camera(i).name for i in range(model.ncam)),
        pictures=tuple(
            PictureRow(group=group, camera=task.cameras[group.split("/")[1]].name, shape=shape)
            for group, shape in env.image_shapes.items()
        ),
        nq=model.nq,
        nv=model.nv,
        nu=model.nu,
        mass=float(model.body_subtreemass[0]),
        arena_bytes=int(model.narena),
    )


def written(term: Any, *, defaults: bool = True) -> str:
    """A term as one would write it: `Near(velocity_error, 0.35)`. Without `defaults`, arguments at theirs are left out."""
    if isinstance(term, tuple):
        return f"({', '.join(map(written, term))})"
    if isinstance(term, dict):
        return f"{{{', '.join(f'{key}: {written(value)}' for key, value in term.items())}}}"
    if isinstance(term, float):
        return f"{term:.4g}"
    if is_dataclass(term) and not isinstance(term, type):
        given = [(f, getattr(term, f.name)) for f in fields(term) if f.repr]
        told = [(f, value) for f, value in given if defaults or value != _default(f)]
        arguments = [f"{f.name}={written(value)}" if f.kw_only else written(value) for f, value in told]
        return f"{type(term).__name__}({', '.join(arguments)})"
    return getattr(term, "__name__", None) or (repr(term) if isinstance(term, str | int | None) else type(term).__name__)


def meaning(term: Any) -> str:
    """The first sentence of a term's own documentation, without the shape."""
    doc = term.__doc__ or ""
    first = doc.strip().split("\n")[0].split("; (n")[0].strip().rstrip(".")
    return "" if first.startswith(("(n", f"{type(term).__name__}(")) else first


def _default(f: Any) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def _row(name: str, term: Any, *, shape: tuple[int, ...] | None = None, weight: float | None = None) -> TermRow:
    return TermRow(name=name, term=written(term), what=meaning(term), shape=shape, weight=weight)


def _expert(expert: Any) -> TermRow:
    """Controllers have dozens of gains, so only what the task changed is told."""
    return TermRow(name="expert", term=written(expert, defaults=False), what=meaning(expert))


def _rows(terms: Mapping[str, Any], values: Mapping[str, torch.Tensor] | None = None) -> tuple[TermRow, ...]:
    """One row a term, with the shape of its value where it has one."""
    shapes = {name: tuple(value.shape[1:]) for name, value in (values or {}).items()}
    return tuple(_row(name, term, shape=shapes.get(name)) for name, term in terms.items())


def _observations(env: Environment) -> tuple[ObservationGroup, ...]:
    task, state = env.task, env.state
    groups = {"policy": (task.observe, task.observed(state))}
    if task.privileged:
        groups["privileged"] = (task.privileged, {name: term(state) for name, term in task.privileged.items()})
    return tuple(
        ObservationGroup(name=name, size=env.obs_sizes[name], terms=_rows(terms, values))
        for name, (terms, values) in groups.items()
    )


def _sensor(model: mujoco.MjModel, i: int, control_dt: float) -> SensorRow:
    kind = mujoco.mjtSensor(model.sensor_type[i]).name.removeprefix("mjSENS_").lower()
    is_read_by_sim = kind == "user"
    kind = "height scan" if is_read_by_sim else kind
    unit = UNITS.get(kind, "")
    on_joint = model.sensor_objtype[i] == mujoco.mjtObj.mjOBJ_JOINT
    if on_joint and model.jnt_type[model.sensor_objid[i]] == mujoco.mjtJoint.mjJNT_SLIDE:
        unit = SLIDE_UNITS.get(unit, unit)
    return SensorRow(
        name=model.sensor(i).name,
        kind=kind,
        size=int(model.sensor_dim[i]),
        stage=STAGES[int(model.sensor_needstage[i])],
        unit=unit,
        every_s=_short(control_dt if is_read_by_sim else float(model.sensor_interval[i, 0])),
        delay_s=_short(math.ceil(model.sensor_delay[i] / model.opt.timestep - 1e-6) * model.opt.timestep),
    )


def _actions(env: Environment) -> tuple[ActionRow, ...]:
    """What -1 and 1 do to each actuator, found by doing it."""
    minus, plus = (env.task.act(env.state.replaced(action=torch.full_like(env.state.action, end)))[0] for end in (-1.0, 1.0))
    rows: list[ActionRow] = []
    for i in range(env.model.nu):
        kind, unit = _actuator_kind(env.model, i)
        low, high = env.state.layout.ctrl_low[i].item(), env.state.layout.ctrl_high[i].item()
        limited = bool(env.model.actuator_forcelimited[i])
        rows.append(
            ActionRow(
                name=env.model.actuator(i).name,
                kind=kind,
                unit=unit,
                at_minus_one=_short(minus[i].item()),
                at_plus_one=_short(plus[i].item()),
                low=_short(low) if math.isfinite(low) else None,
                high=_short(high) if math.isfinite(high) else None,
                force_limit=float(env.model.actuator_forcerange[i, 1]) if limited else None,
            )
        )
    return tuple(rows)


def _motors(env: Environment) -> tuple[MotorRow, ...]:
    """Joints with the same motor share a row."""
    motors = env.task.robot.driven()
    alike: dict[Motor, list[str]] = {}
    for joint, motor in motors.items():
        alike.setdefault(motor, []).append(joint)
    timestep = env.model.opt.timestep
    return tuple(
        MotorRow(
            joints=tuple(joints),
            torque=motor.joint_torque,
            speed=motor.joint_speed if motor.has_back_emf else None,
            lag=motor.lag,
            delay=motor.delay_steps(timestep) * timestep,
            inertia=motor.joint_inertia,
            backlash=motor.gearbox.backlash,
            friction="" if motor.friction is None else written(motor.friction, defaults=False),
            runs=motor.runs,
        )
        for motor, joints in alike.items()
    )


def _short(value: float) -> float:
    """A float32 without the digits that it does not have."""
    return float(f"{value:.6g}")


def _actuator_kind(model: mujoco.MjModel, i: int) -> tuple[str, str]:
    slide = (
        model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT
        and model.jnt_type[model.actuator_trnid[i, 0]] == mujoco.mjtJoint.mjJNT_SLIDE
    )
    length, force = ("m", "N") if slide else ("rad", "N m")
    if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_DCMOTOR:
        meant = {"position": length, "velocity": f"{length}/s", "torque": force}
        told = {number: (kind, meant[kind]) for kind, number in CONTROLS.items()}
        return told.get(int(model.actuator_ctrlspec[i]), ("voltage", "V"))
    if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE:
        return ("position", length) if model.actuator_biasprm[i, 1] else ("velocity", f"{length}/s")
    if model.actuator_gainprm[i, 0] != 1.0:
        return "motor", f"x {model.actuator_gainprm[i, 0] * model.actuator_gear[i, 0]:g} {'N' if slide else 'N m'}"
    gear = model.actuator_gear[i, 0]
    unit = "N" if slide else "N m"
    return ("force" if slide else "torque"), unit if gear == 1.0 else f"x {gear:g} {unit}"


def show(card: TaskCard) -> None:
    """The card as tables, on stdout."""
    console = screen()
    title = Text.assemble((f"{card.name}", "bold cyan"), (f"  v{card.version}  on {card.robot}", "dim"))
    console.print(Group("", title, card.summary, ""))
    console.print(_facts(card))
    act = Text.assemble(("actions", "bold cyan"), f"  {card.act}: ", ("what [-1, 1] becomes", "dim"))
    console.print(Group("", act, _indented(_action_table(card.actions))))
    if card.motors:
        heading = Text.assemble(("motors", "bold cyan"), ("  at the joint, behind the gearbox", "dim"))
        console.print(Group("", heading, _indented(_motor_table(card.motors))))
    for group in card.observations:
        _section(console, f"observation: {group.name}", group.terms, note=f"{group.size} numbers")
    if card.pictures:
        console.print(Group("", Text("pictures", "bold cyan"), _indented(_picture_table(card.pictures))))
    console.print(Group("", Text("sensors", "bold cyan"), _indented(_sensor_table(card.sensors))))
    _section(console, "noise", card.noise, note="what sensors add to these; not in exports, where they are real")
    _section(console, "rewards", card.rewards, note="a step's reward is their weighted sum")
    _section(console, "ends", card.ends, note=f"or after {card.episode_steps} steps: truncated")
    success = () if card.success is None else (card.success,)
    expert = () if card.expert is None else (card.expert,)
    _section(console, "start, success, expert", (card.reset, *success, *expert))
    _section(console, "commands", card.commands, note="what an operator asks for, random in training")
    _section(console, "memory", card.memory, note="what the task remembers, saved with it")
    _section(console, "randomisation", card.randomization, note="drawn anew for every episode, and as often as Every says")
    curriculum = () if card.curriculum is None else (card.curriculum,)
    _section(console, "curriculum", curriculum, note="in training alone; elsewhere it is the whole task")


def _facts(card: TaskCard) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    facts = {
        "control": f"{1 / card.control_dt:g} Hz, {card.substeps} physics steps of {card.timestep * 1000:g} ms each",
        "episode": f"{card.episode_s:g} s = {card.episode_steps} steps",
        "model": f"nq {card.nq}, nv {card.nv}, nu {card.nu}, {card.mass:.3g} kg, {card.arena_bytes / 1024:.0f} KiB arena",
        "cameras": ", ".join(card.cameras) or "none",
    }
    if card.sim_stage == "engine":
        facts["reading"] = "derived fields one substep late, as mj_step leaves them"
    for name, value in facts.items():
        table.add_row(name, value)
    return table


def _section(console: Console, title: str, rows: Iterable[TermRow], *, note: str = "") -> None:
    rows = tuple(rows)
    if not rows:
        return
    heading = Text.assemble((title, "bold cyan"), (f"  {note}", "dim"))
    console.print(Group("", heading, _indented(_term_table(rows))))


def _term_table(rows: tuple[TermRow, ...]) -> Table:
    table = plain_table()
    table.add_column("name", no_wrap=True)
    with_shape = any(row.shape is not None for row in rows)
    with_weight = any(row.weight is not None for row in rows)
    if with_shape:
        table.add_column("shape", justify="right", style="green")
    if with_weight:
        table.add_column("weight", justify="right", style="green")
    table.add_column("term", style="magenta", overflow="fold")
    table.add_column("what", style="dim", overflow="fold")
    for row in rows:
        shape = [] if not with_shape else ["" if row.shape is None else " x ".join(map(str, row.shape)) or "1"]
        weight = [] if not with_weight else ["" if row.weight is None else f"{row.weight:g}"]
        table.add_row(row.name, *shape, *weight, row.term, row.what)
    return table


def _action_table(rows: tuple[ActionRow, ...]) -> Table:
    """Actuators that share kind and numbers share a line."""
    table = plain_table()
    for name in ("actuator", "kind", "at -1", "at 1", "limits of ctrl", "largest force"):
        numeric = name not in ("actuator", "kind")
        table.add_column(name, justify="right" if numeric else "left", style="green" if numeric else "")

    def numbers(row: ActionRow) -> tuple[str, ...]:
        limits = "none" if row.low is None or row.high is None else f"{row.low:g} .. {row.high:g}"
        force = "none" if row.force_limit is None else f"{row.force_limit:g}"
        return f"{row.kind}, {row.unit}", f"{row.at_minus_one:g}", f"{row.at_plus_one:g}", limits, force

    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        alike.setdefault(numbers(row), []).append(row.name)
    for cells, names in alike.items():
        table.add_row(" ".join(names), *cells)
    return table


def _motor_table(rows: tuple[MotorRow, ...]) -> Table:
    table = plain_table()
    for name in ("motor of", "torque", "no-load speed", "lag", "delay", "rotor", "play", "friction", "runs in"):
        numeric = name not in ("motor of", "friction", "runs in")
        table.add_column(name, justify="right" if numeric else "left", style="green" if numeric else "")
    for row in rows:
        speed = "any" if row.speed is None else f"{row.speed:.3g} rad/s"
        own = f"{row.torque:.3g} N m", speed, f"{row.lag * 1000:.3g} ms", f"{row.delay * 1000:.3g} ms", f"{row.inertia:.2g} kg m²"
        table.add_row(" ".join(row.joints), *own, f"{row.backlash:.2g} rad", row.friction or "the model's", row.runs)
    return table


def _sensor_table(rows: tuple[SensorRow, ...]) -> Table:
    """Sensors side by side with one prefix, such as `joint_pos/...`, share a line."""
    table = plain_table()
    is_timed = any(row.every_s or row.delay_s for row in rows)
    for name in ("sensor", "size", "kind", "stage", "unit", *(("every", "late") if is_timed else ())):
        table.add_column(name, justify="right" if name == "size" else "left", style="green" if name == "size" else "")
    for _, group in itertools.groupby(rows, key=lambda row: (row.name.split("/")[0], row.kind, row.every_s, row.delay_s)):
        members = list(group)
        first, many = members[0], len(members) > 1
        name = f"{first.name.split('/')[0]}/* ({len(members)})" if many else first.name
        units = dict.fromkeys(row.unit for row in members)
        timing = [f"{s * 1000:g} ms" if s else "" for s in (first.every_s, first.delay_s)] if is_timed else []
        table.add_row(name, str(sum(row.size for row in members)), first.kind, first.stage, ", ".join(units), *timing)
    return table


def _picture_table(rows: tuple[PictureRow, ...]) -> Table:
    table = plain_table()
    for name in ("group", "camera", "height x width x channels"):
        table.add_column(name)
    for row in rows:
        table.add_row(row.group, row.camera, " x ".join(map(str, row.shape)))
    return table


def _indented(table: Table) -> Padding:
    return Padding(table, (0, 0, 0, 2))
