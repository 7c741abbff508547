"""Who watches a run: what they want to see, and the frames they are sent."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import TYPE_CHECKING

from paddock.errors import PaddockError, unknown
from paddock.runs.frames import pack
from paddock.runs.sockets import line_of

if TYPE_CHECKING:  # telling a run something should not wait for PyTorch
    from torch import Tensor

MAX_WATCHED = {"json": 64, "binary": 256}
"""Worlds that somebody may watch, by the format of the frames."""
MAX_HZ = 60.0
PICTURE_S = 0.2
"""Between two frames with pictures."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody wants to see."""

    worlds: tuple[int, ...] = ()
    period_s: float = 1 / 30
    is_binary: bool = False
    focus: int = 0
    """The world to be told more of."""


def wish_of(asked: Mapping[str, object], num_worlds: int) -> Wish:
    """The wish in a line such as {"do": "subscribe", "worlds": [0, 3], "hz": 30, "focus": 3, "format": "binary"}.

    Which worlds may be left out: in binary it is all of them then, as a play shows itself.
    """

    def is_world(world: object) -> bool:
        return type(world) is int and 0 <= world < num_worlds

    hz, form = asked.get("hz", 30), asked.get("format", "json")
    if not isinstance(form, str) or form not in MAX_WATCHED:
        raise unknown("format", str(form)[:40], MAX_WATCHED)
    worlds = asked.get("worlds", list(range(min(num_worlds, MAX_WATCHED[form]))) if form == "binary" else [0])
    if (
        not isinstance(worlds, list)
        or not all(is_world(world) for world in worlds)
        or len(set(worlds)) != len(worlds)
        or len(worlds) > MAX_WATCHED[form]
    ):
        known = f"different numbers from 0 to {num_worlds - 1}"
        raise PaddockError(f"worlds is {short(worlds)}; wanted a list of at most {MAX_WATCHED[form]} {known}.")
    if not isinstance(hz, int | float) or not 0 < hz <= MAX_HZ:
        raise PaddockError(f"hz is {short(hz)}; wanted a rate above 0 and at most {MAX_HZ:.0f}.")
    focus = asked.get("focus", worlds[0] if worlds else 0)
    if not isinstance(focus, int) or not is_world(focus):
        raise PaddockError(f"focus is {short(focus)}; wanted a number from 0 to {num_worlds - 1}.")
    return Wish(worlds=tuple(worlds), period_s=1 / hz, is_binary=form == "binary", focus=focus)


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A state that is offered to whoever watches, and what there is to say of it."""

    env_steps: int
    qpos: Tensor
    age: Tensor
    tell: Callable[[int, bool], dict[str, object]] = lambda world, pictures: {}
    """What is known of a world, with pictures or without; called only where somebody wants to know."""
    ends: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    """At how many env steps a world's last episode ended, and what ended it."""
    everywhere: Mapping[str, object] = field(default_factory=dict)
    """What holds for all worlds, such as that the run is paused."""
    told: dict[tuple[int, bool], bytes] = field(default_factory=dict)
    """What was told already, for the next one who wants to know the same."""

    def about(self, world: int, pictures: bool) -> bytes:
        """What is known of a world, as the rest of a JSON object that has begun."""
        key = world, pictures
        if key not in self.told:
            self.told[key] = _rest(self.tell(world, pictures))
        return self.told[key]


@dataclass(eq=False)
class Viewer:
    """Somebody who may watch: when the next frame is due, and what became of the earlier ones."""

    wish: Wish = field(default_factory=Wish)
    due: float = 0.0
    _picture_due: float = 0.0
    _seq: int = 0
    _dropped: int = 0
    _told_at: int = 0  # env steps of the last frame

    def begin(self, wish: Wish) -> None:
        """From now on, show this."""
        self.wish, self.due, self._picture_due = wish, 0.0, 0.0

    def is_due(self, now: float) -> bool:
        return bool(self.wish.worlds) and self.due <= now

    def frame(self, shot: Shot, *, steps_per_s: float, unread: int, patience: int) -> bytes:
        """What to send of a shot; nothing to one that has not read the last frame yet."""
        now = time.monotonic()
        self.due = now + self.wish.period_s
        self._seq += 1
        if unread > (0 if self.wish.is_binary else patience):
            self._dropped += 1
            return b""
        return self._bytes(shot, now, steps_per_s) if self.wish.is_binary else self._lines(shot)

    def _lines(self, shot: Shot) -> bytes:
        return b"".join(
            line_of({"frame": {"env_steps": shot.env_steps, "world": i, "age": int(shot.age[i]), "qpos": shot.qpos[i].tolist()}})
            for i in self.wish.worlds
        )

    def _bytes(self, shot: Shot, now: float, steps_per_s: float) -> bytes:
        pictures = self._picture_due <= now
        if pictures:
            self._picture_due = now + PICTURE_S
        ended_at, cause = shot.ends.get(self.wish.focus, (-1, ""))
        own = {"dropped": self._dropped, "steps_per_s": steps_per_s, "world": self.wish.focus, **shot.everywhere}
        own |= {"ended": cause if ended_at > self._told_at else None}
        self._told_at = shot.env_steps
        rows = list(self.wish.worlds)
        frame = pack(
            seq=self._seq,
            env_steps=shot.env_steps,
            worlds=rows,
            ages=shot.age[rows].tolist(),
            qpos=shot.qpos[rows].numpy().tobytes(),
            tail=json.dumps(own).encode()[:-1] + shot.about(self.wish.focus, pictures),
        )
        return line_of({"bytes": len(frame)}) + frame


def _rest(told: dict[str, object]) -> bytes:
    """A NaN is no JSON, and no reason to stop who trains: whoever watches is told nothing then."""
    try:
        inside = json.dumps(told, allow_nan=False)[1:-1]
    except ValueError:
        inside = ""
    return f", {inside}}}".encode() if inside else b"}"
