"""Questions whose answers need training code, put to a child process: the cockpit itself never imports PyTorch or MuJoCo."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from paddock.errors import PaddockError
from paddock.messages import from_json
from paddock.messages.cockpit import Form, TaskList
from paddock.runs.atomic import write_file

ANSWER_S = 120.0
"""An answer takes seconds. After so long, something is wrong."""
IDLE_S = 90.0
"""A child that nobody has asked for so long is ended: it holds hundreds of megabytes."""
KEPT_S = 30.0
"""After so long an answer is given once more and found out anew: a user's own task may have been changed since."""
MAX_KEPT, MAX_ASKED = 64, 8
MAX_WORD, MAX_ANSWER = 500, 4_000_000
ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


class Forms:
    """What can be trained, and with which settings: asked of one child, which loads training code once."""

    def __init__(self, memory: Path, registered: tuple[str, ...] = ()) -> None:
        """`registered` are tasks in files of a user's own; no other file is ever imported because a page named it.

        Answers are remembered in the file `memory`, so that the first one after a start need not wait for PyTorch.
        """
        self._memory, self._registered = memory, registered
        self._kept = OrderedDict((question, (-math.inf, answer)) for question, answer in _remembered(memory))
        self._asking: dict[tuple[str, ...], asyncio.Task[str]] = {}
        self._one = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._loaded: tuple[int, ...] = ()
        self._idle: asyncio.TimerHandle | None = None

    async def tasks(self) -> TaskList:
        """What can be trained."""
        return from_json(TaskList, await self._ask("tasks", *self._registered))

    async def form(self, task: str, preset: str, sim: str) -> Form:
        """What can be chosen before training a task."""
        return from_json(Form, await self._ask("form", task, preset, sim, *self._registered))

    async def close(self) -> None:
        """End the child, and whoever waits for it."""
        for asking in list(self._asking.values()):
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        if self._idle is not None:
            self._idle.cancel()
        await self._end()

    async def _ask(self, *question: str) -> str:
        """The answer, at once where there is one, which is then found out anew for the next who asks."""
        if any(len(word) > MAX_WORD for word in question):
            raise PaddockError("a task, a preset or a sim has a name that none can have.")
        known, asking = self._kept.get(question), self._asking.get(question)
        if asking is None and (known is None or time.monotonic() - known[0] > KEPT_S):
            if len(self._asking) >= MAX_ASKED:
                raise PaddockError("too much is being asked at once. Try again in a few seconds.")
            asking = self._asking[question] = asyncio.create_task(self._find_out(question))
            asking.add_done_callback(lambda task: task.cancelled() or task.exception())  # which nobody may be waiting for
        if known is not None:
            return known[1]
        assert asking is not None
        return await asyncio.shield(asking)

    async def _find_out(self, question: tuple[str, ...]) -> str:
        try:
            async with self._one:
                answer = await self._converse(question)
            if (error := json.loads(answer).get("error")) is not None:
                raise PaddockError(error)
            is_news = question not in self._kept or self._kept[question][1] != answer
            self._kept[question] = (time.monotonic(), answer)
            self._kept.move_to_end(question)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            if is_news:
                known = {json.dumps(asked): told for asked, (_, told) in self._kept.items()}
                with suppress(OSError):  # then it is asked again after the next start
                    await asyncio.to_thread(write_file, self._memory, json.dumps(known).encode(), durable=False)
            return answer
        except PaddockError:
            self._kept.pop(question, None)
            raise
        finally:
            del self._asking[question]

    async def _converse(self, question: tuple[str, ...]) -> str:
        """One question to the child, which is begun where there is none, or where a file has changed since."""
        if self._idle is not None:
            self._idle.cancel()
        changed = tuple(_changed(name) for name in self._registered)
        if self._child is None or self._child.returncode is not None or changed != self._loaded:
            await self._end()
            self._child = await _begin("paddock.forms", stdin=asyncio.subprocess.PIPE)
            self._loaded = changed
        child = self._child
        assert child.stdin is not None and child.stdout is not None
        try:
            async with asyncio.timeout(ANSWER_S):
                child.stdin.write(json.dumps(question).encode() + b"\n")
                answer = await child.stdout.readline()
        except (TimeoutError, OSError):
            answer = b""
        except asyncio.CancelledError:
            await self._end()  # what it answers now would be taken for the answer to the next question
            raise
        if not answer.endswith(b"\n"):
            await self._end()
            raise PaddockError("what knows the tasks has ended without an answer; the cockpit's terminal says why. Try again.")
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, lambda: child.kill() if child.returncode is None else None)
        return answer.decode()

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.communicate()


async def draw(run: Path) -> None:
    """Write the scene of a run that has none. The task of a run may be anybody's, so a process of its own imports it."""
    child = await _begin("paddock.scenes", str(run.absolute()), stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(ANSWER_S):
            _, complaint = await child.communicate()
    except TimeoutError:
        raise PaddockError(f"{run.name} could not be drawn within {ANSWER_S:.0f} s.") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.communicate()
    if child.returncode != 0:
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"code {child.returncode}"]
        raise PaddockError(f"{run.name} cannot be drawn: {last[0][:500]}")


async def _begin(
    module: str, *words: str, stdin: int = asyncio.subprocess.DEVNULL, stderr: int | None = None
) -> asyncio.subprocess.Process:
    """A module of ours as a process. Words are arguments, never a line for a shell."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *words),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env=os.environ | ENVIRONMENT,
        start_new_session=True,  # Ctrl-C in the terminal is for the cockpit
        limit=MAX_ANSWER,
    )


def _remembered(memory: Path) -> list[tuple[tuple[str, ...], str]]:
    """Questions and their answers of an earlier server, whose version of Paddock is in the file's name."""
    try:
        known = json.loads(memory.read_text())
        return [(tuple(map(str, json.loads(asked))), str(told)) for asked, told in known.items()][-MAX_KEPT:]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def _changed(name: str) -> int:
    """When a task's file was written to last."""
    file = Path(name if name.endswith(".py") else name.rpartition(":")[0])
    return file.stat().st_mtime_ns if file.is_file() else 0
