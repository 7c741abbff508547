"""Environment + policy -> a folder that a robot or a browser runs: `controller.onnx` and `manifest.json`.

An export is only finished once the graph has driven worlds of its own in closed loop and returned what PyTorch returns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import torch
from torch import nn

from paddock.controller_graph import (
    Actor,
    ControllerGraph,
    carried,
    controller_graph,
    decide,
    memory_of,
    outside,
    pictures_of,
    with_memory,
)
from paddock.controller_manifest import describe
from paddock.deploy.controller import CARRIED, GRAPH_FILE, MANIFEST_FILE, Controller, open_session, run_session
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.exporting import need
from paddock.messages import ControllerAgreement, ControllerManifest, to_json
from paddock.policies import Carried, Remembering, forgotten

STEPS, WORLDS = 1000, 4
"""Control steps in closed loop before an export is finished, and worlds side by side."""
TOLERANCE = 1e-5
"""How far graph and PyTorch may come apart: relative to the value where that is above 1 or, for ctrl, above half of its range."""


class Disagreement(PaddockError):
    """A graph that does not return what PyTorch returns."""


def export_controller(
    env: Environment, policy: nn.Module, folder: Path, *, advance: Callable[[int], None] = lambda steps: None
) -> ControllerManifest:
    """Write the environment's task under a policy, or anything with a method `mean`, as one checked graph; say what it needs.

    Neither `env` nor `policy` is changed. An older export in `folder` is replaced once the new one has been checked, and
    stays as it is if anything fails. `advance` is told the control steps checked since it was last called.
    """
    need("onnx", "onnxscript", "onnxruntime")
    if not isinstance(policy, Remembering) and not callable(getattr(policy, "mean", None)):
        raise PaddockError(f"a {type(policy).__name__} has no method mean(policy_obs), which gives the action to export.")
    _check_place(folder)
    actor = cast(Actor, deepcopy(policy).cpu().eval())
    task = env.task.deployed if pictures_of(actor) else replace(env.task.deployed, cameras={})
    worlds = Environment(task, num_worlds=WORLDS, seed=env.seed, num_threads=1)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        graph = controller_graph(worlds, actor)
        manifest = describe(worlds, graph, check_agreement(worlds, actor, graph, advance=advance))
        fresh = Path(beside) / "new"
        fresh.mkdir()
        _write(fresh / GRAPH_FILE, graph.model.SerializeToString())
        _write(fresh / MANIFEST_FILE, to_json(manifest).encode())
        Controller.open(fresh)  # what a robot would refuse is refused here
        _put_in_place(fresh, folder, aside=Path(beside) / "old")
    return manifest


def check_agreement(
    env: Environment,
    actor: Actor,
    graph: ControllerGraph,
    *,
    steps: int = STEPS,
    advance: Callable[[int], None] = lambda steps: None,
) -> ControllerAgreement:
    """Let the graph drive `env`, feeding back what it returns, and compare every step with PyTorch on the same states."""
    with _one_thread():
        return _drive(env, actor, graph, steps, advance)


def _drive(
    env: Environment, actor: Actor, graph: ControllerGraph, steps: int, advance: Callable[[int], None]
) -> ControllerAgreement:
    session, names = open_session(graph.model.SerializeToString()), graph.outputs
    memory = memory_of(actor, env.num_worlds)
    fed = {name: torch.zeros_like(value).numpy() for name, value in carried(with_memory(env.state, memory)).items()}
    first, episodes, worst = np.ones(env.num_worlds, bool), 0, (0.0, "ctrl")
    reach = env.state.layout.ctrl_half.clamp(min=1.0).numpy()
    env.reset()
    for step in range(steps):
        episodes += int(first.sum())
        given = {name: value.numpy() for name, value in outside(env.state, graph.sensors).items()} | fed | {"first": first}
        given |= {group: env.obs[group].numpy() for group in pictures_of(actor)}
        returned = run_session(session, names, {name: given[name] for name in graph.inputs})
        expected, memory = _expected(env, actor, forgotten(memory, torch.from_numpy(first)))
        for name, value in returned.items():
            apart = _apart(value, expected[name], scale=reach if name == "ctrl" else 1.0)
            if not apart <= TOLERANCE:
                raise Disagreement(
                    f"the graph of '{env.task.name}' returns another {name} than PyTorch in closed loop: step {step}, "
                    f"worst difference {apart:.3g}, allowed {TOLERANCE:g}. Look for a term that is not a function of the State, "
                    "or whose value jumps."
                )
            worst = max(worst, (apart, name))
        fed = {name: returned.get(name.removeprefix(CARRIED), value) for name, value in fed.items()}
        first = env.step(returned["action"]).ended.numpy()
        if step == steps // 2:  # long episodes would not end while they are watched
            env.reset()
            first = np.ones(env.num_worlds, bool)
        advance(1)
    return ControllerAgreement(steps=steps, worlds=env.num_worlds, episodes=episodes, worst=worst[0], output=worst[1])


@torch.no_grad()
def _expected(env: Environment, actor: Actor, memory: Carried) -> tuple[dict[str, np.ndarray], Carried]:
    """What PyTorch does in the present states, by the names of the graph's outputs, and what it remembers of its own."""
    task, state = env.task, env.state
    obs = task.observations(state) | {group: env.obs[group] for group in pictures_of(actor)}
    action, memory = decide(actor, obs, memory)
    acting = with_memory(state.replaced(last_action=state.action, action=action), memory)
    return {name: value.numpy() for name, value in acting.replaced(ctrl=task.act(acting)).tensors().items()}, memory


def _apart(value: np.ndarray, expected: np.ndarray, *, scale: np.ndarray | float) -> float:
    """The largest difference, relative to the value where that is above `scale`. Integers are equal or infinitely apart."""
    if value.shape != expected.shape or value.dtype.kind != "f":
        return 0.0 if np.array_equal(value, expected) else np.inf
    return float((np.abs(value - expected) / np.maximum(np.abs(expected), scale)).max(initial=0.0))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Environments take one thread for each step; going back and forth would cost more than the steps."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _check_place(folder: Path) -> None:
    """An export may take the place of an export, and of nothing else."""
    if folder.exists() and not folder.is_dir():
        raise PaddockError(f"{folder} is a file; a controller is a folder. Give another name.")
    others = sorted(entry.name for entry in folder.glob("*") if entry.name not in (GRAPH_FILE, MANIFEST_FILE))
    if others:
        raise PaddockError(f"{folder} also holds {', '.join(others[:5])}, which an export would throw away. Give a new folder.")


def _put_in_place(fresh: Path, folder: Path, *, aside: Path) -> None:
    if folder.exists():
        folder.rename(aside)
    try:
        fresh.rename(folder)
    except OSError:
        if aside.exists():
            aside.rename(folder)
        raise


def _write(file: Path, data: bytes) -> None:
    with file.open("wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
