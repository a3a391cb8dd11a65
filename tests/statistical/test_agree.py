"""Gates and intervals of agreement err at most as often as they say, where they are most likely to err.

`benchmarks/trust.py --errors` makes 20,000 runs of each.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import TIMES, check_risk

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.estimators.agreement import Paired
from judgeloop.methods.stats.with_people import kappa_interval, linear_kappa, mean_bounds, share_interval_of
from judgeloop.methods.stopping.agreement import Agreeing, Asked

RUNS = 40 * TIMES
RISK, VERDICTS, SHARES = 0.1, np.array([0.0, 0.5, 1.0]), (0.4, 0.2, 0.4)


def paired(judge, *people):
    return Paired(len(judge), None, tuple(range(len(judge))), judge, np.column_stack(people))


def answered(gate, draw, runs, *, limit, items=UNLIMITED, once=False):
    """The answers of a gate, asked once all labels are there: an earlier one stays."""
    rule = Agreeing(RISK, items, limit, (gate,), once=once)
    return [rule.answers(paired(*draw()))[0] for _ in range(runs)]


def equal(rng, share, number):
    """A judge that says the same in so many of the items."""
    people = np.where(rng.random(number) < 0.5, 1.0, 0.0)
    return np.where(rng.random(number) < share, people, 1 - people), people


@pytest.mark.quick
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("share", "wrong"), [(0.8, True), (0.9, False)])
def test_a_gate_on_equal_verdicts(once, share, wrong, rng, capsys):
    runs = 2 * RUNS
    found = answered(Asked("agreement", 0.8, 0.9), lambda: equal(rng, share, 120), runs, limit=120, once=once)
    check_risk(f"agreement of {share}, once {once}", found.count(wrong), runs, RISK, capsys)


@pytest.mark.quick
def test_a_gate_on_these_items(rng, capsys):
    """160 of 200 items are equal: PASS is wrong."""
    whole = np.arange(200) < 160

    def draw():
        people = np.ones(100)
        return np.where(rng.permutation(whole)[:100], people, 0.0), people

    for once in (False, True):
        found = answered(Asked("agreement", 0.8, 0.9), draw, RUNS, limit=100, items=200, once=once)
        check_risk(f"agreement on these items, once {once}", found.count(True), RUNS, RISK, capsys)


def kappa_of(rng, number, same=0.6):
    people = rng.choice(VERDICTS, p=SHARES, size=number)
    return np.where(rng.random(number) < same, people, rng.choice(VERDICTS, p=SHARES, size=number)), people


@pytest.mark.quick
def test_a_gate_on_kappa_and_its_interval(rng, capsys):
    """Verdicts that are people's with a chance of 0.6, else drawn by chance, have a kappa of 0.6."""
    assert linear_kappa(*kappa_of(rng, 1_000_000)) == pytest.approx(0.6, abs=0.005)
    found = answered(Asked("kappa", 0.6, 0.6), lambda: kappa_of(rng, 100), RUNS, limit=100)
    check_risk("kappa above", found.count(True), RUNS, RISK, capsys)
    check_risk("kappa below", found.count(False), RUNS, RISK, capsys)
    missed = 0
    for _ in range(RUNS):
        low, high = kappa_interval(*kappa_of(rng, 60), RISK, 60)
        missed += not low <= 0.6 <= high
    check_risk("interval of kappa", missed, RUNS, RISK, capsys)


@pytest.mark.quick
def test_a_gate_on_kappa_beside_items_without_a_label(rng, capsys):
    """Items like these, with four verdicts of the judge beside each label; and 300 items with a kappa of their own."""
    passed = failed = here = 0
    judge, people = kappa_of(rng, 300)
    kappa = linear_kappa(judge, people)
    for _ in range(RUNS):
        rule = Agreeing(RISK, UNLIMITED, 60, (Asked("kappa", 0.6, 0.6),), others=kappa_of(rng, 240)[0])
        answer = rule.answers(paired(*kappa_of(rng, 60)))[0]
        passed, failed = passed + (answer is True), failed + (answer is False)
        some = rng.permutation(300)[:60]
        rule = Agreeing(RISK, 300, 60, (Asked("kappa", kappa, kappa),), others=judge)
        here += rule.answers(paired(judge[some], people[some]))[0] is not None
    check_risk("kappa above, judge on others", passed, RUNS, RISK, capsys)
    check_risk("kappa below, judge on others", failed, RUNS, RISK, capsys)
    check_risk("kappa of these items, either side", here, RUNS, 2 * RISK, capsys)


@pytest.mark.quick
@pytest.mark.parametrize("worse", [0.2, 0.0])
def test_a_gate_beside_a_second_person(worse, rng, capsys):
    """Two people agree on 0.8 of the items, and the judge with each of them less often by so much."""

    def draw():
        truth = np.where(rng.random(80) < 0.5, 1.0, 0.0)
        split = rng.random(80) < 0.2
        second = np.where(split, 1 - truth, truth)
        # On split items the judge agrees with one of the two, whatever it says.
        share = (0.8 - worse - 0.1) / 0.8
        return np.where(split | (rng.random(80) < share), truth, 1 - truth), truth, second

    found = answered(Asked("person", -0.2, 0.0), draw, RUNS, limit=80)
    wrong = True if worse else False  # noqa: SIM210 - which answer is wrong
    agreed = np.mean([np.nanmean(paired(*draw()).beside_people) for _ in range(200)])
    assert agreed == pytest.approx(-worse, abs=0.02)
    check_risk(f"worse than a person by {worse}", found.count(wrong), RUNS, RISK, capsys)


@pytest.mark.quick
def test_intervals_of_shares_and_means(rng, capsys):
    missed = off = 0
    for _ in range(RUNS):
        low, high = share_interval_of((rng.random(60) < 0.8).astype(float), RISK)
        missed += not low <= 0.8 <= high
    check_risk("share, one look", missed, RUNS, RISK, capsys)
    for _ in range(RUNS // 2):
        low, high = mean_bounds(rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.7, 0.2], size=60), RISK, 60, least=-1.0)
        off += not low <= 0.1 <= high
    check_risk("mean, at every look", off, RUNS // 2, RISK, capsys)
