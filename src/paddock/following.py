"""One of several processes that train together, where another one keeps the run: it does as that one says."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from enum import Enum, auto

from torch import Tensor

from paddock.configuring import TrainConfig
from paddock.env import Environment
from paddock.errors import PaddockError
from paddock.learn.actor_critic import under
from paddock.learn.crew import Crew
from paddock.learn.ppo import Ppo
from paddock.monitoring import Monitor
from paddock.runs.checkpoints import Checkpoint


class Order(Enum):
    """What the first process says to the others."""

    GO_ON = auto()
    """Collect and learn, all together."""
    HAND_IN = auto()
    """What a checkpoint must hold of you."""
    LEAVE = auto()


def follow(env: Environment, config: TrainConfig, crew: Crew, *, goes_on: bool) -> None:
    """Train until the first process says it is over; it alone hears signals, writes and judges."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    learner = Ppo(env, config.ppo, seed=config.seed, crew=crew)
    monitor = Monitor(env, None, watched=0, live=None, crew=crew)
    if goes_on:
        load_tensors(crew.deal(None), learner, env, monitor)
    while (order := crew.hear()) is not Order.LEAVE:
        if order is Order.HAND_IN:
            crew.gather(tensors_of(learner, env, monitor))
            continue
        env.settle()
        learner.update(monitor)
        monitor.share()


def tensors_of(learner: Ppo, env: Environment, monitor: Monitor) -> dict[str, Tensor]:
    """Everything that a process needs to go on bit for bit."""
    parts = {"learner": learner.state(), "env": env.save(), "monitor": monitor.save()}
    return {f"{part}/{name}": value for part, tensors in parts.items() for name, value in tensors.items()}


def load_tensors(saved: Mapping[str, Tensor], learner: Ppo, env: Environment, monitor: Monitor) -> None:
    """Go on from them."""
    learner.load(under("learner/", saved))
    env.load(under("env/", saved))
    monitor.load(under("monitor/", saved))


def together(handed_in: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """What a checkpoint holds: what the first process handed in, and the others' under rank1/, rank2/ and so on."""
    own, *others = handed_in
    return own | {f"rank{i}/{name}": value for i, theirs in enumerate(others, 1) for name, value in theirs.items()}


def dealt(checkpoint: Checkpoint, size: int) -> list[dict[str, Tensor]]:
    """The same, for each process again."""
    ranks = {name.split("/")[0] for name in checkpoint.tensors if name.startswith("rank")}
    if len(ranks) + 1 != size:
        raise PaddockError(
            f"{checkpoint.path} is of {len(ranks) + 1} processes that learned together, and here are {size}. Go on with as many: "
            f"torchrun --nproc-per-node {len(ranks) + 1} -m paddock resume ..."
        )
    own = {name: value for name, value in checkpoint.tensors.items() if not name.startswith("rank")}
    return [own, *(checkpoint.under(f"rank{i}/") for i in range(1, size))]
