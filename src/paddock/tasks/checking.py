"""What is wrong with a task, said when it is used for the first time and not in hour three."""

from collections.abc import Callable

import torch
from torch import Tensor

from paddock.contracts import State, Term
from paddock.errors import BadTerm, blame
from paddock.tasks.curriculum import CURRICULUM
from paddock.tasks.noise import Stage, stages_of
from paddock.tasks.randomizers import Disturbance, LookRandomizer, ModelRandomizer
from paddock.tasks.sensors import SensorSpec
from paddock.tasks.task import Task

RESERVED_ENDS = ("failed", "success", "truncated")
"""What a step already says about an episode's end."""


def check_parts(task: Task) -> None:
    """Say what is missing or misplaced, before anything is built."""
    seen = ", ".join(task.observe)
    wrong = [f"history of '{name}', which is not in observe: {seen}" for name in task.history if name not in task.observe]
    wrong += [f"history of '{name}' over {steps} steps; at least 1" for name, steps in task.history.items() if steps < 1]
    wrong += [f"noise of '{name}', which is not in observe: {seen}" for name in task.noise if name not in task.observe]
    wrong += [
        f"noise '{name}' is a {type(part).__name__}, which is no noise such as Gaussian(0.1)"
        for name, part in task.noise.items()
        if not all(isinstance(stage, Stage) for stage in stages_of(part))
    ]
    wrong += [
        f"randomize '{name}' draws every {every.seconds:g} s, less than one control step of {task.control_dt:g} s"
        for name, every in task.recurring.items()
        if every.seconds < task.control_dt
    ]
    wrong += [f"reward '{name}' is not a pair (weight, term)" for name, part in task.reward.items() if not _is_weighted(part)]
    wrong += [f"a done term called '{name}', a name that is taken" for name in task.done if name in RESERVED_ENDS]
    wrong += [
        f"randomize '{name}' is a {type(part).__name__}, which neither draws model fields or looks nor pushes a body"
        for name, part in task.randomize.items()
        if not isinstance(part, ModelRandomizer | LookRandomizer | Disturbance)
    ]
    if CURRICULUM in task.randomize:
        wrong.append(f"randomize has a part called '{CURRICULUM}', a name that is taken")
    wrong += [
        f"sensors '{name}' is a {type(part).__name__}, which declares nothing"
        for name, part in task.sensors.items()
        if not isinstance(part, SensorSpec)
    ]
    if not task.observe or not task.reward:
        wrong.append("observe and reward need at least one term each")
    if task.episode_steps < 1:
        wrong.append(f"episode_s is {task.episode_s}, less than one control step of {task.control_dt} s")
    if wrong:
        raise BadTerm(f"task '{task.name}': {'; '.join(wrong)}.")


def check_terms(task: Task, state: State) -> None:
    """Evaluate every term once, and say which one is wrong."""
    n = state.num_worlds
    for group, terms in (("observe", task.observe), ("privileged", task.privileged)):
        for name, term in terms.items():
            _check(task, group, name, term, state, "(n,) or (n, k) float", lambda v: v.ndim in (1, 2) and v.is_floating_point())
    for name, (_, term) in task.reward.items():
        _check(task, "reward", name, term, state, "(n,) float", lambda v: v.shape == (n,) and v.is_floating_point())
    for name, term in task.measure.items():
        _check(task, "measure", name, term, state, "(n,) float", lambda v: v.shape == (n,) and v.is_floating_point())
    for name, term in task.done.items():
        _check(task, "done", name, term, state, "(n,) bool", lambda v: v.shape == (n,) and v.dtype == torch.bool)
    _check(task, "success", "", task.succeeded, state, "(n,) bool", lambda v: v.shape == (n,) and v.dtype == torch.bool)
    _check(task, "act", "", task.act, state, f"(n, {state.ctrl.shape[1]})", lambda v: v.shape == state.ctrl.shape)
    command, memory = task.advance(state)
    for group, before, after in (("command", state.command, command), ("memory", state.memory, memory)):
        for name, value in after.items():
            if value.shape != before[name].shape or value.dtype != before[name].dtype:
                was, now = _shown(before[name]), _shown(value)
                raise blame(task.name, group, name, BadTerm(f"starts as {was}, but next is {now}."))


def _check(task: Task, group: str, name: str, term: Term, state: State, wanted: str, good: Callable[[Tensor], bool]) -> None:
    try:
        value = term(state)
    except Exception as error:  # a user's term may raise anything
        raise blame(task.name, group, name, error) from error
    if not isinstance(value, Tensor):
        raise blame(task.name, group, name, BadTerm(f"returned a {type(value).__name__}, wanted a tensor {wanted}."))
    if value.ndim == 0 or value.shape[0] != state.num_worlds or not good(value):
        got = f"returned {_shown(value)}, wanted {wanted}, with n = {state.num_worlds} worlds."
        raise blame(task.name, group, name, BadTerm(got))


def _is_weighted(part: object) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], int | float) and callable(part[1])


def _shown(value: Tensor) -> str:
    return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
