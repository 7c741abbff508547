"""The files a model names, read into memory. Nothing outside the model's own folders is ever opened."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from paddock.errors import PaddockError, UnsafeFile
from paddock.messages import ImportedPath
from paddock.robots.stl import binary_stl

MAX_TOTAL_BYTES = 512 * 2**20
MAX_FILES = 2000
PACKAGE_LEVELS = 6
"""How far above a model the package is looked for that it lies in."""
MIN_PACKAGE_PARTS = 4
"""Folders near the root of the file system (`/home`, `/home/me`) are never a package, whatever they are called."""

SUFFIXES = {
    "mesh": (".stl", ".obj", ".msh", ".dae"),
    "flexcomp": (".stl", ".obj", ".msh", ".gmsh"),
    "texture": (".png", ".ktx"),
    "hfield": (".png", ".bin", ".hf"),
    "skin": (".skn",),
    "model": (".xml", ".mjcf", ".urdf"),
    "include": (".xml", ".mjcf"),
}
"""What each kind of element may read."""


class ModelFiles:
    """What one model may read, has read and has asked for in vain."""

    def __init__(self, file: Path, package_dirs: Iterable[Path] = ()) -> None:
        self.file = file.resolve()
        self.roots = [self.file.parent, *(folder.resolve() for folder in package_dirs)]
        self.package_dirs = tuple(self.roots[1:])
        self.assets: dict[str, bytes] = {}
        """Contents by a plain name, as the engine is given them."""
        self.paths: dict[tuple[str, Path], ImportedPath] = {}
        self._names: dict[tuple[Path, str], str] = {}
        self._contents: dict[Path, bytes] = {}

    def model(self) -> bytes:
        """The model file itself."""
        if not self.file.is_file():
            raise PaddockError(f"no model file {self.file}.")
        return self._content(self.file)

    def read(self, asked: str, folders: Iterable[Path], tag: str) -> tuple[Path, bytes] | None:
        """A file that an element names, from the first of `folders` in which it lies; None where it is missing."""
        for folder in folders:
            path = self.locate(asked, folder, tag)
            if path is not None and path.is_file():
                content = self._content(path)
                self.paths[asked, path] = ImportedPath(asked=asked, found=str(path), bytes=len(content))
                return path, content
        self.paths[asked, Path()] = ImportedPath(asked=asked, found="", bytes=0)
        return None

    def keep(self, path: Path, content: bytes, *, variant: str = "", suffix: str = "") -> str:
        """Add a file to the assets under a plain name of its own, which is returned; the same file has the same name.

        A `variant` of a file, such as a part of it, has another.
        """
        if (path, variant) not in self._names:
            stem = re.sub(r"[^\w.-]", "_", f"{path.stem}{variant}", flags=re.ASCII).lstrip(".") or "file"
            ending = (suffix or path.suffix).lower()
            name, count = f"{stem}{ending}", 1
            while name in self.assets:
                count += 1
                name = f"{stem}_{count}{ending}"
            self.assets[name] = binary_stl(content) if ending == ".stl" else content
            self._names[path, variant] = name
        return self._names[path, variant]

    def locate(self, asked: str, folder: Path, tag: str) -> Path | None:
        """Where a path leads: below the model's folders, or an error. None for a package that nobody has heard of."""
        plain = asked.strip().replace("\\", "/")
        attribute = f'"{asked[:120]}" of <{tag}>'
        package = re.match(r"(?:package|model)://+([^/]+)/(.*)", plain)
        if package:
            home = self._package(package[1])
            if home is None:
                return None
            folder, plain = home, package[2]
        if "://" in plain or plain.startswith(("/", "~")) or plain[1:2] == ":" or "\0" in plain:
            raise UnsafeFile(
                f"{self.file.name}: {attribute} is an absolute path. A model may only name files below its own folder."
            )
        path = (folder / plain).resolve()
        if not any(path.is_relative_to(root) for root in self.roots):
            raise UnsafeFile(
                f"{self.file.name}: {attribute} leads to {path}, outside {' and '.join(map(str, self.roots))}. "
                f"If you trust the model, allow it: --package-dir {os.path.commonpath([path, self.file])}"
            )
        if tag in SUFFIXES and path.suffix.lower() not in SUFFIXES[tag]:
            raise UnsafeFile(f"{self.file.name}: {attribute} is none of {', '.join(SUFFIXES[tag])}.")
        return path

    def _package(self, name: str) -> Path | None:
        """The folder of a ROS package: one that was given, or one that the model lies in. It joins the folders that may be read."""
        for folder in self.package_dirs:
            for candidate in (folder / name, folder):
                if candidate.name == name and candidate.is_dir():
                    return candidate
        for folder in list(self.file.parents)[:PACKAGE_LEVELS]:
            if len(folder.parts) >= MIN_PACKAGE_PARTS and (folder.name == name or _declares(folder / "package.xml", name)):
                if folder not in self.roots:
                    self.roots.append(folder)
                return folder
        return None

    def _content(self, path: Path) -> bytes:
        if path not in self._contents:
            total = path.stat().st_size + sum(map(len, self._contents.values()))
            if total > MAX_TOTAL_BYTES:
                raise UnsafeFile(f"{path} makes it {total:,} bytes; a model may read {MAX_TOTAL_BYTES:,} in all.")
            if len(self._contents) >= MAX_FILES:
                raise UnsafeFile(f"{self.file.name} names more than {MAX_FILES} files.")
            self._contents[path] = path.read_bytes()
        return self._contents[path]


def _declares(manifest: Path, name: str) -> bool:
    """Whether a package.xml is that of package `name`."""
    if not manifest.is_file() or manifest.stat().st_size > 2**20:
        return False
    found = re.search(r"<name>\s*([^<\s]+)\s*</name>", manifest.read_text(errors="replace"))
    return found is not None and found[1] == name
