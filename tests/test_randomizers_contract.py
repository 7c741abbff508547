"""What holds for every randomiser: a neutral one changes nothing, worlds differ, seeds repeat, a reset touches whom it resets."""

from typing import Any

import pytest
import torch

import paddock
from paddock import terms as t
from paddock.tasks.randomizers import ModelRandomizer
from randomizer_rig import rig, run

FACTOR = (0.5, 2.0)
CASES: dict[str, tuple[Any, Any]] = {
    "mass": (t.Mass(FACTOR), t.Mass(1.0)),
    "inertia": (t.Inertia(FACTOR), t.Inertia(1.0)),
    "centre": (t.CentreOfMass((0.03, 0.06), "wheel"), t.CentreOfMass(0.0, "wheel")),
    "size": (t.Size(FACTOR, ("ball",), keeps_density=True), t.Size(1.0, ("ball",), keeps_density=True)),
    "gravity": (t.Gravity(FACTOR), t.Gravity(1.0)),
    "friction": (t.Friction(FACTOR, torsional=FACTOR, rolling=FACTOR), t.Friction(1.0, t.Around(0.0), t.Around(0.0))),
    "restitution": (t.Restitution((0.3, 0.9)), None),  # it sets a value, so none is neutral
    "damping": (t.Damping(FACTOR), t.Damping(t.Fixed(1.0))),
    "armature": (t.Armature(FACTOR), t.Armature(t.Fixed(1.0))),
    "friction_loss": (t.FrictionLoss(FACTOR), t.FrictionLoss(t.Fixed(1.0))),
    "strength": (t.MotorStrength(FACTOR), t.MotorStrength(1.0)),
    "gains": (t.ServoGains(FACTOR, FACTOR), t.ServoGains()),
    "gear": (t.GearRatio(FACTOR), t.GearRatio(1.0)),
    "command_delay": (t.CommandDelay(t.Choice((0.01, 0.05, 0.1))), t.CommandDelay(0.0)),
    "sensor_delay": (t.SensorDelay(t.Choice((0.01, 0.05, 0.1))), t.SensorDelay(0.0)),
    "push": (t.Push(body="ball", newtons=(1.0, 2.0), every_s=0.2), t.Push(body="ball", newtons=0.0, every_s=0.2)),
}
ACTION, STEPS = (0.3, 0.7), 40


def felt(env: paddock.Environment) -> torch.Tensor:
    """All that physics came to; (n, ...)."""
    return torch.cat([env.state.qpos, env.state.qvel, env.state.sensordata], dim=1)


def rolling(randomizer: Any) -> paddock.Environment:
    """The rig with its ball thrown along the floor."""
    env = run(randomizer, steps=0, scene=t.flat_floor)
    env.sim.write("qvel", torch.tensor([[0.0, 0.0, 2.0, 0.0, -1.0, 0.0, 0.0, 5.0]] * 8))
    for _ in range(STEPS):
        env.step(torch.tensor([ACTION] * 8))
    return env


@pytest.mark.parametrize("name", CASES)
def test_worlds_differ_and_the_same_seed_repeats(name: str) -> None:
    env, again = rolling(CASES[name][0]), rolling(CASES[name][0])
    assert len(felt(env).unique(dim=0)) > 1
    assert torch.equal(felt(env), felt(again))
    for drawn, twin in zip(env.state.params.values(), again.state.params.values(), strict=True):
        assert torch.equal(drawn, twin)


@pytest.mark.parametrize("name", [name for name, (_, neutral) in CASES.items() if neutral is not None])
def test_a_neutral_one_leaves_everything_nominal(name: str) -> None:
    env = rolling(CASES[name][1])
    plain = rolling(t.Push(body="ball", newtons=0.0, every_s=1.0))
    # the engine adds inertia about another point once a body may be off its own centre
    torch.testing.assert_close(felt(env), felt(plain), rtol=0, atol=1e-6 if name == "centre" else 0.0)


@pytest.mark.parametrize("name", [name for name, (one, _) in CASES.items() if isinstance(one, ModelRandomizer)])
def test_a_reset_touches_only_the_worlds_that_reset(name: str) -> None:
    env = paddock.make(rig(randomize={"it": CASES[name][0]}), num_worlds=4, seed=2)
    env.reset()
    before = {"params": env.state.params["it"], **env.sim.model_fields}
    before = {field: value.clone() for field, value in before.items()}
    env.state.age[1] = env.task.episode_steps - 1
    step = env.step(torch.zeros(4, 2))
    assert step.truncated.tolist() == [False, True, False, False]
    others = [0, 2, 3]
    for field, value in {"params": env.state.params["it"], **env.sim.model_fields}.items():
        assert torch.equal(value[others], before[field][others])
    changed = [not torch.equal(value[1], before[field][1]) for field, value in env.sim.model_fields.items()]
    assert any(changed) or "delay" in name  # one of three delays may come twice
