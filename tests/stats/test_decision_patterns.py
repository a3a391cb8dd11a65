"""In which ways comparisons differ in the items that decide them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.stats.decision_patterns import LARGEST, MOST_PATTERNS, patterns_of

ITEMS = 200


def comparisons_of(ways, *, comparisons=40, items=ITEMS, seed=0):
    """Verdicts whose log odds to decide are -0.5 plus each way, shape (ways, items), by as much as is drawn for the comparison."""
    rng = np.random.default_rng(seed)
    odds = -0.5 + rng.normal(size=(comparisons, len(ways))) @ np.reshape(ways, (len(ways), items))
    return rng.random((comparisons, items)) < 1 / (1 + np.exp(-odds))


def found_in(decided, known=None):
    known = np.ones_like(decided) if known is None else known
    shares = (decided * known).sum(axis=0) + 4 * decided.mean()
    return patterns_of(decided & known, known, shares / (known.sum(axis=0) + 4))


def hard_or_easy(items=ITEMS):
    """A pattern: half of the items decide between strong systems, the other half between weak ones."""
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


def test_it_is_found_where_comparisons_stopped_early():
    decided = comparisons_of([hard_or_easy() * 1.5], comparisons=80)
    known = np.random.default_rng(1).random(decided.shape) < 0.3
    pattern = found_in(decided, known)[0]
    assert abs(np.corrcoef(pattern, hard_or_easy())[0, 1]) > 0.8


@pytest.mark.parametrize("comparisons", [0, 1, 2])
def test_two_comparisons_have_no_pattern(comparisons):
    decided = comparisons_of([hard_or_easy()], comparisons=comparisons)
    assert patterns_of(decided, np.ones_like(decided), np.full(ITEMS, 0.4)).shape == (0, ITEMS)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10_000))
def test_patterns_are_few_and_bounded_whatever_is_known(comparisons, items, seed):
    rng = np.random.default_rng(seed)
    decided, known = rng.random((2, comparisons, items)) < rng.random((2, 1, 1))
    found = found_in(decided, known)
    assert len(found) <= MOST_PATTERNS
    assert found.shape[1] == items
    assert (np.abs(found) <= LARGEST).all()
