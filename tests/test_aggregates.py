"""Several seeds as one number: by hand-made numbers, and by how often intervals hold what they promise."""

import numpy as np
import pytest

from paddock.aggregates import aggregate, differ, interquartile_mean


def test_the_interquartile_mean_is_that_of_the_middle_half() -> None:
    assert interquartile_mean(np.array([100.0, 2.0, 4.0, -50.0])) == 3.0
    assert interquartile_mean(np.array([7.0])) == 7.0
    # of three, the middle one counts whole and the outer ones by the quarter of them that lies in the middle half
    assert interquartile_mean(np.array([1.0, 10.0, 4.0])) == pytest.approx((0.25 * 1 + 1.0 * 4 + 0.25 * 10) / 1.5)


def test_an_interval_holds_the_true_value_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    held = [found.low <= 5.0 <= found.high for found in (aggregate(list(random.normal(5.0, 2.0, 12))) for _ in range(200))]
    assert 0.85 <= np.mean(held) <= 0.99  # a dozen values: a percentile bootstrap promises a little too much


def test_the_same_values_give_the_same_interval() -> None:
    assert aggregate([1.0, 2.0, 5.0]) == aggregate([1.0, 2.0, 5.0])
    assert str(aggregate([3.0])) == "3" and "[" in str(aggregate([3.0, 4.0]))


def test_chances_are_those_of_exchanging_seeds() -> None:
    found = differ([10.0, 11.0, 12.0, 13.0], [1.0, 2.0, 3.0, 4.0])
    assert found.chance == pytest.approx(2 / 70)  # of the 70 ways to take four of eight, only this one and its mirror
    assert found.is_sure and found.gap.middle == 9.0 and found.gap.low > 0
    assert differ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).chance == 1.0


def test_too_few_seeds_show_nothing() -> None:
    found = differ([10.0, 11.0, 12.0], [1.0, 2.0, 3.0])
    assert found.least_chance == pytest.approx(0.1) and not found.is_sure


def test_many_seeds_are_exchanged_at_random() -> None:
    random = np.random.default_rng(1)
    first, second = random.normal(0.0, 1.0, 30), random.normal(0.0, 1.0, 30)
    assert 0.05 < differ(list(first), list(second)).chance <= 1.0
    assert differ(list(first + 3.0), list(second)).is_sure
