"""What PPO can be told, and what it must refuse."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.contracts import Env
from paddock.errors import PaddockError, unknown
from paddock.learn.actor_critic import ActorCritic
from paddock.learn.crew import ALONE, Crew
from paddock.learn.nets.building import build
from paddock.learn.precision import PRECISIONS


@dataclass(frozen=True, kw_only=True)
class PpoConfig:
    """What PPO can be told."""

    horizon: int = 24
    """Control steps per world per update."""
    epochs: int = 5
    """Passes over each rollout."""
    minibatches: int = 4
    """Parts a rollout is split into in each pass."""
    learning_rate: float = 1e-3
    """At the start."""
    target_kl: float = 0.01
    """Change of the policy in an update, at its end, that the learning rate is adapted to; 0 leaves it alone."""
    anneal_steps: int = 0
    """Environment steps over which the learning rate falls to nothing, where it is not adapted; 0 leaves it alone."""
    discount: float = 0.99
    """What a reward one control step later is worth."""
    trace: float = 0.95
    """Lambda of the generalised advantage estimate."""
    recompute_advantages: bool = False
    """Estimate advantages anew before each pass, with the critic as it is by then."""
    clip: float = 0.2
    """Largest change of an action's probability that is rewarded."""
    value_clip: float = 0.0
    """Largest change of a value per update that is learned from, in scaled returns; 0 for any."""
    value_weight: float = 1.0
    """Of the critic's loss beside the actor's."""
    entropy_weight: float = 0.0
    """What spread of actions is worth."""
    max_grad_norm: float = 1.0
    """Longer gradients are shortened to this."""
    net: str = "mlp"
    """What actor and critic are made of: mlp, or parts such as lstm, graph, graph+lstm, cnn, cnn+lstm."""
    symmetry: bool = False
    """Left and right are treated alike: the mirrored situation has the mirrored action, exactly, and the same value."""
    hidden: tuple[int, ...] = (128, 128)
    """Widths of the hidden layers of actor and critic."""
    memory_size: int = 64
    """Numbers that an lstm remembers; with graph, of each node."""
    node_size: int = 32
    """Numbers that a graph holds of each joint."""
    log_std: float = -0.7
    """Logarithm of the actions' spread at the start."""
    calm_steps: int = 0
    """Environment steps over which the largest spread that is allowed falls to `calm_log_std`; 0 leaves the spread alone."""
    calm_log_std: float = -2.5
    """Logarithm of that spread. A policy that was never calm may need its own noise to act: its mean then does worse."""
    collect_threads: int = 1
    """PyTorch threads while acting: the physics has threads of its own."""
    learn_threads: int = 0
    """PyTorch threads while learning; 0 takes as many as PyTorch would."""
    precision: str = "tf32"
    """Of matrix products on a GPU: float32; tf32, which multiplies 11 bits and adds 24; or bfloat16, in learning alone."""
    compiled: bool = False
    """Learn from minibatches with code compiled for them: it takes a C++ compiler and some 20 s, and pays from about 30,000
    small minibatches on."""
    overlap: bool = False
    """Collect the next rollout while learning from this one, on a CPU: the policy that acts is then one update older. Learning has
    one thread, and pays where the physics leaves a core idle in between."""


def net_of(env: Env, config: PpoConfig) -> ActorCritic:
    """The networks that the config names, for an environment."""
    return build(
        env,
        config.net,
        hidden=config.hidden,
        log_std=config.log_std,
        memory_size=config.memory_size,
        node_size=config.node_size,
        symmetry=config.symmetry,
    )


def check_net(policy: ActorCritic, env: Env, config: PpoConfig, *, crew: Crew = ALONE) -> None:
    """Refuse what networks cannot be taught with, or not there."""
    for name in ("overlap", "compiled"):
        if getattr(config, name) and not crew.is_alone:
            raise PaddockError(f"ppo.{name} is for one process, and {crew.size} learn together here. Leave it off.")
    if config.precision not in PRECISIONS:
        raise unknown("ppo.precision", config.precision, PRECISIONS)
    if policy.remembers and config.compiled:
        raise PaddockError(
            f"ppo.compiled cannot compile the steps of a memory through time. Leave it off with ppo.net {config.net}."
        )
    if policy.remembers and config.minibatches > env.num_worlds:
        raise PaddockError(
            f"ppo.minibatches is {config.minibatches}, but a memory learns from whole worlds, and there are {env.num_worlds}. "
            "Take fewer minibatches, or more worlds."
        )
    if policy.remembers and config.overlap:
        raise PaddockError(
            f"ppo.overlap cannot know what ppo.net {config.net} remembers where the next rollout begins: that is learned first. "
            "Leave it off."
        )
    if env.is_captured and config.overlap:
        raise PaddockError("ppo.overlap is for the CPU: a GPU that acts has nothing left to learn with. Leave it off.")
