"""How likely items are to decide, by history, distance and what a run has seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from judgeloop.methods.stats.decision_model import (
    PRECISION_OF_LEVEL,
    PRECISION_OF_PATTERN,
    PRECISION_OF_SLOPE,
    SLOPE_OF_DISTANCE,
    DecisionModel,
    length_distances,
)
from judgeloop.methods.stats.decisiveness import LEAST_EVEN, Prospects, draw_weights

NONE_SEEN = np.array([], dtype=np.int64), np.array([], dtype=np.bool_)


def known_of(items=40, *, seed=0, distances=True, patterns=0):
    rng = np.random.default_rng(seed)
    return Prospects(
        shares=rng.uniform(0.05, 0.9, size=items),
        agreements=rng.uniform(0.1, 1, size=items),
        power=1.3,
        distances=rng.exponential(size=items) if distances else None,
        patterns=rng.normal(size=(patterns, items)) if patterns else None,
    )


def test_the_distance_of_two_lengths_is_that_of_their_logarithms():
    # 80 + 20 and 180 + 20 characters: the logarithm of 2, whichever is longer.
    assert length_distances(np.array([80, 180, 0]), np.array([180, 80, 0])) == pytest.approx([np.log(2), np.log(2), 0])


def test_before_a_run_has_seen_anything_history_is_taken_as_it_is():
    known = known_of(distances=False)
    assert DecisionModel(known).weights_after(*NONE_SEEN) == pytest.approx(draw_weights(known, known.shares))


def test_before_a_run_has_seen_anything_far_outputs_are_likelier_to_decide():
    known = known_of()
    far = np.log(known.distances + 0.1)
    odds = np.log(known.shares / (1 - known.shares)) + SLOPE_OF_DISTANCE * (far - far.mean()) / far.std()
    assert DecisionModel(known).weights_after(*NONE_SEEN) == pytest.approx(draw_weights(known, 1 / (1 + np.exp(-odds))))


@pytest.mark.parametrize("distances", [np.zeros(40), np.full(40, np.nan)], ids=["all alike", "none known"])
def test_distances_that_say_nothing_change_nothing(distances):
    known = known_of(distances=False)
    assert DecisionModel(known._replace(distances=distances)).weights_after(*NONE_SEEN) == pytest.approx(
        DecisionModel(known).weights_after(*NONE_SEEN)
    )


def test_an_unknown_distance_is_taken_for_a_middling_one():
    known = known_of()
    distances = known.distances.copy()
    distances[0] = np.nan
    others = np.log(distances[1:] + 0.1)
    distances_filled = distances.copy()
    distances_filled[0] = np.exp(others.mean()) - 0.1
    one, other = (
        DecisionModel(known._replace(distances=these)).weights_after(*NONE_SEEN)
        for these in (distances, distances_filled)
    )
    assert one / one.sum() == pytest.approx(other / other.sum(), rel=0.02)


def test_what_was_seen_is_fitted_as_another_solver_fits_it():
    known = known_of(60, seed=3, patterns=2)
    rng = np.random.default_rng(1)
    positions = rng.permutation(60)[:25]
    decided = rng.random(25) < 0.3
    odds, far = np.log(known.shares / (1 - known.shares)), np.log(known.distances + 0.1)
    features = np.column_stack([np.ones(60), odds - odds.mean(), (far - far.mean()) / far.std(), *known.patterns])
    expected = np.array([odds.mean(), 1.0, SLOPE_OF_DISTANCE, 0.0, 0.0])
    slopes, patterns = [PRECISION_OF_SLOPE] * 2, [PRECISION_OF_PATTERN] * 2
    precision = np.array([PRECISION_OF_LEVEL, *slopes, *patterns])

    def misfit(beliefs):
        seen = features[positions] @ beliefs
        return np.logaddexp(0, seen).sum() - decided @ seen + precision @ (beliefs - expected) ** 2 / 2

    fitted = minimize(misfit, expected, tol=1e-12).x
    chances = 1 / (1 + np.exp(-(features @ fitted)))
    assert DecisionModel(known).weights_after(positions, decided) == pytest.approx(
        draw_weights(known, chances), rel=1e-4
    )


def test_a_run_that_goes_by_a_pattern_prefers_the_items_that_decide_in_it():
    pattern = np.tile([1.0, -1.0], 20)
    known = known_of(distances=False)._replace(patterns=pattern[None, :])
    seen = np.arange(20)
    before, after = (DecisionModel(known).weights_after(*one) for one in (NONE_SEEN, (seen, pattern[seen] > 0)))
    assert (after[20:] > before[20:])[pattern[20:] > 0].all()
    assert (after[20:] < before[20:])[pattern[20:] < 0].all()


def test_of_some_items_the_patterns_are_theirs():
    known = known_of(patterns=2)
    some = np.array([3, 5, 8])
    assert known.at(some).patterns == pytest.approx(known.patterns[:, some])
    assert known_of().at(some).patterns is None


@pytest.mark.parametrize("decided", [True, False])
def test_it_follows_history_less_where_all_or_none_decide(decided):
    """Towards odds of one or nothing all items are alike: more even weights where all decide, no
    failure where none does."""
    known = known_of(distances=False)
    before, after = (
        DecisionModel(known).weights_after(positions, np.full(len(positions), decided))
        for positions in (NONE_SEEN[0], np.arange(30))
    )
    if decided:
        even_part = np.std(draw_weights(known, np.ones(40)))
        assert abs(np.std(after) - even_part) < abs(np.std(before) - even_part)
    else:
        assert np.isfinite(after).all()


@given(st.integers(0, 10_000), st.integers(1, 80), st.integers(0, 80), st.floats(0, 1))
def test_weights_are_probabilities_that_leave_no_item_out(seed, items, seen, share):
    rng = np.random.default_rng(seed)
    positions = rng.permutation(items)[:seen]
    weights = DecisionModel(known_of(items, seed=seed)).weights_after(positions, rng.random(len(positions)) < share)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= LEAST_EVEN / items * (1 - 1e-12)).all()
