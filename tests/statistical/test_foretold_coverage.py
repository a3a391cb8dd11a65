"""How often intervals that a history helps cover the mean: seeded simulations, each with the bound
that its runs allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.stats.score_forecast import forecast_scores
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.precise import Precise

ITEMS, RISK, RUNS = 400, 0.1, 500
WHOLE, RULE = Strata.single(ITEMS), Precise(RISK, ITEMS)


def systems(count, rng, *, alike=0.7, right_or_wrong=True):
    """Scores of so many systems on the same items, some of which are hard for all of them."""
    item = rng.normal(size=ITEMS)
    raw = np.sqrt(alike) * item + np.sqrt(1 - alike) * rng.normal(size=(count, ITEMS))
    return (raw > -0.3).astype(float) if right_or_wrong else np.clip(0.5 + 0.15 * raw, 0, 1)


def interval(estimator, scores, positions):
    labels = [Label(Choice(int(at), 0.1, (0,)), Verdict(float(scores[at]))) for at in positions]
    tally = estimator.tally(labels, ITEMS)
    return tally.moments.mean, RULE.interval(tally)


@pytest.mark.parametrize("right_or_wrong", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("history", [1, 4, 16])
@pytest.mark.parametrize("judged", [20, 60])
def test_helped_by_a_history_it_covers_as_often_as_it_says(judged, history, share, right_or_wrong):
    covered = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, judged, history])
        own, *others = systems(history + 1, rng, right_or_wrong=right_or_wrong)
        earlier = np.where(rng.random((history, ITEMS)) < share, others, np.nan)
        estimator = MeanScore(WHOLE, forecast_scores(earlier))
        _, (low, high) = interval(estimator, own, rng.permutation(ITEMS)[:judged])
        covered += low <= own.mean() <= high
    # 24 settings are looked at, so that the bound is that of the least of so many.
    assert covered >= binom.ppf(0.025 / 24, RUNS, 1 - RISK)


@pytest.mark.parametrize(("history", "alike", "least", "most"), [(16, 0.7, 0.0, 0.9), (1, 0.7, 0.0, 1.0), (16, 0.0, 0.95, 1.05), (1, 0.0, 0.95, 1.05)])  # fmt: skip
def test_a_history_narrows_where_systems_are_alike_and_else_does_no_harm(history, alike, least, most):
    errors, widths = [], []
    for seed in range(400):
        rng = np.random.default_rng([seed, history])
        own, *others = systems(history + 1, rng, alike=alike)
        drawn = rng.permutation(ITEMS)[:40]
        for estimator in (MeanScore(WHOLE), MeanScore(WHOLE, forecast_scores(np.array(others)))):
            mean, (low, high) = interval(estimator, own, drawn)
            errors.append(mean - own.mean())
            widths.append(high - low)
    plain, helped = (np.sqrt(np.mean(np.square(errors[::2]))), np.sqrt(np.mean(np.square(errors[1::2]))))
    assert least <= helped / plain <= most
    assert least <= np.mean(widths[1::2]) / np.mean(widths[::2]) <= most


def test_a_history_of_the_drawn_items_is_what_the_simulation_sees():
    covered = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        own, *others = systems(17, rng, alike=0.9)
        drawn = rng.permutation(ITEMS)[:60]
        earlier = np.full((16, ITEMS), np.nan)
        earlier[:, drawn] = np.array(others)[:, drawn]
        _, (low, high) = interval(MeanScore(WHOLE, forecast_scores(earlier)), own, drawn)
        covered += low <= own.mean() <= high
    assert covered / 400 < 0.87
