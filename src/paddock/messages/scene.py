"""A scene: what a client needs to draw a run's worlds from their qpos alone. Shapes and names are MuJoCo's; angles in radians."""

from dataclasses import dataclass

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
"""w, x, y, z."""
Span = tuple[int, int]
"""Where numbers lie in scene.bin: the offset of the first in bytes, and how many there are."""


@dataclass(frozen=True, kw_only=True)
class SceneJoint:
    """How a body moves in its parent; several on one body act in their order."""

    name: str
    kind: str
    """`free`, `ball`, `slide` or `hinge`."""
    axis: Vec3
    pos: Vec3
    """Of the anchor, in the body's frame."""
    qpos: int
    """Its first column of qpos."""
    low: float | None
    high: float | None
    """Its range; None where it has none."""
    ref: float
    """qpos in the pose that the file draws: a slide or hinge moves by qpos - ref."""


@dataclass(frozen=True, kw_only=True)
class SceneBody:
    """One body; the first is the world."""

    name: str
    parent: int
    pos: Vec3
    quat: Quat
    mocap: int
    """Its place among the mocap poses of a frame; -1 where it has none."""
    mass: float
    joints: tuple[SceneJoint, ...]
    robot: bool
    """Whether it belongs to the robot, not to the world around it."""


@dataclass(frozen=True, kw_only=True)
class SceneGeom:
    """One shape on a body. Those of group 3 and more are there to collide."""

    name: str
    body: int
    kind: str
    """`plane`, `sphere`, `capsule`, `ellipsoid`, `cylinder`, `box`, `mesh` or `hfield`."""
    size: Vec3
    """As MuJoCo has it: half sizes; a plane's 0 has no end."""
    pos: Vec3
    quat: Quat
    rgba: tuple[float, float, float, float]
    group: int
    mesh: int
    height: int
    """Its mesh or height field; -1 where it has none."""
    checker: bool
    second: Vec3 | None
    """The other colour of a checkered one; `rgba` has the first."""
    shine: Vec3
    """How much it mirrors a lamp, how sharply, and how much it glows; each 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class SceneMesh:
    """Triangles: xyz as float32, then the three vertices of each face as uint32."""

    vertices: Span
    faces: Span


@dataclass(frozen=True, kw_only=True)
class SceneHeights:
    """A height field: float32 from 0 to 1, rows from the lowest y on, columns from the lowest x on."""

    rows: int
    cols: int
    size: tuple[float, float, float, float]
    """Half extent along x and y, height of a 1, and depth of the base under a 0."""
    data: Span


@dataclass(frozen=True, kw_only=True)
class SceneSite:
    """A marked place on a body."""

    name: str
    body: int
    kind: str
    size: Vec3
    pos: Vec3
    quat: Quat
    rgba: tuple[float, float, float, float]
    group: int


@dataclass(frozen=True, kw_only=True)
class SceneCamera:
    """A camera of the model; it looks along its own -z."""

    name: str
    body: int
    pos: Vec3
    quat: Quat
    fovy: float
    """Degrees."""
    mode: str
    """How it moves with its body, in MuJoCo's words: `fixed` to it, `track`, `trackcom`, `targetbody` or `targetbodycom`."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """scene.json; the numbers of meshes and heights are in scene.bin beside it."""

    version: int
    name: str
    nq: int
    nbody: int
    up: str
    bodies: tuple[SceneBody, ...]
    geoms: tuple[SceneGeom, ...]
    meshes: tuple[SceneMesh, ...]
    heights: tuple[SceneHeights, ...]
    sites: tuple[SceneSite, ...]
    cameras: tuple[SceneCamera, ...]
    home: tuple[float, ...]
    control_dt: float
    missing: tuple[str, ...]
    """What the model has and the scene cannot show, a sentence each."""
