"""What a user wrote into a Python file of their own: imported under a name of its own, with its neighbours at hand."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TypeVar

from paddock.errors import PaddockError, unknown

Kind = TypeVar("Kind")
FILE_MODULE = "paddock_file_"
"""How the modules made here are named."""


def split_name(wanted: str) -> tuple[str, str]:
    """`file.py:NAME` as file and name; the file is empty where `wanted` is no file."""
    path, _, constant = (wanted, "", "") if wanted.endswith(".py") else wanted.rpartition(":")
    return (path, constant) if path.endswith(".py") else ("", "")


def value_in_file(kind: type[Kind], path: Path, constant: str = "", *, neighbours: Path | None = None) -> Kind:
    """The value of a kind named `constant` in a file, or the only one there. The file may import its neighbours."""
    noun = kind.__name__.lower()
    if not path.is_file():
        raise PaddockError(f"no {noun} file {path} (looked in {path.absolute().parent}).")
    module = _module(path, neighbours or path.absolute().parent)
    found = {name: value for name, value in vars(module).items() if isinstance(value, kind)}
    if constant:
        if constant not in found:
            raise unknown(f"{noun} in {path}:", constant, found)
        return found[constant]
    if len(found) != 1:
        what = (
            f"{len(found)} {noun}s ({', '.join(found)}). Pick one: {path}:NAME"
            if found
            else f"no {kind.__name__} at its top level."
        )
        raise PaddockError(f"{path} has {what}")
    return next(iter(found.values()))


def name_in_file(value: object) -> str:
    """What the file that was just imported calls a value."""
    files = (vars(module) for name, module in sys.modules.copy().items() if name.startswith(FILE_MODULE))
    return next(name for names in files for name, known in names.items() if known is value)


def _module(path: Path, neighbours: Path) -> ModuleType:
    """The file as a module, under a name of its own so that dataclasses in it work, with its neighbours importable."""
    name = f"{FILE_MODULE}{path.absolute().as_posix().replace('/', '_').removesuffix('.py')}"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    module.__file__ = str(neighbours / path.name)  # where a robot's XML would be looked for
    sys.modules[name] = module
    sys.path.insert(0, str(neighbours))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a user's file raises is about that file
        del sys.modules[name]
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path}, line {lines[-1]}," if lines else str(path)
        raise PaddockError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(neighbours))
    return module
