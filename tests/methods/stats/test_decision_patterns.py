"""In which ways comparisons differ in the items that decide them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.methods.stats.decision_patterns import LARGEST, MOST_PATTERNS, patterns_of

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
    sizes = [
        np.abs(found_in(comparisons_of(nothing, seed=seed))).sum() / ITEMS for seed in range(20)
    ]
    assert max(sizes) < 0.1


def test_how_often_a_comparison_is_decided_on_the_whole_is_no_pattern():
    levels = comparisons_of([np.full(ITEMS, 1.5)])
    assert np.abs(found_in(levels)).sum() / ITEMS < 0.1


def test_it_is_found_where_comparisons_stopped_early():
    decided = comparisons_of([hard_or_easy() * 1.5], comparisons=80)
    known = np.random.default_rng(1).random(decided.shape) < 0.3
    pattern = found_in(decided, known)[0]
    assert abs(np.corrcoef(pattern, hard_or_easy())[0, 1]) > 0.8


def test_what_only_comparisons_that_count_little_show_counts_little():
    decided = np.concatenate(
        [comparisons_of([np.zeros(ITEMS)]), comparisons_of([2 * hard_or_easy()], seed=1)]
    )
    whole, little = (found_in(decided, counts=np.repeat([1.0, count], 40)) for count in (1.0, 0.02))
    assert np.abs(whole).sum() / ITEMS > 0.5
    assert np.abs(little).sum() < np.abs(whole).sum() / 3


def test_to_count_twice_is_to_be_there_twice():
    decided = comparisons_of([hard_or_easy()])
    shares, known = np.full(ITEMS, 0.4), np.ones_like(decided)
    once, *_ = patterns_of(
        np.repeat(decided, 2, axis=0), np.repeat(known, 2, axis=0), shares, np.ones(80)
    )
    twice, *_ = patterns_of(decided, known, shares, np.full(40, 2.0))
    assert abs(np.corrcoef(once, twice)[0, 1]) == pytest.approx(1)


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
