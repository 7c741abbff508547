"""Counter-based randomness against a slow oracle, statistics and onnxruntime."""

import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from scipy import stats
from torch import Tensor

from paddock import randomness

MASK = (1 << 64) - 1
WORLDS = torch.arange(4096)


def world_key(seed: int, world: Tensor, episode: Tensor) -> Tensor:
    return randomness.episode_key(randomness.seed_key(seed, world), episode)


KEY = world_key(7, WORLDS, torch.zeros_like(WORLDS))


def oracle_mix(x: int) -> int:
    x &= MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def test_bits_equal_unbounded_integers() -> None:
    key = int(KEY[5])
    drawn = randomness.bits(KEY, "a", 3, index=11)[5].tolist()
    moved = key + 11 * randomness.INDEX_STEP + randomness.stream("a")
    assert [value & MASK for value in drawn] == [oracle_mix(moved + (column + 1) * randomness.GOLDEN) for column in range(3)]


def test_uniforms_are_the_upper_bits() -> None:
    upper = (randomness.bits(KEY, "a", 3) >> 40) & 0xFFFFFF
    assert torch.equal(randomness.uniform(KEY, "a", 3), upper.double().mul(2.0**-24).float())


def test_a_stream_has_the_same_number_everywhere() -> None:
    assert randomness.stream("goal") == -5422742410472422235


def test_numbers_depend_on_the_world_not_on_the_batch() -> None:
    few = world_key(7, WORLDS[100:107], torch.zeros(7, dtype=torch.int64))
    assert torch.equal(few, KEY[100:107])
    shuffled = torch.randperm(len(KEY), generator=torch.Generator().manual_seed(0))
    for draw in (randomness.uniform, randomness.normal):
        assert torch.equal(draw(few, "x", 5), draw(KEY, "x", 5)[100:107])
        assert torch.equal(draw(KEY[shuffled], "x", 5), draw(KEY, "x", 5)[shuffled])


def test_a_prefix_of_columns_is_the_same_draw() -> None:
    assert torch.equal(randomness.uniform(KEY, "x", 3), randomness.uniform(KEY, "x", 8)[:, :3])


@pytest.mark.parametrize(
    "other",
    [
        lambda: randomness.uniform(world_key(8, WORLDS, torch.zeros_like(WORLDS)), "x", 4),
        lambda: randomness.uniform(world_key(7, WORLDS + 1, torch.zeros_like(WORLDS)), "x", 4),
        lambda: randomness.uniform(world_key(7, WORLDS, torch.ones_like(WORLDS)), "x", 4),
        lambda: randomness.uniform(KEY, "y", 4),
        lambda: randomness.uniform(KEY, "x", 4, index=1),
        lambda: randomness.uniform(KEY, "x", 5)[:, 1:],
    ],
    ids=["seed", "world", "episode", "stream", "index", "column"],
)
def test_each_part_of_the_address_gives_independent_numbers(other) -> None:
    one, two = randomness.uniform(KEY, "x", 4).flatten(), other().flatten()
    assert abs(np.corrcoef(one, two)[0, 1]) < 4 / np.sqrt(len(one))
    assert (one == two).float().mean() < 1e-3


def test_seed_zero_and_negative_and_huge_seeds_are_fine() -> None:
    keys = [world_key(seed, WORLDS[:8], torch.zeros(8, dtype=torch.int64)) for seed in (0, -1, 1 << 63, 1)]
    assert len({int(key[0]) for key in keys}) == 4


def test_uniform_is_uniform_on_the_unit_interval() -> None:
    drawn = randomness.uniform(KEY, "u", 64).flatten().numpy()
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4
    counts = np.bincount((drawn * 256).astype(int), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_low_bits_are_as_random_as_high_ones() -> None:
    drawn = randomness.bits(KEY, "b", 16).flatten().numpy()
    ones = [((drawn >> bit) & 1).mean() for bit in range(64)]
    assert np.abs(np.array(ones) - 0.5).max() < 5 * 0.5 / np.sqrt(len(drawn))


def test_consecutive_indices_are_uncorrelated() -> None:
    series = torch.cat([randomness.uniform(KEY[:64], "walk", 1, index=i) for i in range(1000)], dim=1).numpy() - 0.5
    for lag in (1, 2, 3, 10):
        correlation = (series[:, lag:] * series[:, :-lag]).mean() / series.var()
        assert abs(correlation) < 5 / np.sqrt(series[:, lag:].size)


def test_normal_is_normal_far_into_its_tails() -> None:
    drawn = randomness.normal(KEY, "n", 256).flatten().numpy().astype(np.float64)
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    assert abs(drawn.mean()) < 5 / np.sqrt(drawn.size)
    assert abs(drawn.var() - 1) < 5 * np.sqrt(2 / drawn.size)
    for sigma in (3.0, 3.5, 4.0):
        expected = 2 * stats.norm.sf(sigma) * drawn.size
        assert abs((np.abs(drawn) > sigma).sum() - expected) < 5 * np.sqrt(expected)
    assert 4.5 < np.abs(drawn).max() < 5.5


def test_coarse_normals_are_normal_and_independent() -> None:
    drawn = randomness.coarse_normal(KEY, (("a", 5), ("b", 3)), index=WORLDS)
    assert torch.equal(drawn[:, 5:], randomness.coarse_normal(KEY, (("b", 3),), index=WORLDS))
    assert torch.equal(drawn[7:9], randomness.coarse_normal(KEY[7:9], (("a", 5), ("b", 3)), index=WORLDS[7:9]))
    related = np.corrcoef(drawn.T) - np.eye(8)  # four of one hash among them
    assert np.abs(related).max() < 5 / np.sqrt(len(drawn))
    many = torch.cat([randomness.coarse_normal(KEY, (("c", 64),), index=i) for i in range(4)]).flatten().double().numpy()
    assert stats.kstest(many, "norm").pvalue > 1e-4
    assert abs(many.var() - 1) < 5 * np.sqrt(2 / many.size) and 4.2 < np.abs(many).max() < 4.4


def test_choice_is_fair_and_within_bounds() -> None:
    drawn = randomness.choice(KEY, "c", 7, 16).flatten().numpy()
    assert set(drawn) == set(range(7))
    assert stats.chisquare(np.bincount(drawn)).pvalue > 1e-4


class Draws(torch.nn.Module):
    def forward(self, key: Tensor, index: Tensor) -> tuple[Tensor, ...]:
        return (
            randomness.bits(key, "s", 5, index),
            randomness.uniform(key, "s", 5, index),
            randomness.choice(key, "s", 9, 5, index),
            randomness.normal(key, "s", 5, index),
        )


def test_onnxruntime_draws_the_same_bits() -> None:
    module, args = Draws().eval(), (KEY, WORLDS % 13)
    expected = module(*args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        shapes = ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})
        program = torch.onnx.export(module, args, dynamo=True, dynamic_shapes=shapes, verbose=False)
    assert program is not None
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    feed = {slot.name: value.numpy() for slot, value in zip(session.get_inputs(), args, strict=True)}
    for ours, theirs in zip(expected, session.run(None, feed), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
