"""Agreement with people: figures against other implementations, and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom
from sklearn.metrics import cohen_kappa_score

from judgeloop.methods.stats.with_people import (
    kappa_interval,
    kappa_scores,
    linear_kappa,
    mean_bounds,
    nominal_kappa,
    share_interval_of,
)

VERDICTS = np.array([0.0, 0.5, 1.0])


def draw(rng, n, same=0.7):
    people = rng.choice(VERDICTS, p=[0.4, 0.2, 0.4], size=n)
    return np.where(rng.random(n) < same, people, rng.choice(VERDICTS, size=n)), people


def test_kappas_are_those_of_scikit_learn(rng):
    judge, people = draw(rng, 200)
    votes = (2 * judge).astype(int), (2 * people).astype(int)
    assert linear_kappa(judge, people) == pytest.approx(cohen_kappa_score(*votes, weights="linear"))
    assert nominal_kappa(judge, people) == pytest.approx(cohen_kappa_score(*votes))
    same = np.ones(5)
    assert linear_kappa(same, same) is nominal_kappa(same, same) is None


def test_a_share_has_the_exact_interval_of_its_population(rng):
    equal = (rng.random(40) < 0.8).astype(float)
    known = binomtest(int(equal.sum()), 40).proportion_ci(0.9, "exact")
    assert share_interval_of(equal, 0.1) == pytest.approx((known.low, known.high))
    low, high = share_interval_of(equal, 0.1, items=100)
    assert known.low < low <= equal.mean() <= high < known.high
    found = int(equal.sum())
    assert (
        hypergeom.sf(found - 1, 100, round(100 * low) - 1, 40)
        <= 0.05
        < hypergeom.sf(found - 1, 100, round(100 * low), 40)
    )
    holes = equal.copy()
    holes[:5] = math.nan
    wide = share_interval_of(holes, 0.1)
    assert wide[0] == pytest.approx(share_interval_of(np.nan_to_num(holes), 0.1)[0])
    assert wide[1] == pytest.approx(share_interval_of(np.nan_to_num(holes, nan=1.0), 0.1)[1])


def test_scores_of_kappa_lie_in_their_range_and_have_the_sign_of_what_kappa_lacks(rng):
    judge, people = draw(rng, 100_000)
    kappas = np.array([-1.0, 0.0, 0.3, 0.9])
    scores = kappa_scores(judge, people, kappas)
    assert np.abs(scores).max() <= 1
    kappa = linear_kappa(judge, people)
    assert np.sign(scores.mean(axis=1)).tolist() == np.sign(kappa - kappas).tolist()
    (at_kappa,) = kappa_scores(judge, people, np.array([kappa])).mean(axis=1)
    assert abs(at_kappa) < 0.005


@pytest.mark.parametrize("items", [math.inf, 20_000])
def test_scores_of_kappa_beside_items_without_a_label_have_the_same_sign_and_vary_less(rng, items):
    judge, people = draw(rng, 20_000)
    others, _ = draw(rng, 60_000)
    others = others if math.isinf(items) else judge
    kappa = linear_kappa(judge, people)
    scores = kappa_scores(judge, people, np.array([0.0, kappa, 0.9]), others=others, items=items)
    assert scores.shape == (3, 20_000)
    assert np.abs(scores).max() <= 1
    assert np.sign(scores.mean(axis=1)).tolist()[::2] == [1, -1]
    assert scores[1].mean() == pytest.approx(0, abs=1e-9 if math.isfinite(items) else 0.01)
    pairs = kappa_scores(judge, people, np.array([kappa]))
    assert scores[1].var() / 20_000 < pairs.var() / 10_000
    few = kappa_scores(judge, people, np.array([kappa]), others=others[:100])
    assert (few == pairs).all(), "too few of them are not used"


def test_items_without_a_label_narrow_the_interval_of_kappa(rng):
    widths = np.zeros(3)
    for _ in range(10):
        judge, people = draw(rng, 300)
        given = judge[:30], people[:30], 0.1, 30
        found = [kappa_interval(*given), kappa_interval(*given, judge[30:]), kappa_interval(*given, judge, 300)]
        widths += [high - low for low, high in found]
    assert widths[1] < 0.8 * widths[0]
    assert widths[2] < widths[1]


def test_the_interval_of_kappa_narrows_and_a_missing_verdict_widens_it(rng):
    judge, people = draw(rng, 200)
    few, many = kappa_interval(judge[:60], people[:60], 0.1, 60), kappa_interval(judge, people, 0.1, 200)
    kappa = linear_kappa(judge, people)
    assert many[0] < kappa < many[1]
    assert many[1] - many[0] < few[1] - few[0] < 1
    holes = judge.copy()
    holes[::20] = math.nan
    wide = kappa_interval(holes, people, 0.1, 200)
    assert wide[0] < many[0]
    assert wide[1] > many[1]
    assert kappa_interval(judge[:1], people[:1], 0.1, 1) == (-1.0, 1.0)


def test_bounds_of_a_mean_hold_what_is_missing_against_both_sides():
    scores = np.array([1.0, 0.5] * 40)
    low, high = mean_bounds(scores, 0.1, 80)
    assert low < 0.75 < high
    assert high - low < 0.2
    holes = np.where(np.arange(80) % 10 == 0, math.nan, scores)
    wide = mean_bounds(holes, 0.1, 80)
    assert wide[0] < low
    assert wide[1] > high - 0.02
    assert mean_bounds(np.zeros(0), 0.1, 10) == (0.0, 1.0)
