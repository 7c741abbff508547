"""Importing models that nobody vouches for: read and compiled in a child process with limits, never in this one."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from threading import Timer
from typing import IO, Any

from paddock.errors import BrokenModel, PaddockError, UnsafeFile
from paddock.messages import ImportReport, from_json
from paddock.robots.import_model import Imported, ImportRequest
from paddock.robots.model_scan import parse

LENGTH = struct.Struct("<Q")
GRACE_S = 10.0
"""The warden answers by itself in time; it is killed where it does not."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one import may use."""

    wall_s: float = 60.0
    """Seconds until it is ended, whatever it waits for."""
    cpu_s: int = 20
    """Seconds of a core. The largest public description tried takes half of it; a busy machine takes none of it away."""
    memory: int = 4 * 2**30
    """Bytes of address space beyond the process's own."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of an attempt."""

    outcome: str
    """`imported`; `refused` before or by the engine, with a reason; `timeout`, `memory`, `crash` or `broken` otherwise."""
    detail: str
    error: str
    """Name of the error class of a refusal."""
    imported: Imported | None
    seconds: float

    def robot(self, file: str) -> Imported:
        """The robot, or the error that says why there is none."""
        if self.imported is not None:
            return self.imported
        if self.outcome == "refused":
            raise {"BrokenModel": BrokenModel, "UnsafeFile": UnsafeFile}.get(self.error, PaddockError)(self.detail)
        if self.outcome in ("timeout", "memory"):
            hint = "A model from a trusted source that is this large: simplify its meshes."
        else:
            hint = "That is a fault of the engine or of the importer, worth a report with the file."
        raise UnsafeFile(f"{file} was given up: {self.detail}. {hint}")


class Jail:
    """A warden process, and the way to ask it. Use as a context manager; one question at a time."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._warden: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, request: ImportRequest) -> Answer:
        """Import in a child. Returns within the limits, whatever the file does."""
        try:
            warden = self._running()
        except EOFError:
            self._stop()
            return Answer(outcome="crash", detail="the process that imports does not start", error="", imported=None, seconds=0.0)
        stdin, stdout = warden.stdin, warden.stdout
        assert stdin is not None and stdout is not None
        asked = json.dumps({"request": asdict(request), **asdict(self.limits)}).encode()
        began = time.monotonic()
        watchdog = Timer(self.limits.wall_s + GRACE_S, warden.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            stdin.write(LENGTH.pack(len(asked)) + asked)
            stdin.flush()
            content = _read_frame(stdout)
        except (BrokenPipeError, EOFError):
            self._stop()
            seconds = time.monotonic() - began
            late = seconds >= self.limits.wall_s + GRACE_S
            outcome, detail = (
                ("timeout", f"no answer after {seconds:.0f} s") if late else ("crash", "the process that imports died")
            )
            return Answer(outcome=outcome, detail=detail, error="", imported=None, seconds=seconds)
        finally:
            watchdog.cancel()
        return _answer(content, time.monotonic() - began)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._warden is None or self._warden.poll() is not None:
            command = [sys.executable, "-m", "paddock.robots.jail_server"]
            quiet = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            self._warden = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=quiet
            )
            assert self._warden.stdout is not None
            _read_frame(self._warden.stdout)  # it has started, however long that took
        return self._warden

    def _stop(self) -> None:
        if self._warden is not None:
            self._warden.kill()
            self._warden.communicate()
            self._warden = None


def _answer(content: bytes, seconds: float) -> Answer:
    """The reply, taken apart with care: a child that a file had taken over could have written anything."""
    try:
        size = LENGTH.unpack_from(content)[0]
        head = json.loads(content[LENGTH.size : LENGTH.size + size])
        outcome, detail, error = (str(head.get(key, "")) for key in ("outcome", "detail", "error"))
        imported = _imported(head, memoryview(content)[LENGTH.size + size :]) if outcome == "imported" else None
    except (struct.error, ValueError, TypeError, KeyError, AttributeError, PaddockError) as problem:
        outcome, detail, error, imported = "crash", f"the child's reply cannot be read: {problem}", "", None
    return Answer(outcome=outcome, detail=detail, error=error, imported=imported, seconds=seconds)


def _imported(head: dict[str, Any], payload: memoryview) -> Imported:
    assets: dict[str, bytes] = {}
    start = 0
    for name, length in head["files"]:
        if not re.fullmatch(r"[\w-][\w.-]*", name, flags=re.ASCII):
            raise UnsafeFile(f"an asset is called {name!r}, which is no plain name.")
        assets[name] = bytes(payload[start : start + length])
        start += length
    for element in parse(head["xml"].encode(), "the robot").iter():
        for attribute, value in element.attrib.items():
            if attribute.startswith("file") and value not in assets:
                raise UnsafeFile(f'the robot names the file "{value}", which is not among its assets.')
    return Imported(xml=head["xml"], assets=assets, report=from_json(ImportReport, head["report"]))


def _read_frame(stream: IO[bytes]) -> bytes:
    size = stream.read(LENGTH.size)
    if len(size) < LENGTH.size:
        raise EOFError
    content = stream.read(LENGTH.unpack(size)[0])
    if len(content) < LENGTH.unpack(size)[0]:
        raise EOFError
    return content
