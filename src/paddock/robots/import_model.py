"""Anyone's MJCF or URDF as a robot that tasks can use. Runs in the jail: see model_jail.py.

The order: read, take the scene out, motors, base, home, senses, check.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np

from paddock.errors import BrokenModel, broken_model
from paddock.messages import ImportedJoint, ImportNote, ImportReport, RobotNames
from paddock.robots import anatomy, import_motors
from paddock.robots.import_checks import check, penetrations
from paddock.robots.import_draft import MAX_REPAIRS, ON_JOINT, Draft, at, size_of
from paddock.robots.import_home import arm_pose, guessed_pose, home_keyframe, standing
from paddock.robots.import_scene import take_out_scene
from paddock.robots.import_senses import SITE_GROUP, add_camera, add_feet, add_imu, add_joint_sensors, add_tool_sensors
from paddock.robots.mjcf_reading import read_mjcf
from paddock.robots.model_files import ModelFiles
from paddock.robots.model_scan import parse, scan
from paddock.robots.stand_ins import stand_ins
from paddock.robots.urdf_reading import Urdf, read_urdf

Base = Literal["auto", "free", "fixed"]
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
CONTROL_UNIT = 0.01
"""Seconds. Tasks act every 20 or 50 ms, which has to be a whole number of timesteps."""
TIMESTEPS = (0.01, 0.005, 0.0025, 0.002, 0.001, 0.0005, 0.00025, 0.0002, 0.0001)
TIMESTEP, WALKER_TIMESTEP = 0.002, 0.005
"""Seconds, where a file names none: for arms and hands, which grip, and for what walks."""
VISUAL_GROUP, COLLISION_GROUP = 2, 3
"""As the engine's viewers show them: one is seen, the other is not."""
MIN_LEGS = 2


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """What to import, and what its author did not say."""

    file: str
    name: str
    assets: str
    """Folder of meshes and textures, beside the robot's XML."""
    base: Base = "auto"
    package_dirs: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Source:
    """A model read into memory: no file is opened after this."""

    request: ImportRequest
    text: str
    attached: dict[str, bytes]
    files: ModelFiles
    notes: list[ImportNote]
    urdf: Urdf | None


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A robot's model, the files it names, and what to say about it."""

    xml: str
    assets: dict[str, bytes]
    report: ImportReport


def read_source(request: ImportRequest) -> Source:
    """Everything the model needs, from disk. The only part of an import that opens files."""
    files = ModelFiles(Path(request.file), [Path(folder) for folder in request.package_dirs])
    notes: list[ImportNote] = []
    root = parse(files.model(), files.file.name)
    if root.tag == "robot":
        urdf = read_urdf(root, files, notes)
        return Source(request=request, text=urdf.text, attached={}, files=files, notes=notes, urdf=urdf)
    if root.tag != "mujoco":
        raise BrokenModel(f"{files.file.name} begins with <{root.tag}>: neither MJCF (<mujoco>) nor URDF (<robot>).")
    text, attached = read_mjcf(root, files, notes)
    return Source(request=request, text=text, attached=attached, files=files, notes=notes, urdf=None)


def source_of_text(text: str) -> Source:
    """A model that names no files."""
    request = ImportRequest(file="model.xml", name="model", assets="model_assets")
    return Source(request=request, text=text, attached={}, files=ModelFiles(Path("model.xml")), notes=[], urdf=None)


def build_robot(source: Source) -> Imported:
    """The robot that comes of a model. Opens nothing."""
    draft = _draft(source)
    _name_everything(draft)
    model = draft.compile()
    read = size_of(model)
    take_out_scene(draft, model)
    _drive(draft, model)
    base = _settle_base(draft, model, source)
    _settle_options(draft, model, source)
    names, home = _complete(draft, base)
    _settle_timestep(draft, draft.compile(), home, source, floats=base is not None)
    xml, model = _finish(draft, source)
    check(draft, model, home, floats=base is not None)
    gains = import_motors.gains(model, home, is_arm=names.tool is not None)
    report = ImportReport(
        source=source.request.file,
        format=draft.format,
        kind="legged" if names.feet else "arm" if names.tool else "other",
        read=read,
        written=size_of(model),
        timestep=model.opt.timestep,
        robot=replace(
            names,
            joints=tuple(model.actuator(i).name for i in range(model.nu)),
            own_servos=all(import_motors.is_servo(model, i) for i in range(model.nu)),
        ),
        joints=tuple(_joint_row(model, i, home, gains) for i in range(model.nu)),
        mimics=draft.mimics,
        paths=tuple(source.files.paths.values()),
        notes=tuple(draft.notes),
    )
    used = {name: content for name, content in source.files.assets.items() if f'"{name}"' in xml}
    return Imported(xml=xml, assets=used, report=report)


def _draft(source: Source) -> Draft:
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        spec = mujoco.MjSpec.from_string(source.text, include=source.attached, assets=source.files.assets)
        spec.modelname = source.request.name
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken_model(source.files.file.name, refusal) from None
    if spec.option.timestep <= 0:
        raise BrokenModel(f"{source.files.file.name} has a timestep of {spec.option.timestep:g} s; time has to go on.")
    for name, content in stand_ins(spec).items():
        spec.assets[name] = content
    if source.urdf is None:
        return Draft(spec=spec, format="mjcf", notes=source.notes)
    for mesh in spec.meshes:  # what is only looked at need not enclose a volume, and hulls always do
        shell = mesh.name in source.urdf.shell_meshes
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL if shell else mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    for body in spec.bodies:
        seen = any(not (geom.contype or geom.conaffinity) for geom in body.geoms)
        for geom in body.geoms:
            geom.group = COLLISION_GROUP if seen and (geom.contype or geom.conaffinity) else VISUAL_GROUP
    return Draft(spec=spec, format="urdf", notes=source.notes, mimics=source.urdf.mimics, velocities=source.urdf.velocities)


def _name_everything(draft: Draft) -> None:
    """Give bodies and joints without a name one: everything after this refers to them by name."""
    for kind, items in (("body", draft.spec.bodies), ("joint", draft.spec.joints), ("tendon", draft.spec.tendons)):
        taken = {item.name for item in items}
        for index, item in enumerate(items):
            if not item.name:
                name = f"{kind}_{index}"
                while name in taken:
                    name += "_"
                taken.add(name)
                item.name = name


def _drive(draft: Draft, model: mujoco.MjModel) -> None:
    """Actuators, named and ranged."""
    if draft.spec.actuators:
        import_motors.add_ranges(draft, model)
        import_motors.name_actuators(draft)
    else:
        import_motors.add_motors(draft, model)


def _settle_base(draft: Draft, model: mujoco.MjModel, source: Source) -> str | None:
    """The body that floats: the file's, or the root of a robot that stands on legs; None for one that is bolted down."""
    free = [joint for joint in draft.spec.joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
    wanted = source.request.base
    if free and wanted != "fixed":
        return free[0].parent.name
    for joint in free:
        draft.spec.delete(joint)
        draft.note("dropped", f"free joint '{joint.name}'", "--base fixed was asked for")
    if wanted == "fixed" or (source.urdf is None and wanted == "auto"):
        return None
    name = draft.spec.worldbody.first_body().name
    if source.urdf is not None and wanted == "auto" and not source.urdf.floats:
        bolted = source.urdf.is_bolted
        driven = {model.joint(actuator.name).id for actuator in draft.spec.actuators}
        standing_on = anatomy.legs(model, at(model, guessed_pose(model, driven)), anatomy.limbs(model, driven))
        if bolted or len(standing_on) < MIN_LEGS:
            draft.note(
                "guessed",
                f"the base '{name}' is bolted down",
                "the root is the world" if bolted else "it has no two legs; --base free lets it float",
            )
            return None
        draft.note("guessed", f"the base '{name}' floats", f"it stands on {len(standing_on)} legs; --base fixed bolts it down")
    draft.spec.body(name).add_freejoint(name="root" if draft.spec.joint("root") is None else "floating_base")
    return name


def _complete(draft: Draft, base: str | None) -> tuple[RobotNames, np.ndarray]:
    """Home pose, sensors, sites and camera. Returns the names that tasks use, and home."""
    model = draft.compile()
    driven = import_motors.driven_joints(model)
    found = anatomy.limbs(model, driven)
    is_arm = base is None and anatomy.is_arm(model, found)
    if is_arm:  # a gripper's other finger may follow the one that is driven
        found = anatomy.limbs(model, driven | {j for j, leader in import_motors.followers(model).items() if leader in driven})
    home = home_keyframe(draft, model)
    if home is None:
        home = guessed_pose(model, driven)
        home = _add_home(draft, model, arm_pose(model, home, found) if is_arm else home, base)
    data = at(model, home)
    if draft.format == "urdf":
        _part_overlapping(draft, model, data)
    add_joint_sensors(draft, model)
    feet: tuple[str, ...] = ()
    tool: str | None = None
    if base is not None:
        add_imu(draft, base)
        legs = anatomy.legs(model, data, found)
        feet = add_feet(draft, model, data, legs) if len(legs) >= MIN_LEGS else ()
    elif is_arm:
        tool = _add_tool(draft, model, data, found)
        add_tool_sensors(draft, tool)
    camera = add_camera(draft, model, data, base)
    names = RobotNames(name=draft.spec.modelname, joints=(), base=base, feet=feet, tool=tool, own_servos=False, camera=camera)
    return names, home


def _add_home(draft: Draft, model: mujoco.MjModel, home: np.ndarray, base: str | None) -> np.ndarray:
    if base is not None:
        home = standing(model, home, model.body(base).id)
    home = np.round(home, 6)
    ctrl = np.zeros(model.nu)
    for i in range(model.nu):
        if import_motors.is_servo(model, i) and model.actuator_trntype[i] == int(mujoco.mjtTrn.mjTRN_JOINT):
            ctrl[i] = home[model.jnt_qposadr[model.actuator_trnid[i, 0]]]
    draft.spec.add_key(name="home", qpos=home, ctrl=ctrl)
    how = "on the ground, legs under the body" if base else "joints where they move an arm's tool best, or at zero"
    draft.note("guessed", "keyframe 'home'", f"the file has no keyframe: {how}")
    return home


def _part_overlapping(draft: Draft, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Links whose shapes overlap at home collide for ever, and a URDF cannot say that they should not."""
    overlapping = sorted(penetrations(model, data))
    for first, second in overlapping:
        draft.spec.add_exclude(name="", bodyname1=first, bodyname2=second)
    if overlapping:
        listed = ", ".join(f"{a} and {b}" for a, b in overlapping[:8])
        draft.note("added", f"contact excludes: {listed}{' …' * (len(overlapping) > 8)}", "they overlap at home")


def _add_tool(draft: Draft, model: mujoco.MjModel, data: mujoco.MjData, found: list[anatomy.Limb]) -> str:
    tool = anatomy.tool(model, data, found)
    if tool.site is not None:
        name = model.site(tool.site).name
    else:
        name = "tool" if draft.spec.site("tool") is None else "tool_tip"
        draft.spec.body(model.body(tool.body).name).add_site(
            name=name, pos=np.round(tool.pos, 5), size=[0.01] * 3, group=SITE_GROUP
        )
    draft.note("guessed", f"tool '{name}' on body '{model.body(tool.body).name}'", tool.why)
    return name


def _settle_options(draft: Draft, model: mujoco.MjModel, source: Source) -> None:
    """What every backend can do. The engine's standing offer, explicit Euler, is kept only where the file asks for it."""
    spec, option = draft.spec, draft.spec.option
    spec.memory = spec.nstack = spec.njmax = spec.nconmax = -1  # sims size these by use
    if spec.compiler.settotalmass > 0:
        _scale_masses(draft, model)
    if option.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        draft.note("changed", "integrator RK4 is implicitfast", "the GPU and the browser have no RK4")
    elif not _says(source, "integrator"):
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        draft.note("guessed", "integrator implicitfast", "the file names none; it takes servos' damping in larger steps")


def _settle_timestep(draft: Draft, model: mujoco.MjModel, home: np.ndarray, source: Source, *, floats: bool) -> None:
    """A timestep that divides a control step. A walker whose file names none takes the longest that its servos bear."""
    option = draft.spec.option
    if not _says(source, "timestep"):
        bears = floats and import_motors.stiffest(model, home) * WALKER_TIMESTEP**2 <= import_motors.STEADY
        option.timestep = WALKER_TIMESTEP if bears else TIMESTEP
        draft.note("guessed", f"timestep {option.timestep * 1000:g} ms", "the file names none, and the servos are steady with it")
        return
    steps = CONTROL_UNIT / option.timestep
    if not math.isclose(steps, round(steps), rel_tol=1e-6) or steps < 1:
        before, option.timestep = option.timestep, next((step for step in TIMESTEPS if step < option.timestep), TIMESTEPS[-1])
        draft.note(
            "changed",
            f"timestep {before:g} s is {option.timestep:g} s",
            "control steps of 10, 20 and 50 ms are whole numbers of it",
        )


def _says(source: Source, setting: str) -> bool:
    """Whether the file itself has a word on an option. Of URDF, no."""
    return source.urdf is None and any(setting in option.attrib for option in parse(source.text.encode(), "").iter("option"))


def _scale_masses(draft: Draft, model: mujoco.MjModel) -> None:
    """Say each mass as it is: the engine is about to forget the setting that scales them all."""
    draft.spec.compiler.settotalmass = -1
    plain = draft.spec.compile()
    ratio = float(model.body_mass.sum() / plain.body_mass.sum())
    for geom in draft.spec.geoms:
        geom.density *= ratio
        geom.mass *= ratio  # NaN where it comes from the density
    for body in draft.spec.bodies:
        if body.explicitinertial:
            body.mass *= ratio
            body.inertia *= ratio
            body.fullinertia *= ratio
    draft.note("changed", f"masses times {ratio:.4g}", "settotalmass is on its way out of the engine")


def _finish(draft: Draft, source: Source) -> tuple[str, mujoco.MjModel]:
    """The text as it is written and its model, with the files that are written beside it."""
    assets = source.files.assets
    plain, model = _written(draft, assets)
    if not assets:
        return plain, model
    folder = f'meshdir="{source.request.assets}" texturedir="{source.request.assets}"'
    return plain.replace("<compiler ", f"<compiler {folder} ", 1), model


def _written(draft: Draft, assets: dict[str, bytes]) -> tuple[str, mujoco.MjModel]:
    """The spec's text and what that compiles to: rounded numbers and real meshes may need a repair that the spec did not."""
    for _ in range(MAX_REPAIRS):
        draft.compile()
        text = draft.spec.to_xml()
        scan(parse(text.encode(), "the finished robot"), "the finished robot")  # what was guessed has to be a number too
        try:
            return text, mujoco.MjSpec.from_string(text, assets=assets).compile()
        except (ValueError, mujoco.FatalError) as refusal:
            if not draft.repair(str(refusal)):
                raise broken_model("the finished robot", refusal) from None
    raise BrokenModel(f"the robot needs more than {MAX_REPAIRS} repairs before it compiles.")


def _joint_row(model: mujoco.MjModel, i: int, home: np.ndarray, gains: dict[str, tuple[float, float]]) -> ImportedJoint:
    name = model.actuator(i).name
    on_joint = model.actuator_trntype[i] in ON_JOINT
    j = int(model.actuator_trnid[i, 0]) if on_joint else -1
    limited = on_joint and bool(model.jnt_limited[j])
    stiffness, damping = gains.get(name, (None, None))
    trn = str(mujoco.mjtTrn(int(model.actuator_trntype[i]))).rpartition("_")[2].lower()
    drive = "servo" if import_motors.is_servo(model, i) else "motor" if not model.actuator_dyntype[i] and on_joint else "other"
    return ImportedJoint(
        name=name,
        kind=str(mujoco.mjtJoint(int(model.jnt_type[j]))).rpartition("_")[2].lower() if on_joint else trn,
        drive=drive,
        low=float(model.jnt_range[j, 0]) if limited else None,
        high=float(model.jnt_range[j, 1]) if limited else None,
        force=import_motors.force_of(model, i),
        home=float(home[model.jnt_qposadr[j]]) if on_joint else 0.0,
        stiffness=stiffness,
        damping=damping,
    )
