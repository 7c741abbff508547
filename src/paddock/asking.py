"""Questions whose answers need training code, put to a child process: the cockpit itself never imports PyTorch or MuJoCo."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import OrderedDict
from pathlib import Path
from typing import TypeVar

from paddock.errors import PaddockError
from paddock.messages import from_json
from paddock.messages.cockpit import Form, TaskList

M = TypeVar("M")
CHILD_S = 120.0
"""An answer takes seconds. After so long, something is wrong."""
KEPT_S = 60.0
"""After so long an answer is given once more and found out anew: a user's own task may have been changed since."""
MAX_KEPT, MAX_ASKED = 64, 8
MAX_WORD = 500


class Child:
    """Asks one question at a time, and remembers the answers for a while."""

    def __init__(self, registered: tuple[str, ...] = ()) -> None:
        """`registered` are tasks in files of a user's own; no other file is ever imported because a page named it."""
        self._registered = registered
        self._one = asyncio.Semaphore(1)
        self._kept: OrderedDict[tuple[str, ...], tuple[float, str]] = OrderedDict()
        self._asking: dict[tuple[str, ...], asyncio.Task[str]] = {}

    async def tasks(self) -> TaskList:
        """What can be trained."""
        return from_json(TaskList, await self._ask("paddock.forms", "tasks", *self._registered))

    async def form(self, task: str, preset: str, sim: str) -> Form:
        """What can be chosen before training a task."""
        return from_json(Form, await self._ask("paddock.forms", "form", task, preset, sim, *self._registered))

    async def draw(self, run: Path) -> None:
        """Write a run's scene."""
        async with self._one:
            if not (run / "scene.json").is_file():  # two may have asked at once
                await _run("paddock.scenes", str(run.absolute()))

    async def _ask(self, module: str, *words: str) -> str:
        """The answer, at once where there is one, which is then found out anew for the next who asks."""
        if any(word.startswith("-") or len(word) > MAX_WORD or "\0" in word for word in words):
            raise PaddockError("a task, a preset or a sim has a name that none can have.")
        question = (module, *words)
        known = self._kept.get(question)
        asking = self._asking.get(question)
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
                answer = await _run(*question)
            self._kept[question] = (time.monotonic(), answer)
            self._kept.move_to_end(question)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            return answer
        except PaddockError:
            self._kept.pop(question, None)
            raise
        finally:
            del self._asking[question]


async def _run(module: str, *words: str) -> str:
    """What a module of ours prints. Words are arguments, never a line for a shell."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        async with asyncio.timeout(CHILD_S):
            out, complaint = await child.communicate()
    except TimeoutError:
        raise PaddockError(f"{module} did not answer within {CHILD_S:.0f} s.") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    text = out.decode("utf-8", "replace").strip()
    if child.returncode == 0:
        return text
    try:
        raise PaddockError(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise PaddockError(f"{module} ended with code {child.returncode}: {last[0][:500]}") from None
