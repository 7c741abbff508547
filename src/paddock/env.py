"""Task + sim = environment: n worlds that act, reward, end and begin again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property, reduce

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock import randomness
from paddock.contracts import SIM_TENSORS, Obs, State, Step, Worlds
from paddock.errors import BadAction, BadTerm, PaddockError
from paddock.sims import make_sim
from paddock.sims.layout import layout_of
from paddock.sims.model import compile_text, model_text
from paddock.starts import Starts
from paddock.tasks.finding import find_task
from paddock.tasks.task import Task


def make(
    task: str | Task,
    *,
    num_worlds: int = 1,
    seed: int = 0,
    sim: str = "cpu",
    num_threads: int | None = None,
    first_world: int = 0,
) -> Environment:
    """An environment of `num_worlds` worlds.

    `task` is a table name, `file.py[:NAME]`, an installed entry point or a Task. World i of one seed is the same world
    in any batch; `first_world` numbers the first, so that several processes can share one set of worlds.
    """
    return Environment(find_task(task), num_worlds=num_worlds, seed=seed, sim=sim, num_threads=num_threads, first_world=first_world)


class Environment:
    """n worlds of a task. Equal seeds give equal numbers, whatever the number of worlds or threads."""

    def __init__(
        self,
        task: Task,
        *,
        num_worlds: int,
        seed: int,
        sim: str = "cpu",
        num_threads: int | None = None,
        first_world: int = 0,
    ) -> None:
        self.task = task
        self.seed = seed
        self.num_worlds = num_worlds
        self.model_text = model_text(task.spec(), visuals=False)
        model = compile_text(self.model_text)
        self.substeps = _substeps(task, model.opt.timestep)
        self.sim = make_sim(sim, model, num_worlds, num_threads=num_threads, stage=task.stage, fields=task.fields)
        self.device = self.sim.device
        self.failures = 0
        """Worlds the engine gave up on since construction; each was reset and the others went on."""

        self._world = torch.arange(first_world, first_world + num_worlds, device=self.device)
        self._seed_key = randomness.seed_key(seed, self._world)
        self._episode = torch.full_like(self._world, -1)
        self._everyone = Worlds.where(torch.ones_like(self._world, dtype=torch.bool), by_rows=self.sim.by_rows)
        self._disturbances = task.disturbances
        self.state = self._empty_state()
        with _Exact():
            self._starts = Starts(task, self.sim, self.state)
            self._build_memory()
            self._begin(self._everyone)
            task.check(self.state)
            self.obs_sizes = {group: value.shape[1] for group, value in task.observations(self.state).items()}
        self._rewind()  # the episode just begun was only for the checks

    @property
    def model(self) -> mujoco.MjModel:
        """The model the sim steps, without what is only there to be looked at."""
        return self.sim.model

    @cached_property
    def visual_model(self) -> mujoco.MjModel:
        """The whole model, for pictures: it takes the same qpos."""
        return compile_text(model_text(self.task.spec(), visuals=True))

    @property
    def action_size(self) -> int:
        return self.state.action.shape[1]

    def reset(self, *, seed: int | None = None) -> Step:
        """Begin a new episode in every world; with a seed, the first one of an environment made with it."""
        if seed is not None:
            self.seed = seed
            self._seed_key = randomness.seed_key(seed, self._world)
            self._rewind()
        with _Exact():
            self._begin(self._everyone)
            obs = self.task.observations(self.state)
            nothing = torch.zeros(self.num_worlds, device=self.device)
            no = torch.zeros_like(self._everyone.mask)
            terms = dict.fromkeys(self.task.reward, nothing)
            return Step(obs, nothing, no, no, obs, no, no, terms, dict.fromkeys(self.task.done, no))

    def step(self, action: Tensor | np.ndarray) -> Step:
        """Advance every world by one control step. Actions are clipped to [-1, 1] here, and nowhere else."""
        with _Exact():
            task, state = self.task, self.state
            state.last_action.copy_(state.action)
            state.action.copy_(self._checked(action).clamp(-1.0, 1.0))
            for name, disturbance in self._disturbances.items():
                self.sim.write("xfrc_applied", disturbance.wrench(state.scoped(name)), index=state.layout.bodies[disturbance.body])
            self.sim.step(task.act(state), self.substeps)
            state.age += 1
            command, memory = task.advance(state)
            _copy_all(state.command, command)
            _copy_all(state.memory, memory)

            reward, terms = task.rewards(state)
            ends = task.ends(state)
            success = task.succeeded(state)
            failed = self.sim.failed.clone()
            if failed.any():
                reward, terms, success = self._contain(failed, reward, terms, success)
            terminated = reduce(torch.logical_or, ends.values(), failed)
            truncated = (state.age >= task.episode_steps) & ~terminated
            final_obs = task.observations(state)
            self._check_finite(reward, terms, final_obs)

            ended = terminated | truncated
            obs = final_obs
            if ended.any():
                begun = Worlds.where(ended, by_rows=self.sim.by_rows)
                obs = {group: value.clone() for group, value in final_obs.items()}
                for group, value in task.observations(self._begin(begun)).items():
                    begun.put(obs[group], value)
            return Step(obs, reward, terminated, truncated, final_obs, success, failed, terms, ends)

    def sample(self) -> Tensor:
        """Random actions, the same for the same seed, world, episode and step; (n, na)."""
        return self.state.scoped("sample").uniform(self.action_size, -1.0, 1.0, index=self.state.age)

    def save(self) -> dict[str, Tensor]:
        """Everything needed to go on bit for bit, as named tensors."""
        own = {f"state/{name}": value.clone() for name, value in self._own_tensors().items()}
        return own | {f"sim/{name}": value for name, value in self.sim.save().items()} | {"episode": self._episode.clone()}

    def load(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from what `save` returned, in an environment made from the same task and number of worlds."""
        own = self._own_tensors()
        expected = {f"state/{name}": value for name, value in own.items()} | {"episode": self._episode}
        for name, value in expected.items():
            if name not in saved or saved[name].shape != value.shape:
                got = tuple(saved[name].shape) if name in saved else "nothing"
                raise PaddockError(
                    f"the save does not fit task '{self.task.name}' with {self.num_worlds} worlds: "
                    f"'{name}' has {got}, wanted {tuple(value.shape)}. Load it into the task that saved it."
                )
        self.sim.load({name.removeprefix("sim/"): value for name, value in saved.items() if name.startswith("sim/")})
        for name, value in expected.items():
            value.copy_(saved[name])
        self._starts.forget()

    def _rewind(self) -> None:
        """Make the next episode of every world its first."""
        self._episode.fill_(-1)
        self._starts.forget()

    def _begin(self, worlds: Worlds) -> State:
        """Start a new episode in some worlds, leave the others alone, and return the state of those begun."""
        state = self.state
        self._episode += worlds.mask
        for tensor in (state.age, state.action, state.last_action):
            worlds.clear(tensor)
        self._starts.begin(worlds, state, self._seed_key, self._episode)
        fresh = state.of(worlds)
        fresh.command, fresh.memory = self.task.begin(fresh)
        for own, begun in ((state.command, fresh.command), (state.memory, fresh.memory)):
            for name, value in begun.items():
                worlds.put(own[name], value)
        return fresh

    def _contain(
        self, failed: Tensor, reward: Tensor, terms: dict[str, Tensor], success: Tensor
    ) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """Count the worlds the engine gave up on; their step earns nothing, because its state means nothing."""
        self.failures += int(failed.sum())
        kept = {name: term.masked_fill(failed, 0.0) for name, term in terms.items()}
        return reward.masked_fill(failed, 0.0), kept, success & ~failed

    def _checked(self, action: Tensor | np.ndarray) -> Tensor:
        if isinstance(action, np.ndarray):
            action = torch.from_numpy(np.array(action, dtype=np.float32))  # a copy: torch objects to read-only arrays
        action = action.to(self.device, torch.float32)
        wanted = (self.num_worlds, self.action_size)
        if action.shape != wanted:
            raise BadAction(f"the action has shape {tuple(action.shape)}; {self.task.name} takes {wanted}: (worlds, actuators).")
        if not math.isfinite(action.sum()):
            world, column = (~torch.isfinite(action)).nonzero()[0].tolist()
            raise BadAction(
                f"the action of world {world} is {action[world, column].item()} in column {column}, "
                f"at step {int(self.state.age[world])} of episode {int(self._episode[world])}. Check the policy's output."
            )
        return action

    def _check_finite(self, reward: Tensor, terms: dict[str, Tensor], obs: Obs) -> None:
        """A sum is finite only if all its parts are, and costs one pass."""
        if math.isfinite(reward.sum() + obs["policy"].sum()):
            return
        named = {f"reward term '{name}'": value for name, value in terms.items()}
        named |= {f"observation '{name}'": value for name, value in self.task.observed(self.state).items()}
        for name, value in named.items():
            bad = (~torch.isfinite(value)).nonzero()
            if len(bad):
                world = int(bad[0, 0])
                age = int(self.state.age[world])
                raise BadTerm(f"{name} of task '{self.task.name}' is not finite in world {world} at step {age}.")

    def _empty_state(self) -> State:
        sim, n = self.sim, self.num_worlds
        layout = layout_of(sim.model, control_dt=self.task.control_dt, device=self.device)
        actions = torch.zeros(n, self.task.act.size(layout), device=self.device)
        for disturbance in self._disturbances.values():
            if disturbance.body not in layout.bodies:
                raise PaddockError(f"task '{self.task.name}' pushes body '{disturbance.body}'; known: {', '.join(layout.bodies)}.")
        return State(
            layout=layout,
            qpos=sim.qpos,
            qvel=sim.qvel,
            act=sim.act,
            ctrl=sim.ctrl,
            sensordata=sim.sensordata,
            fields=sim.fields,
            key=torch.zeros_like(self._world),
            age=torch.zeros_like(self._world),
            action=actions,
            last_action=actions.clone(),
            memory={},
            command={},
            params={},
        )

    def _build_memory(self) -> None:
        """Allocate what the task remembers, shaped by what a first episode begins with."""
        self.state.params |= {name: value.clone() for name, value in self._starts.params.items()}
        command, memory = self.task.begin(self.state)
        self.state.command |= {name: value.clone() for name, value in command.items()}
        self.state.memory |= {name: value.clone() for name, value in memory.items()}

    def _own_tensors(self) -> dict[str, Tensor]:
        """What the sim does not save."""
        flat = self.state.tensors()
        return {name: value for name, value in flat.items() if name not in SIM_TENSORS and not name.startswith("fields/")}


class _Exact:
    """No gradients, and one thread for terms: a few PyTorch operators change their last bit with the thread count."""

    def __enter__(self) -> None:
        self._threads, self._gradients = torch.get_num_threads(), torch.is_grad_enabled()
        if self._threads != 1:
            torch.set_num_threads(1)
        torch.set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        if self._threads != 1:
            torch.set_num_threads(self._threads)
        torch.set_grad_enabled(self._gradients)


def _substeps(task: Task, timestep: float) -> int:
    substeps = round(task.control_dt / timestep)
    if substeps < 1 or abs(substeps * timestep - task.control_dt) > 1e-9:
        raise PaddockError(
            f"task '{task.name}': control_dt {task.control_dt} s is not a whole number of the model's timesteps of {timestep:g} s."
        )
    return substeps


def _copy_all(own: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Copy in place, because captured graphs and saved views hold on to the tensors themselves."""
    for name, value in values.items():
        own[name].copy_(value)
