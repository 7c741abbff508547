"""Sensors that a task adds to its robot's own: small values, declared by name, that become sensors of the compiled model.

`Task.sensors={"lidar": Lidar(body="trunk")}` is read with `Sensor("lidar")`, like any sensor of the robot's file. One that
has parts names them: `imu/gyro`. What the robot's file declares already need not be declared again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import mujoco
import numpy as np

from paddock.errors import PaddockError, unknown
from paddock.robots import Robot
from paddock.robots.robot import on_joint

Vector = tuple[float, float, float]

OBJ, KIND = mujoco.mjtObj, mujoco.mjtSensor
HIDDEN_GROUP = 5
"""Of the sites that sensors add: pictures leave it out."""


@runtime_checkable
class SensorSpec(Protocol):
    """What a task may list under `sensors`."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot, /) -> None:
        """Add the model's sensors, called `name` or `name/part`, before it is compiled."""
        ...


def declare_sensors(spec: mujoco.MjSpec, sensors: Mapping[str, SensorSpec], robot: Robot) -> None:
    """Add all to the spec, in their order, behind those that it has."""
    for name, sensor in sensors.items():
        taken = [s.name for s in spec.sensors if s.name == name or s.name.startswith(f"{name}/")]
        if taken:
            raise PaddockError(f"the model has a sensor '{taken[0]}' already: read that, or choose another name than '{name}'.")
        sensor.declare(spec, name, robot)


@dataclass(frozen=True, kw_only=True)
class JointPositions:
    """Positions of joints, as encoders read them."""

    unit: ClassVar = "rad, m"
    stage: ClassVar = "position"
    joints: tuple[str, ...] | None = None
    """All that the robot drives, unless named."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        _add_joints(spec, name, robot, self.joints, KIND.mjSENS_JOINTPOS)


@dataclass(frozen=True, kw_only=True)
class JointVelocities:
    """Velocities of joints."""

    unit: ClassVar = "rad/s, m/s"
    stage: ClassVar = "velocity"
    joints: tuple[str, ...] | None = None
    """All that the robot drives, unless named."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        _add_joints(spec, name, robot, self.joints, KIND.mjSENS_JOINTVEL)


@dataclass(frozen=True, kw_only=True)
class JointTorques:
    """What the motors do to joints, in the last substep."""

    unit: ClassVar = "N m, N"
    stage: ClassVar = "acceleration"
    joints: tuple[str, ...] | None = None
    """All that the robot drives, unless named."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        _add_joints(spec, name, robot, self.joints, KIND.mjSENS_JOINTACTFRC)


@dataclass(frozen=True, kw_only=True)
class Imu:
    """`gyro`, `accelerometer` (with gravity, as a real one) and `orientation` (a quaternion from body to world)."""

    unit: ClassVar = "rad/s, m/s²"
    stage: ClassVar = "velocity, acceleration, position"
    site: str | None = None
    body: str | None = None
    """The robot's base, unless a site or body is named."""
    pos: Vector = (0.0, 0.0, 0.0)
    """Where on the body."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        site = _site(spec, name, robot, site=self.site, body=self.body, pos=self.pos)
        for part, kind in (("gyro", KIND.mjSENS_GYRO), ("accelerometer", KIND.mjSENS_ACCELEROMETER)):
            spec.add_sensor(name=f"{name}/{part}", type=kind, objtype=OBJ.mjOBJ_SITE, objname=site)
        spec.add_sensor(name=f"{name}/orientation", type=KIND.mjSENS_FRAMEQUAT, objtype=OBJ.mjOBJ_SITE, objname=site)


@dataclass(frozen=True, kw_only=True)
class Touch:
    """Sum of the normal forces within each site's volume."""

    unit: ClassVar = "N"
    stage: ClassVar = "acceleration"
    sites: tuple[str, ...]

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        for site in self.sites:
            _check_name("site", site, spec.sites)
            spec.add_sensor(name=f"{name}/{site}", type=KIND.mjSENS_TOUCH, objtype=OBJ.mjOBJ_SITE, objname=site)


@dataclass(frozen=True, kw_only=True)
class Contact:
    """What a body touches: `found`, the number of contacts, and `force` on it, in the world's frame.

    With `others`, both for each of them: which of these bodies it touches. The ground and all that is fixed is `world`.
    """

    unit: ClassVar = "N"
    stage: ClassVar = "acceleration"
    body: str
    others: tuple[str, ...] = ()
    whole_limb: bool = False
    """Whether all that hangs on the body counts as it."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        for body in (self.body, *self.others):
            _check_name("body", body, spec.bodies)
        whose = OBJ.mjOBJ_XBODY if self.whole_limb else OBJ.mjOBJ_BODY
        for other in self.others or (None,):
            against = {} if other is None else {"objtype": OBJ.mjOBJ_BODY, "objname": other}
            end = name if other is None else f"{name}/{other}"
            for part, field in (
                ("found", mujoco.mjtConDataField.mjCONDATA_FOUND),
                ("force", mujoco.mjtConDataField.mjCONDATA_FORCE),
            ):
                spec.add_sensor(
                    name=f"{end}/{part}",
                    type=KIND.mjSENS_CONTACT,
                    reftype=whose,  # the engine says what the first does to the second
                    refname=self.body,
                    intprm=[1 << int(field), NET_FORCE, 1],
                    **against,
                )


NET_FORCE = 3
"""The engine's way to add up all contacts of a pair, in the world's frame."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Where a site is and how it moves, seen from a body: `pos`, `quat`, `linvel`, `angvel`."""

    unit: ClassVar = "m, m/s, rad/s"
    stage: ClassVar = "position, velocity"
    site: str | None = None
    """The robot's tool, unless named."""
    relative_to: str | None = None
    """A body, which may move itself; the world, unless named."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        site = self.site or robot.tool
        if site is None:
            raise PaddockError(f"robot {robot.name} names no tool: say which site the sensor follows.")
        _check_name("site", site, spec.sites)
        seen_from = {}
        if self.relative_to is not None:
            _check_name("body", self.relative_to, spec.bodies)
            seen_from = {"reftype": OBJ.mjOBJ_XBODY, "refname": self.relative_to}
        parts = {
            "pos": KIND.mjSENS_FRAMEPOS,
            "quat": KIND.mjSENS_FRAMEQUAT,
            "linvel": KIND.mjSENS_FRAMELINVEL,
            "angvel": KIND.mjSENS_FRAMEANGVEL,
        }
        for part, kind in parts.items():
            spec.add_sensor(name=f"{name}/{part}", type=kind, objtype=OBJ.mjOBJ_SITE, objname=site, **seen_from)


@dataclass(frozen=True, kw_only=True)
class Rangefinder:
    """Distance along one ray to the first thing it meets, the body that carries it left out."""

    unit: ClassVar = "m"
    stage: ClassVar = "position"
    body: str | None = None
    """The robot's base, unless named."""
    pos: Vector = (0.0, 0.0, 0.0)
    direction: Vector = (1.0, 0.0, 0.0)
    """In the body's frame."""
    max_range: float = 10.0
    """What is farther reads this; a ray that meets nothing at all reads -1 as a sensor, and as `Ranges` what you choose."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        _check_range(self.max_range)
        _add_rays(spec, name, robot, self.body, np.array([self.pos]), np.array([self.direction]), self.max_range)


@dataclass(frozen=True, kw_only=True)
class Lidar:
    """Distances along a ring of rays, or several rings one above the other; (rings x rays) columns, ring by ring.

    Rays turn with the body, from its right to its left about its z axis; a full circle begins behind.
    """

    unit: ClassVar = "m"
    stage: ClassVar = "position"
    body: str | None = None
    """The robot's base, unless named."""
    pos: Vector = (0.0, 0.0, 0.0)
    rays: int = 64
    """In each ring."""
    field_of_view_deg: float = 360.0
    elevations_deg: tuple[float, ...] = (0.0,)
    """One ring for each, up from the body's horizontal."""
    max_range: float = 10.0
    """As of a Rangefinder."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        _check_range(self.max_range)
        if self.rays < 1 or not 0 < self.field_of_view_deg <= 360 or not self.elevations_deg:
            raise PaddockError(f"{self} sees nothing: give rays >= 1, 0 < field_of_view_deg <= 360 and an elevation.")
        rays = self.directions()
        _add_rays(spec, name, robot, self.body, np.tile(self.pos, (len(rays), 1)), rays, self.max_range)

    def directions(self) -> np.ndarray:
        """Unit vectors in the body's frame; (rings * rays, 3)."""
        half = math.radians(self.field_of_view_deg) / 2
        around = np.linspace(-half, half, self.rays, endpoint=self.field_of_view_deg < 360)
        up = np.radians(self.elevations_deg)[:, None]
        flat = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up) + 0 * around], axis=-1)
        return flat.reshape(-1, 3)


@dataclass(frozen=True, kw_only=True)
class HeightScan:
    """Distances straight down a grid around a body, row by row from behind to ahead, each from its right to its left.

    With `frame="body"` the grid turns and tilts with the body, as rays of the engine do. With `"heading"` it turns with the body
    but stays level and looks plumb down, as height scans of legged robots do: once a control step, on the CPU sim. Rays see the
    robot's other parts too.
    """

    unit: ClassVar = "m"
    stage: ClassVar = "position"
    body: str | None = None
    """The robot's base, unless named."""
    size: tuple[float, float] = (1.6, 1.0)
    """Metres ahead to behind and left to right, the outer rays included."""
    spacing: float = 0.1
    """Metres between rays."""
    center: Vector = (0.0, 0.0, 0.0)
    """Middle of the grid in that frame; raise it where the ground may rise above the body."""
    frame: Literal["body", "heading"] = "body"
    max_range: float = 5.0
    """As of a Rangefinder."""

    def declare(self, spec: mujoco.MjSpec, name: str, robot: Robot) -> None:
        _check_range(self.max_range)
        if not self.spacing > 0 or min(self.size) < 0:
            raise PaddockError(f"{self} has no rays: give a spacing above 0 and a size of at least 0.")
        points = self.points()
        if self.frame == "heading":
            where = self.body or robot.base
            if where is None:
                raise PaddockError(f"robot {robot.name} names no base: say which body carries the sensor.")
            _check_name("body", where, spec.bodies)
            spec.add_sensor(
                name=name,
                type=KIND.mjSENS_USER,  # the engine leaves room for the sim's own rays
                objtype=OBJ.mjOBJ_XBODY,
                objname=where,
                dim=len(points),
                needstage=mujoco.mjtStage.mjSTAGE_POS,
                cutoff=self.max_range,
                userdata=points.flatten().tolist(),
            )
            return
        if self.frame != "body":
            raise unknown("frame of a height scan", self.frame, ("body", "heading"))
        _add_rays(spec, name, robot, self.body, points, np.tile([0.0, 0.0, -1.0], (len(points), 1)), self.max_range)

    def points(self) -> np.ndarray:
        """Where the rays begin, in the frame; (k, 3)."""
        ahead, left = (np.arange(round(s / self.spacing) + 1) * self.spacing - s / 2 for s in self.size)
        grid = np.stack(np.meshgrid(ahead, left, indexing="ij"), axis=-1).reshape(-1, 2)
        return np.concatenate([grid, np.zeros((len(grid), 1))], axis=1) + np.array(self.center)


def _add_joints(spec: mujoco.MjSpec, name: str, robot: Robot, joints: Sequence[str] | None, kind: mujoco.mjtSensor) -> None:
    driven = [actuator.target for actuator in spec.actuators if on_joint(actuator)]
    for joint in driven if joints is None else joints:
        _check_name("joint", joint, spec.joints)
        if spec.joint(joint).type not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            raise PaddockError(f"joint '{joint}' is neither a hinge nor a slide; use Frame for what floats.")
        spec.add_sensor(name=f"{name}/{joint}", type=kind, objtype=OBJ.mjOBJ_JOINT, objname=joint)


def _add_rays(
    spec: mujoco.MjSpec, name: str, robot: Robot, body: str | None, pos: np.ndarray, rays: np.ndarray, max_range: float
) -> None:
    """One rangefinder a ray: `name` for one, `name/000` and on for many."""
    for i, (place, ray) in enumerate(zip(pos, rays, strict=True)):
        own = name if len(rays) == 1 else f"{name}/{i:03d}"
        site = _site(spec, own, robot, body=body, pos=tuple(place), ray=ray)
        spec.add_sensor(
            name=own, type=KIND.mjSENS_RANGEFINDER, objtype=OBJ.mjOBJ_SITE, objname=site, cutoff=max_range, intprm=[1, 0, 0]
        )


def _site(
    spec: mujoco.MjSpec,
    name: str,
    robot: Robot,
    *,
    body: str | None,
    pos: Sequence[float],
    site: str | None = None,
    ray: np.ndarray | None = None,
) -> str:
    """The site a sensor sits on: the one named, or a new one on the body, its z axis along the ray."""
    if site is not None:
        if body is not None:
            raise PaddockError(f"give a site or a body, not both: site '{site}', body '{body}'.")
        _check_name("site", site, spec.sites)
        return site
    where = body or robot.base
    if where is None:
        raise PaddockError(f"robot {robot.name} names no base: say which body carries the sensor.")
    _check_name("body", where, spec.bodies)
    added = spec.body(where).add_site(name=f"sensor {name}", pos=list(pos), size=[0.005] * 3, group=HIDDEN_GROUP)
    if ray is not None:
        length = float(np.linalg.norm(ray))
        if not (math.isfinite(length) and length > 0):
            raise PaddockError(f"a ray towards {tuple(ray)} points nowhere.")
        quat = np.zeros(4)
        mujoco.mju_quatZ2Vec(quat, np.asarray(ray, dtype=np.float64) / length)
        added.quat = quat
    return added.name


def _check_name(
    kind: str, name: str, known: Sequence[mujoco.MjsBody] | Sequence[mujoco.MjsSite] | Sequence[mujoco.MjsJoint]
) -> None:
    names = [one.name for one in known]
    if name not in names:
        raise unknown(kind, name, [n for n in names if n])


def _check_range(max_range: float) -> None:
    if not (math.isfinite(max_range) and max_range > 0):
        raise PaddockError(f"max_range is {max_range}; give metres above 0.")
