"""When the best of many systems is named, what is promised then, and what a run may still find."""

from __future__ import annotations

import itertools
from functools import cache, partial

import numpy as np
import pytest
from support.rules import check_settings, make_rule_among
from support.tallies import labels_of_rows

from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.stopping.best_of_many import FixedBudget, Separated
from judgeloop.questions.select.settings import SelectSettings

BASELINE, ITEMS, RISK = 0, 20, 0.1
labels_of = partial(labels_of_rows, baseline=BASELINE)


def tally(rows, items=ITEMS, risk=RISK, **how):
    return WinRates(len(rows[0]), BASELINE, risk).tally(labels_of(rows, **how), items)


def test_it_is_met_once_no_other_system_can_be_better():
    rule, looks = Separated(RISK), range(1, ITEMS + 1)
    standings = [tally([[0.5, 1.0, 0.0]] * queries) for queries in looks]
    met = [rule.is_met(one) for one in standings]
    assert met == sorted(met)
    assert met[-1]
    assert not met[0]
    assert [one.levels.gap_of(1) <= 1e-6 for one in standings] == met


def test_within_the_gap_a_leader_is_named_that_may_not_be_the_best():
    # Two systems that always win but for one tie: the second is half a point of sixty behind.
    rows = [[0.5, 1.0, 1.0, 0.0]] * 26 + [[0.5, 1.0, 0.5, 0.0]]
    standings = tally(rows, items=60)
    low, high = Separated(RISK).interval(standings)
    assert low == 0 < high < 0.5
    assert not Separated(RISK).is_met(standings)
    for gap, met in ((high - 0.001, False), (high + 0.001, True)):
        estimator = WinRates(4, BASELINE, RISK, gap=gap)
        assert Separated(RISK, gap).is_met(estimator.tally(labels_of(rows), 60)) == met


def test_before_the_first_query_nothing_is_stated():
    rule, empty = Separated(RISK), WinRates(3, BASELINE, RISK).tally((), ITEMS)
    assert rule.risk(empty) == 1.0
    assert rule.interval(empty) is None
    assert not rule.is_met(empty)


def test_picked_queries_prove_nothing():
    standings, rule = tally([[0.5, 1.0, 0.0]] * 15, drawn=False), Separated(0.5)
    assert rule.risk(standings) == 1.0
    assert not rule.is_met(standings)
    assert not rule.can_be_met(standings, 5)
    assert rule.interval(standings) is None


def test_the_stated_risk_is_that_of_the_bounds_and_0_once_all_is_judged():
    assert Separated(RISK).risk(tally([[0.5, 1.0, 0.0]] * 12)) == RISK
    assert Separated(RISK).risk(tally([[0.5, 1.0, 0.0]] * ITEMS)) == 0.0


def test_of_level_systems_none_is_named_when_all_is_judged_but_one_within_a_gap():
    level = tally([[0.5, 1.0, 1.0]] * ITEMS)
    assert not Separated(RISK).is_met(tally([[0.5, 1.0, 1.0]] * 9))
    assert Separated(RISK).is_met(level)
    assert level.level == [1, 2]
    assert Separated(RISK).reason_to_stop(level).kind is StopKind.POOL_EXHAUSTED
    assert Separated(RISK, 0.1).reason_to_stop(level).kind is StopKind.RISK_MET


@pytest.mark.parametrize(
    ("last", "level"),
    [
        ([0.5, 1.0, 1.0], [1, 2]),
        ([0.5, 1.0, 0.5], []),  # one is ahead
        ([0.5, 1.0, np.nan], []),  # an abstention may have been a win
        ([1.0, 0.0, 0.0], [1, 2]),
    ],
)
def test_level_are_those_whose_levels_are_known(last, level):
    assert tally([[0.5, 1.0, 1.0]] * (ITEMS - 1) + [last]).level == level


FIELDS = {
    "0.12 behind": ([[0.5] * 6, [1, 1, 1, 0, 0, 1], [1, 1, 0, 0, 0.5, 0.5]], 0.2),
    "one great win": ([[0.5] * 6, [1, 1, 1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]], 0.3),
    "the baseline": ([[0.5] * 6, [1, 0, 0, 0, 0.5, 0.5], [0, 0, 1, 1, 0, 0]], 0.2),
}


@pytest.mark.simulation
@pytest.mark.parametrize("risk", [0.3, 0.7])
@pytest.mark.parametrize("field", FIELDS)
def test_over_all_orders_a_wrong_system_is_ever_named_with_at_most_the_risk(field, risk):
    """With a gap and without one, which differ in the rule alone; orders that begin alike share their beginning."""
    scores, most = FIELDS[field]
    columns = np.array(scores)
    rates, standing = columns.mean(axis=1), cache(lambda rows: tally(rows, 6, risk))
    orders = sorted(set(itertools.permutations(map(tuple, columns.T))))
    for gap in (0.0, most):
        rule, named = Separated(risk, gap), 0
        wrong = set(np.flatnonzero(rates < rates.max() - gap / 2 - 1e-9).tolist())
        assert wrong
        for order in orders:
            path = (standing(order[:queries]) for queries in range(1, 7))
            named += any(rule.is_met(one) and one.leader in wrong for one in path)
        assert named <= risk * len(orders)


def test_it_may_be_met_at_any_time_and_says_at_which_risk():
    assert Separated(RISK).can_be_met(tally([[0.5, 1.0, 0.0]]), 1)
    reason = Separated(RISK, 0.05).reason_to_stop(tally([[0.5, 1.0, 0.0]] * 18))
    assert reason.kind is StopKind.RISK_MET
    assert reason.sentence == ("no system is more than 5 points better than the leader, at a risk of 0.1")


def test_a_fixed_budget_names_the_highest_rate_at_the_end_and_states_no_risk():
    rule, standings = FixedBudget(), tally([[0.5, 1.0, 0.0]] * 18)
    assert np.isnan(rule.risk(standings))
    assert rule.reason_to_stop(standings) is None
    assert rule.interval(standings) is None
    assert StopKind.BUDGET in rule.decides_at


def test_the_gap_is_promised_and_refused_without_a_stated_risk():
    assert "at most 20 %" in make_rule_among("separated", risk=0.2, items=ITEMS).guarantee
    asked = {"outputs": ["a", "b"], "baseline": "a", "judge": "human", "min_gap": 0.05}
    check_settings("select", SelectSettings.of(**asked))
    with pytest.raises(InputError, match=r"^`min_gap=0.05` .* it applies to `rule=separated`$"):
        check_settings("select", SelectSettings.of(**asked, selector="confidence"))
