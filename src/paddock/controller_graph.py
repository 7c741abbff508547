"""Task + policy -> one ONNX graph of a whole control step: readings in, ctrl out.

Inside, in the order of `Environment.step`: memory moves on, the observation is made, the policy acts, the action becomes
ctrl. What a step must know of the step before is an input `carried/X`, which takes what the output `X` was. The input
`first` makes memory begin anew instead, so one graph serves both. What the policy itself remembers is carried among the memories,
as `memory/policy/X`. Commands are inputs: on a robot they are the operator's. So are pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from paddock.contracts import Layout, Obs, State
from paddock.deploy.controller import CARRIED
from paddock.env import Environment
from paddock.exporting import onnx_of
from paddock.policies import Carried, Remembering
from paddock.tasks.task import Task

if TYPE_CHECKING:
    import onnx

SENSOR = "sensor/"
OWN_TENSORS = ("action", "last_action", "ctrl", "age")
"""What an environment carries beside memory."""
POLICY = "policy/"
"""What the names of a policy's own memories begin with, beside those of the task."""


class Plain(Protocol):
    """A network that knows its most likely action from the policy's observation alone."""

    def mean(self, policy_obs: Tensor, /) -> Tensor:
        """(n, na), of any size."""
        ...


Actor = Remembering | Plain


def pictures_of(actor: Actor) -> tuple[str, ...]:
    """The groups of pictures that it looks at."""
    return actor.pictures if isinstance(actor, Remembering) else ()


def memory_of(actor: Actor, num_worlds: int) -> Carried:
    """What it remembers when an episode begins."""
    return actor.begin(num_worlds) if isinstance(actor, Remembering) else {}


def decide(actor: Actor, obs: Obs, memory: Carried) -> tuple[Tensor, Carried]:
    """The action, within [-1, 1], and what the actor remembers until the next step."""
    action, memory = actor.decide(obs, memory) if isinstance(actor, Remembering) else (actor.mean(obs["policy"]), memory)
    return action.clamp(-1.0, 1.0), memory


def with_memory(state: State, memory: Carried) -> State:
    """The state with a policy's memory beside the task's."""
    return state.replaced(memory=state.memory | {POLICY + name: value for name, value in memory.items()})


@dataclass(frozen=True, eq=False)
class ControllerGraph:
    """The graph, and where its readings lie in a simulator."""

    model: onnx.ModelProto
    sensors: Mapping[str, slice]
    """Columns of sensordata, by the name of the reading."""

    @property
    def inputs(self) -> list[str]:
        return [value.name for value in self.model.graph.input]

    @property
    def outputs(self) -> list[str]:
        return [value.name for value in self.model.graph.output]


def control(task: Task, actor: Actor, state: State, first: Tensor, pictures: Obs) -> State:
    """One control step up to the physics, which will be given the returned state's ctrl.

    `state` has the readings and commands of now, and all else as the step before left it. `first` (n,) bool says where an
    episode begins.
    """
    own = {name: value for name, value in state.memory.items() if name.startswith(POLICY)}
    remembered = {name.removeprefix(POLICY): _unless(first, value) for name, value in own.items()}
    was: dict[str, Any] = {name: _unless(first, getattr(state, name)) for name in OWN_TENSORS}
    state = state.replaced(**was | {"age": torch.where(first, 0, state.age + 1)})
    remembering = replace(task, command={})  # so that memories see the operator's commands, not drawn ones
    (_, begun), (_, onward) = remembering.begin(state), remembering.advance(state)
    state = state.replaced(memory={name: torch.where(_beside(first, begun[name]), begun[name], onward[name]) for name in onward})
    obs = {"policy": torch.cat(list(task.observed(state).values()), dim=1)} | pictures
    action, remembered = decide(actor, obs, remembered)
    state = with_memory(state.replaced(last_action=state.action, action=action), remembered)
    return state.replaced(ctrl=task.act(state))


def controller_graph(env: Environment, actor: Actor) -> ControllerGraph:
    """The graph of the environment's task under `actor`, with no input that ctrl does not depend on."""
    state = with_memory(env.state.replaced(sensors={}), memory_of(actor, env.num_worlds))
    first = torch.ones_like(state.age, dtype=torch.bool)
    pictures = {group: env.obs[group] if env.obs else env.reset().obs[group] for group in pictures_of(actor)}
    with torch.no_grad():
        control(env.task, actor, state, first, pictures)  # fills the caches of constants before anything is traced
    sensors = readings_of(state.layout, asked=set(state.sensors), columns=state.sensordata.shape[1])
    example = {"first": first, **outside(state, sensors), **pictures, **carried(state)}
    inputs = {name: value for name, value in example.items() if value.numel()}
    empty = {name: tuple(value.shape[1:]) for name, value in example.items() if not value.numel()}
    model = onnx_of(
        _Module(env.task, state.layout, actor, sensors, tuple(inputs), empty),
        inputs,
        outputs=["ctrl", *(name.removeprefix(CARRIED) for name in carried(state) if name != CARRIED + "ctrl")],
        what=f"{env.task.name}/controller",
    )
    _prune(model)
    _tidy(model)
    return ControllerGraph(model, sensors)


def outside(state: State, sensors: Mapping[str, slice]) -> dict[str, Tensor]:
    """What is not carried, by the names of the graph's inputs."""
    inside = {"sensordata"} | {name.removeprefix(CARRIED) for name in carried(state)}
    read = {f"{SENSOR}{name}": state.sensordata[:, columns] for name, columns in sensors.items()}
    return read | {name: value for name, value in state.tensors().items() if name not in inside}


def readings_of(layout: Layout, *, asked: set[str], columns: int) -> dict[str, slice]:
    """Names that cover sensordata once, from left to right: what the task asked for, and single sensors between."""
    readings: dict[str, slice] = {}
    at = 0
    while at < columns:
        here = {name: where.stop for name, where in layout.sensors.items() if name and where.start == at}
        wanted = {name: stop for name, stop in here.items() if name in asked}
        if wanted:
            name = max(wanted, key=wanted.__getitem__)
        elif here:
            name = min(here, key=here.__getitem__)
        else:
            name, here = f"column {at}", {f"column {at}": at + 1}  # a sensor without a name
        readings[name] = slice(at, here[name])
        at = here[name]
    return readings


class _Module(nn.Module):
    """`control` over flat tensors, as the exporter wants it."""

    def __init__(
        self,
        task: Task,
        layout: Layout,
        actor: Actor,
        sensors: Mapping[str, slice],
        inputs: tuple[str, ...],
        empty: Mapping[str, tuple[int, ...]],
    ) -> None:
        super().__init__()
        self.task, self.layout, self.actor, self.inputs = task, layout, actor, inputs
        self.readings, self.empty = dict(sensors), dict(empty)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.inputs, tensors, strict=True))
        first = given.pop("first")
        given |= {name: torch.zeros(first.shape[0], *shape) for name, shape in self.empty.items()}
        parts = {name: given.pop(SENSOR + name) for name in self.readings}
        pictures = {group: given.pop(group) for group in pictures_of(self.actor)}
        flat = {name.removeprefix(CARRIED): value for name, value in given.items()}
        flat["sensordata"] = torch.cat(list(parts.values()), dim=1) if parts else torch.zeros(first.shape[0], 0)
        state = State.from_tensors(self.layout, flat)
        state.sensors = self._seen(parts)
        done = control(self.task, self.actor, state, first, pictures)
        return (done.ctrl, *(value for name, value in carried(done).items() if name != CARRIED + "ctrl"))

    def _seen(self, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Every sensor that lies within one reading as a part of that alone, so that no other becomes an input."""
        seen: dict[str, Tensor] = {}
        for reading, whole in self.readings.items():
            for name, where in self.layout.sensors.items():
                if whole.start <= where.start and where.stop <= whole.stop:
                    seen[name] = parts[reading][:, where.start - whole.start : where.stop - whole.start]
        return seen


def carried(state: State) -> dict[str, Tensor]:
    """What a step takes over from the one before, by the names of the graph's inputs."""
    own = {f"{CARRIED}{name}": getattr(state, name) for name in OWN_TENSORS}
    return own | {f"{CARRIED}memory/{name}": value for name, value in state.memory.items()}


def _beside(first: Tensor, value: Tensor) -> Tensor:
    """`first` in a shape that selects rows of `value`."""
    return first.view(-1, *[1] * (value.ndim - 1))


def _unless(first: Tensor, value: Tensor) -> Tensor:
    return value.masked_fill(_beside(first, value), 0)


def _prune(model: onnx.ModelProto) -> None:
    """Keep ctrl, action, what they depend on, and of the carried values those that a later step depends on."""
    wanted = {"ctrl", "action"}
    while True:
        read = _behind(model, wanted)
        more = wanted | {value.name for value in model.graph.output if CARRIED + value.name in read}
        if more == wanted:
            break
        wanted = more
    graph = model.graph
    _keep(graph.node, lambda node: not read.isdisjoint(node.output))
    _keep(graph.initializer, lambda tensor: tensor.name in read)
    _keep(graph.input, lambda value: value.name in read)
    _keep(graph.output, lambda value: value.name in wanted)


def _keep(values: Any, wanted: Callable[[Any], bool]) -> None:
    """Leave the others out of a repeated field of a protocol buffer, whose types nobody declares."""
    kept = [value for value in values if wanted(value)]
    del values[:]
    values.extend(kept)


def _behind(model: onnx.ModelProto, outputs: set[str]) -> set[str]:
    """Names of all values that `outputs` are computed from, themselves included. Nodes come in the order they run."""
    read = set(outputs)
    for node in reversed(model.graph.node):
        if not read.isdisjoint(node.output):
            read |= set(node.input)
    return read


def _tidy(model: onnx.ModelProto) -> None:
    """Leave out what describes the machine of the export, and call the open dimension by its name."""
    graph = model.graph
    del graph.value_info[:]
    for noted in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        del noted.metadata_props[:]
        noted.doc_string = ""
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "n"
