"""The next episode of every world, drawn ahead in bulk, so that a reset only copies.

What an episode begins with is a function of (seed, world, episode) alone. Drawing it when a world ends would cost every step
a hundred small operations for a handful of worlds; here they are paid once for many.
"""

from __future__ import annotations

import torch
from torch import Tensor

from paddock import randomness
from paddock.contracts import Sim, State
from paddock.errors import BadTerm, blame
from paddock.sims.layout import layout_of
from paddock.sims.model import get_field
from paddock.tasks.randomizers import ModelRandomizer
from paddock.tasks.task import Task
from paddock.worlds import Worlds


class Starts:
    """For each world: the key, drawn parameters, model fields, qpos and qvel that its next episode begins with."""

    def __init__(self, task: Task, sim: Sim, state: State) -> None:
        self._task, self._sim, self._blank = task, sim, _blank(state)
        settled = {} if sim.by_rows else {name: r for name, r in task.model_randomizers.items() if r.changes_constants}
        self._settled = tuple(settled)
        """What is drawn between rollouts: the engine's own constants follow from it, and a captured step cannot derive them."""
        self._settled_fields = {field for randomizer in settled.values() for field in randomizer.model_fields}
        self._lasting = dict(state.params)  # the live tensors of what outlives an episode
        self._nominal = _expand_model(task, sim)
        everyone = Worlds(torch.ones_like(state.key, dtype=torch.bool), None)
        params, fields, qpos, qvel = self._draw(everyone, state.key)
        self.key, self.params = state.key.clone(), {name: value.clone() for name, value in params.items()}
        self._fields = {name: value.clone() for name, value in fields.items()}
        self._qpos, self._qvel = qpos.clone(), qvel.clone()
        self._stale = everyone.mask.clone()
        self._sharing = {name: _sharing(task, every.model_fields) for name, every in task.recurring.items()}

    def forget(self) -> None:
        """Draw everything anew before it is used: the seed or the episode numbers have changed."""
        self._stale.fill_(True)

    def redraw(self, mask: Tensor) -> None:
        """Draw the next episode of some worlds (n,) anew: something that it depends on has changed."""
        self._stale |= mask

    def begin(self, worlds: Worlds, state: State, seed_key: Tensor, episode: Tensor) -> None:
        """Put some worlds, which are at the model's defaults, where episode `episode` (n,) begins: key, parameters, model, pose."""
        if not self._sim.by_rows:
            self._refill(worlds, seed_key, episode)
        elif bool(worlds.take(self._stale).any()):
            # the other stale worlds have not begun the episode after this one yet
            ahead = torch.where(worlds.mask, episode, episode + 1)
            self._refill(Worlds.where(self._stale, by_rows=True), seed_key, ahead)
        worlds.put(state.key, worlds.take(self.key))
        for name, value in self.params.items():
            if name not in self._settled:
                worlds.put(state.params[name], worlds.take(value))
        for name, value in self._fields.items():
            if name not in self._settled_fields:
                self._sim.write_model(name, worlds.take(value), worlds)
        if self._sim.by_rows and any(randomizer.changes_constants for randomizer in self._task.model_randomizers.values()):
            self._sim.set_const(worlds)
        self._sim.write("qpos", worlds.take(self._qpos), worlds)
        self._sim.write("qvel", worlds.take(self._qvel), worlds)
        self._stale |= worlds.mask

    def settle(self, state: State) -> None:
        """Give every world what its present episode draws of what only changes between rollouts."""
        if not self._settled:
            return
        everyone = Worlds(torch.ones_like(state.key, dtype=torch.bool), None)
        params, fields, _, _ = self._draw(everyone, state.key)
        for name in self._settled:
            state.params[name].copy_(params[name])
        for name in self._settled_fields:
            self._sim.write_model(name, fields[name], everyone)
        self._sim.set_const(everyone)
        self._sim.forward(everyone)

    def renew(self, state: State) -> None:
        """Draw again what is due within its episode. Model fields are made from nominal once more, by all that write them."""
        name = ""
        try:
            for name, every in self._task.recurring.items():
                worlds = Worlds.where(every.due(state), by_rows=self._sim.by_rows)
                if worlds.rows is not None and not len(worlds.rows):
                    continue
                now = {own: worlds.take(value) for own, value in state.params.items()}
                blank = self._blank.of(worlds).replaced(key=worlds.take(every.key(state)), params=now)
                now[name] = every.draw(blank.scoped(f"randomize/{name}"))
                worlds.put(state.params[name], now[name])
                fields = {own: value.expand(blank.num_worlds, *value.shape) for own, value in self._nominal.items()}
                written: dict[str, Tensor] = {}
                for other, randomizer in self._sharing[name].items():
                    written |= randomizer.apply(now[other], fields | written, blank.layout)
                for field, value in written.items():
                    self._sim.write_model(field, value, worlds)
        except Exception as error:  # a user's randomiser may raise anything
            raise blame(self._task.name, "randomize", name, error) from error

    def _refill(self, worlds: Worlds, seed_key: Tensor, episode: Tensor) -> None:
        key = randomness.episode_key(worlds.take(seed_key), worlds.take(episode))
        params, fields, qpos, qvel = self._draw(worlds, key)
        for target, value in ((self.key, key), (self._qpos, qpos), (self._qvel, qvel)):
            worlds.put(target, value)
        for targets, values in ((self.params, params), (self._fields, fields)):
            for name, value in values.items():
                worlds.put(targets[name], value)
        self._stale &= ~worlds.mask

    def _draw(self, worlds: Worlds, key: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor, Tensor]:
        """Parameters, the model fields they lead to one after another from nominal, qpos and qvel."""
        lasting = {name: worlds.take(value) for name, value in self._lasting.items()}
        state = self._blank.of(worlds).replaced(key=key, params=lasting)
        params: dict[str, Tensor] = {}
        fields = {name: value.expand(state.num_worlds, *value.shape) for name, value in self._nominal.items()}
        name = ""
        try:
            for name, randomizer in self._task.drawn.items():
                params[name] = randomizer.draw(state.scoped(f"randomize/{name}"))
                if isinstance(randomizer, ModelRandomizer):
                    fields |= randomizer.apply(params[name], fields, state.layout)
        except Exception as error:  # a user's randomiser may raise anything
            raise blame(self._task.name, "randomize", name, error) from error
        return params, fields, *self._reset(state.replaced(params=lasting | params))

    def _reset(self, state: State) -> tuple[Tensor, Tensor]:
        try:
            qpos, qvel = self._task.reset(state.scoped("reset"))
        except Exception as error:  # a user's reset may raise anything
            raise blame(self._task.name, "reset", "", error) from error
        wanted = (state.num_worlds, state.layout.home_qpos.shape[0]), (state.num_worlds, state.layout.nv)
        if (qpos.shape, qvel.shape) != wanted:
            got = f"qpos {tuple(qpos.shape)} and qvel {tuple(qvel.shape)}"
            raise blame(self._task.name, "reset", "", BadTerm(f"returned {got}, wanted {wanted[0]} and {wanted[1]}."))
        return qpos, qvel


def empty_state(task: Task, sim: Sim) -> State:
    """A state of the sim's own tensors, and zeros for what the environment keeps itself."""
    world = torch.zeros(sim.num_worlds, dtype=torch.int64, device=sim.device)
    layout = layout_of(sim.model, control_dt=task.control_dt, device=sim.device)
    action = torch.zeros(sim.num_worlds, task.act.size(layout), device=sim.device)
    return State(
        layout=layout,
        qpos=sim.qpos,
        qvel=sim.qvel,
        act=sim.act,
        ctrl=sim.ctrl,
        sensordata=sim.sensordata,
        fields=sim.fields,
        key=world,
        age=world.clone(),
        action=action,
        last_action=action.clone(),
        memory={},
        command={},
        params={},
    )


def _blank(state: State) -> State:
    """A state of zeros: a start that read how the last episode ended would depend on more than its key."""
    blank = {name: torch.zeros_like(value) for name, value in state.tensors().items() if not name.startswith("params/")}
    return State.from_tensors(state.layout, blank)


def _sharing(task: Task, fields: tuple[str, ...]) -> dict[str, ModelRandomizer]:
    """The randomisers that write these fields, or others together with one that does, in the task's order."""
    known = set(fields)
    while True:
        found = {name: one for name, one in task.model_randomizers.items() if known & set(one.model_fields)}
        wider = known.union(*(one.model_fields for one in found.values()))
        if wider == known:
            return found
        known = wider


def _expand_model(task: Task, sim: Sim) -> dict[str, Tensor]:
    """Give every model field that randomisation writes a value per world, and return the nominal ones."""
    names = {name: None for randomizer in task.model_randomizers.values() for name in randomizer.model_fields}
    for name in names:
        sim.expand(name)
    return {name: torch.tensor(get_field(sim.model, name), device=sim.device) for name in names}
