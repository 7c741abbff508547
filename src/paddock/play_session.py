"""A policy to play with: some worlds of a run's task in real time, paused, steered and pulled at, and all of it recorded.

`python -m paddock.play_session RUN --socket PATH` speaks on PATH as a run does on its live.sock, and hears orders there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import torch

from paddock.cores import torch_threads
from paddock.dragging import Drag, Hand, check_drag
from paddock.errors import PaddockError
from paddock.evaluation import acting
from paddock.making import make
from paddock.messages import to_json
from paddock.messages.cockpit import PlayPush, RefusedPush
from paddock.monitoring import cause, causes_of
from paddock.recording import Recorder
from paddock.runs.live import Live
from paddock.showing import Earned, Showing
from paddock.steering import Command, Order, Plainly, Speed, commands_of, order_of, ranges_of, steerable
from paddock.stopping import stop_signals
from paddock.trained import Run, Trained, find

MAX_WORLDS = 16
ALONE_S = 30.0
"""How long it goes on when nobody is there."""
NAP_S = 0.02
"""The longest it does not listen."""
GREET_S = 0.2
"""Between two tellings of what it is, while that changes."""
SEED = 2_000_000_000
"""Of its first episodes: another than training and evaluation use."""


class PlaySession:
    """The worlds, who plays with them, and their recording."""

    def __init__(self, run: Run, trained: Trained, *, name: str, checkpoint: str, worlds: int, seed: int = SEED) -> None:
        task, self._told = steerable(trained.task)
        self.env = make(task, num_worlds=worlds, seed=seed)
        self.recording = run.folder.recordings / f"play-{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}.mcap"
        self.steps = 0
        self._run, self._name = run, name
        self._policy = f"{checkpoint} at {trained.env_steps:,} steps"
        self._act, self._showing = acting(trained.policy), Showing(self.env)
        self._ranges, self._causes = ranges_of(trained.task), causes_of(self.env)
        self._totals = torch.zeros(worlds, len(task.reward), dtype=torch.float64)
        self._earned: Earned | None = None
        self._orders: SimpleQueue[Order] = SimpleQueue()
        self._speed, self._is_paused = 1.0, False
        self._greeted, self._greeted_at = "", 0.0

    def play(self, socket: Path, *, alone_s: float = ALONE_S) -> None:
        """Until it is told to stop, or nobody has been there for `alone_s`."""
        with ExitStack() as stack:
            stack.enter_context(torch_threads(1))
            stopping = stack.enter_context(stop_signals())
            self._recorder = stack.enter_context(Recorder(self.env, self.recording, worlds=range(self.env.num_worlds), events=True))
            self._hand = self.env.tap = Hand(self.env, self._recorder)
            self.env.reset()
            live = self._live = stack.enter_context(Live(socket, num_worlds=self.env.num_worlds, hear=self._hear))
            if live.trouble:
                raise PaddockError(live.trouble)
            self._greet()
            due = seen = time.monotonic()
            while not stopping() and time.monotonic() - seen < alone_s:
                seen = seen if live.is_alone else time.monotonic()
                is_asked = self._obey()
                now = time.monotonic()
                if is_asked or (not self._is_paused and now >= due):
                    self._step()
                    # what is late is not caught up
                    due = max(due + self.env.task.control_dt / self._speed, now - self.env.task.control_dt)
                self._show()
                self._greet()
                time.sleep(NAP_S if self._is_paused else min(NAP_S, max(0.0, due - time.monotonic())))

    def _step(self) -> None:
        step = self.env.step(self._act(self.env))
        self.steps += 1
        terms = torch.stack(list(step.terms.values()), dim=1)
        self._totals += terms
        self._earned = Earned(terms=terms, success=step.success)
        if step.ended.any():
            rows = step.ended.nonzero()[:, 0]
            self._totals[rows] = 0.0
            causes = (self._causes[number] for number in cause(step)[rows].tolist())
            self._showing.ended(self._env_steps, rows.tolist(), causes, focused=self._live.focused)

    @property
    def _env_steps(self) -> int:
        return self.steps * self.env.num_worlds

    def _show(self) -> None:
        if self._live.wanted:
            shot = self._showing.shot(self._env_steps, self._earned, self._totals, paused=self._is_paused, speed=self._speed)
            self._live.frame(shot)

    def _hear(self, what: object) -> dict[str, object]:
        """In the socket's thread: check an order, and put it where the next step finds it."""
        try:
            order = order_of(what, self._ranges)
            if isinstance(order, Drag):
                check_drag(self.env, order)
        except PaddockError as refusal:
            said = what if isinstance(what, dict) else {}
            return asdict(RefusedPush(play=self._name, what=said, why=str(refusal)))
        self._orders.put(order)
        return {"ok": "tell"}

    def _obey(self) -> bool:
        """Do what was ordered since the last look. Whether a single step was among it."""
        is_asked = False
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return is_asked
            is_asked |= self._do(order)

    def _do(self, order: Order) -> bool:
        match order:
            case Plainly("pause" | "resume"):
                self._is_paused = order.do == "pause"
            case Plainly("step"):
                self._is_paused = True
                return True
            case Plainly("reset"):
                self._note(do="reset")
                self.env.reset()
                self._totals.zero_()
            case Plainly():
                self._note(do="release")
                self._hand.let_go()
            case Speed():
                self._speed = order.value
            case Command():
                self._note(do="command", values=order.values)
                self._command(order)
            case Drag():
                self._note(do="drag", **asdict(order))
                self._hand.take(order)
        return False

    def _command(self, order: Command) -> None:
        for name, value in order.values.items():
            if value is None:
                self._told.pop(name, None)
            else:
                self._told[name] = value

    def _note(self, **event: object) -> None:
        self._recorder.note(event)

    def _greet(self) -> None:
        """Tell everybody what this is, where that has changed."""
        now = time.monotonic()
        if now - self._greeted_at < GREET_S:
            return
        self._greeted_at = now
        values = {name: list(self._told.get(name, self.env.state.command[name][0].tolist())) for name in self._ranges}
        push = PlayPush(
            play=self._name,
            title=self._run.card.setup.task,
            policy=self._policy,
            commands=commands_of(self._ranges, values),
            control_dt=self.env.task.control_dt,
            recording=str(self.recording.relative_to(self._run.path)),
            checkpoints=tuple(self._checkpoints()),
        )
        text = to_json(push)
        if text != self._greeted:
            self._greeted = text
            self._live.greet(json.loads(text))

    def _checkpoints(self) -> list[str]:
        best = self._run.folder.checkpoints.best()
        return ["latest"] if best is None else ["latest", "best"]


def main(args: list[str]) -> int:
    """Play until nobody is there."""
    parser = argparse.ArgumentParser(prog="python -m paddock.play_session", description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--checkpoint", default="best")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--name", default="play")
    parser.add_argument("--alone-s", type=float, default=ALONE_S)
    asked = parser.parse_args(args)
    try:
        if not 1 <= asked.worlds <= MAX_WORLDS:
            raise PaddockError(f"worlds is {asked.worlds}; wanted 1 to {MAX_WORLDS}.")
        run = find(asked.run)
        which = int(asked.checkpoint) if asked.checkpoint.isdecimal() else asked.checkpoint
        trained = run.load(which)
        session = PlaySession(run, trained, name=asked.name, checkpoint=asked.checkpoint, worlds=asked.worlds)
        session.play(asked.socket, alone_s=asked.alone_s)
    except PaddockError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
