"""Calibrated thresholds keep their promise: by simulation, with fixed seeds, of a past and a new
comparison that is like it."""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import check_risk
from support.walks import fared_at

from judgeloop.calibration.threshold import Calibration, calibrate
from judgeloop.calibration.walks import Comparable, replayed
from judgeloop.engine.session import Limits
from judgeloop.history.past import Past, past_of_scores
from judgeloop.methods.stats.risk_control import bounds_of

ITEMS = 60
LIMITS = Limits(min_judgments=3, max_judgments=40)
WEIGHTED_RUNS = 200  # a run with weights takes five times as long as one without


def of_one_baseline(comparisons, rng):
    """Comparisons of a baseline with systems as good as it, more or less; their items differ in how
    often they tie."""
    ties = rng.random(ITEMS)
    edges = rng.normal(0, 0.15, size=comparisons)
    decided = rng.random((comparisons, ITEMS)) > ties
    won = rng.random((comparisons, ITEMS)) < 0.5 + edges[:, None]
    preferences = np.where(decided, np.where(won, 1, -1), 0).astype(np.int8)
    pairs = tuple(("base", f"s{one}") for one in range(comparisons))
    return Past(pairs, preferences, np.ones(preferences.shape, dtype=bool))


def among_alike(systems, rng):
    """All pairs of systems whose scores come from their skill, the item, and luck."""
    telling = rng.random(ITEMS) ** 3
    skills = rng.normal(0, 0.6, size=(systems, 1))
    scores = np.round(2 * telling * (skills + rng.normal(size=(systems, ITEMS))))
    return past_of_scores([f"s{one}" for one in range(systems)], scores, 0.0)


def fared(everything, new, risk, rng, *, weighted):
    """How a run of `new` ends with the rule calibrated on the past without it: whether wrong, and
    whether undecided."""
    unknown = [name for name in new if name != "base"]
    past = everything.without(*unknown)
    found = calibrate(past, new, risk=risk, limits=LIMITS, weighted=weighted, rng=rng, repetitions=4)
    assert isinstance(found, Calibration)
    shared = "base" if "base" in new else None
    row = Comparable((everything.pairs.index(new),), "", shared)
    run = replayed(everything, row, limits=LIMITS, weighted=weighted, rng=rng, repetitions=1)
    ended = fared_at(run, risk, found.bounds)
    return ended.wrong, ended.undecided


def check(title, ends, risk, capsys):
    wrong, undecided = (int(count) for count in np.sum(ends, axis=0))
    check_risk(f"{title}, undecided in {undecided}, wrong", wrong, len(ends), risk, capsys)
    assert undecided < 0.6 * len(ends), "a rule that never names anybody keeps any promise"


@pytest.mark.parametrize(("comparisons", "risk"), [(9, 0.1), (19, 0.1), (4, 0.2), (49, 0.3)])
def test_where_nothing_is_given_away_the_loss_is_the_risk_and_neither_more_nor_less(comparisons, risk, capsys):
    """Critical values without ties, one run of each: the new one is as likely to be any of all n +
    1 in order."""
    rng = np.random.default_rng(comparisons)
    runs = 20_000
    critical = rng.exponential(size=(runs, comparisons + 1))
    lost = sum(bool(row[0] < bounds_of(row[1:, None]).below(risk)) for row in critical)
    check_risk(f"{comparisons} alike, lost", lost, runs, risk, capsys, alternative="two-sided")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("comparisons", "risk"), [(9, 0.1), (4, 0.2), (14, 0.2)])
def test_a_new_system_beside_a_baseline_is_misjudged_with_at_most_the_risk(comparisons, risk, weighted, capsys):
    rng = np.random.default_rng([comparisons, round(100 * risk), weighted])
    new = ("base", f"s{comparisons}")
    ends = [
        fared(of_one_baseline(comparisons + 1, rng), new, risk, rng, weighted=weighted)
        for _ in range(WEIGHTED_RUNS if weighted else 500)
    ]
    check(f"{comparisons} with a baseline, weighted {weighted}", ends, risk, capsys)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("systems", "risk"), [(18, 0.1), (8, 0.2)])
def test_two_new_systems_are_misjudged_with_at_most_the_risk(systems, risk, weighted, capsys):
    rng = np.random.default_rng([systems, round(100 * risk), weighted])
    new = (f"s{systems}", f"s{systems + 1}")
    ends = [
        fared(among_alike(systems + 2, rng), new, risk, rng, weighted=weighted)
        for _ in range(WEIGHTED_RUNS if weighted else 300)
    ]
    check(f"two beside {systems} systems, weighted {weighted}", ends, risk, capsys)
