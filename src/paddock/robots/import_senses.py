"""What tasks read and pictures need: sensors by the names tasks use, sites for them, and a camera."""

from collections.abc import Callable

import mujoco
import numpy as np

from paddock.robots.anatomy import Limb, bounds, foot_geoms
from paddock.robots.import_draft import ON_JOINT, Draft, at
from paddock.robots.import_motors import SINGLE, driven_joints

SITE_GROUP = 4
"""Shown in no picture."""
FOOT_MARGIN = 0.003
"""Metres that a touch site reaches beyond the foot: a contact lies a little outside."""
SENSED = {
    "joint_pos": mujoco.mjtSensor.mjSENS_JOINTPOS,
    "joint_vel": mujoco.mjtSensor.mjSENS_JOINTVEL,
    "joint_torque": mujoco.mjtSensor.mjSENS_JOINTACTFRC,
}
PULLED = {"tendon_pos": mujoco.mjtSensor.mjSENS_TENDONPOS, "tendon_vel": mujoco.mjtSensor.mjSENS_TENDONVEL}
ON_IMU = {
    "gyro": mujoco.mjtSensor.mjSENS_GYRO,
    "accelerometer": mujoco.mjtSensor.mjSENS_ACCELEROMETER,
    "base_vel": mujoco.mjtSensor.mjSENS_VELOCIMETER,
    "base_pos": mujoco.mjtSensor.mjSENS_FRAMEPOS,
    "base_quat": mujoco.mjtSensor.mjSENS_FRAMEQUAT,
}
IMU = ("gyro", "accelerometer", "base_vel", "up", "base_pos", "base_quat")


def add_joint_sensors(draft: Draft, model: mujoco.MjModel) -> None:
    """Position, velocity and torque of every driven joint, and length and speed of every driven tendon, in the actuators' order."""
    joints = [model.actuator(i).name for i in range(model.nu) if _drives_single(model, i)]
    joints = joints or sorted(model.joint(j).name for j in driven_joints(model))  # a hand may be moved by tendons alone
    for group, kind in SENSED.items():
        for joint in joints:
            _add(draft, f"{group}/{joint}", {"type": kind, "objtype": mujoco.mjtObj.mjOBJ_JOINT, "objname": joint})
    if joints:
        listed = ", ".join(SENSED)
        draft.note(
            "added", f"{listed} of {len(joints)} joint{'s' * (len(joints) > 1)}", "what tasks read, in the order of the actuators"
        )
    pulled = [i for i in range(model.nu) if model.actuator_trntype[i] == int(mujoco.mjtTrn.mjTRN_TENDON)]
    for group, kind in PULLED.items():
        for i in pulled:
            tendon = model.tendon(int(model.actuator_trnid[i, 0])).name
            wanted = {"type": kind, "objtype": mujoco.mjtObj.mjOBJ_TENDON, "objname": tendon}
            _add(draft, f"{group}/{model.actuator(i).name}", wanted)
    if pulled:
        draft.note("added", f"{' and '.join(PULLED)} of {len(pulled)} tendon{'s' * (len(pulled) > 1)}", "what their actuators pull")


def _drives_single(model: mujoco.MjModel, i: int) -> bool:
    on_joint = model.actuator_trntype[i] in ON_JOINT
    return bool(on_joint) and model.jnt_type[model.actuator_trnid[i, 0]] in SINGLE


def add_imu(draft: Draft, base: str) -> None:
    """An inertial unit in the floating base, and where that is."""
    body, site = draft.spec.body(base), draft.spec.site("imu")
    if site is None or site.parent.name != base:
        name = "imu" if site is None else "base_imu"
        site = body.add_site(name=name, size=[0.01, 0.01, 0.01], group=SITE_GROUP)
    for name in IMU:
        _add(draft, name, _up_at(site.name) if name == "up" else _on_site(ON_IMU[name], site.name))
    draft.note("added", f"{', '.join(IMU)} in body '{base}'", "what tasks read of a robot that floats")


def _on_site(kind: mujoco.mjtSensor, site: str) -> dict[str, object]:
    return {"type": kind, "objtype": mujoco.mjtObj.mjOBJ_SITE, "objname": site}


def _up_at(site: str) -> dict[str, object]:
    """The world's upward direction in the frame of a site."""
    world = {"type": mujoco.mjtSensor.mjSENS_FRAMEZAXIS, "objtype": mujoco.mjtObj.mjOBJ_XBODY, "objname": "world"}
    return {**world, "reftype": mujoco.mjtObj.mjOBJ_SITE, "refname": site}


def add_tool_sensors(draft: Draft, site: str) -> None:
    """Where the tool is."""
    _add(draft, "tool_pos", _on_site(mujoco.mjtSensor.mjSENS_FRAMEPOS, site))
    _add(draft, "tool_quat", _on_site(mujoco.mjtSensor.mjSENS_FRAMEQUAT, site))


def add_feet(draft: Draft, model: mujoco.MjModel, data: mujoco.MjData, found: list[Limb]) -> tuple[str, ...]:
    """A touch sensor around what each leg stands on; returns what the feet are called."""
    standing = [(leg, geoms) for leg in found if (geoms := foot_geoms(model, data, leg))]
    names = short_names([model.body(leg.end).name for leg, _ in standing])
    for index, (_, geoms) in enumerate(standing):
        body = model.body(int(model.geom_bodyid[geoms[0]])).name
        own = _own_touch(draft, body)
        if own is not None:
            names[index], site = own.name.removeprefix("touch/"), own.objname
        else:
            low, high = _box_in_body(model, geoms)
            site = _free_name(f"{names[index]}_foot", lambda wanted: draft.spec.site(wanted) is not None)
            draft.spec.body(body).add_site(
                name=site,
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=(low + high) / 2,
                size=(high - low) / 2 + FOOT_MARGIN,
                group=SITE_GROUP,
            )
        _add(draft, f"touch/{names[index]}", _on_site(mujoco.mjtSensor.mjSENS_TOUCH, site))
    if names:
        draft.note("guessed", f"feet {', '.join(names)}", "the lowest colliding parts of legs; each has a touch sensor")
    return tuple(names)


def _own_touch(draft: Draft, body: str) -> mujoco.MjsSensor | None:
    """The touch sensor that the file itself has on a body, under a name that tasks know."""
    sites = {site.name for site in draft.spec.body(body).sites}
    touch = [sensor for sensor in draft.spec.sensors if sensor.type == mujoco.mjtSensor.mjSENS_TOUCH and sensor.objname in sites]
    return next((sensor for sensor in touch if sensor.name.startswith("touch/")), None)


def _box_in_body(model: mujoco.MjModel, geoms: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the box around geoms of one body, in its frame."""
    lows, highs = [], []
    for geom in geoms:
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
        turned = rotation.reshape(3, 3)
        middle = model.geom_pos[geom] + turned @ model.geom_aabb[geom, :3]
        half = np.abs(turned) @ model.geom_aabb[geom, 3:]
        lows.append(middle - half)
        highs.append(middle + half)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def short_names(names: list[str]) -> list[str]:
    """What tells names apart: `FL_calf` and `FR_calf` are FL and FR."""
    if len(names) < 2:
        return names
    start = _common_length(names)
    end = _common_length([name[::-1] for name in names])
    # a part of a word says nothing: fl_hip and fr_hip differ in `fl` and `fr`, not in `l` and `r`
    while start and names[0][start - 1] not in "_-. ":
        start -= 1
    while end and names[0][len(names[0]) - end] not in "_-. ":
        end -= 1
    short = [name[start : len(name) - end].strip("_-. ") for name in names]
    return short if all(short) and len(set(short)) == len(short) else names


def _common_length(names: list[str]) -> int:
    shortest = min(map(len, names))
    return next((i for i in range(shortest) if len({name[i] for name in names}) > 1), shortest)


def add_camera(draft: Draft, model: mujoco.MjModel, data: mujoco.MjData, base: str | None) -> str:
    """A camera `track` that has the whole robot in view, from the front right; the file's own camera of that name is kept."""
    if draft.spec.camera("track") is not None:
        return "track"
    box = bounds(model, data)
    away = np.array([0.72, -0.62, 0.32]) * (1.35 * float(np.linalg.norm(box.size)) + 0.15)
    right = np.array([0.62, 0.72, 0.0]) / np.hypot(0.62, 0.72)
    back = away / np.linalg.norm(away)
    axes = np.stack([right, np.cross(back, right), back], axis=1)
    home, mode, pos, turn = draft.spec.worldbody, mujoco.mjtCamLight.mjCAMLIGHT_FIXED, box.middle + away, np.eye(3)
    if base is not None:  # such a camera keeps the offset from the centre of mass that it has in the model's own pose
        body, first = model.body(base).id, at(model, model.qpos0)
        home, mode, turn = draft.spec.body(base), mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM, first.xmat[body].reshape(3, 3)
        pos = turn.T @ (first.subtree_com[body] - first.xpos[body] + box.middle - data.subtree_com[body] + away)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, (turn.T @ axes).ravel())
    home.add_camera(name="track", mode=mode, pos=pos, quat=quat, fovy=40)
    draft.note("added", "camera 'track'", "pictures are taken from it")
    return "track"


def _add(draft: Draft, name: str, wanted: dict[str, object]) -> None:
    """A sensor under a name that tasks use. One of the file's own that has the name and means something else is renamed."""
    own = draft.spec.sensor(name)
    if own is not None:
        if own.type == wanted["type"] and own.objname == wanted["objname"] and own.refname == wanted.get("refname", ""):
            draft.spec.delete(own)  # it comes again, in its place among the others
        else:
            own.name = _free_name(f"own_{name.replace('/', '_')}", lambda taken: draft.spec.sensor(taken) is not None)
            draft.note("changed", f"sensor '{name}' is now '{own.name}'", "tasks expect another sensor under this name")
    draft.spec.add_sensor(name=name, **wanted)


def _free_name(wanted: str, is_taken: Callable[[str], bool]) -> str:
    name, count = wanted, 1
    while is_taken(name):
        count += 1
        name = f"{wanted}_{count}"
    return name
