"""From the name of a network and an environment to the network."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from paddock.anatomy import beside
from paddock.contracts import Env
from paddock.errors import PaddockError, unknown
from paddock.learn.actor_critic import ActorCritic
from paddock.learn.nets.graph import HEADS, Attention, BodyHead, JointHead, Nodes
from paddock.learn.nets.lstm import Lstm
from paddock.learn.nets.mirrored import EvenNormalizer, Mirrored
from paddock.learn.nets.mlp import Mlp, layers, mlp
from paddock.learn.nets.pictures import FEATURES, Eye
from paddock.learn.nets.tower import OneNode, Tower

PARTS = ("cnn", "graph", "lstm")
"""What may lie between observations and heads, in this order."""
ACTION_GAIN = 0.01
ATTENTIONS = 2


def build(
    env: Env, net: str, *, hidden: Sequence[int], log_std: float, memory_size: int, node_size: int, symmetry: bool
) -> ActorCritic:
    """The network called `net`, for the observations and actions of an environment.

    A critic that sees privileged state knows what a policy must remember or look for: it is plain layers, which are cheaper
    and easier to learn. Without such a group it is built of the same parts as the actor.
    """
    parts = parts_of(net)
    if node_size % HEADS:
        raise PaddockError(f"ppo.node_size is {node_size}; wanted a multiple of {HEADS}, the heads of attention.")
    seen, all_seen = env.obs_sizes["policy"], sum(env.obs_sizes.values())
    knows = "privileged" in env.obs_sizes

    def tower(groups: Sequence[str], *, actor: bool) -> Mlp | Tower:
        size, gain = (env.action_size, ACTION_GAIN) if actor else (1, 1.0)
        if not parts or (knows and not actor):
            return mlp([seen if actor else all_seen, *hidden, size], last_gain=gain)
        return _tower(env, parts, groups, out=size, gain=gain, hidden=hidden, sizes=(memory_size, node_size), by_joint=actor)

    actor, critic = tower(["policy"], actor=True), tower(list(env.obs_sizes), actor=False)
    if not symmetry:
        return ActorCritic(env.obs_sizes, env.action_size, hidden=hidden, log_std=log_std, actor=actor, critic=critic)
    if "cnn" in parts:
        raise PaddockError("ppo.symmetry cannot mirror what a camera sees. Leave it off, or leave cnn out of ppo.net.")
    of_policy = env.anatomy.mirror.obs["policy"]
    of_everything = beside([env.anatomy.mirror.obs[group] for group in env.obs_sizes])
    return ActorCritic(
        env.obs_sizes,
        env.action_size,
        hidden=hidden,
        log_std=log_std,
        actor=Mirrored(actor, seen=of_policy, answer=env.anatomy.mirror.action),
        critic=Mirrored(critic, seen=of_everything, answer=None),
        norms=(EvenNormalizer(seen, of_policy), EvenNormalizer(all_seen, of_everything)),
    )


def parts_of(net: str) -> tuple[str, ...]:
    """`graph+lstm` as its parts, in the order in which they see; `mlp` has none."""
    if net == "mlp":
        return ()
    asked = net.split("+")
    for part in asked:
        if part not in PARTS:
            raise unknown("part of ppo.net", part, ("mlp", *PARTS))
    return tuple(part for part in PARTS if part in asked)


def _tower(
    env: Env,
    parts: Sequence[str],
    groups: Sequence[str],
    *,
    out: int,
    gain: float,
    hidden: Sequence[int],
    sizes: tuple[int, int],
    by_joint: bool,
) -> Tower:
    memory_size, node_size = sizes
    remembered = memory_size if "lstm" in parts else 0
    eyes = _eyes(env) if "cnn" in parts else {}
    columns = sum(env.obs_sizes[group] for group in groups) + FEATURES * len(eyes)
    plan = env.anatomy.plan if "graph" in parts else None
    if plan is not None and len(plan.nodes) > 1:
        owners = [node for group in groups for node in plan.obs[group]] + [0] * FEATURES * len(eyes)
        nodes, size = len(plan.nodes), node_size
        embed, body = Nodes(owners, nodes, size), nn.Sequential(*(Attention(plan.hops, size) for _ in range(ATTENTIONS)))
        head = (
            JointHead(plan.action, size + remembered, gain=gain)
            if by_joint
            else BodyHead(layers([size + remembered, *hidden[1:], out], last_gain=gain))
        )
    else:
        nodes, size = 1, hidden[0]
        embed, body = OneNode([*layers([columns, size], last_gain=2**0.5), nn.ELU()]), nn.Identity()
        head = BodyHead(layers([size + remembered, *hidden[1:], out], last_gain=gain))
    lstm = Lstm(size, memory_size) if remembered else None
    return Tower(eyes=eyes, embed=embed, body=body, lstm=lstm, head=head, nodes=nodes)


def _eyes(env: Env) -> dict[str, Eye]:
    if not env.image_shapes:
        raise PaddockError("ppo.net asks for cnn, but this task has no cameras. Give it Task(cameras=...), or leave cnn out.")
    return {group: Eye(*shape) for group, shape in env.image_shapes.items()}
