"""Models with the files they refer to, so that they compile on a machine that has neither."""

import xml.etree.ElementTree as ET
from collections.abc import Container, Iterator
from pathlib import Path

from paddock.errors import PaddockError

FOLDERS = ("meshdir", "texturedir", "assetdir")


def portable(**texts: str) -> dict[str, bytes]:
    """Each XML as a file `name.xml`, without a path of this machine, and then the content of each file that they name."""
    files: dict[str, bytes] = {}
    return {f"{name}.xml": _portable(text, files).encode() for name, text in texts.items()} | files


def _portable(text: str, files: dict[str, bytes]) -> str:
    """One text, what it refers to being added to `files`."""
    root = ET.fromstring(text)
    compilers = root.findall("compiler")
    folders = {name: value for compiler in compilers for name, value in compiler.attrib.items() if name in FOLDERS}
    for compiler in compilers:
        for name in FOLDERS:
            compiler.attrib.pop(name, None)
    for element, attribute in _references(root):
        path = _folder(element, folders) / element.attrib[attribute]
        content = path.read_bytes()
        name = path.name if files.get(path.name, content) == content else f"{len(files)}_{path.name}"
        element.attrib.setdefault("name", path.stem)  # what the engine would have called it
        element.attrib[attribute] = name
        files[name] = content
    return ET.tostring(root, encoding="unicode")


def check_contained(text: str, files: Container[str]) -> None:
    """Refuse a text that would make the engine read anything beside `files`: whoever wrote it may be a stranger."""
    if "<!" in text.replace("<!--", ""):
        raise PaddockError("the model declares entities, which no model needs. Do not trust this file.")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise PaddockError(f"the model is not XML: {error}") from None
    folders = {name for compiler in root.iter("compiler") for name in FOLDERS if compiler.get(name)}
    outside = [value for element, name in _references(root) if (value := element.attrib[name]) not in files]
    for tag in ("include", "extension", "plugin"):
        outside += [f"<{tag}>" for _ in root.iter(tag)]
    if folders or outside:
        raise PaddockError(f"the model refers to what is not in the file: {', '.join((*sorted(folders), *outside))}.")


def _references(root: ET.Element) -> Iterator[tuple[ET.Element, str]]:
    """Every element and attribute that names a file: `file`, and the six of a cube texture."""
    for element in root.iter():
        for attribute in [name for name in element.attrib if name.startswith("file")]:
            yield element, attribute


def _folder(element: ET.Element, folders: dict[str, str]) -> Path:
    own = "texturedir" if element.tag == "texture" else "meshdir"
    return Path(folders.get(own) or folders.get("assetdir") or "")
