"""A mean that is helped by a forecast, as a session sees it."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.estimators.foretold_mean import ForetoldMean
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.stats.foretelling import Forecast, with_forecast
from judgeloop.methods.stats.strata import Strata

ITEMS = 20
RNG = np.random.default_rng(0)
SCORES, FORETOLD = RNG.random(ITEMS), RNG.random(ITEMS)
FORECAST = Forecast(FORETOLD, 0.3)
ESTIMATOR = ForetoldMean(Strata.single(ITEMS), FORECAST)


def labels(positions):
    return [Label(Choice(at, 0.1, (0,)), Verdict(float(SCORES[at]))) for at in positions]


def test_its_moments_are_those_of_the_forecast():
    found = ESTIMATOR.tally(labels(range(8)), ITEMS).moments
    assert found == with_forecast(Strata.single(ITEMS), np.arange(8), SCORES[:8], FORECAST)
    assert (
        found.mean
        != MeanScore(Strata.single(ITEMS), FORETOLD).tally(labels(range(8)), ITEMS).moments.mean
    )


def test_told_label_by_label_it_is_the_same_as_told_at_once():
    tally = ESTIMATOR.tally((), ITEMS)
    for label in labels(range(8)):
        tally = ESTIMATOR.extended(tally, [label])
    assert tally.moments == ESTIMATOR.tally(labels(range(8)), ITEMS).moments


def test_an_abstention_is_no_score():
    silent = Label(Choice(9, 0.1, (0,)), Abstention("no"))
    tally = ESTIMATOR.tally([*labels(range(8)), silent], ITEMS)
    assert (tally.judged, tally.abstentions) == (8, 1)
    assert tally.moments == ESTIMATOR.tally(labels(range(8)), ITEMS).moments


def test_the_end_of_the_pool_is_said():
    assert (
        ESTIMATOR.exhausted(ESTIMATOR.tally(labels(range(ITEMS)), ITEMS)).kind
        is StopKind.ALL_JUDGED
    )


def test_a_forecast_of_another_pool_is_refused():
    with pytest.raises(ValueError, match="expected a forecast of 7 items, found one of 20"):
        ESTIMATOR.tally((), 7)
