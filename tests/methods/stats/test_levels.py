"""Bounds of a system's level, against a naive count of the bets; and what they say together."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats import levels
from judgeloop.methods.stats.betting import BETS
from judgeloop.methods.stats.levels import FEW, FIRST, NOTHING_PROVED, STAKES, Drawn, start

SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, math.nan]), min_size=1, max_size=14)


def one(scores, items, risk=0.1):
    """The level of a system with these scores beside a baseline."""
    return start(2, 1, risk, items, items).after({0: Drawn(score)} for score in scores).each[0]


def ruled_out(total, scores, items, risk):
    """Whether the bets that the total is smaller ever win 1 / risk, or it is out of reach."""
    wealth, known = np.ones(len(BETS)), 0.0
    for number, score in enumerate(np.nan_to_num(scores, nan=1.0).tolist()):
        mean = (total - known) / (items - number)
        if mean > 1 or (mean == 1 and score < 1):
            return True
        if 0 < mean < 1:
            wealth *= 1 + BETS * (mean - score) / (1 - mean)
        known += score
        if STAKES @ wealth >= 1 / risk or total - known > items - number - 1:
            return True
    return False


@settings(max_examples=25, deadline=None)
@given(scores=SCORES, more=st.integers(0, 20), risk=st.sampled_from([0.05, 0.3]))
def test_the_upper_bound_is_the_largest_total_that_is_not_ruled_out(scores, more, risk):
    items = len(scores) + more
    totals = [half / 2 for half in range(2 * items + 1)]
    left = [total for total in totals if not ruled_out(total, scores, items, risk)]
    assert one(scores, items, risk).upper == max([*left, np.nansum(scores)])


@settings(max_examples=20, deadline=None)
@given(scores=SCORES, more=st.integers(0, 20), followed=st.integers(1, 9))
def test_the_bound_does_not_depend_on_how_many_totals_are_followed(scores, more, followed):
    items = len(scores) + more
    whole = one(scores, items).upper
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "FOLLOWED", followed)
        assert one(scores, items).upper == whole


@settings(max_examples=20, deadline=None)
@given(scores=SCORES, more=st.integers(0, 20))
def test_with_a_coarse_grid_the_bound_is_never_lower(scores, more):
    items = len(scores) + more
    fine = one(scores, items).upper
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "MOST_TOTALS", 7)
        coarse = one(scores, items).upper
    assert fine <= coarse <= items


@settings(max_examples=20, deadline=None)
@given(scores=SCORES, more=st.integers(0, 20), total=st.integers(0, 30))
def test_a_lower_bound_is_reached_and_nothing_above_it(scores, more, total):
    level = one(scores, len(scores) + more)
    lower = level.lower(0.1)
    assert level.least <= lower <= level.upper + 1e-6 or lower > level.upper - 1
    assert level.reaches(total / 2, 0.1) == (lower >= total / 2 - 1e-6)


@settings(max_examples=20, deadline=None)
@given(scores=SCORES, more=st.integers(1, 20), risk=st.sampled_from([0.05, 0.3]))
def test_a_bound_at_its_own_risk_is_the_upper_one_and_at_a_larger_risk_lower(scores, more, risk):
    level = one(scores, len(scores) + more, risk)
    assert level.upper - 1e-6 <= level.highest(risk) < level.upper + 0.5
    assert level.highest(0.5) <= level.highest(risk) + 1e-6


def test_a_system_judged_whole_has_both_bounds_at_its_total():
    level = one([1.0, 0.5, 0.0, 1.0], 4)
    assert (level.upper, level.lower(0.1), level.hope) == (2.5, 2.5, 2.5)


def test_a_system_judged_whole_is_named_also_if_its_upper_bound_has_failed():
    """Ten items lost and then thirty won: at a risk of 0.3, more than eight were ruled out."""
    scores = [0.0] * 10 + [1.0] * 30
    assert ruled_out(8.5, scores, 40, 0.3)
    found = start(2, 1, 0.3, 40, 40).after({0: Drawn(score)} for score in scores)
    assert found.each[0].upper == 30
    assert found.within(0)


def test_an_abstention_counts_for_the_system_above_and_against_it_below():
    level = one([1.0, math.nan, 0.0], 3)
    assert (level.upper, level.lower(0.1)) == (2.0, 1.0)


@pytest.mark.parametrize("risk", [0.2, 0.5])
@pytest.mark.parametrize("scores", [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [1, 0.5, 0.5, 0, 0, 0]])
def test_over_all_orders_a_bound_ever_fails_with_at_most_the_risk(scores, risk):
    orders = sorted(set(itertools.permutations(map(float, scores))))
    level_of, high, low = cache(lambda begun: one(begun, 6, risk)), 0, 0  # many orders begin alike
    for order in orders:
        path = [level_of(order[:seen]) for seen in range(1, 7)]
        high += any(level.upper < sum(scores) - 1e-9 for level in path)
        low += any(level.lower(risk) > sum(scores) + 1e-6 for level in path)
    assert high <= risk * len(orders)
    assert low <= risk * len(orders)


CHEAP = {"agrees": [1, 1, 0, -1, -1], "useless": [1, -1, 1, -1, 1], "contradicts": [-1, -1, -1, 1, 1]}


@pytest.mark.parametrize("risk", [0.2, 0.5])
@pytest.mark.parametrize("judge", CHEAP)
@pytest.mark.parametrize("scores", [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 0.5, 0.5, 0, 0]])
def test_a_bound_holds_over_all_orders_whatever_a_cheap_judge_says(scores, judge, risk):
    cheap = CHEAP[judge]
    orders = sorted(set(itertools.permutations(zip(map(float, scores), map(float, cheap), strict=True))))
    high = low = 0
    for order in orders:
        level, failed = start(2, 1, risk, 5, 5, beside=True).each[0], [False, False]
        for score, said in order:
            level = level.after(Drawn(score, said, sum(cheap)))
            failed[0] |= level.upper < sum(scores) - 1e-9
            failed[1] |= level.reaches(sum(scores) + 0.5, risk)
        high, low = high + failed[0], low + failed[1]
    assert high <= risk * len(orders)
    assert low <= risk * len(orders)


def test_a_control_is_a_slope_times_what_the_judge_says_less_what_the_items_left_are_told_to_be():
    level = start(2, 1, 0.1, 6, 6, beside=True).each[0]
    first = level.control(Drawn(1.0, 1.0, 3.0))
    assert (first.value, first.most, first.least) == pytest.approx((0.2 * 0.25, 0.2 * 0.25, 0.2 * 0.75))
    after = level.after(Drawn(1.0, 1.0, 3.0))
    means = after.totals[(after.totals > 0) & (after.totals < 6)] / 6
    assert after.wealth[(after.totals > 0) & (after.totals < 6)] == pytest.approx(
        1 + BETS * ((means - 1 + 0.05) / (1 - means + 0.15))[:, None]
    )
    # Of one label the slope is still that of the prior, and 2 of the 5 items left is their mean.
    second = after.control(Drawn(0.0, -1.0, 3.0))
    assert second.value == pytest.approx(0.2 * (-1 - 0.4) / 2)
    silent = after.after(Drawn(math.nan, -1.0, 3.0))
    assert (silent.slope, silent.cheap) == (after.slope, 0.0), "an abstention says nothing of the slope"


def test_a_judge_that_says_the_same_of_all_items_changes_no_bound_but_by_what_it_might_have_said():
    plain, beside = (start(3, 2, 0.1, 40, 40, beside=one) for one in (False, True))
    rows = [(1.0, 0.5), (0.0, 1.0), (1.0, 0.0), (1.0, 0.5)]
    with_it = beside.after({n: Drawn(x, 1.0, 40.0) for n, x in enumerate(row)} for row in rows)
    without = plain.after(dict(enumerate(map(Drawn, row))) for row in rows)
    assert all(one.control(Drawn(1.0, 1.0, 40.0)).value == 0 for one in with_it.each[:2])
    assert with_it.gap_of(0) >= without.gap_of(0) - 1e-9


@pytest.mark.parametrize("judge", CHEAP)
@pytest.mark.parametrize("table", [[[1, 1, 1, 0.5, 0], [1, 0, 1, 0, 1]], [[1, 0, 1, 0, 0], [0, 0, 0, 1, 0]]])
def test_over_all_orders_a_worse_system_is_named_with_at_most_the_risk_whatever_a_cheap_judge_says(table, judge):
    """Three systems, the last the baseline, on five items: in pairs and by levels."""
    cheap = np.array([CHEAP[judge], np.roll(CHEAP[judge], 2)], dtype=float)
    totals, risk = np.array([*np.sum(table, axis=1), 2.5]), 0.5

    def wrong(found, left):
        """In how many orders of the items that are left a worse one is named."""
        if found.within(0.0):
            return math.factorial(len(left)) * (totals[found.leader] < totals.max())
        return sum(
            wrong(found.after([{n: Drawn(table[n][at], cheap[n, at], cheap[n].sum()) for n in (0, 1)}]), left - {at})
            for at in left
        )

    assert wrong(start(3, 2, risk, 5, 5, beside=True), frozenset(range(5))) <= risk * math.factorial(5)


@pytest.mark.parametrize("systems", [2, 3, FEW, FEW + 1, 53])
def test_the_risks_of_all_bounds_that_can_do_harm_add_up_to_the_risk(systems):
    found = start(systems, 0, 0.1, 50, 50)
    upper, lower = found.each[1].risk, found.lower_risk
    pairs = 0.0 if found.pairs is None else found.pairs_risk
    assert max(upper, lower) == 0.1 if systems == 2 else True
    assert systems == 2 or upper + (systems - 2) * lower + pairs == pytest.approx(0.1)
    assert (systems - 1) * lower + pairs <= 0.1 + 1e-12, "if the baseline is the best"


def asked(rows, items, risk=0.1):
    """The levels of many systems after each one's scores; the last is the baseline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "FEW", 2)
        found = start(len(rows) + 1, len(rows), risk, items, items)
    return found.after({system: Drawn(score)} for system, row in enumerate(rows) for score in row)


def test_the_gap_is_how_far_another_bound_is_above_the_leader():
    found = asked([[1.0] * 10, [0.0] * 5], 10)
    assert found.leader == 0
    assert found.gap_of(0) == 0.0
    assert found.within(0.0)
    few = asked([[1.0] * 6, [0.0] * 2], 10)
    gap = few.gap_of(few.leader)
    lower = few.each[few.leader].lower(few.lower_risk)
    assert gap == pytest.approx(2 * (few.each[1].upper - lower) / 10)
    assert few.within(gap + 1e-6)
    assert not few.within(gap - 1e-3)


def test_the_baseline_may_lead_and_its_level_is_known():
    found = asked([[0.0] * 18, [0.0] * 18], 20)
    assert found.leader == found.surest == found.favourite == 2
    assert found.within(0.0)


def test_a_gap_can_be_stated_of_any_system_and_of_the_baseline_by_its_known_level():
    early = asked([[1.0, 0.5, 0.5], [0.0, 0.5, 0.0]], 100)
    known = early.gap_of(early.baseline)
    assert known == pytest.approx(2 * (max(early.uppers[:2]) - 50) / 100)
    assert known < early.gap_of(early.favourite) < early.gap_of(1)


def test_the_leader_has_the_least_gap_and_not_the_most_hope():
    found = asked([[1.0] * 60 + [0.0] * 6, [1.0] * 8, [0.0] * 5], 100)
    assert (found.favourite, found.leader, found.surest) == (1, 0, 0)
    gaps = [found.gap_of(system) for system in range(4)]
    assert found.leader == gaps.index(min(gaps))
    assert found.within(gaps[0] + 1e-6), "a race ends with whoever is within its gap"
    assert not found.within(gaps[0] - 1e-3)
    assert found.in_question.tolist() == [True, True, False, False]


def test_the_system_with_the_highest_upper_bound_leads_if_all_others_are_far_below():
    found = asked([[1.0] * 6, [0.0] * 12], 100)
    gaps = [found.gap_of(system) for system in range(3)]
    assert (found.surest, found.leader) == (found.baseline, 0)
    assert gaps[0] == min(gaps) < gaps[found.baseline]


def test_nobody_leads_while_no_gap_is_proved():
    early = asked([[1.0, 1.0], [1.0, 0.5]], 100)
    assert early.gap_of(early.baseline) == NOTHING_PROVED == 1.0
    assert early.favourite == 0
    assert early.leader is None
    assert early.in_question.all()


def test_among_few_systems_the_baseline_may_be_within_the_gap_before_who_is_pursued():
    found = together([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.0]] * 12, 48)
    gaps = [found.gap_of(system) for system in range(3)]
    assert (found.favourite, found.leader) == (0, gaps.index(min(gaps)))
    assert found.within(min(gaps) + 1e-6)


def test_at_first_every_system_is_asked_and_then_who_is_in_the_way():
    empty = asked([[], []], 30)
    assert empty.leader is None
    assert empty.wanted(0.0) == {0: 1, 1: 1}
    assert asked([[1.0], []], 30).wanted(0.0) == {1: 1}
    both = asked([[1.0] * FIRST, [1.0] * FIRST], 30)
    assert both.wanted(0.0) == {1: 1}
    assert set(both.wanted(0.9)) == {0}, "with a wide gap nobody is in the way"


def test_a_system_may_be_asked_again_when_the_pursued_sinks():
    before = asked([[1.0] * 20, [0.5] * 6], 40)
    assert 1 not in before.wanted(0.0)
    after = before.after([{0: Drawn(0.0)}] * 8)
    assert 1 in after.wanted(0.0)


def test_nobody_is_asked_once_all_are_judged():
    assert asked([[1.0] * 5, [1.0] * 5], 5).wanted(0.0) == {}


def test_of_a_sample_no_level_is_ever_known_but_the_baselines():
    found = start(2, 1, 0.1, UNLIMITED, 30).after({0: Drawn(1.0)} for _ in range(30))
    assert found.wanted(0.0) == {}
    assert 0.5 < found.each[0].lower(found.lower_risk) / UNLIMITED < 1
    assert found.each[0].upper == UNLIMITED
    assert found.within(0.0)


def together(rows, items):
    """The levels of few systems after whole rows; the last is the baseline."""
    found = start(len(rows[0]) + 1, len(rows[0]), 0.1, items, items)
    return found.after(dict(enumerate(map(Drawn, row))) for row in rows)


def test_among_few_systems_who_is_ruled_out_in_pairs_is_not_in_the_way():
    found = together([[1.0, 0.0]] * 9, 400)
    out = found.pairs.out(found.pairs_risk)
    assert out.tolist() == [False, True, False]
    assert found.uppers[1] == -math.inf
    assert not found.in_question[1]
    assert set(found.wanted(0.0)) == {0}, "the baseline and the leader are left"
    assert found.leader == 0


def test_among_few_systems_all_are_asked_on_the_same_items():
    found = together([[1.0, 0.0], [0.0, 1.0]], 400)
    assert found.wanted(0.0) == {0: 4, 1: 4}
    assert together([[1.0, 0.0], [0.0, 1.0]] * 50, 400).wanted(0.0) == {0: 5, 1: 5}


@pytest.mark.parametrize("seed", range(4))
def test_a_race_that_has_named_the_best_leaves_no_other_in_question(seed):
    rng, rates = np.random.default_rng(seed), [0.8, 0.6, 0.5, 0.3]
    found = start(4, 2, 0.1, 300, 300)
    for _ in range(300):
        row = {n: Drawn(float(rng.random() < rate)) for n, rate in enumerate(rates) if n != 2}
        found = found.after([row])
        if found.within(0.0):
            break
    assert found.within(0.0)
    assert np.flatnonzero(found.in_question).tolist() == [found.leader]
