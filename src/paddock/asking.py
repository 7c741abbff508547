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
"""An answer is as good so much later; a user's own task may have been changed since."""
MAX_KEPT = 64
MAX_WORD = 500


class Child:
    """Asks one question at a time, and remembers the answers for a while."""

    def __init__(self) -> None:
        self._one = asyncio.Semaphore(1)
        self._kept: OrderedDict[tuple[str, ...], tuple[float, str]] = OrderedDict()

    async def tasks(self) -> TaskList:
        """What can be trained."""
        return from_json(TaskList, await self._ask("paddock.forms", "tasks"))

    async def form(self, task: str, preset: str, sim: str) -> Form:
        """What can be chosen before training a task."""
        return from_json(Form, await self._ask("paddock.forms", "form", task, preset, sim))

    async def draw(self, run: Path) -> None:
        """Write a run's scene."""
        await self._ask("paddock.scenes", str(run.absolute()), is_kept=False)

    async def _ask(self, module: str, *words: str, is_kept: bool = True) -> str:
        if any(word.startswith("-") or len(word) > MAX_WORD or "\0" in word for word in words):
            raise PaddockError("a task, a preset or a sim has a name that none can have.")
        question = (module, *words)
        async with self._one:
            asked_at, answer = self._kept.get(question, (-KEPT_S, ""))
            if is_kept and time.monotonic() - asked_at < KEPT_S:
                return answer
            answer = await _run(module, *words)
            if is_kept:
                self._kept[question] = (time.monotonic(), answer)
                self._kept.move_to_end(question)
                while len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
            return answer


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
