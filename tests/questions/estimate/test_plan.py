"""Forecasts of an estimate, against what really happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgeloop.core.records import UNLIMITED, Choice, Label, Verdict
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.precise import Precise
from judgeloop.questions.estimate.question import RATINGS, ZERO_OR_ONE, _aim, judgments_to_know, more_to_know, too_few
from judgeloop.runs.forecast import Range

ITEMS = 2000


def labels_of(scores, *, drawn=True):
    return [Label(Choice(i, 0.1 if drawn else None, (0,)), Verdict(float(s))) for i, s in enumerate(scores)]


def tally_of(scores, *, drawn=True, items=ITEMS):
    return MeanScore(Strata.single(items)).tally(labels_of(scores, drawn=drawn), items)


def tallies_of(scores, first, items=ITEMS):
    """The tallies of so many of the first scores and of one more at a time, as a run counts them."""
    estimator = MeanScore(Strata.single(items))
    tally = estimator.tally(labels_of(scores[:first]), items)
    yield tally
    for label in labels_of(scores)[first:]:
        tally = estimator.extended(tally, [label])
        yield tally


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("half_width", [pytest.param(0.04, marks=pytest.mark.simulation), 0.08])
@pytest.mark.parametrize("rate", [0.5, 0.2])
def test_the_forecast_is_near_what_it_takes_when_the_scores_go_on_as_they_were(even, half_width, rate):
    rule = Precise(0.1, ITEMS, half_width, even=even)
    rule = replace(rule, limit=_aim(rule))
    takes, foreseen = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores = (rng.permutation(ITEMS) < rate * ITEMS).astype(float)
        takes += next(n for n, tally in enumerate(tallies_of(scores, 20), 20) if rule.is_met(tally))
        foreseen += 60 + more_to_know(rule, tally_of(scores[:60]))
    assert 0.8 * takes <= foreseen <= 1.2 * takes


@pytest.mark.parametrize(("items", "half_width"), [(100, 0.06), (200, 0.05)])
def test_of_a_small_pool_it_foresees_that_nearly_all_items_are_needed(items, half_width):
    scores = np.random.default_rng(2).permutation(items) < items / 2
    rule = Precise(0.1, items, half_width, even=True, limit=3 * items // 4)
    takes = next(n for n, tally in enumerate(tallies_of(scores, 20, items), 20) if rule.is_met(tally))
    foreseen = 40 + more_to_know(rule, tally_of(scores[:40], items=items))
    assert 0.8 * items < takes <= 1.1 * foreseen <= 1.1 * items


@pytest.mark.parametrize("items", [500, UNLIMITED])
def test_a_plan_ends_where_an_interval_is_narrow_enough_also_of_scores_that_spread_the_most(items):
    """Of a plan that is too short, half of the runs would have to judge nearly all items."""
    rule = Precise(0.1, min(items, 2000), 0.05, even=True, sampled=items == UNLIMITED)
    rule = replace(rule, limit=_aim(rule))
    for seed in range(6):
        scores = (np.random.default_rng(seed).permutation(rule.items) < rule.items / 2).astype(float)
        assert any(rule.is_met(tally) for tally in tallies_of(scores[: rule.planned], 20, rule.items)), seed


def test_before_the_first_look_scores_of_0_and_1_are_assumed():
    rule = Precise(0.1, ITEMS, 0.05)
    judgments, assumed = judgments_to_know(rule, tally_of([]), 1000, ZERO_OR_ONE)
    assert assumed == ZERO_OR_ONE[1]
    # z² / 4h² = 270.6, of 2,000: 270.6 / (1 + 270.6 / 2000) = 238, and a little more by Student's
    # quantile.
    assert judgments.expected == pytest.approx(238, abs=4)
    assert (judgments.low, judgments.worst) == (20, 1000)
    graded, _ = judgments_to_know(rule, tally_of([]), 1000, RATINGS)
    assert graded.expected == pytest.approx(238 / 5 * 1.07, abs=6), "a fifth of the variance"


def test_without_a_width_all_that_is_allowed_is_judged():
    assert judgments_to_know(Precise(0.1, ITEMS), tally_of([]), 150, ZERO_OR_ONE) == (Range(150, 150, 150), None)
    assert judgments_to_know(Precise(0.1, ITEMS), tally_of([1.0] * 200), 150, ZERO_OR_ONE)[0] == Range(0, 0, 0)


def test_the_limit_cuts_every_case():
    rule, tally = Precise(0.1, ITEMS, 0.01), tally_of([0.0, 1.0] * 20)
    judgments, _ = judgments_to_know(rule, tally, 50, ZERO_OR_ONE)
    assert judgments == Range(10, 10, 10)
    assert "`max_judgments=50` will probably end the estimate" in too_few(rule, tally, 50, ZERO_OR_ONE)
    assert too_few(rule, tally, ITEMS, ZERO_OR_ONE) == "", "judged whole, the mean is known"


def test_the_low_case_is_that_of_a_smaller_variance_once_scores_are_known():
    rng = np.random.default_rng(2)
    rule = Precise(0.1, ITEMS, 0.03)
    fewer = []
    for _ in range(40):
        scores = rng.random(ITEMS)
        judgments, _ = judgments_to_know(rule, tally_of(scores[:40]), ITEMS, RATINGS)
        fewer.append(any(map(rule.is_met, tallies_of(scores[: 39 + judgments.low], 40))))
        assert 0 < judgments.low < judgments.expected
    assert np.mean(fewer) <= 0.3, "seldom are fewer enough"


@pytest.mark.parametrize("even", [False, True])
def test_the_forecast_goes_on_to_skip_as_often_as_so_far(even):
    def tally_with(every, asked=100):
        whole = tally_of(([0.0, 1.0] * asked)[:asked])
        return replace(whole, scores=np.where(np.arange(asked) % every == every - 1, np.nan, whole.scores))

    rule = Precise(0.1, ITEMS, 0.08, even=even, limit=1000)
    few = more_to_know(rule, tally_with(25))
    assert few > more_to_know(rule, tally_with(ITEMS))
    takes = next(n for n in range(100, ITEMS) if rule.is_met(tally_with(25, n)))
    assert 100 + few == pytest.approx(takes, rel=0.25)
    assert more_to_know(rule, tally_with(5)) is None, "a fifth that may be 0 or 1 widens it too much"


def test_nothing_is_foreseen_from_one_score_or_for_no_width():
    assert more_to_know(Precise(0.1, ITEMS, 0.1), tally_of([1.0])) is None
    assert more_to_know(Precise(0.1, ITEMS), tally_of([1.0, 0.0, 1.0])) is None
