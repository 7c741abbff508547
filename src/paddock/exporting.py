"""Task -> ONNX: the same terms as graphs that a browser and a robot can run.

Every graph takes tensors of the State by their flat names (`qpos`, `sensordata`, `memory/goal`, ...), only those that its
terms read, with the number of worlds left open.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from paddock.contracts import Layout, State
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.tasks.task import Task

if TYPE_CHECKING:
    import onnx

RANDOM_OPERATORS = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")


class UnsafeGraph(PaddockError):
    """A graph that would not compute what PyTorch computes."""


def _observe(task: Task, state: State) -> dict[str, Tensor]:
    return task.observations(state)


def _act(task: Task, state: State) -> dict[str, Tensor]:
    return {"ctrl": task.act(state)}


def _reward(task: Task, state: State) -> dict[str, Tensor]:
    return task.rewards(state)[1]


def _done(task: Task, state: State) -> dict[str, Tensor]:
    return {**task.ends(state), "success": task.succeeded(state)}


def _update(task: Task, state: State) -> dict[str, Tensor]:
    return _flat(*task.advance(state))


def _begin(task: Task, state: State) -> dict[str, Tensor]:
    return _flat(*task.begin(state))


def _reset(task: Task, state: State) -> dict[str, Tensor]:
    qpos, qvel = task.reset(state.scoped("reset"))
    return {"qpos": qpos, "qvel": qvel}


def _flat(command: dict[str, Tensor], memory: dict[str, Tensor]) -> dict[str, Tensor]:
    flat = {f"command/{name}": value for name, value in command.items()}
    return flat | {f"memory/{name}": value for name, value in memory.items()}


GRAPHS: dict[str, Callable[[Task, State], dict[str, Tensor]]] = {
    "observe": _observe,
    "act": _act,
    "update": _update,
    "reward": _reward,
    "done": _done,
    "reset": _reset,
    "begin": _begin,
}
"""What a task exports, in the order a step uses it. `reset` draws a state, `begin` the memory that goes with it."""


class Graph(nn.Module):
    """One function of a task over flat tensors, as the exporter wants it."""

    def __init__(
        self, task: Task, layout: Layout, name: str, inputs: tuple[str, ...], empty: Mapping[str, tuple[int, ...]]
    ) -> None:
        super().__init__()
        self.task, self.layout, self.name, self.inputs, self.empty = task, layout, name, inputs, dict(empty)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        flat = dict(zip(self.inputs, tensors, strict=True))
        # a model without activations has `act` of no columns, which is nothing a graph could take
        flat |= {name: flat["qpos"].new_zeros(flat["qpos"].shape[0], *shape) for name, shape in self.empty.items()}
        return tuple(GRAPHS[self.name](self.task, State.from_tensors(self.layout, flat)).values())


def export_graph(env: Environment, name: str) -> onnx.ModelProto | None:
    """One graph of the environment's task as an ONNX model, or None where the task has nothing for it to compute."""
    task, state = env.task, env.state
    flat = state.tensors()
    inputs = tuple(key for key, value in flat.items() if value.numel())
    empty = {key: tuple(value.shape[1:]) for key, value in flat.items() if not value.numel()}
    outputs = list(GRAPHS[name](task, state))  # also fills the caches of constants before anything is traced
    if not outputs:
        return None
    return onnx_of(
        Graph(task, state.layout, name, inputs, empty),
        {key: flat[key] for key in inputs},
        outputs=[f"{name}.{key}" for key in outputs],
        what=f"{task.name}/{name}",
    )


def onnx_of(module: nn.Module, example: Mapping[str, Tensor], *, outputs: Sequence[str], what: str) -> onnx.ModelProto:
    """A module over named tensors (n, ...), taken in the order of `example`, as an ONNX model of any n."""
    need("onnx", "onnxscript")
    import onnx

    logging.getLogger("torch.onnx._internal.exporter._registration").setLevel(logging.ERROR)  # it reports what we lack, unasked
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the exporter's own internals, nothing a user could change
        program = torch.onnx.export(
            module.eval(),
            tuple(value.clone() for value in example.values()),
            dynamo=True,
            input_names=list(example),
            output_names=list(outputs),
            dynamic_shapes=(tuple({0: torch.export.Dim.DYNAMIC} for _ in example),),
            external_data=False,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _refuse_random(model, what)
    _drop_unread_inputs(model)
    onnx.checker.check_model(model)
    return model


def export_task(env: Environment, folder: Path) -> dict[str, Path]:
    """Write every graph of the environment's task into `folder`; returns the files by graph."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    for name in GRAPHS:
        if (model := export_graph(env, name)) is not None:
            files[name] = folder / f"{name}.onnx"
            files[name].write_bytes(model.SerializeToString())
    return files


def run_graph(model: onnx.ModelProto, state: State) -> dict[str, np.ndarray]:
    """The graph's outputs in onnxruntime for the tensors of `state`."""
    need("onnxruntime")
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    flat = state.tensors()
    values = session.run(None, {wanted.name: flat[wanted.name].numpy() for wanted in session.get_inputs()})
    return {out.name.split(".", 1)[1]: np.asarray(value) for out, value in zip(session.get_outputs(), values, strict=True)}


def disagreement(model: onnx.ModelProto, name: str, task: Task, state: State) -> float:
    """Largest difference between onnxruntime and PyTorch, relative to the value where that is above 1.

    Booleans and integers count as infinitely different unless equal.
    """
    ours = GRAPHS[name](task, state)
    worst = 0.0
    for key, theirs in run_graph(model, state).items():
        mine = ours[key].numpy()
        if mine.dtype.kind != "f":
            worst = max(worst, 0.0 if np.array_equal(mine, theirs) else np.inf)
        elif mine.size:
            worst = max(worst, float((np.abs(mine - theirs) / np.maximum(np.abs(mine), 1.0)).max()))
    return worst


def _refuse_random(model: onnx.ModelProto, what: str) -> None:
    found = sorted({node.op_type for node in _nodes(model) if node.op_type in RANDOM_OPERATORS})
    if found:
        raise UnsafeGraph(
            f"graph {what} contains {', '.join(found)}: it would draw other numbers than training did. "
            "Draw with state.uniform, state.normal or state.choice instead of torch's generators."
        )


def _drop_unread_inputs(model: onnx.ModelProto) -> None:
    read = {name for node in _nodes(model) for name in node.input} | {out.name for out in model.graph.output}
    kept = [value for value in model.graph.input if value.name in read]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    yield from model.graph.node
    for function in model.functions:
        yield from function.node


def need(*packages: str) -> None:
    """Say what to install where one of the packages is missing."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise PaddockError(f"export needs {', '.join(missing)}: pip install 'paddock[export]'")
