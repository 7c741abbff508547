"""A hand that pulls at a body by a spring: a force among what enters the engine, so that a recording holds it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from paddock.contracts import Sim, Tap
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.recording_header import row_fields
from paddock.worlds import Worlds

SWING_S = 1.4
"""How long a whole robot on the spring would take to swing once."""
DAMPING = 0.7
"""Of that swing; at 1 it would not overshoot."""
MOST_WEIGHTS = 1.5
"""The strongest pull, in weights of what is pulled."""
FIRMEST, THICKEST = 0.2, 0.5
"""Of the stiffness and the damping that would move a light limb within one control step: more of them would shake it."""
GRAVITY = 9.81


@dataclass(frozen=True, kw_only=True)
class Drag:
    """Where a body is held, and where the hand is."""

    world: int
    body: int
    point: tuple[float, float, float]
    """In the body's frame."""
    target: tuple[float, float, float]
    """In the world."""


class Hand:
    """Pulls before every step, and then lets `behind` listen, such as a recorder. Set it as the environment's tap."""

    def __init__(self, env: Environment, behind: Tap | None = None) -> None:
        self._env, self._behind = env, behind
        self._data = mujoco.MjData(env.model)
        self._rows = env.sim.rows.numpy()
        self._start = next(field.start for field in row_fields(env.model) if field.name == "xfrc_applied")
        self._pushed = {env.state.layout.bodies[push.body] for push in env.task.disturbances.values()}  # written anew every step
        self._drag: Drag | None = None

    def take(self, drag: Drag) -> None:
        """Pull like this from the next step on."""
        check_drag(self._env, drag)
        if self._drag is not None and (self._drag.world, self._drag.body) != (drag.world, drag.body):
            self.let_go()
        self._drag = drag

    def let_go(self) -> None:
        """Pull no more."""
        if self._drag is not None and self._drag.body not in self._pushed:
            self._input(self._drag)[:] = 0.0
        self._drag = None

    def stepping(self, sim: Sim) -> None:
        if self._drag is not None:
            row = self._input(self._drag)
            before = row.copy() if self._drag.body in self._pushed else 0.0
            row[:] = before + self._wrench(self._drag)
        if self._behind is not None:
            self._behind.stepping(sim)

    def stepped(self, sim: Sim) -> None:
        if self._behind is not None:
            self._behind.stepped(sim)

    def begun(self, sim: Sim, worlds: Worlds) -> None:
        if self._behind is not None:
            self._behind.begun(sim, worlds)

    def _input(self, drag: Drag) -> np.ndarray:
        """Force and torque on the body, as the engine takes them; (6,), a view."""
        begin = self._start + 6 * drag.body
        return self._rows[drag.world, begin : begin + 6]

    def _wrench(self, drag: Drag) -> np.ndarray:
        """Force at the body's centre of mass, and torque about it; (6,)."""
        model, data, state = self._env.model, self._data, self._env.state
        data.qpos[:], data.qvel[:] = state.qpos[drag.world].numpy(), state.qvel[drag.world].numpy()
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        at = data.xpos[drag.body] + data.xmat[drag.body].reshape(3, 3) @ np.array(drag.point)
        arm = at - data.xipos[drag.body]
        spin_and_speed = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, drag.body, spin_and_speed, 0)
        speed = spin_and_speed[3:] + np.cross(spin_and_speed[:3], arm)  # the engine says how fast the centre of mass is
        stiffness, damping, most = self._spring(drag.body)
        force = stiffness * (np.array(drag.target) - at) - damping * speed
        size = float(np.linalg.norm(force))
        if size > most:
            force *= most / size
        return np.concatenate([force, np.cross(arm, force)])

    def _spring(self, body: int) -> tuple[float, float, float]:
        """Stiffness, damping and the strongest pull."""
        model, dt = self._env.model, self._env.task.control_dt
        whole = float(model.body_subtreemass[model.body_rootid[body]])
        own = 1.0 / float(model.body_invweight0[body, 0])  # how heavy it feels to a pull, the rest of the robot hanging on it
        swing = 2 * math.pi / SWING_S
        stiffness = min(whole * swing**2, FIRMEST * own / dt**2)
        damping = min(2 * DAMPING * whole * swing, THICKEST * own / dt)
        return stiffness, damping, MOST_WEIGHTS * whole * GRAVITY


def check_drag(env: Environment, drag: Drag) -> None:
    """Refuse what cannot be pulled."""
    model = env.model
    if not 0 <= drag.world < env.num_worlds:
        raise PaddockError(f"there is no world {drag.world}; there are {env.num_worlds}.")
    if not 0 < drag.body < model.nbody:
        raise PaddockError(f"there is no body {drag.body}; take 1 to {model.nbody - 1}.")
    if model.body_invweight0[drag.body, 0] <= 0.0:
        raise PaddockError(f"'{model.body(drag.body).name}' is fixed to the world: nothing can pull it.")
