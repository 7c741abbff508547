"""The warden: a small process that forks a limited child for every model it is asked to import.

Run as `python -m paddock.robots.jail_server`; `model_jail.py` talks to it. The child reads the model's files, gives up the right
to open any other, and only then hands the text to the engine. Whatever happens to it, the warden answers in time.
"""

import json
import os
import resource
import select
import signal
import struct
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import mujoco

from paddock.errors import PaddockError
from paddock.messages import to_json
from paddock.robots.import_model import Imported, ImportRequest, build_robot, read_source, source_of_text

LENGTH = struct.Struct("<Q")
MAX_REPLY_BYTES = 2**30
SMALLEST = "<mujoco><worldbody><body><joint/><geom size='1'/><body><joint/><geom size='1'/></body></body></worldbody></mujoco>"


def main() -> None:
    """Answer requests on stdin until it closes."""
    replies = os.dup(1)
    os.dup2(2, 1)  # the engine prints what it thinks of a model
    warnings.simplefilter("ignore")
    mujoco.set_mju_user_warning(lambda message: None)
    build_robot(source_of_text(SMALLEST))  # imports and tables that a child could no longer load
    _write_frame(replies, b"")  # ready: what follows is on the clock
    while (asked := _read_frame()) is not None:
        _write_frame(replies, _answer(json.loads(asked)))


def _answer(asked: dict[str, Any]) -> bytes:
    """What came of one request, within its time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _serve_and_exit(asked, writing)
    os.close(writing)
    deadline = time.monotonic() + asked["wall_s"]
    try:
        content, in_time = _drain(reading, deadline)
    finally:
        os.close(reading)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not in_time:
        return reply("timeout", f"it was not done after {asked['wall_s']} s")
    if os.WIFSIGNALED(status):
        killer = os.WTERMSIG(status)
        if killer in (signal.SIGXCPU, signal.SIGKILL):
            return reply("timeout", f"it used more than {asked['cpu_s']} s of processor time")
        return reply("crash", f"the engine died of {signal.Signals(killer).name}")
    return content or reply("crash", f"the child ended without a word, with exit status {os.waitstatus_to_exitcode(status)}")


def _drain(fd: int, deadline: float) -> tuple[bytes, bool]:
    """All that a child writes, and whether it came to an end in time."""
    parts: list[bytes] = []
    size = 0
    while size <= MAX_REPLY_BYTES:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", False
        part = os.read(fd, 2**20)
        if not part:
            return b"".join(parts), True
        parts.append(part)
        size += len(part)
    return b"", False


def _serve_and_exit(asked: dict[str, Any], writing: int) -> None:
    """In the child: import within limits, write the reply, leave without a trace."""
    status = 1
    try:
        content = _imported(asked)
        while content:
            content = content[os.write(writing, content) :]
        status = 0
    finally:
        os._exit(status)


def _imported(asked: dict[str, Any]) -> bytes:
    try:
        _limit(cpu_s=asked["cpu_s"], memory=asked["memory"])
        source = read_source(ImportRequest(**asked["request"]))
        _seal()
        return _packed(build_robot(source))
    except PaddockError as refusal:
        return reply("refused", str(refusal), error=type(refusal).__name__)
    except MemoryError:
        return reply("memory", "it needs more memory than a model should")
    except RecursionError:
        return reply("refused", "it is nested too deeply", error="UnsafeFile")
    except OSError as error:
        return reply("refused", f"{error.strerror or error}: {error.filename}", error="PaddockError")
    except Exception as error:  # the engine raises what it likes; the reader of the message can only do without the file
        text = f"{type(error).__name__}: {error}"
        return reply("memory" if "alloc" in text else "broken", text)


def _packed(done: Imported) -> bytes:
    files = [[name, len(content)] for name, content in done.assets.items()]
    return reply("imported", "", payload=b"".join(done.assets.values()), report=to_json(done.report), xml=done.xml, files=files)


def _limit(*, cpu_s: int, memory: int) -> None:
    """Bound what the process may use; nothing can raise these again."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _seal() -> None:
    """Give up opening files: whatever path the engine is talked into, the system refuses it."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def reply(outcome: str, detail: str, *, payload: bytes = b"", **more: object) -> bytes:
    """A header and the files behind it."""
    head = json.dumps({"outcome": outcome, "detail": detail, **more}).encode()
    return LENGTH.pack(len(head)) + head + payload


def _read_frame() -> bytes | None:
    size = sys.stdin.buffer.read(LENGTH.size)
    return sys.stdin.buffer.read(LENGTH.unpack(size)[0]) if len(size) == LENGTH.size else None


def _write_frame(fd: int, content: bytes) -> None:
    rest = memoryview(LENGTH.pack(len(content)) + content)
    while rest:
        rest = rest[os.write(fd, rest) :]


if __name__ == "__main__":
    main()
