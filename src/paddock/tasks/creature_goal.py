"""Get to a goal that hangs in a walled garden before the strength is gone; most goals take a jump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from paddock.robots.creature import CREATURE
from paddock.tasks import terms as t
from paddock.tasks.creature_world import GROUNDED, HALF, Exertion, GoalAcross, GoalHeight, Stamina, walled_garden
from paddock.tasks.task import Task

if TYPE_CHECKING:
    from paddock.contracts import State

REACH = HALF - 0.6
"""Starts and goals lie within this of the middle, clear of the walls, m."""
TOUCHING = HALF - 0.4
"""Beyond this the creature, 0.3 m round, rubs along a wall, m."""


def goal_vector(state: State) -> Tensor:
    """From the creature to its goal; (n, 3), m."""
    goal = torch.cat([state.memory["goal"], state.memory["goal_height"][:, None]], dim=1)
    return goal - state.sensor("joint_pos")


def plan(state: State) -> Tensor:
    """Where the creature is on the ground; (n, 2), m."""
    return state.sensor("joint_pos")[:, :2]


def stamina(state: State) -> Tensor:
    """(n,)."""
    return state.memory["stamina"]


@dataclass(frozen=True, kw_only=True)
class RunAndJump:
    """Runs towards the goal as hard as its stamina lets it, and jumps from under it; action (n, 3)."""

    approach: float = 1.5
    """Action per metre to go."""
    brake: float = 0.3
    """Action against each m/s."""
    cruise: float = 0.75
    """Most action along one axis: what it spends grows with the square."""
    under: float = 0.4
    """Jump when nearer than this on the plan, m."""
    lift: float = 1.1
    """Height of a full jump, m; it grows about with the square of the push."""
    resolve: float = Exertion.resolve
    """The upward action at which a jump begins."""

    def __call__(self, state: State) -> Tensor:
        ahead, vel = goal_vector(state), state.sensor("joint_vel")
        walk = (self.approach * ahead[:, :2] - self.brake * vel[:, :2]).clamp(-self.cruise, self.cruise)
        near = ahead[:, :2].norm(dim=1) < self.under
        push = (ahead[:, 2] / self.lift).clamp(0.0, 1.0).sqrt()
        on_ground = state.sensor("joint_pos")[:, 2] < GROUNDED
        jump = torch.where(near & on_ground, self.resolve + (1 - self.resolve) * push, 0.0)
        return torch.cat([walk, jump[:, None]], dim=1)


goal_distance = t.Distance(goal_vector)
arrived = t.Below(goal_distance, 0.5)

CREATURE_GOAL = Task(
    name="creature-goal",
    summary="Reach a goal 2.5 m away or more, up to 1.3 m over the ground, with the stamina for it.",
    robot=CREATURE,
    scene=walled_garden,
    control_dt=0.05,
    episode_s=10.0,
    act=Exertion(),
    memory={
        "goal": GoalAcross(near=2.5, far=REACH, half=REACH),
        "goal_height": GoalHeight(high=1.3),
        "stamina": Stamina(),
        "distance": t.Tracked(goal_distance),
    },
    observe={"goal": goal_vector, "position": t.joint_pos, "stamina": stamina},
    reward={
        "progress": (1.0, t.Progress("distance")),
        "near": (0.02, t.Near(goal_vector, 1.0)),  # ten seconds beside the goal are worth less than a fifth of getting there
        "arrived": (20.0, t.Sparse(arrived)),
        "wall": (-0.1, t.Sparse(t.OutOfBounds(plan, -TOUCHING, TOUCHING))),
        "spent": (-0.1, t.Excess(stamina, low=0.3)),
    },
    done={"arrived": arrived},
    success=arrived,
    reset=t.Uniform(joints={"x": (-REACH, REACH), "y": (-REACH, REACH)}),
    expert=RunAndJump(),
    presets={"default": {"steps": 2_000_000, "num_worlds": 256}},
)
