"""How often intervals for a mean cover it: seeded simulations, each with the bound that its runs
allow.

A true coverage of 90 % is seen in under 86.4 % of 250 runs with a chance of 2.5 %; bets are held
to what they promise.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, hypergeom
from support.promises import TIMES
from support.selectors import steps_of

from judgeloop.core.records import UNLIMITED, Choice, Label, Verdict
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.selectors.stratified import Stratified
from judgeloop.methods.stats.intervals import exact_interval
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.precise import Precise

ITEMS, STRATA, RISK, RUNS = 1000, 8, 0.1, 250 * TIMES
LEAST = binom.ppf(0.025, RUNS, 1 - RISK) / RUNS
RATES = np.linspace(0.05, 0.95, STRATA)


@cache
def pool():
    """The strata of the items, and populations of scores over them."""
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, STRATA, ITEMS))
    scores = {
        "right or wrong, as strata have it": (rng.random(ITEMS) < RATES[labels]).astype(float),
        "nearly always right": (rng.random(ITEMS) < 0.95).astype(float),
        "ratings from 1 to 10": np.round(rng.beta(3, 1.5, ITEMS) * 9) / 9,
    }
    return labels, scores


def sample(selector, scores, judged, seed):
    """The labels of a run of so many judgments."""
    rng = np.random.default_rng(seed)
    state, labels = selector.init(len(scores), rng), []
    while len(labels) < judged:
        steps, state = steps_of(selector, state, judged - len(labels), rng)
        heard = [Label(step.choices[0], Verdict(float(scores[step.choices[0].position]))) for step in steps]
        state = selector.tell(state, heard)
        labels += heard
    return labels


def held(intervals, mean):
    """The share of the intervals that hold the mean."""
    return np.mean([low <= mean <= high for low, high in intervals])


def coverage(population, strata, judged, *, limit=None, proxy=None, allocation="mc-ucb"):
    scores = pool()[1][population]
    selector, estimator = Stratified(strata, limit or judged, allocation), MeanScore(strata, proxy)
    rule = Precise(RISK, ITEMS)
    samples = (sample(selector, scores, judged, seed) for seed in range(RUNS))
    return held((rule.interval(estimator.tally(one, ITEMS)) for one in samples), scores.mean())


SHARES, IN_STRATA = (0.05, 0.1, 0.25), "right or wrong, as strata have it"
EVERY = list(product(sorted(pool()[1]), (False, True), (False, True), ("mc-ucb", "proportional"), SHARES))
# With strata, with random draws, and with a proxy.
FEW = [
    *((IN_STRATA, False, True, "mc-ucb", share) for share in SHARES),
    ("nearly always right", False, False, "proportional", 0.1),
    ("ratings from 1 to 10", False, False, "proportional", 0.1),
    (IN_STRATA, True, True, "mc-ucb", 0.1),
]


@pytest.mark.parametrize(
    ("population", "helped", "in_strata", "allocation", "share"),
    [pytest.param(*one, marks=[] if one in FEW else [pytest.mark.slow]) for one in EVERY],
)
def test_at_one_look_it_covers_as_often_as_it_says(population, helped, in_strata, allocation, share):
    labels, populations = pool()
    strata = Strata(labels) if in_strata else Strata.single(ITEMS)
    rng = np.random.default_rng(1)
    proxy = np.clip(populations[population] + rng.normal(0, 0.5, ITEMS), 0, 1) if helped else None
    found = coverage(population, strata, round(share * ITEMS), proxy=proxy, allocation=allocation)
    few = (population, helped, in_strata, allocation, share) in FEW
    # Where 72 settings are looked at, the bound is that of the least of so many.
    assert found >= (LEAST if few else binom.ppf(0.025 / len(EVERY), RUNS, 1 - RISK) / RUNS)


@pytest.mark.parametrize("judged", [25, 60])
def test_ended_while_first_draws_are_made_it_covers_as_often_as_it_says(judged):
    strata = Strata(np.arange(ITEMS) // 25)  # forty, along the rates
    assert coverage("right or wrong, as strata have it", strata, judged, limit=200) >= LEAST


RARE = {"few score nothing": 0.04, "hardly any scores nothing": 0.01}


@pytest.mark.parametrize("population", RARE)
@pytest.mark.parametrize("half_width", [0.03, 0.05])
def test_scores_that_few_items_have_do_not_end_a_run_too_soon(population, half_width):
    rng = np.random.default_rng(0)
    nothing = rng.random(400) < RARE[population]
    scores = np.where(nothing, 0.0, np.where(rng.random(400) < 0.5, 7 / 9, 8 / 9))
    assert ever_missed_by_width(scores, half_width) <= 0.14


@pytest.mark.parametrize("half_width", [0.03, 0.06])
def test_a_proxy_that_is_nearly_always_right_does_not_end_a_run_too_soon(half_width):
    rng = np.random.default_rng(0)
    scores = (rng.random(400) < 0.69).astype(float)
    proxy = np.where(rng.random(400) < 0.03, 1 - scores, scores) + rng.normal(0, 0.01, 400)
    assert ever_missed_by_width(scores, half_width, proxy) <= 0.12


def ever_missed_by_width(scores, half_width, proxy=None, runs=100 * TIMES):
    """How often the interval misses at the look that ends a run by its width, of random draws."""
    whole = Strata.single(len(scores))
    rule, estimator, missed = Precise(RISK, len(scores), half_width), MeanScore(whole, proxy), 0
    for seed in range(runs):
        labels = sample(Stratified(whole, len(scores), "proportional"), scores, len(scores), seed)
        tally = estimator.tally((), len(scores))
        for label in labels:
            tally = estimator.extended(tally, [label])
            if rule.is_met(tally):
                break
        low, high = rule.interval(tally)
        missed += not low <= scores.mean() <= high
    return missed / runs


def stopped_by_width(rule, scores, seed, *, strata):
    """The interval at the look that ends a run by its width."""
    labels = sample(Stratified(strata, ITEMS), scores, ITEMS, seed)
    tally, estimator = MeanScore(strata).tally((), ITEMS), MeanScore(strata)
    for label in labels:
        tally = estimator.extended(tally, [label])
        if rule.is_met(tally):
            return rule.interval(tally)
    raise AssertionError("all items are judged at the last look")


@pytest.mark.slow
@pytest.mark.parametrize("population", sorted(pool()[1]))
@pytest.mark.parametrize("half_width", [0.05, 0.1])
def test_where_the_width_ends_the_run_it_covers_nearly_as_often(population, half_width):
    labels, populations = pool()
    rule, scores, strata = Precise(RISK, ITEMS, half_width), populations[population], Strata(labels)
    ends = (stopped_by_width(rule, scores, seed, strata=strata) for seed in range(500))
    assert held(ends, scores.mean()) >= 0.86


@pytest.mark.parametrize("helped", [False, True])
def test_looked_at_again_and_again_it_rarely_ever_misses(helped):
    scores = pool()[1]["right or wrong, as strata have it"]
    near = np.random.default_rng(2).normal(0, 0.5, ITEMS) + scores if helped else None
    whole, runs, looks, missed = Strata.single(ITEMS), 50 * TIMES, (10, 20, 40, 60, 80), 0
    estimator = MeanScore(whole, near)
    for seed in range(runs):
        rule, drawn = Precise(RISK, ITEMS, any_look=True, even=True, limit=max(looks)), sample_of(scores, looks, seed)
        bounds = [rule.interval(estimator.tally(drawn[:look], ITEMS)) for look in looks]
        missed += any(not low <= scores.mean() <= high for low, high in bounds)
    assert missed <= binom.ppf(0.999, runs, RISK)


def sample_of(scores, looks, seed):
    """Uniform draws."""
    return sample(Stratified(Strata.single(ITEMS), max(looks), "proportional"), scores, max(looks), seed)


@pytest.mark.quick
@pytest.mark.parametrize("judged", [20, 50, 100, 200])
@pytest.mark.parametrize("items", [None, ITEMS])
def test_each_exact_end_misses_with_at_most_half_of_the_risk_whatever_the_mean_is(items, judged):
    """The probabilities are exact: the approximate interval misses up to 16.5 % at a stated 10 % here."""
    ends = np.array([exact_interval(ones, judged, items or UNLIMITED, RISK) for ones in range(judged + 1)])
    counts, worst = np.arange(judged + 1), 0.0
    for ones in range(0, ITEMS + 1, 5):
        chances = hypergeom.pmf(counts, ITEMS, ones, judged) if items else binom.pmf(counts, judged, ones / ITEMS)
        for wrong in (ends[:, 0] > ones / ITEMS + 1e-12, ends[:, 1] < ones / ITEMS - 1e-12):
            worst = max(worst, chances[wrong].sum())
    assert 0.045 < worst <= RISK / 2


@pytest.mark.parametrize("rare", [0.5, 0.9, 0.99])
def test_where_scores_other_than_0_and_1_are_rare_both_intervals_together_miss_with_at_most_the_risk(rare):
    """Whether one is drawn says which interval it is."""
    rng, missed, runs, judged = np.random.default_rng(4), 0, RUNS, 20
    values, shares = np.array([0.0, 1.0, rare]), np.array([0.2, 0.76, 0.04])
    for drawn in rng.choice(values, (runs, judged), p=shares):
        labels = [Label(Choice(at, 0.1, (0,)), Verdict(float(score))) for at, score in enumerate(drawn)]
        rule = Precise(RISK, ITEMS, even=True, sampled=True, limit=judged)
        low, high = rule.interval(MeanScore(Strata.single(ITEMS), sampled=True).tally(labels, ITEMS))
        missed += not low <= values @ shares <= high
    assert missed <= binom.ppf(0.999, runs, RISK)


def test_a_biased_choice_within_strata_is_what_the_simulation_would_see():
    labels, populations = pool()
    scores = populations["right or wrong, as strata have it"]
    estimator, rule, covered = MeanScore(Strata(labels)), Precise(RISK, ITEMS), 0
    likelier = np.where(scores > 0, 1.5, 1.0)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        chosen = rng.choice(ITEMS, 200, replace=False, p=likelier / likelier.sum())
        tally = estimator.tally([Label(Choice(int(i), 0.1, (0,)), Verdict(scores[i])) for i in chosen], ITEMS)
        found = rule.interval(tally)
        covered += found is not None and found[0] <= scores.mean() <= found[1]
    assert covered / 300 < 0.8


@pytest.mark.parametrize("in_strata", [True, False])
def test_a_useless_proxy_does_no_more_harm_than_noise(in_strata):
    labels, populations = pool()
    scores = populations["right or wrong, as strata have it"]
    strata = Strata(labels) if in_strata else Strata.single(ITEMS)
    proxy, rule = np.random.default_rng(1).random(ITEMS), Precise(RISK, ITEMS)
    errors, widths = {}, {}
    for help_ in (None, proxy):
        estimator, found = MeanScore(strata, help_), []
        for seed in range(400):
            tally = estimator.tally(sample(Stratified(strata, 50, "proportional"), scores, 50, seed), ITEMS)
            low, high = rule.interval(tally)
            found.append((abs(tally.moments.mean - scores.mean()), high - low))
        errors[help_ is None], widths[help_ is None] = np.sqrt(np.mean(np.square(found), axis=0))
    assert errors[False] <= 1.05 * errors[True]
    assert widths[False] <= 1.05 * widths[True]


def missed_with_a_proxy(*, like_these, judged, mean, agrees, runs, each=4):
    """How many of the runs with a proxy miss at one look; scores and proxy are 0 or 1, as skewed as they are hard."""
    missed, whole = 0, Strata.single(ITEMS)
    ones = np.arange(ITEMS) < round(ITEMS * mean)
    for seed in range(runs):
        rng = np.random.default_rng([seed, judged])
        scores = (rng.random(ITEMS) < mean if like_these else rng.permutation(ones)).astype(float)
        proxy = np.where(rng.random(ITEMS) < agrees, scores, 1 - scores)
        drawn, rule = rng.permutation(ITEMS), Precise(RISK, ITEMS, even=True, sampled=like_these, limit=judged)
        blocks = drawn[: judged * each].reshape(judged, each) if like_these else None
        first = drawn[:judged] if blocks is None else blocks[:, 0]
        tally = Ratings(whole, first, scores[first], proxy=proxy, sampled=like_these, blocks=blocks)
        low, high = rule.interval(tally)
        missed += not low - 1e-12 <= mean <= high + 1e-12
    return missed


# The approximate interval missed in 14 % of the first, and in 20 % of the last.
PROXIED = [(20, 0.9, 0.9), (30, 0.7, 0.75), (50, 0.5, 0.5), (100, 0.975, 0.98)]


@pytest.mark.quick
@pytest.mark.parametrize("like_these", [False, True])
def test_at_one_look_the_interval_with_a_proxy_misses_as_seldom_as_it_says(like_these):
    missed = missed_with_a_proxy(like_these=like_these, judged=20, mean=0.9, agrees=0.9, runs=40)
    assert missed <= binom.ppf(0.999, 40, RISK)


@pytest.mark.simulation
@pytest.mark.parametrize("like_these", [False, True])
@pytest.mark.parametrize(("judged", "mean", "agrees"), PROXIED)
def test_whatever_the_proxy_is_worth_its_interval_misses_as_seldom_as_it_says(judged, mean, agrees, like_these):
    missed = missed_with_a_proxy(like_these=like_these, judged=judged, mean=mean, agrees=agrees, runs=RUNS)
    assert missed <= binom.ppf(0.999, RUNS, RISK)


def missed_by_groups(*, rates, groups, runs, judged=200, pooled=400):
    """How many of the runs ever miss; in a pool whose groups are right at these rates, in turn."""
    labels = np.arange(pooled) % groups
    scores = (np.arange(pooled) // groups < pooled / groups * np.array(rates)[labels % len(rates)]).astype(float)
    missed, one = 0, Ratings(Strata.single(pooled), np.zeros(0, dtype=np.int64), np.zeros(0), groups=Strata(labels))
    for seed in range(runs):
        drawn = np.random.default_rng([seed, groups]).permutation(pooled)[:judged]
        rule = Precise(RISK, pooled, any_look=True, even=True, limit=judged)
        low, high = rule.interval(replace(one, positions=drawn, scores=scores[drawn]))
        missed += not low - 1e-12 <= scores.mean() <= high + 1e-12
    return missed


APART, NEARLY_RIGHT = tuple(RATES), tuple(np.linspace(0.85, 0.99, STRATA))


@pytest.mark.quick
@pytest.mark.parametrize("rates", [APART, NEARLY_RIGHT])
def test_by_groups_the_interval_misses_as_seldom_as_it_says(rates):
    """Bounds only ever tighten, so that a run that ever misses does at its end."""
    missed = missed_by_groups(rates=rates, groups=STRATA, runs=20, judged=40)
    assert missed <= binom.ppf(0.999, 20, RISK)


@pytest.mark.simulation
@pytest.mark.parametrize(("rates", "groups"), [(APART, STRATA), (NEARLY_RIGHT, 40)])
def test_whatever_the_groups_are_worth_the_interval_misses_as_seldom_as_it_says(rates, groups):
    missed = missed_by_groups(rates=rates, groups=groups, runs=RUNS)
    assert missed <= binom.ppf(0.999, RUNS, RISK)
