"""Task + sim = environment: n worlds that act, reward, end and begin again."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock import randomness
from paddock.anatomies import RobotAnatomy
from paddock.contracts import SIM_TENSORS, Obs, State, Step, Tap
from paddock.cores import Exact
from paddock.disturbing import Pushes
from paddock.errors import PaddockError
from paddock.finiteness import check_action, not_finite
from paddock.looks import looks_of
from paddock.sims import make_sim
from paddock.sims.capacity import Capacity
from paddock.sims.model import compile_text, model_text
from paddock.starts import Starts, empty_state
from paddock.tasks.cameras import picture_shapes
from paddock.tasks.checking import check_parts, check_terms
from paddock.tasks.curriculum import CURRICULUM, Curriculum
from paddock.tasks.task import Task
from paddock.worlds import Worlds

if TYPE_CHECKING:
    from paddock.seeing import Eyes


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
        curriculum: bool = False,
    ) -> None:
        check_parts(task)
        self.task = task
        self.curriculum = task.curriculum if curriculum else None
        """What makes episodes harder as they succeed; None where the task has none or was asked for whole."""
        self.seed = _integer(seed)
        self.num_worlds = num_worlds
        self.first_world = first_world
        self.model_text = model_text(task.spec(), lean=True)
        model = compile_text(self.model_text)
        self.substeps = _substeps(task, model.opt.timestep)
        self.sim = make_sim(
            sim,
            model,
            num_worlds,
            num_threads=num_threads,
            stage=task.stage,
            fields=task.fields,
            capacity=self._room(),
        )
        self.device = self.sim.device
        self.obs: Obs = {}
        """What the last reset or step returned to act on."""
        self.tap: Tap | None = None
        """Who hears of every step, such as a Recorder; nobody costs nothing."""

        self._world = torch.arange(first_world, first_world + num_worlds, device=self.device)
        self._seed_key = randomness.seed_key(self.seed, self._world)
        self._episode = torch.full_like(self._world, -1)
        self._everyone = Worlds.where(torch.ones_like(self._world, dtype=torch.bool), by_rows=self.sim.by_rows)
        self.state = empty_state(task, self.sim)
        if task.curriculum is not None:
            self.state.params[CURRICULUM] = self._fresh_grade().repeat(num_worlds, 1)
        self._failures = torch.zeros(num_worlds, dtype=torch.int64, device=self.device)
        self._pushes = Pushes(task, self.state.layout)
        with Exact():
            self._starts = Starts(task, self.sim, self.state)
            self._build_memory()
            self._begin(self._everyone)
            check_terms(task, self.state)
            looks_of(self, self._everyone)
            if task.cameras and not self.sim.by_rows:
                _ = self._eyes  # now: what cannot be drawn is refused, and a captured step cannot make them
            self.obs_sizes = {group: value.shape[1] for group, value in task.observations(self.state).items()}
        self.anatomy = RobotAnatomy(task, self.state)
        self._begun = False  # the episode just begun was only for the checks
        self._rewind()

    def _room(self) -> Capacity | None:
        """How much the sim must have room for in a world; None leaves it to the sim."""
        return None

    @property
    def model(self) -> mujoco.MjModel:
        """The model the sim steps: lean, without what is only there to be looked at."""
        return self.sim.model

    @cached_property
    def visual_model(self) -> mujoco.MjModel:
        """The whole model, for pictures: it takes the same qpos."""
        return compile_text(model_text(self.task.spec(), lean=False))

    @cached_property
    def nominal_looks(self) -> dict[str, Tensor]:
        """The visual model's own values of what the task's looks change, on the device and in float64."""
        fields = {field for randomizer in self.task.looks.values() for field in randomizer.look_fields}
        return {field: torch.tensor(getattr(self.visual_model, field), device=self.device).double() for field in sorted(fields)}

    @property
    def image_shapes(self) -> dict[str, tuple[int, int, int]]:
        """Height, width and channels of each observation group that is a picture."""
        return picture_shapes(self.task.cameras)

    @property
    def episode(self) -> Tensor:
        """Number of each world's episode within the seed; (n,) int64."""
        return self._episode

    @property
    def action_size(self) -> int:
        return self.state.action.shape[1]

    def reset(self, *, seed: int | None = None, stagger: bool = False) -> Step:
        """Begin a new episode in every world; with a seed, the first one of an environment made with it.

        `stagger` spreads these first episodes over their length, so that the worlds do not all run out of time at once.
        """
        if seed is not None:
            self.seed = _integer(seed)
            self._seed_key = randomness.seed_key(self.seed, self._world)
            self._rewind()
        with Exact():
            begun = self._begin(self._everyone)
            if stagger:
                begun.age.copy_(begun.scoped("stagger").choice(self.task.episode_steps)[:, 0])
                self._everyone.put(self.state.age, begun.age)
            obs = self._observed(begun) | self._seen(self._everyone)
            self.obs = obs
        self._begun = True

        def no() -> Tensor:
            return torch.zeros_like(self._everyone.mask)

        def nothing() -> Tensor:
            return torch.zeros(self.num_worlds, device=self.device)

        terms, ends = {name: nothing() for name in self.task.reward}, {name: no() for name in self.task.done}
        return Step(
            obs=obs,
            reward=nothing(),
            terminated=no(),
            truncated=no(),
            final_obs=obs,
            success=no(),
            failed=no(),
            terms=terms,
            ends=ends,
        )

    def step(self, action: Tensor | np.ndarray) -> Step:
        """Advance every world by one control step. Actions are clipped to [-1, 1] here, and nowhere else."""
        if not self._begun:
            raise PaddockError("there is no episode yet: call reset() before the first step().")
        with Exact():
            return self._advance(check_action(action, self))

    @property
    def is_captured(self) -> bool:
        """Whether what is `repeated` is captured and replayed, so that nothing in it may look at a value."""
        return False

    def repeated(self, work: Callable[[], None], *, generators: Sequence[torch.Generator] = ()) -> Callable[[], None]:
        """`work`, made quick to do over and over. On the CPU it is so already."""
        del generators
        return work

    def settle(self) -> None:
        """Between rollouts: what no captured step can do. On the CPU there is no such thing."""

    @property
    def failures(self) -> int:
        """Worlds the engine gave up on since construction; each was reset and the others went on."""
        return int(self._failures.sum())

    def _advance(self, action: Tensor) -> Step:
        task, state = self.task, self.state
        ctrl = self._decide(action)
        if self.tap is not None:
            self.tap.stepping(self.sim)
        self.sim.step(ctrl, self.substeps)
        if self.tap is not None:
            self.tap.stepped(self.sim)
        self._move_on()

        reward, terms = task.rewards(state)
        ends = {name: end.clone() for name, end in task.ends(state).items()}  # a term may return what it remembers
        success = task.succeeded(state).clone()
        failed = self.sim.failed.clone()
        if failed.any():
            reward, terms, success = self._contain(failed, reward, terms, success)
        self._check_finite(reward, terms)
        terminated = reduce(torch.logical_or, ends.values(), failed.clone())
        truncated = (state.age >= task.episode_steps) & ~terminated
        final_obs = self._observed(state) | self._seen(self._everyone)

        ended = terminated | truncated
        obs = final_obs
        if self.curriculum is not None:
            self._grade(self.curriculum, ended, success)
        if ended.any():
            begun = Worlds.where(ended, by_rows=self.sim.by_rows)
            obs = {group: value.clone() for group, value in final_obs.items()}
            fresh = self._observed(self._begin(begun)) | self._seen(begun)
            for group, value in fresh.items():
                begun.put(obs[group], value)
        self.obs = obs
        return Step(
            obs=obs,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            final_obs=final_obs,
            success=success,
            failed=failed,
            terms=terms,
            ends=ends,
        )

    def _decide(self, action: Tensor) -> Tensor:
        """Everything that enters the engine but ctrl, which is returned."""
        task, state = self.task, self.state
        state.last_action.copy_(state.action)
        state.action.copy_(action.clamp(-1.0, 1.0))
        self._pushes.apply(state, self.sim)
        if task.recurring:
            self._starts.renew(state)
        return task.act(state)

    def _move_on(self) -> None:
        """Advance what the task remembers to the state that the physics reached."""
        self.state.age += 1
        command, memory = self.task.advance(self.state)
        copy_all(self.state.command, command)
        copy_all(self.state.memory, memory)

    def sample(self) -> Tensor:
        """Random actions, the same for the same seed, world, episode and step; (n, na)."""
        return self.state.scoped("sample").uniform(self.action_size, -1.0, 1.0, index=self.state.age)

    def save(self) -> dict[str, Tensor]:
        """Everything needed to go on bit for bit, as named tensors."""
        own = {name: value.clone() for name, value in self._own_tensors().items()}
        return own | {f"sim/{name}": value for name, value in self.sim.save().items()}

    def load(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from what `save` returned, in an environment of the same task and number of worlds, whatever its seed."""
        for name, value in self.save().items():
            if name not in saved or saved[name].shape != value.shape:
                got = tuple(saved[name].shape) if name in saved else "nothing"
                raise PaddockError(
                    f"the save does not fit task '{self.task.name}' with {self.num_worlds} worlds: "
                    f"'{name}' has {got}, wanted {tuple(value.shape)}. Load it into the task that saved it."
                )
        self.sim.load({name.removeprefix("sim/"): value for name, value in saved.items() if name.startswith("sim/")})
        for name, value in self._own_tensors().items():
            value.copy_(saved[name])
        self._starts.forget()
        self._begun = True
        with Exact():
            self.obs = self._observed(self.state) | self._seen(self._everyone)
        if self.tap is not None:
            self.tap.begun(self.sim, self._everyone)

    def _rewind(self) -> None:
        """Make the next episode of every world its first."""
        self._episode.fill_(-1)
        self._starts.forget()
        if CURRICULUM in self.state.params:
            self.state.params[CURRICULUM].copy_(self._fresh_grade())

    def _grade(self, curriculum: Curriculum, ended: Tensor, success: Tensor) -> None:
        """Let worlds that ended an episode go a level up or down. Their next one was drawn for the level they had."""
        score = success if curriculum.score is None else curriculum.score(self.state)
        now = self.state.params[CURRICULUM]
        new = torch.where(ended[:, None], curriculum.next(now, score.to(now.dtype)), now)
        self._starts.redraw(new[:, 0] != now[:, 0])
        now.copy_(new)

    def _fresh_grade(self) -> Tensor:
        """(1, 2)."""
        assert self.task.curriculum is not None
        begin = self.task.curriculum.fresh(1.0 if self.curriculum is None else self.curriculum.begin)
        return torch.tensor([begin], device=self.device)

    def _begin(self, worlds: Worlds) -> State:
        """Start a new episode in some worlds, leave the others alone, and return the state of those begun."""
        self.sim.reset(worlds)
        self._place(worlds)
        self.sim.forward(worlds)
        fresh = self._remember_anew(worlds)
        if self.tap is not None:
            self.tap.begun(self.sim, worlds)
        return fresh

    def _place(self, worlds: Worlds) -> None:
        """Count their next episode, and put them where it begins."""
        self._episode += worlds.mask
        for tensor in (self.state.age, self.state.action, self.state.last_action):
            worlds.clear(tensor)
        self._starts.begin(worlds, self.state, self._seed_key, self._episode)

    def _remember_anew(self, worlds: Worlds) -> State:
        """Begin their commands and memory, and return their state."""
        fresh = self.state.of(worlds)
        fresh.command, fresh.memory = self.task.begin(fresh)
        for own, begun in ((self.state.command, fresh.command), (self.state.memory, fresh.memory)):
            for name, value in begun.items():
                worlds.put(own[name], value)
        return fresh

    def _contain(
        self, failed: Tensor, reward: Tensor, terms: dict[str, Tensor], success: Tensor
    ) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """Count the worlds the engine gave up on; their step earns nothing, because its state means nothing."""
        self._failures += failed
        kept = torch.stack(list(terms.values()), dim=1).masked_fill(failed[:, None], 0.0)
        return reward.masked_fill(failed, 0.0), dict(zip(terms, kept.unbind(1), strict=True)), success & ~failed

    def _check_finite(self, reward: Tensor, terms: dict[str, Tensor]) -> None:
        if not math.isfinite(reward.sum()):
            raise not_finite(self.task, {f"reward term '{name}'": term for name, term in terms.items()}, self.state)

    def _observed(self, state: State) -> Obs:
        """The observations of a state, of all worlds or some. A sum is finite only if all its parts are, and costs one pass."""
        obs = self.task.observations(state)
        if not math.isfinite(sum(group.sum() for group in obs.values())):
            named = {f"observation '{name}'": value for name, value in self.task.observed(state).items()}
            named |= {f"privileged observation '{name}'": term(state) for name, term in self.task.privileged.items()}
            raise not_finite(self.task, named, state)
        return obs

    @cached_property
    def _eyes(self) -> Eyes:
        from paddock.seeing import eyes_of

        return eyes_of(self)

    def _seen(self, worlds: Worlds) -> Obs:
        """What the task's cameras see of some worlds."""
        return self._eyes.look(worlds, looks_of(self, worlds)) if self.task.cameras else {}

    def _build_memory(self) -> None:
        """Allocate what the task remembers, shaped by what a first episode begins with."""
        self.state.params |= {name: value.clone() for name, value in self._starts.params.items()}
        command, memory = self.task.begin(self.state)
        self.state.command |= {name: value.clone() for name, value in command.items()}
        self.state.memory |= {name: value.clone() for name, value in memory.items()}

    def _own_tensors(self) -> dict[str, Tensor]:
        """What the sim does not save; the seed is in its key."""
        flat = self.state.tensors()
        own = {f"state/{n}": t for n, t in flat.items() if n not in SIM_TENSORS and not n.startswith("fields/")}
        return own | {"episode": self._episode, "seed_key": self._seed_key}


def _integer(seed: int) -> int:
    try:
        return operator.index(seed)
    except TypeError:
        raise PaddockError(f"the seed is {seed!r}; give an integer, so that the run can be repeated.") from None


def _substeps(task: Task, timestep: float) -> int:
    substeps = round(task.control_dt / timestep)
    if substeps < 1 or abs(substeps * timestep - task.control_dt) > 1e-9:
        raise PaddockError(
            f"task '{task.name}': control_dt {task.control_dt} s is not a whole number of the model's timesteps of {timestep:g} s."
        )
    return substeps


def copy_all(own: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Copy in place, because captured graphs and saved views hold on to the tensors themselves."""
    for name, value in values.items():
        own[name].copy_(value)
