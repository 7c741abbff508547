"""An environment for somebody to look at: where its worlds are, and of one of them what it senses, does, earns and touches.

Nothing here is computed unless somebody asks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from paddock.contacts import Contacts
from paddock.contracts import CAMERA_GROUP
from paddock.env import Environment
from paddock.marks import marks
from paddock.rendering import Mark
from paddock.runs.viewers import Shot
from paddock.tasks.readings import columns

DIGITS = 5
"""Behind the point, of what is told to be read."""
PICTURE_SIDE = 96
"""Pixels along the longer side, at most: every k-th is taken of larger pictures."""
SHOWN = ("rgb", "depth")
"""Kinds of pictures that can be looked at."""


@dataclass(frozen=True, kw_only=True)
class Earned:
    """What the last step brought; an environment that has not stepped yet has none."""

    terms: Tensor
    """Each reward term, weighted; (n, terms)."""
    success: Tensor
    """(n,) bool."""


class Showing:
    """What is shown of an environment."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._ends: dict[int, tuple[int, str]] = {}

    def ended(self, env_steps: int, worlds: Iterable[int], causes: Iterable[str], *, focused: frozenset[int]) -> None:
        """Remember what ended the episodes of the worlds that somebody looks at."""
        self._ends = {world: end for world, end in self._ends.items() if world in focused}
        self._ends |= {world: (env_steps, cause) for world, cause in zip(worlds, causes, strict=True) if world in focused}

    def shot(
        self, env_steps: int, earned: Earned | None, totals: Tensor, *, paused: bool = False, speed: float | None = None
    ) -> Shot:
        """The present state, to be offered. `totals` are the sums of each reward term in the episodes so far; (n, terms)."""
        state = self._env.state
        return Shot(
            env_steps=env_steps,
            qpos=state.qpos.cpu(),
            age=state.age.cpu(),
            tell=lambda world, pictures: dict(self._told(world, earned, totals, pictures)),
            ends=self._ends,
            everywhere={"paused": paused} | ({} if speed is None else {"speed": speed}),
        )

    def _told(self, world: int, earned: Earned | None, totals: Tensor, pictures: bool) -> Iterator[tuple[str, object]]:
        env, state = self._env, self._env.state
        if earned is not None:
            yield "reward", dict(zip(env.task.reward, _plain(earned.terms[world]), strict=True))
            yield "total", round(float(totals[world].sum()), DIGITS)
            if env.task.success is not None:
                yield "success", bool(earned.success[world])
        yield "obs", dict(self._observed(world))
        yield "action", _plain(state.action[world])
        if state.command:
            yield "command", {name: _plain(value[world].reshape(-1)) for name, value in state.command.items()}
        yield "contacts", self._contacts.of(world)
        if env.model.nmocap:
            pos, quat = env.sim.mocap_pos[world].tolist(), env.sim.mocap_quat[world].tolist()
            yield "mocap", list(zip(pos, quat, strict=True))
        if wanted := marks(env, world):
            yield "markers", [_marker(mark) for mark in wanted]
        if pictures and env.task.cameras:
            yield "cameras", dict(self._pictures(world))

    @cached_property
    def _contacts(self) -> Contacts:
        return Contacts(self._env)

    @cached_property
    def _spans(self) -> list[tuple[str, str, slice]]:
        """Name of each observation, the group it is in, and its columns there."""
        task, state = self._env.task, self._env.state
        groups = {
            "policy": task.observed(state),
            "privileged": {f"privileged/{name}": columns(term(state)) for name, term in task.privileged.items()},
        }
        found: list[tuple[str, str, slice]] = []
        for group, parts in groups.items():
            end = 0
            for name, value in parts.items():
                begin, end = end, end + value.shape[1]
                found.append((name, group, slice(begin, end)))
        return found

    def _observed(self, world: int) -> Iterator[tuple[str, list[float]]]:
        rows = {group: _plain(self._env.obs[group][world]) for group in self._env.obs_sizes}
        for name, group, span in self._spans:
            yield name, rows[group][span]

    def _pictures(self, world: int) -> Iterator[tuple[str, dict[str, object]]]:
        for group, (height, width, channels) in self._env.image_shapes.items():
            name, kind = group.removeprefix(CAMERA_GROUP).rsplit("/", 1)
            if kind not in SHOWN:
                continue
            every = -(-max(height, width) // PICTURE_SIDE)
            seen = self._env.obs[group][world, ::every, ::every].cpu().numpy()
            picture = np.ascontiguousarray(seen if kind == "rgb" else _grey(seen))
            yield (
                name if kind == "rgb" else f"{name}/{kind}",
                {
                    "width": picture.shape[1],
                    "height": picture.shape[0],
                    "channels": channels,
                    "data": base64.b64encode(picture.tobytes()).decode(),
                },
            )


def _plain(row: Tensor) -> list[float]:
    return [round(value, DIGITS) for value in row.tolist()]


def _grey(metres: np.ndarray) -> np.ndarray:
    """What is near is bright; what is beyond everything is black."""
    finite = metres[np.isfinite(metres)]
    near, far = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    share = np.nan_to_num((far - metres) / max(far - near, 1e-6), neginf=0.0)
    return (40 + 215 * share.clip(0, 1)).astype(np.uint8) * np.isfinite(metres)


def _marker(mark: Mark) -> dict[str, object]:
    kind = "arrow" if mark.vector is not None else "sphere" if mark.solid else "ring"
    told: dict[str, object] = {"name": mark.name, "kind": kind, "pos": mark.pos, "size": mark.radius, "rgba": mark.rgba}
    if mark.vector is not None:
        told["to"] = [at + along for at, along in zip(mark.pos, mark.vector, strict=True)]
    return told
