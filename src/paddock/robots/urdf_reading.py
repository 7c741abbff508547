"""A URDF file made ready for MuJoCo's reader, and what that reader would have dropped without a word."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from paddock.errors import BrokenModel
from paddock.messages import ImportNote, MimicJoint
from paddock.robots.collada import Part, read_collada
from paddock.robots.model_files import ModelFiles
from paddock.robots.model_scan import number_of, scan
from paddock.robots.stl import stl_of

Note = Callable[[str, str, str], None]

WHY_DROPPED = {
    "gazebo": "it is for another simulator",
    "transmission": "the motors come from the joints' effort limits",
    "ros2_control": "it configures drivers, not the machine",
    "sensor": "sensors are added as tasks name them",
    "safety_controller": "soft limits belong to a controller; the joint's own limits are kept",
    "calibration": "it tells drivers where the encoder's zero is",
}
ENGINE_SETTINGS = ("compiler", "option")
"""Of a `<mujoco>` element, what its reader takes."""
SLOWEST, FASTEST = 1e-3, 100.0
"""rad/s or m/s. Other velocity limits are slips or placeholders, and a rotor guessed from them is too heavy or too light."""


@dataclass(frozen=True, kw_only=True)
class Urdf:
    """The text for the engine, and what it does not say."""

    text: str
    mimics: tuple[MimicJoint, ...]
    velocities: dict[str, float]
    """Velocity limit of joints that have one, rad/s or m/s."""
    floats: bool
    """Whether the file itself lets its root float."""
    is_bolted: bool
    """Whether its root is a link `world`."""
    shell_meshes: frozenset[str] = field(default_factory=frozenset)


def read_urdf(root: ET.Element, files: ModelFiles, notes: list[ImportNote]) -> Urdf:
    """Every mesh in memory, meshes of other formats converted, everything that means nothing to physics left out and reported."""

    def note(kind: str, what: str, why: str) -> None:
        notes.append(ImportNote(kind=kind, what=what, why=why))

    _drop_foreign(root, note)
    scan(root, files.file.name)
    if not root.findall("link"):
        raise BrokenModel(f"{files.file.name} has no link.")
    is_bolted, floats = _free_root(root, note)
    meshes = _Meshes(files, note)
    for link in root.findall("link"):
        meshes.resolve(link)
        _check_inertial(link, note)
    for joint in root.findall("joint"):
        _check_joint(joint, note)
    _engine_settings(root)
    return Urdf(
        text=ET.tostring(root, encoding="unicode"),
        mimics=_mimics(root, note),
        velocities=_velocities(root, note),
        floats=floats,
        is_bolted=is_bolted,
        shell_meshes=frozenset(meshes.seen_only),
    )


def _drop_foreign(root: ET.Element, note: Note) -> None:
    """Take out elements that describe no mechanics, at the top and inside links and joints."""
    known = {"link", "joint", "material", "mujoco"}
    dropped: Counter[str] = Counter()
    for child in list(root):
        if ":" in child.tag:
            raise BrokenModel(f"<{child.tag}> is a macro: expand the file first, with `xacro FILE > robot.urdf`.")
        if child.tag not in known:
            root.remove(child)
            dropped[child.tag] += 1
    for joint in root.findall("joint"):
        for tag in ("safety_controller", "calibration"):
            for child in joint.findall(tag):
                joint.remove(child)
                dropped[tag] += 1
    for tag, count in dropped.items():
        note("dropped", f"{count} <{tag}>", WHY_DROPPED.get(tag, "no part of a robot's mechanics"))


def _free_root(root: ET.Element, note: Note) -> tuple[bool, bool]:
    """Whether the root is bolted down or floats by the file's own word. A floating joint anywhere else is fixed."""
    children = {_link(joint, "child") for joint in root.findall("joint")}
    roots = [link.get("name", "") for link in root.findall("link") if link.get("name") not in children]
    if not roots:
        raise BrokenModel("every link is some joint's child, so the robot has no root.")
    floats = False
    for joint in root.findall("joint"):
        if joint.get("type") != "floating":
            continue
        parent = _link(joint, "parent")
        siblings = [other for other in root.findall("joint") if _link(other, "parent") == parent]
        if parent in roots and len(siblings) == 1:
            root.remove(joint)
            root.remove(next(link for link in root.findall("link") if link.get("name") == parent))
            floats = True
        else:
            joint.set("type", "fixed")
            note("changed", f"floating joint '{joint.get('name')}' is fixed", "only a robot's root can float")
    return any(name == "world" for name in roots) and not floats, floats


class _Meshes:
    """Finds and converts the meshes of links."""

    def __init__(self, files: ModelFiles, note: Note) -> None:
        self.files, self.note = files, note
        self.seen_only: set[str] = set()
        """Names of meshes that nothing collides with."""
        self._colliding: set[str] = set()
        self._read: dict[Path, list[Part]] = {}

    def resolve(self, link: ET.Element) -> None:
        for kind in ("collision", "visual"):
            for element in link.findall(kind):
                mesh = element.find("geometry/mesh")
                if mesh is None:
                    continue
                replaced = self._converted(element, mesh, link.get("name", ""), kind)
                where = list(link).index(element)
                link.remove(element)
                for offset, copy in enumerate(replaced):
                    link.insert(where + offset, copy)

    def _converted(self, element: ET.Element, mesh: ET.Element, link: str, kind: str) -> list[ET.Element]:
        """The element with its mesh in memory, once for each colour; nothing where the mesh cannot be had."""
        asked = mesh.get("filename", "")
        found = self.files.read(asked, [self.files.file.parent], "mesh")
        if found is None:
            self.note(
                "dropped", f"{kind} mesh {asked} of link '{link}'", "the file is missing; --package-dir says where packages lie"
            )
            return []
        path, content = found
        scale = mesh.get("scale", "")
        variant = "" if scale in ("", "1 1 1") else f"_{'_'.join(scale.split())}"
        if path.suffix.lower() != ".dae":
            mesh.set("filename", self._kept(self.files.keep(path, content, variant=variant), kind))
            return [element]
        try:
            parts = self._parts(path, content)
        except BrokenModel as refusal:
            self.note("dropped", f"{kind} mesh {asked} of link '{link}'", str(refusal))
            return []
        copies: list[ET.Element] = []
        for index, part in enumerate(parts):
            copy = deepcopy(element)
            name = self.files.keep(
                path, stl_of(part.triangles), variant=f"_{index}{variant}" if len(parts) > 1 else variant, suffix=".stl"
            )
            inner = copy.find("geometry/mesh")
            assert inner is not None
            inner.set("filename", self._kept(name, kind))
            if kind == "visual" and copy.find("material") is None:
                material = ET.SubElement(copy, "material", name=f"{path.stem}_{index}")
                ET.SubElement(material, "color", rgba=" ".join(f"{value:g}" for value in part.rgba))
            copies.append(copy)
        return copies

    def _parts(self, path: Path, content: bytes) -> list[Part]:
        """Of a mesh that other links may use too."""
        if path not in self._read:
            self._read[path] = read_collada(content, path.name)
        return self._read[path]

    def _kept(self, name: str, kind: str) -> str:
        stem = name.rpartition(".")[0]
        if kind == "collision":
            self._colliding.add(stem)
            self.seen_only.discard(stem)
        elif stem not in self._colliding:
            self.seen_only.add(stem)
        return name


def _check_inertial(link: ET.Element, note: Note) -> None:
    """Make an inertia possible that is not: the engine refuses a body whose moments violate the triangle inequality."""
    inertial, name = link.find("inertial"), link.get("name", "")
    if inertial is None:
        return
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    kilograms = number_of(mass.get("value", "")) if mass is not None else None
    if not kilograms or kilograms < 0 or inertia is None:
        link.remove(inertial)
        note("dropped", f"inertial of link '{name}'", "it has no mass, or no inertia")
        return
    xx, yy, zz, xy, xz, yz = (number_of(inertia.get(key, "0")) or 0.0 for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    small, middle, large = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if small > 0 and small + middle >= large:
        return
    mean = max(float(small + middle + large) / 3, 1e-9)
    inertia.attrib.update(ixx=f"{mean:g}", iyy=f"{mean:g}", izz=f"{mean:g}", ixy="0", ixz="0", iyz="0")
    moments = ", ".join(f"{value:.3g}" for value in (small, middle, large))
    note("changed", f"inertia of link '{name}' is a ball's, {mean:.3g} kg m²", f"no body has the principal moments {moments}")


def _check_joint(joint: ET.Element, note: Note) -> None:
    limit, name = joint.find("limit"), joint.get("name", "")
    if joint.get("type") in ("revolute", "prismatic") and limit is not None:
        low, high = (number_of(limit.get(end, "0")) or 0.0 for end in ("lower", "upper"))
        if low >= high:
            limit.attrib.pop("lower", None)
            limit.attrib.pop("upper", None)
            note("warning", f"joint '{name}' has no range", f"its limits are {low:g} and {high:g}")


def _engine_settings(root: ET.Element) -> None:
    """One <mujoco> element: the file's own options, every link kept as a body, every visual kept, no path."""
    own = {tag: {} for tag in ENGINE_SETTINGS}
    for element in root.findall("mujoco"):
        for child in element:
            if child.tag in own:
                own[child.tag] |= child.attrib
        root.remove(element)
    for name in ("meshdir", "texturedir", "assetdir"):
        own["compiler"].pop(name, None)
    own["compiler"] |= {"discardvisual": "false", "fusestatic": "false", "strippath": "false"}
    extension = ET.SubElement(root, "mujoco")
    for tag in ENGINE_SETTINGS:
        if own[tag]:
            ET.SubElement(extension, tag, own[tag])


def _mimics(root: ET.Element, note: Note) -> tuple[MimicJoint, ...]:
    joints = {joint.get("name") for joint in root.findall("joint")}
    found: list[MimicJoint] = []
    for joint in root.findall("joint"):
        mimic, name = joint.find("mimic"), joint.get("name", "")
        if mimic is None:
            continue
        leader = mimic.get("joint", "")
        if leader not in joints:
            note("dropped", f"mimic of joint '{name}'", f"it would follow '{leader}', which is no joint")
            continue
        multiplier, offset = (number_of(mimic.get(key, default)) or 0.0 for key, default in (("multiplier", "1"), ("offset", "0")))
        found.append(MimicJoint(joint=name, leader=leader, multiplier=multiplier, offset=offset))
    return tuple(found)


def _velocities(root: ET.Element, note: Note) -> dict[str, float]:
    found: dict[str, float] = {}
    for joint in root.findall("joint"):
        limit, name = joint.find("limit"), joint.get("name", "")
        velocity = number_of(limit.get("velocity", "")) if limit is not None else None
        if velocity is not None and SLOWEST <= velocity <= FASTEST:
            found[name] = velocity
        elif velocity:
            why = f"motors reach {SLOWEST:g} to {FASTEST:g} rad/s or m/s: this looks like a placeholder"
            note("dropped", f"velocity limit {velocity:g} of '{name}'", why)
    return found


def _link(joint: ET.Element, role: str) -> str:
    element = joint.find(role)
    return "" if element is None else element.get("link", "")
