"""Cross-entropy sampling: intervals, the divergence, which group enters, and whether samples come
nearer to the pool."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.selectors import order_of, steps_of

from judgeloop.papers.actracer.rivals import FIRST, GROUP, CrossEntropy


def divergence(selector, positions):
    return selector._divergences(selector._histograms(np.asarray(positions)[None, :]), len(positions))[0]


def test_the_divergence_is_summed_over_dimensions():
    # The pool has 3 of 4 in the lower half of the first dimension, 2 of 4 in that of the second. Of
    # the sample of 2 it is 1 and 2:
    # 1/2 ln(1/2 / 3/4) + 1/2 ln(1/2 / 1/4) + 1 ln(1 / 1/2) = 1/2 ln(4/3) + ln 2.
    vectors = np.array([[0, 0], [0, 1], [0, 1], [1, 0]], dtype=np.float64)
    selector = CrossEntropy(vectors, sections=2)
    assert divergence(selector, [0, 3]) == pytest.approx(0.5 * math.log(4 / 3) + math.log(2))
    assert divergence(selector, [0, 1, 2, 3]) == pytest.approx(0)


@pytest.mark.parametrize("seed", range(8))
def test_the_group_enters_that_brings_the_sample_nearest_to_the_pool(seed):
    # Half of 40 items are 0, half 1: of 35 items, 17 or 18 are to be 1, or as near to that as the
    # ten items left after 30 allow.
    values = np.repeat([0.0, 1.0], 20)
    order = order_of(CrossEntropy(values[:, None], sections=2, tried=300), 40, seed)
    before, after = int(values[order[:FIRST]].sum()), int(values[order[: FIRST + GROUP]].sum())
    ones_left = 20 - before
    possible = range(before + max(0, GROUP - (10 - ones_left)), before + min(GROUP, ones_left) + 1)
    assert abs(after - 17.5) == min(abs(ones - 17.5) for ones in possible)


def test_samples_are_nearer_to_the_pool_than_random_ones():
    vectors = np.random.default_rng(1).normal(size=(400, 6))
    selector = CrossEntropy(vectors)
    for judged in (50, 100, 200):
        ours = [divergence(selector, order_of(selector, 400, seed)[:judged]) for seed in range(5)]
        random = [divergence(selector, np.random.default_rng(seed).permutation(400)[:judged]) for seed in range(40)]
        assert max(ours) < min(random)


def test_the_first_are_random():
    vectors = np.random.default_rng(2).normal(size=(100, 3))
    selector = CrossEntropy(vectors)
    counts = np.zeros(100)
    for seed in range(600):
        rng = np.random.default_rng(seed)
        steps, _ = steps_of(selector, selector.init(100, rng), FIRST, rng)
        counts[[step.choices[0].position for step in steps]] += 1
    # 180 each in the mean, with a standard deviation of 11.
    assert np.abs(counts - 180).max() < 5 * 11.3


def test_blocks_of_rows_change_nothing(monkeypatch):
    vectors = np.random.default_rng(5).normal(size=(100, 4)).astype(np.float16)
    expected = order_of(CrossEntropy(vectors), 100)
    monkeypatch.setattr("judgeloop.papers.actracer.rivals.ROWS_AT_A_TIME", 7)
    assert order_of(CrossEntropy(vectors), 100) == expected


def test_scale_and_place_of_a_dimension_do_not_matter():
    vectors = np.random.default_rng(6).integers(0, 64, size=(90, 3)).astype(np.float64)
    expected = order_of(CrossEntropy(vectors, sections=8), 90)
    moved = vectors * np.array([1, 4, 0.5]) + np.array([0, 128, -32])
    assert order_of(CrossEntropy(moved, sections=8), 90) == expected
