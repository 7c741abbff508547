"""COLLADA meshes, which most URDF files look like and MuJoCo cannot read, as triangles with a colour for each part."""

import math
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paddock.errors import BrokenModel
from paddock.robots.model_scan import parse
from paddock.robots.stl import MAX_FACES

GREY = (0.7, 0.7, 0.7, 1.0)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Triangles of one colour."""

    rgba: tuple[float, ...]
    triangles: np.ndarray
    """Corners in metres; (k, 3, 3)."""


def read_collada(content: bytes, where: str) -> list[Part]:
    """The scene's triangles by colour. The file's up axis is ignored, as robot viewers ignore it; its unit is not."""
    root = parse(content, where, with_text=True)
    for element in root.iter():
        element.tag = element.tag.rpartition(":")[2]
    try:
        scale = float(_attribute(root.find("asset/unit"), "meter", "1"))
        geometries = {f"#{g.get('id')}": g for g in root.iter("geometry")}
        colours = _colours(root)
        parts: dict[tuple[float, ...], list[np.ndarray]] = {}
        for node in _scene_nodes(root):
            for rgba, triangles in _placed(node, np.eye(4), geometries, colours):
                parts.setdefault(rgba, []).append(triangles * scale)
        found = [Part(rgba=rgba, triangles=np.concatenate(groups)) for rgba, groups in parts.items()]
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise BrokenModel(f"{where} is no COLLADA that can be read: {type(error).__name__}: {error}") from None
    found = [part for part in found if len(part.triangles)]
    if not found or not all(np.isfinite(part.triangles).all() for part in found):
        raise BrokenModel(f"{where} has no triangles.")
    if any(len(part.triangles) > MAX_FACES for part in found):
        raise BrokenModel(f"{where} has more than {MAX_FACES:,} triangles of one colour.")
    return found


def _scene_nodes(root: ET.Element) -> list[ET.Element]:
    return [node for scene in root.iter("visual_scene") for node in scene.findall("node")]


def _placed(
    node: ET.Element, outer: np.ndarray, geometries: dict[str, ET.Element], colours: dict[str, tuple[float, ...]]
) -> Iterator[tuple[tuple[float, ...], np.ndarray]]:
    """Colour and triangles of a node and those below it, in the scene's frame."""
    world_from_node = outer @ _transform(node)
    for instance in node.findall("instance_geometry"):
        bound = {m.get("symbol"): colours.get(m.get("target", ""), GREY) for m in instance.iter("instance_material")}
        for material, triangles in _triangles(geometries[instance.attrib["url"]]):
            placed = triangles @ world_from_node[:3, :3].T + world_from_node[:3, 3]
            yield bound.get(material, GREY), placed if np.linalg.det(world_from_node[:3, :3]) > 0 else placed[:, ::-1]
    for child in node.findall("node"):
        yield from _placed(child, world_from_node, geometries, colours)


def _transform(node: ET.Element) -> np.ndarray:
    """The product of a node's transformations, in their order."""
    total = np.eye(4)
    for element in node:
        one = np.eye(4)
        if element.tag == "matrix":
            one = _numbers(element).reshape(4, 4)
        elif element.tag == "translate":
            one[:3, 3] = _numbers(element)
        elif element.tag == "scale":
            one[:3, :3] = np.diag(_numbers(element))
        elif element.tag == "rotate":
            x, y, z, degrees = _numbers(element)
            one[:3, :3] = _rotation(np.array([x, y, z]), math.radians(degrees))
        total = total @ one
    return total


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis / max(float(np.linalg.norm(axis)), 1e-12)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def _triangles(geometry: ET.Element) -> Iterator[tuple[str | None, np.ndarray]]:
    """Material symbol and corners (k, 3, 3) of each primitive; polygons are cut into fans."""
    mesh = geometry.find("mesh")
    if mesh is None:
        return
    sources = {f"#{source.get('id')}": _floats(source) for source in mesh.findall("source")}
    for vertices in mesh.findall("vertices"):
        for entry in vertices.findall("input"):
            if entry.get("semantic") == "POSITION":
                sources[f"#{vertices.get('id')}"] = sources[entry.attrib["source"]]
    for primitive in mesh:
        if primitive.tag not in ("triangles", "polylist") or primitive.find("p") is None:
            continue
        inputs = primitive.findall("input")
        stride = 1 + max(int(entry.get("offset", 0)) for entry in inputs)
        vertex = next(entry for entry in inputs if entry.get("semantic") == "VERTEX")
        indices = _numbers(primitive.find("p"), int).reshape(-1, stride)[:, int(vertex.get("offset", 0))]
        yield primitive.get("material"), sources[vertex.attrib["source"]][_corners(primitive, indices)]


def _corners(primitive: ET.Element, indices: np.ndarray) -> np.ndarray:
    """Vertex numbers of each triangle; (k, 3)."""
    if primitive.tag == "triangles":
        return indices.reshape(-1, 3)
    sizes = _numbers(primitive.find("vcount"), int)
    if (sizes == 3).all():
        return indices.reshape(-1, 3)
    starts = np.cumsum(sizes) - sizes
    fans = [(start, start + i, start + i + 1) for start, size in zip(starts, sizes, strict=True) for i in range(1, size - 1)]
    return indices[np.array(fans, dtype=int).reshape(-1, 3)]


def _colours(root: ET.Element) -> dict[str, tuple[float, ...]]:
    """The diffuse colour of each material, by its reference."""
    effects: dict[str, tuple[float, ...]] = {}
    for effect in root.iter("effect"):
        colour = next((element.find("color") for element in effect.iter("diffuse")), None)
        if colour is not None:
            effects[f"#{effect.get('id')}"] = tuple(round(float(v), 4) for v in np.clip(_numbers(colour)[:4], 0, 1))
    found: dict[str, tuple[float, ...]] = {}
    for material in root.iter("material"):
        url = _attribute(material.find("instance_effect"), "url", "")
        found[f"#{material.get('id')}"] = effects.get(url, GREY)
    return found


def _floats(source: ET.Element) -> np.ndarray:
    """The rows of a source; (n, 3) for positions."""
    values = _numbers(source.find("float_array"))
    stride = int(_attribute(source.find("technique_common/accessor"), "stride", "3"))
    return values[: len(values) // stride * stride].reshape(-1, stride)


def _numbers(element: ET.Element | None, kind: type = float) -> np.ndarray:
    text = "" if element is None else element.text or ""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # what it says of text that is no number
        try:
            return np.fromstring(text, dtype=kind, sep=" ")
        except DeprecationWarning as warning:
            raise ValueError(str(warning)) from None


def _attribute(element: ET.Element | None, name: str, default: str) -> str:
    return default if element is None else element.get(name, default)
