"""An MJCF file with its includes in place and every file it names in memory."""

import xml.etree.ElementTree as ET
from pathlib import Path

from paddock.errors import BrokenModel, UnsafeFile
from paddock.messages import ImportNote
from paddock.robots.model_files import SUFFIXES, ModelFiles
from paddock.robots.model_scan import parse, scan

MAX_INCLUDE_DEPTH = 4
MAX_INCLUDES = 200
FOLDERS = ("assetdir", "meshdir", "texturedir")


def read_mjcf(root: ET.Element, files: ModelFiles, notes: list[ImportNote]) -> tuple[str, dict[str, bytes]]:
    """The text for the engine, and the texts of the models it attaches. What they name is in `files.assets`."""
    attached: dict[str, bytes] = {}
    text = _read(root, files.file.parent, files, notes, attached, depth=0)
    return text, attached


def _read(
    root: ET.Element, folder: Path, files: ModelFiles, notes: list[ImportNote], attached: dict[str, bytes], *, depth: int
) -> str:
    _include(root, [folder], files, depth=0)
    scan(root, files.file.name)
    places, strip = _asset_folders(root, folder, files)
    missing: set[tuple[str, str]] = set()
    for element in list(root.iter()):
        for attribute in [name for name in element.attrib if name.startswith("file")]:
            if element.tag == "model":
                _attach(element, places["assetdir"], files, notes, attached, depth=depth)
            elif element.tag not in SUFFIXES:
                raise UnsafeFile(
                    f'{files.file.name}: {attribute}="{element.attrib[attribute][:120]}" of <{element.tag}> is unheard of.'
                )
            else:
                _keep(element, attribute, places, files, missing, strip=strip)
    _remove_missing(root, missing, notes)
    return ET.tostring(root, encoding="unicode")


def _include(element: ET.Element, folders: list[Path], files: ModelFiles, *, depth: int) -> None:
    """Put the content of included files where they are included."""
    for child in list(element):
        if child.tag != "include":
            _include(child, folders, files, depth=depth)
            continue
        asked = child.get("file", "")
        found = files.read(asked, folders, "include")
        if found is None:
            raise BrokenModel(f"{files.file.name} includes {asked}, which is not below {files.file.parent}.")
        path, content = found
        if depth >= MAX_INCLUDE_DEPTH or len(files.paths) > MAX_INCLUDES:
            raise UnsafeFile(f"{files.file.name} includes {asked} more than {MAX_INCLUDE_DEPTH} files deep.")
        inner = parse(content, path.name)
        # the engine looks beside the outermost file, and the authors of nested files often beside their own
        _include(inner, [folders[0], path.parent], files, depth=depth + 1)
        where = list(element).index(child)
        element.remove(child)
        for offset, content_child in enumerate(inner):
            element.insert(where + offset, content_child)


def _asset_folders(root: ET.Element, folder: Path, files: ModelFiles) -> tuple[dict[str, Path], bool]:
    """Where meshes and textures lie, taken out of the text; and whether their paths are stripped."""
    said: dict[str, str] = {}
    for compiler in root.iter("compiler"):
        for name in (*FOLDERS, "strippath"):
            if name in compiler.attrib:
                said[name] = compiler.attrib.pop(name)
    common = said.get("assetdir", "")
    places: dict[str, Path] = {}
    for name in FOLDERS:
        path = files.locate(said.get(name, common) or ".", folder, f'compiler {name}="…"')
        assert path is not None
        places[name] = path
    return places, said.get("strippath") == "true"


def _keep(
    element: ET.Element, attribute: str, places: dict[str, Path], files: ModelFiles, missing: set[tuple[str, str]], *, strip: bool
) -> None:
    """Make an element name a file in memory."""
    asked = element.attrib[attribute]
    if strip:
        asked = asked.replace("\\", "/").rpartition("/")[2]
    folder = places["texturedir" if element.tag == "texture" else "meshdir"]
    stem = asked.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    name = element.attrib.setdefault("name", stem)  # what the engine would have called it
    found = files.read(asked, [folder], element.tag)
    if found is None or found[0].suffix.lower() == ".dae":
        missing.add((element.tag, name))
        return
    element.attrib[attribute] = files.keep(*found)


def _attach(
    element: ET.Element, folder: Path, files: ModelFiles, notes: list[ImportNote], attached: dict[str, bytes], *, depth: int
) -> None:
    """Read a model that this one attaches, with its own folders."""
    asked = element.attrib["file"]
    found = files.read(asked, [folder, files.file.parent], "model")
    if found is None:
        raise BrokenModel(f"{files.file.name} attaches {asked}, which is not below {files.file.parent}.")
    if depth >= MAX_INCLUDE_DEPTH:
        raise UnsafeFile(f"{files.file.name} attaches {asked} more than {MAX_INCLUDE_DEPTH} files deep.")
    path, content = found
    inner = parse(content, path.name)
    if inner.tag != "mujoco":
        raise BrokenModel(f"{files.file.name} attaches {asked}, which is no MJCF.")
    text = _read(inner, path.parent, files, notes, attached, depth=depth + 1)
    name = f"attached_{len(attached)}.xml"
    element.attrib.setdefault("name", inner.get("model", path.stem))
    element.attrib["file"] = name
    attached[name] = text.encode()


def _remove_missing(root: ET.Element, missing: set[tuple[str, str]], notes: list[ImportNote]) -> None:
    """Take out what refers to a file that is not there, so that the rest of the robot can be had."""
    for tag, name in sorted(missing):
        if tag not in ("mesh", "texture"):
            raise BrokenModel(f'the file of <{tag} name="{name}"> is missing or of a kind that cannot be read.')
        used = 0
        for parent in list(root.iter()):
            for child in list(parent):
                if child.tag == tag and child.get("name") == name and parent.tag == "asset":
                    parent.remove(child)
                elif tag == "mesh" and child.get("mesh") == name and child.tag == "geom":
                    parent.remove(child)
                    used += 1
                elif tag == "texture" and child.get("texture") == name:
                    del child.attrib["texture"]
                    used += 1
        notes.append(
            ImportNote(kind="dropped", what=f"{tag} '{name}', used {used} times", why="its file is missing or cannot be read")
        )
