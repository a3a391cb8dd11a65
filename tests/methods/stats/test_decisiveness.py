"""Weights of items from earlier comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from judgeloop.methods.stats.decisiveness import (
    LARGEST,
    LEAST_AGREEMENT,
    LEAST_EVEN,
    MOST_PATTERNS,
    WITH_TODAYS,
    agreements,
    decisive_shares,
    draw_weights,
    exponent,
    patterns_of,
    prospects,
)


def weights_of(*given, **rest):
    """The weights of what is known before a run."""
    known = prospects(*given, **rest)
    return None if known is None else draw_weights(known, known.shares)


# Three comparisons of four items; nothing is known of the last item in the last comparison.
PREFERENCES = np.array([[1, 0, 1, -1], [-1, 0, -1, -1], [1, 0, 0, 0]], dtype=np.int8)
KNOWN = np.array([[True] * 4, [True] * 4, [True, True, True, False]])


def test_decisive_shares_are_smoothed_towards_the_mean_of_all():
    # Decisive: 3 of 3, 0 of 3, 2 of 3, 2 of 2; the mean is (7 + 1) / (11 + 2) = 8/13, worth four
    # comparisons.
    mean = 4 * 8 / 13
    expected = [(3 + mean) / 7, mean / 7, (2 + mean) / 7, (2 + mean) / 6]
    assert decisive_shares(PREFERENCES, KNOWN) == pytest.approx(expected)


def test_agreement_is_with_the_winner_on_the_other_items():
    # The sums over the items are 1, -3 and 1. Without item 0: 0, -2, 0, so that it agreed once
    # (comparison 1) of 3; without item 1,
    # which decided nothing: none of 0; without item 2: 0, -2: once of 2; without item 3: 2, -2:
    # against, then with: 0 of 2.
    mean = 2 / 7
    expected = [(1 + 20 * mean) / 23, 20 * mean / 20, (1 + 20 * mean) / 22, (0 + 20 * mean) / 22]
    assert agreements(PREFERENCES, KNOWN) == pytest.approx(expected)


def test_an_item_that_contradicts_keeps_a_little_weight():
    contrary = np.ones((60, 5), dtype=np.int8)
    contrary[:, 0] = -1
    assert agreements(contrary, np.ones_like(contrary, dtype=bool))[0] == LEAST_AGREEMENT


def test_the_exponent_grows_with_the_root_of_the_systems_from_none_to_two():
    assert exponent(0) == 0
    assert exponent(4) == 1
    assert exponent(9) == 1.5
    assert exponent(16) == exponent(10_000) == 2


def test_comparisons_with_a_system_of_today_count_together_a_quarter_of_the_others():
    apart = np.array([True, True, False])
    # 8 verdicts apart, 3 with a system of today: each of these counts ¼ · 8/3 = 2/3.
    # Decisive: 2⅔ of 2⅔; 0 of 2⅔; 2 of 2⅔; 2 of 2. The mean is (6⅔ + 1) / (10 + 2), worth four
    # comparisons.
    mean = 4 * (6 + 2 / 3 + 1) / 12
    asked = 2 + 2 / 3
    expected = [(asked + mean) / (asked + 4), mean / (asked + 4), (2 + mean) / (asked + 4), (2 + mean) / 6]
    assert WITH_TODAYS == 1 / 4
    assert decisive_shares(PREFERENCES, KNOWN, apart) == pytest.approx(expected)


def test_comparisons_with_todays_systems_alone_prefer_no_item():
    assert prospects(PREFERENCES, KNOWN, systems=4, apart=np.zeros(3, dtype=bool)) is None


def test_agreement_is_taken_from_comparisons_without_todays_systems_alone():
    apart = np.array([True, True, False])
    known = prospects(PREFERENCES, KNOWN, systems=4, apart=apart)
    assert known.agreements == pytest.approx(agreements(PREFERENCES[apart], KNOWN[apart]))
    assert known.agreements != pytest.approx(agreements(PREFERENCES, KNOWN))


def test_weights_follow_decisiveness_and_agreement_with_a_tenth_even():
    weights = weights_of(PREFERENCES, KNOWN, systems=4)
    preferred = decisive_shares(PREFERENCES, KNOWN) ** 2 * agreements(PREFERENCES, KNOWN)  # to the power of 1
    assert weights == pytest.approx(0.9 * preferred / preferred.sum() + 0.1 / 4)


@pytest.mark.parametrize(
    ("preferences", "known"),
    [(np.zeros((0, 4)), np.zeros((0, 4))), (np.zeros((3, 4)), np.ones((3, 4))), (np.ones((3, 4)), np.zeros((3, 4)))],
    ids=["no comparison", "ties only", "nothing known"],
)
def test_what_prefers_no_item_gives_no_weights(preferences, known):
    assert prospects(preferences.astype(np.int8), known.astype(bool), systems=3) is None


@given(
    arrays.arrays(np.int8, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=st.integers(-1, 1)),
    st.integers(2, 40),
    st.randoms(use_true_random=False),
)
def test_weights_are_probabilities_that_leave_no_item_out(preferences, systems, random):
    known = np.array([[random.random() < 0.7 for _ in row] for row in preferences])
    weights = weights_of(np.where(known, preferences, 0).astype(np.int8), known, systems)
    if weights is not None:
        assert weights.sum() == pytest.approx(1)
        assert (weights >= LEAST_EVEN / len(weights) * (1 - 1e-12)).all()


def test_who_is_called_first_does_not_matter():
    rng = np.random.default_rng(1)
    preferences = rng.integers(-1, 2, size=(12, 30)).astype(np.int8)
    known = rng.random((12, 30)) < 0.8
    preferences[~known] = 0
    turned = preferences.copy()
    turned[::2] *= -1
    assert weights_of(preferences, known, 8) == pytest.approx(weights_of(turned, known, 8))


ITEMS = 200


def comparisons_of(ways, *, comparisons=40, items=ITEMS, seed=0):
    """Verdicts whose log odds to decide are -0.5 plus each way, shape (ways, items), by as much as
    is drawn for the comparison."""
    rng = np.random.default_rng(seed)
    odds = -0.5 + rng.normal(size=(comparisons, len(ways))) @ np.reshape(ways, (len(ways), items))
    return rng.random((comparisons, items)) < 1 / (1 + np.exp(-odds))


def found_in(decided, known=None, counts=None):
    known = np.ones_like(decided) if known is None else known
    counts = np.ones(len(decided)) if counts is None else counts
    shares = ((decided & known).sum(axis=0) + 1) / (known.sum(axis=0) + 2)
    return patterns_of(decided & known, known, shares, counts)


def hard_or_easy(items=ITEMS):
    """A pattern: half of the items decide between strong systems, the other half between
    weak ones."""
    return np.repeat([1.5, -1.5], items // 2)


def test_what_two_kinds_of_comparisons_differ_in_is_found():
    (pattern, *others) = found_in(comparisons_of([hard_or_easy()]))
    assert not others
    assert abs(np.corrcoef(pattern, hard_or_easy())[0, 1]) > 0.95
    # Of 1.5, less what the level takes and what is shrunk.
    assert np.abs(pattern).mean() == pytest.approx(1.0, abs=0.4)


def test_two_ways_are_found_the_stronger_first():
    one, other = hard_or_easy() * 1.2, np.tile([1.2, -1.2], ITEMS // 2)
    first, second = found_in(comparisons_of([one, other / 1.5]))
    assert abs(np.corrcoef(first, one)[0, 1]) > 0.9
    assert abs(np.corrcoef(second, other)[0, 1]) > 0.8


def test_independent_verdicts_have_next_to_no_pattern():
    nothing = [np.zeros(ITEMS)]
    sizes = [np.abs(found_in(comparisons_of(nothing, seed=seed))).sum() / ITEMS for seed in range(20)]
    assert max(sizes) < 0.1


def test_how_often_a_comparison_is_decided_on_the_whole_is_no_pattern():
    levels = comparisons_of([np.full(ITEMS, 1.5)])
    assert np.abs(found_in(levels)).sum() / ITEMS < 0.1


def test_what_only_comparisons_that_count_little_show_counts_little():
    decided = np.concatenate([comparisons_of([np.zeros(ITEMS)]), comparisons_of([2 * hard_or_easy()], seed=1)])
    whole, little = (found_in(decided, counts=np.repeat([1.0, count], 40)) for count in (1.0, 0.02))
    assert np.abs(whole).sum() / ITEMS > 0.5
    assert np.abs(little).sum() < np.abs(whole).sum() / 3


@pytest.mark.parametrize("comparisons", [0, 1, 2])
def test_two_comparisons_have_no_pattern(comparisons):
    decided = comparisons_of([hard_or_easy()], comparisons=comparisons)
    assert found_in(decided).shape == (0, ITEMS)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10_000))
def test_patterns_are_few_and_bounded_whatever_is_known(comparisons, items, seed):
    rng = np.random.default_rng(seed)
    decided, known = rng.random((2, comparisons, items)) < rng.random((2, 1, 1))
    found = found_in(decided, known)
    assert len(found) <= MOST_PATTERNS
    assert found.shape[1] == items
    assert (np.abs(found) <= LARGEST).all()
