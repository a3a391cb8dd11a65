"""What earlier scores let expect of the next system's, and a mean that is helped by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.methods.stats.score_forecast import (
    LIKENESS,
    USUAL_LIKENESS,
    Forecast,
    believed,
    forecast_scores,
    with_forecast,
)
from judgeloop.methods.stats.strata import Strata, stratified

NAN = np.nan


def test_a_forecast_is_the_one_worked_out_by_hand():
    # Both differ from their mean by 1/2, so the spread is 1/4 and they agree on 4 of 4 pairs:
    # likeness (4 + 200 · 0.2) / 204 = 44/204.
    # A deviation of 1 in all, of two systems, is divided by 2 + 160/44; the standard deviation is
    # √(4 · 1/4 / (4 - 2)).
    found = forecast_scores(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert found.scores == pytest.approx([1 / 2 + 11 / 62, 1 / 2 - 11 / 62])
    assert found.spread == pytest.approx(np.sqrt(1 / 2))


def test_an_item_that_nobody_was_rated_on_has_the_mean_of_all():
    found = forecast_scores(np.array([[1.0, 0.0, NAN], [0.8, 0.2, NAN], [NAN, NAN, NAN]]))
    assert found.scores[2] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "scores", [np.zeros((0, 3)), np.full((2, 3), NAN), np.full((2, 3), 0.4), np.array([[0.3, NAN], [NAN, 0.9]])]
)  # fmt: skip
def test_nothing_is_forecast_where_no_item_is_told_from_another(scores):
    assert forecast_scores(scores) is None


@settings(max_examples=50, deadline=None)
@given(systems=st.integers(1, 6), items=st.integers(2, 30), seed=st.integers(0, 999))
def test_how_good_earlier_systems_were_does_not_matter(systems, items, seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((systems, items)) < 0.3, NAN, rng.random((systems, items)))
    found, moved = forecast_scores(scores), forecast_scores(scores + rng.random((systems, 1)))
    if found is None or moved is None:
        assert found is moved
        return
    assert found.scores - found.scores.mean() == pytest.approx(moved.scores - moved.scores.mean())
    assert found.spread == pytest.approx(moved.spread)


def test_the_more_alike_earlier_systems_are_the_more_is_forecast():
    rng = np.random.default_rng(0)
    item = rng.normal(size=300)
    spreads = []
    for noise in (0.2, 1.0, 5.0):
        scores = (item + noise * rng.normal(size=(4, 300))) / np.sqrt(1 + noise**2)
        spreads.append(forecast_scores(scores).scores.std())
    assert spreads[0] > 1.5 * spreads[1] > 3 * spreads[2]


@pytest.mark.parametrize(("sign", "likeness"), [(1, LIKENESS[1]), (-1, LIKENESS[0])])
def test_likeness_is_kept_from_its_ends(sign, likeness):
    scores = np.random.default_rng(1).normal(size=2000)
    pair = np.vstack([scores, sign * scores]) if sign > 0 else np.vstack([scores, -scores, scores[::-1]])
    found = forecast_scores(pair)
    apart = (pair - pair.mean(axis=1, keepdims=True)).sum(axis=0)
    assert found.scores - found.scores.mean() == pytest.approx(
        apart / (len(pair) + (1 - likeness) / likeness), abs=0.02
    )


def test_one_system_alone_is_believed_as_much_as_is_usual():
    found = forecast_scores(np.array([[0.0, 1.0]]))
    assert found.scores == pytest.approx([0.5 - USUAL_LIKENESS / 2, 0.5 + USUAL_LIKENESS / 2])


FORECAST = Forecast(np.array([0.0, 0.0, 1.0, 1.0]), 0.5)
WHOLE = Strata.single(4)


def test_a_helped_mean_and_its_variance_are_those_worked_out_by_hand():
    # The scores' deviation is 0.4, that of earlier ones 0.5: 0.8 is expected. Ten further draws
    # with the forecast's variance of 1/4 weigh
    # 2.5, those seen 2/3: (0.4 + 2.5 · 0.8) / (2.5 + 2/3) = 14.4/19, spending 4/19 of the 2 degrees
    # of freedom.
    # The mean is 0.6 - 14.4/19 · (2/3 - 1/2) = 9/19; what is left, (2, -4.8, 2.8)/19, has the
    # squares 34.88/361.
    found = with_forecast(WHOLE, np.array([0, 2, 3]), np.array([0.2, 0.6, 1.0]), FORECAST)
    assert found.mean == pytest.approx(9 / 19)
    assert found.freedom == pytest.approx(34 / 19)
    assert found.variance == pytest.approx(34.88 / 361 / 2 / 3 / 4 * 38 / 34)


def test_scores_that_do_not_vary_are_left_alone():
    slope = believed(WHOLE, np.array([0, 2, 3]), np.full(3, 1.0), FORECAST)
    assert slope.coefficient == pytest.approx(0.0)


def test_a_forecast_that_hardly_varies_is_not_trusted_beyond_reason():
    rng = np.random.default_rng(2)
    scores, forecast = rng.random(200), np.where(np.arange(200) < 190, 1e-6 * rng.random(200), 1.0)
    found = with_forecast(Strata.single(200), np.arange(40), scores[:40], Forecast(forecast, scores.std()))
    assert abs(found.mean - scores.mean()) < 0.2


def test_a_forecast_without_any_spread_changes_nothing():
    positions, scores = np.array([0, 1, 2]), np.array([0.1, 0.5, 0.6])
    flat = Forecast(np.full(4, 0.5), 0.5)
    assert with_forecast(WHOLE, positions, scores, flat) == stratified(WHOLE, positions, scores)


@pytest.mark.parametrize("positions", [[0], [0, 2]])
def test_with_too_few_to_tell_it_is_not_looked_at(positions):
    scores = np.array([0.3, 0.9])[: len(positions)]
    found = with_forecast(WHOLE, np.array(positions), scores, FORECAST)
    assert found == pytest.approx(stratified(WHOLE, np.array(positions), scores), nan_ok=True)


@settings(max_examples=50, deadline=None)
@given(items=st.integers(4, 40), strata=st.integers(1, 4), seed=st.integers(0, 999))
def test_with_every_item_judged_the_mean_is_theirs_whatever_was_forecast(items, strata, seed):
    rng = np.random.default_rng(seed)
    parts, scores = Strata(np.arange(items) % strata), rng.random(items)
    found = with_forecast(parts, rng.permutation(items), scores, Forecast(rng.random(items), 0.3))
    assert found.mean == pytest.approx(scores.mean())
    assert found.variance == pytest.approx(0.0)
