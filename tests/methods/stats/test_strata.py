"""Stratified means by hand, their variance against exact enumeration, and the help of a proxy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.methods.stats.strata import (
    Strata,
    behind_their_share,
    best_slope,
    by_sections,
    exploration,
    foreseen,
    paying_strata,
    stratified,
    upper_bounds,
    with_groups,
    with_proxy,
)

LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 2])


@pytest.mark.parametrize("labels", [[], [0, 2], [-1, 0]])
def test_strata_without_items_or_numbers_are_refused(labels):
    with pytest.raises(ValueError, match="expected"):
        Strata(np.array(labels, dtype=np.int64))


def test_the_mean_and_its_variance_as_worked_by_hand():
    # Means 1/2, 1/3 and 1, weighted by 1/2, 3/8 and 1/8: 1/4 + 1/8 + 1/8 = 1/2.
    # The first stratum: s² = 1/2 of 2 of 4, so 1/4 · (1 - 2/4) · 1/2 / 2 = 1/32; the others are
    # known whole.
    positions, scores = np.array([0, 2, 4, 5, 6, 7]), np.array([1.0, 0, 1, 0, 0, 1])
    found = stratified(Strata(LABELS), positions, scores)
    assert tuple(found) == pytest.approx((1 / 2, 1 / 32, 1.0))


def test_with_everything_known_nothing_is_left_to_chance():
    scores = np.linspace(0, 1, 8)
    found = stratified(Strata(LABELS), np.arange(8), scores)
    assert tuple(found) == pytest.approx((scores.mean(), 0.0, math.inf))


def test_one_of_several_says_nothing_of_the_spread():
    found = stratified(Strata(LABELS), np.array([0, 4, 5, 7]), np.array([1.0, 0, 1, 1]))
    assert found.mean == pytest.approx(1 / 2 + 3 / 8 * 1 / 2 + 1 / 8)
    assert math.isnan(found.variance)


def test_a_stratum_of_which_nothing_is_known_counts_as_the_others_do():
    found = stratified(Strata(LABELS), np.array([0, 1, 4, 5]), np.array([1.0, 1, 0, 0]))
    assert found.mean == pytest.approx((1 / 2 * 1 + 3 / 8 * 0) / (7 / 8))
    assert math.isnan(found.variance)


def test_strata_with_one_known_each_are_taken_together_by_their_sizes():
    # Sizes 4 and 2, scores 1 and 0: the mean is 4/6; the spread ((4/6)² · (1/3)² + (2/6)² · (2/3)²)
    # · 2 / 1 = 16/81, of two of six known.
    strata = Strata(np.array([0, 0, 0, 0, 1, 1]))
    found = stratified(strata, np.array([1, 4]), np.array([1.0, 0.0]))
    assert tuple(found) == pytest.approx((4 / 6, (1 - 2 / 6) * 16 / 81, 1.0))


def three_and_two():
    """Three of the first five items, and two of the other four."""
    for first in itertools.combinations(range(5), 3):
        for second in itertools.combinations(range(4), 2):
            yield np.array([*first, *(5 + np.array(second))])


def first_draws():
    """One item each of three of six strata of two items."""
    for chosen in itertools.combinations(range(6), 3):
        for sides in itertools.product((0, 1), repeat=3):
            yield 2 * np.array(chosen) + np.array(sides)


@pytest.mark.parametrize(
    ("sizes", "scores", "samples", "least"),
    [
        ([5, 4], [0.0, 0.25, 1, 1, 0, 0, 0.5, 1, 1], three_and_two, 1.0),
        ([2] * 6, [0.0, 0.1, 1, 0.9, 0.2, 0.3, 0.8, 0.6, 0.5, 0.5, 0, 1], first_draws, 0.9),
    ],
)
def test_mean_and_variance_are_right_on_average_over_every_sample(sizes, scores, samples, least):
    strata, scores = Strata(np.repeat(np.arange(len(sizes)), sizes)), np.array(scores)
    found = [stratified(strata, positions, scores[positions]) for positions in samples()]
    assert np.mean([one.mean for one in found]) == pytest.approx(scores.mean())
    ratio = np.mean([one.variance for one in found]) / np.var([one.mean for one in found])
    assert ratio >= least - 1e-9
    if least == 1:
        assert ratio == pytest.approx(1)


def test_of_nothing_nothing_is_known():
    assert all(map(math.isnan, stratified(Strata(LABELS), np.zeros(0, dtype=np.int64), np.zeros(0))))


def test_a_proxy_that_hardly_varies_among_the_judged_is_not_given_an_absurd_slope():
    rng = np.random.default_rng(0)
    errors, helped = [], []
    for _ in range(400):
        scores = (rng.random(400) < 0.5).astype(float)
        proxy = 0.01 * rng.normal(size=400) + (rng.random(400) < 0.03)  # mostly noise, now and then a one
        positions = rng.permutation(400)[:10]
        errors.append(stratified(Strata.single(400), positions, scores[positions]).mean - scores.mean())
        helped.append(with_proxy(Strata.single(400), positions, scores[positions], proxy).mean - scores.mean())
    assert np.std(helped) < 1.05 * np.std(errors)


def test_no_slope_near_the_best_leaves_less_variance():
    rng = np.random.default_rng(1)
    strata = Strata(np.repeat([0, 1, 2], [20, 30, 50]))
    positions = np.concatenate([rng.permutation(np.flatnonzero(strata.labels == k))[:8] for k in range(3)])
    proxy = rng.random(100)
    scores = np.clip(0.2 * strata.labels[positions] + 0.5 * proxy[positions] + 0.1 * rng.normal(size=24), 0, 1)
    best = best_slope(strata, positions, scores, proxy)

    def left(slope):
        return stratified(strata, positions, scores - slope * proxy[positions]).variance

    assert left(best) < min(left(best - 0.05), left(best + 0.05))
    assert with_proxy(strata, positions, scores, proxy).variance < stratified(strata, positions, scores).variance


def test_a_proxy_that_is_the_score_leaves_nothing_to_chance():
    rng = np.random.default_rng(2)
    scores = rng.random(50)
    found = with_proxy(Strata.single(50), np.arange(10), scores[:10], scores)
    assert found.mean == pytest.approx(scores.mean())
    assert found.variance == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("proxy", [np.full(50, 0.7), np.zeros(50)])
def test_a_constant_proxy_changes_nothing(proxy):
    scores = np.random.default_rng(3).random(12)
    plain = stratified(Strata.single(50), np.arange(12), scores)
    assert with_proxy(Strata.single(50), np.arange(12), scores, proxy) == plain


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_the_scale_of_a_proxy_does_not_matter(seed, scale, shift):
    rng = np.random.default_rng(seed)
    strata = Strata(np.repeat([0, 1], [20, 20]))
    positions = np.array([0, 1, 2, 3, 4, 20, 21, 22, 23, 24])
    scores, proxy = rng.random(10), rng.random(40)
    one = with_proxy(strata, positions, scores, proxy)
    other = with_proxy(strata, positions, scores, scale * proxy + shift)
    assert tuple(one) == pytest.approx(tuple(other), rel=1e-6)


def test_sections_have_equal_width_and_none_is_empty():
    values = np.array([0.0, 0.1, 0.24, 0.26, 0.9, 1.0])
    # Quarters: the third of them holds nothing and is left out.
    assert by_sections(values, 4).labels.tolist() == [0, 0, 0, 1, 2, 2]


def test_equal_values_are_one_section():
    assert by_sections(np.full(5, 0.3)).labels.tolist() == [0] * 5


def test_beta_is_that_of_equation_2():
    # √log(2 · 400^4.5): log 2 + 4.5 · log 400 = 0.693 + 26.962.
    assert exploration(400) == pytest.approx(math.sqrt(0.69315 + 4.5 * 5.99146), rel=1e-5)
    assert exploration(0) == exploration(1) == pytest.approx(math.sqrt(math.log(2)))


def test_the_bounds_are_those_of_equation_1():
    shares, drawn = np.array([0.5, 0.3, 0.2]), np.array([4, 1, 4])
    bounds = upper_bounds(shares, drawn, np.array([0.5, 0.0, 0.1]), 1.0)
    # 0.5 / 4 · (0.5 + 2 / 2), 0.3 / 1 · (0 + 2 / 1), 0.2 / 4 · (0.1 + 2 / 2)
    assert bounds == pytest.approx([0.1875, 0.6, 0.055])


def test_shares_are_followed_as_seats_are_by_sainte_lague():
    # The textbook's 53, 24 and 23 % for seven seats: 4, 2 and 1.
    shares, drawn = np.array([0.53, 0.24, 0.23]), np.zeros(3, dtype=np.int64)
    for _ in range(7):
        drawn[behind_their_share(shares, drawn).argmax()] += 1
    assert drawn.tolist() == [3, 2, 2]
    # Quotients: .53, .24, .23, .177, .106, .08, .077: the first, both others, the first twice, then
    # .08 (second) and .077 (third).


@pytest.mark.parametrize(
    ("budget", "items", "strata"), [(200, 4000, 40), (4, 4000, 1), (0, 9, 1), (60, 20, 10), (5, 1, 1)]
)
def test_five_judgments_pay_for_a_stratum_of_at_least_two_items(budget, items, strata):
    assert paying_strata(budget, items) == strata


def test_what_groups_foresee_as_worked_by_hand():
    # Half above and half below the mean, in two of three strata: the variance between these is (1 - 1/4) / 2 = 3/8, and
    # that of the scores 1/4, so that each mean of two counts 2 / (2 + 2/3) = 3/4.
    groups, positions = Strata(np.array([0, 0, 1, 1, 0, 2])), np.array([0, 1, 2, 3])
    ahead = foreseen(groups, positions, np.array([1.0, 1, 0, 0]))
    assert ahead.tolist() == pytest.approx([3 / 8, 3 / 8, -3 / 8, -3 / 8, 3 / 8, 0])
    found = with_groups(Strata.single(6), positions, np.array([1.0, 1, 0, 0]), None, groups)
    assert found.mean == pytest.approx(1 / 2 + ahead.mean())
    assert found.variance == pytest.approx((4 * (1 / 8) ** 2 / 3) / 4 * (1 - 4 / 6))


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 0], [1.0, 0, 1, 0], [0.3, 0.3, 0.3, 0.3], [1.0, 1, 1, 0]])
def test_groups_that_differ_by_no_more_than_chance_foresee_nothing(scores):
    groups = Strata(np.array([0, 0, 1, 1, 0, 2]))
    assert not foreseen(groups, np.arange(len(scores)), np.array(scores)).any()


@pytest.mark.parametrize(("wins", "told"), [((280, 120), True), ((220, 180), False)])
def test_groups_that_surely_differ_foresee_nothing_where_they_say_little(wins, told):
    labels, scores = np.repeat([0, 1], 400), np.concatenate([np.arange(400) < number for number in wins])
    assert foreseen(Strata(labels), np.arange(800), scores.astype(float)).any() == told


@pytest.mark.parametrize("helped", [False, True])
def test_groups_leave_the_mean_of_all_items_as_it_is_and_narrow_that_of_some(helped):
    rng = np.random.default_rng(2)
    labels, whole = np.arange(400) % 8, Strata.single(400)
    scores = (rng.random(400) < np.linspace(0.05, 0.95, 8)[labels]).astype(float)
    proxy = scores + rng.normal(0, 2, 400) if helped else None
    every = with_groups(whole, np.arange(400), scores, proxy, Strata(labels))
    assert every.mean == pytest.approx(scores.mean())
    drawn = rng.permutation(400)[:100]
    alone = stratified(whole, drawn, scores[drawn]) if proxy is None else with_proxy(whole, drawn, scores[drawn], proxy)
    assert with_groups(whole, drawn, scores[drawn], proxy, Strata(labels)).variance < 0.8 * alone.variance
