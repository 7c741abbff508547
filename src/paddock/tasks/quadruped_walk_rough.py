"""Follow a velocity command over slopes, stairs, bumps and stepping stones."""

from dataclasses import replace

from paddock.tasks import terms as t
from paddock.tasks.quadruped_walk import QUADRUPED_WALK
from paddock.tasks.striding import Clock, ClockHands, InStep

TERRAIN = t.Terrain(riser=0.07, bumps=0.07, grade=0.25, gap=0.1, drop=0.05, border=4.0)
PACE = 0.6
"""Part of the speeds on flat ground that is asked for."""
PERIOD = 0.4
"""Of a stride, s."""
TROT = (0, 1, 1, 0)
"""The diagonals take turns."""


def _slower(command: object) -> t.UniformCommand:
    assert isinstance(command, t.UniformCommand)
    low, high = (tuple(PACE * end for end in ends) for ends in (command.low, command.high))
    return replace(command, low=low, high=high)


QUADRUPED_WALK_ROUGH = replace(
    QUADRUPED_WALK,
    name="quadruped-walk-rough",
    summary="Follow slower commands over slopes, bumps, stairs and stepping stones that grow as they are mastered.",
    scene=TERRAIN,
    reset=t.OnTerrain(terrain=TERRAIN),
    command={"velocity": _slower(QUADRUPED_WALK.command["velocity"])},
    # without a clock, policies wait for the noise of training to begin a step, and their mean stands still
    memory={**QUADRUPED_WALK.memory, "clock": Clock(period=PERIOD)},
    observe={**QUADRUPED_WALK.observe, "clock": ClockHands()},
    reward={**QUADRUPED_WALK.reward, "in_step": (0.5, InStep(turns=TROT))},
    privileged={**QUADRUPED_WALK.privileged, "height": t.AboveGround(TERRAIN), "ground": t.GroundAround(terrain=TERRAIN)},
    done={**QUADRUPED_WALK.done, "left": t.OffTerrain(TERRAIN)},
    # an episode is long: a world that needs many to rise does not get to the hard rows in a training
    curriculum=t.Curriculum(window=1.0, levels=TERRAIN.rows),
    presets={
        "default": {
            "steps": 6_000_000,
            "num_worlds": 256,
            "evaluate_every": 120,
            "ppo": {"target_kl": 0.02, "entropy_weight": 0.001, "log_std": -1.0, "calm_steps": 4_000_000},
        },
    },
)
