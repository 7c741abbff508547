"""Noise on observations: the statistics it promises, over long simulations; nothing shared between worlds, axes or episodes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

import paddock
from paddock import Task
from paddock import terms as t
from paddock.contracts import State
from paddock.controller_graph import controller_graph
from paddock.errors import BadTerm, PaddockError
from paddock.learn.actor_critic import ActorCritic
from paddock.tasks import noise as noises
from paddock.tasks.noise import Noise, chain
from paddock.tasks.readings import READINGS

DT = 0.02
WORLDS, AXES = 64, 3


@dataclass(frozen=True)
class Constant:
    """What a sensor would read that is perfect, and sees nothing change."""

    value: float
    columns: int = AXES

    def __call__(self, state: State) -> Tensor:
        return torch.full((state.num_worlds, self.columns), self.value)


@dataclass(frozen=True)
class Clock:
    """A reading that grows with every step."""

    columns: int = 1

    def __call__(self, state: State) -> Tensor:
        return state.time[:, None].expand(-1, self.columns)


def resting(noise: Noise, *, clean: Callable[[State], Tensor] | None = None, seconds: float = 20.0, **changes: object) -> Task:
    base = paddock.find_task("cartpole-balance")
    seen = {"seen": clean or Constant(0.0)}
    return replace(base, observe=seen, noise={"seen": noise}, done={}, episode_s=seconds, expert=None, **changes)


def readings(task: Task, *, steps: int | None = None, worlds: int = WORLDS, seed: int = 0) -> Tensor:
    """(steps, worlds, columns) of one episode, its first observation included."""
    env = paddock.make(task, num_worlds=worlds, seed=seed)
    seen = [env.reset().obs["policy"]]
    still = torch.zeros(worlds, env.action_size)
    for _ in range(steps or task.episode_steps - 1):
        seen.append(env.step(still).obs["policy"])
    return torch.stack(seen).double()


def deviation(values: Tensor) -> float:
    return float(values.square().mean().sqrt())


def test_gaussian_and_uniform_and_density() -> None:
    flat = readings(resting(noises.Gaussian((0.1, 0.2, 0.4))))
    assert flat.std(dim=(0, 1)).tolist() == pytest.approx([0.1, 0.2, 0.4], rel=0.02)
    assert flat.mean(dim=(0, 1)).abs().max() < 0.01
    box = readings(resting(noises.Uniform(0.3)))
    assert box.abs().max() <= 0.3 and deviation(box) == pytest.approx(0.3 / 3**0.5, rel=0.02)
    white = readings(resting(noises.Density(1e-3)))
    assert deviation(white) == pytest.approx(1e-3 * (0.5 / DT) ** 0.5, rel=0.02)
    faster = readings(replace(resting(noises.Density(1e-3), seconds=10.0), control_dt=DT / 2))
    assert deviation(faster) == pytest.approx(1e-3 / DT**0.5, rel=0.02)  # twice the readings, each with more


def test_errors_of_axes_worlds_and_steps_are_independent() -> None:
    seen = readings(resting(noises.Gaussian(1.0)))
    flat = seen.reshape(seen.shape[0], -1)
    related = torch.corrcoef(flat.T) - torch.eye(flat.shape[1])
    assert related.abs().max() < 0.2  # 1,000 steps: deviations of 0.03
    assert abs(float((seen[1:] * seen[:-1]).mean())) < 0.02


def test_a_bias_stays_for_an_episode_and_is_drawn_anew_for_the_next() -> None:
    task = resting(noises.Bias(0.2), seconds=2.0)
    seen = readings(task, steps=4 * task.episode_steps, worlds=256)
    episodes = seen[:-1].unflatten(0, (4, task.episode_steps))
    assert torch.equal(episodes, episodes[:, :1].expand_as(episodes))
    drawn = episodes[:, 0]
    assert deviation(drawn) == pytest.approx(0.2, rel=0.05)
    assert abs(float((drawn[1:] * drawn[:-1]).mean())) < 0.2**2 * 0.1


@pytest.mark.parametrize("dt", [DT, DT / 4])
def test_a_drift_walks_with_the_root_of_time_at_any_rate(dt: float) -> None:
    seen = readings(replace(resting(noises.Drift(0.05), seconds=8.0), control_dt=dt), worlds=256)
    second = round(1 / dt)
    assert torch.equal(seen[0], torch.zeros_like(seen[0]))
    for after in (1, 4, 7):
        assert deviation(seen[after * second]) == pytest.approx(0.05 * after**0.5, rel=0.1)


def test_quantised_readings_are_multiples_of_the_step() -> None:
    seen = readings(resting(noises.Quantised(0.25), clean=Clock(), seconds=4.0), worlds=2)[:, 0, 0]
    np.testing.assert_allclose(seen / 0.25, (seen / 0.25).round(), atol=1e-6)
    time = torch.arange(len(seen)) * DT
    assert (seen - time).abs().max() <= 0.125 + 1e-6


def test_a_reading_that_is_lost_is_the_last_one_again() -> None:
    seen = readings(resting(noises.Dropout(0.3), clean=Clock()))[:, :, 0]
    steps = torch.arange(len(seen))[:, None] * DT
    is_late = seen < steps - 1e-4
    assert float(is_late[1:].double().mean()) == pytest.approx(0.3, abs=0.01)
    assert torch.equal(seen[1:][is_late[1:]], seen[:-1][is_late[1:]])
    holes = readings(resting(noises.Missing(0.1, value=-1.0), clean=Constant(2.0)))
    assert float((holes == -1.0).double().mean()) == pytest.approx(0.1, abs=0.01)
    assert set(holes.unique().tolist()) == {-1.0, 2.0}


def test_an_error_in_proportion_grows_with_what_is_read() -> None:
    near, far = (readings(resting(noises.Proportional(0.01, power=2), clean=Constant(m))) - m for m in (1.0, 3.0))
    assert deviation(near) == pytest.approx(0.01, rel=0.02)
    assert deviation(far) == pytest.approx(0.09, rel=0.02)


def test_a_chain_applies_its_stages_in_order_with_streams_of_their_own() -> None:
    seen = readings(resting(chain(noises.Bias(1.0), noises.Bias(1.0), noises.Quantised(0.5))), steps=3)
    np.testing.assert_array_equal(seen / 0.5, (seen / 0.5).round())
    assert deviation(seen[0]) == pytest.approx(2**0.5, rel=0.15)  # two draws of one kind, not twice the same, which would be 2
    twice = readings(resting(chain(noises.Gaussian(1.0), noises.Gaussian(1.0))))
    assert deviation(twice) == pytest.approx(2**0.5, rel=0.02)


def allan_variance(values: Tensor, length: int) -> float:
    """Half the mean square difference of neighbouring means over `length` readings."""
    whole = values[: len(values) // length * length].unflatten(0, (-1, length)).mean(1)
    return float((whole[1:] - whole[:-1]).square().mean() / 2)


def test_inertial_presets_have_the_allan_variance_of_their_data_sheet() -> None:
    """Falling with time where white noise rules, rising where the walk does: N^2 / 2 tau + K^2 tau / 3."""
    presets = {"gyro": noises.MEMS_GYRO, "accelerometer": noises.MEMS_ACCELEROMETER}
    task = replace(resting(noises.Bias(1.0), seconds=200.0), observe=dict.fromkeys(presets, Constant(0.0)), noise=presets)
    for seen, noise in zip(readings(task, worlds=128).split(AXES, dim=2), presets.values(), strict=True):
        density, bias, drift = noise.stages
        assert isinstance(density, noises.Density) and isinstance(bias, noises.Bias) and isinstance(drift, noises.Drift)
        assert isinstance(density.per_root_hz, float) and isinstance(drift.per_root_s, float) and isinstance(bias.std, float)
        for length in (1, 10, 100, 1000):
            tau = length * DT
            expected = density.per_root_hz**2 / (2 * tau) + drift.per_root_s**2 * tau / 3
            assert allan_variance(seen, length) == pytest.approx(expected, rel=0.15), f"at {tau:g} s"
        switched_on = seen[:50].mean(0)
        assert deviation(switched_on) == pytest.approx(bias.std, rel=0.15)


def test_what_one_observation_reports_does_not_depend_on_the_others() -> None:
    kinds: dict[str, Noise] = {
        "lost": noises.Dropout(0.3),
        "offset": noises.Bias(0.3),
        "walk": noises.Drift(0.5),
        "whole": chain(noises.Bias(0.2), noises.Gaussian(0.1), noises.Quantised(0.05), noises.Drift(0.1), noises.Dropout(0.2)),
        "white": noises.Gaussian((0.1, 0.2, 0.3)),
        "all": chain(noises.MEMS_ACCELEROMETER, noises.Drift(0.2), noises.Uniform(0.01)),
        "both": chain(noises.Gaussian(0.1), noises.Bias(0.2)),
    }

    def seen(*names: str) -> Task:
        clock = {name: Clock(columns=AXES) for name in names}
        return replace(resting(noises.Bias(0.1)), observe=clock, noise={name: kinds[name] for name in names})

    together = readings(seen(*kinds), steps=40, worlds=3).split(AXES, dim=2)
    for name, reported in zip(kinds, together, strict=True):
        assert torch.equal(reported, readings(seen(name), steps=40, worlds=3)), name
        assert reported.flatten(1).unique(dim=1).shape[1] == 3 * AXES, name  # no two columns or worlds the same


def test_errors_behind_others_are_as_large_as_those_in_front() -> None:
    """In front they are drawn with those of all observations, behind for themselves."""
    seen = readings(resting(chain(noises.Quantised(1e-6), noises.Gaussian(0.3), noises.Bias(0.4), noises.Drift(0.1))), worlds=256)
    assert deviation(seen[1:] - seen[:-1]) == pytest.approx((2 * 0.3**2 + 0.1**2 * DT) ** 0.5, rel=0.02)
    assert deviation(seen[0]) == pytest.approx(0.5, rel=0.05)
    assert deviation(seen[-1]) == pytest.approx((0.5**2 + 0.1**2 * 20) ** 0.5, rel=0.05)


@pytest.mark.parametrize("preset", noises.PRESETS)
def test_a_preset_repeats_and_differs_between_worlds_and_seeds(preset: str) -> None:
    task = resting(noises.PRESETS[preset], clean=Constant(1.5), seconds=2.0)
    seen = readings(task, worlds=7)
    assert torch.equal(seen, readings(task, worlds=64)[:, :7])
    assert not torch.equal(seen[:, 0], seen[:, 1])
    assert not torch.equal(seen, readings(task, worlds=7, seed=1))


def test_observing_twice_reads_the_same() -> None:
    env = paddock.make(resting(noises.MEMS_GYRO), num_worlds=4)
    env.reset()
    first, again = (env.task.observations(env.state)["policy"] for _ in range(2))
    assert torch.equal(first, again)


def test_noise_goes_on_from_a_save() -> None:
    env = paddock.make(resting(chain(noises.Drift(1.0), noises.Dropout(0.5))), num_worlds=4)
    env.reset()
    still = torch.zeros(4, 1)
    env.step(still)
    saved = env.save()
    expected = [env.step(still).obs["policy"] for _ in range(5)]
    env.load(saved)
    assert all(torch.equal(env.step(still).obs["policy"], one) for one in expected)


def test_history_stacks_what_was_reported() -> None:
    env = paddock.make(resting(noises.Gaussian(1.0), history={"seen": 3}), num_worlds=2)
    seen = [env.reset().obs["policy"]]
    for _ in range(3):
        seen.append(env.step(torch.zeros(2, 1)).obs["policy"])
    newest = [obs[:, -AXES:] for obs in seen]
    assert torch.equal(seen[-1], torch.cat(newest[1:], dim=1))


def test_a_scale_is_drawn_for_each_world() -> None:
    task = resting(noises.Gaussian(1.0), randomize={"noise": t.NoiseScale((0.5, 2.0))})
    env = paddock.make(task, num_worlds=16)
    env.reset()
    scale = env.state.params["noise"][:, 0]
    seen = torch.stack([env.step(torch.zeros(16, 1)).obs["policy"] for _ in range(900)])
    np.testing.assert_allclose(seen.std(dim=(0, 2)), scale, rtol=0.1)
    assert scale.min() < 0.8 and scale.max() > 1.5


def test_rewards_and_the_critic_see_the_truth() -> None:
    base = paddock.find_task("cartpole-balance")
    name = next(iter(base.observe))
    noisy = replace(base, noise={name: noises.Gaussian(5.0)}, privileged={"true": base.observe[name]})
    env, clean = paddock.make(noisy, num_worlds=8), paddock.make(base, num_worlds=8)
    for each in (env, clean):
        each.reset()
    action = torch.full((8, 1), 0.3)
    seen, true = env.step(action), clean.step(action)
    assert torch.equal(seen.reward, true.reward)
    width = seen.obs["privileged"].shape[1]
    assert torch.equal(seen.obs["privileged"], true.obs["policy"][:, :width])
    assert not torch.equal(seen.obs["policy"], true.obs["policy"])


def test_mistakes_have_names() -> None:
    with pytest.raises(BadTerm, match="noise of 'gyroo', which is not in observe: seen"):
        paddock.make(replace(resting(noises.Bias(0.1)), noise={"gyroo": noises.Bias(0.1)}))
    for broken in (
        lambda: noises.Gaussian(-1.0),
        lambda: noises.Gaussian((0.1, -0.1)),
        lambda: noises.Quantised(0.0),
        lambda: noises.Dropout(1.5),
        lambda: noises.Proportional(0.1, power=0),
        lambda: chain(),
        lambda: t.NoiseScale((2.0, 1.0)),
    ):
        with pytest.raises(PaddockError):
            broken()
    with pytest.raises(BadTerm, match="seen"):
        paddock.make(resting(noises.Gaussian((0.1, 0.2))))  # three columns


def test_a_controller_has_no_noise_of_its_own() -> None:
    base = paddock.find_task("quadruped-stand")
    task = replace(base, noise={"gyro": noises.MEMS_GYRO}, history={"gyro": 2})
    noisy, deployed = paddock.make(task), paddock.make(task.deployed)
    assert READINGS in noisy.state.memory and READINGS not in deployed.state.memory
    actor = ActorCritic(noisy.obs_sizes, noisy.action_size, hidden=(8,), log_std=0.0)
    inputs = controller_graph(deployed, actor).inputs
    assert "carried/memory/history/gyro" in inputs and not any("noise" in name or name == "key" for name in inputs)
