"""When the best of many systems is named: the stated risk by hand, and what may still meet the
rule."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rules import check_settings, make_rule_among
from support.tallies import labels_of_rows

from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.stats.betting import BETS, STAKES
from judgeloop.methods.stopping.best_of_many import FixedBudget, Separated
from judgeloop.questions.select.config import SelectConfig

BASELINE, ITEMS = 0, 20
labels_of = partial(labels_of_rows, baseline=BASELINE)
NO = np.nan


def tally(rows, items=ITEMS, **how):
    return WinRates(len(rows[0]), BASELINE).tally(labels_of(rows, **how), items)


def test_the_stated_risk_is_that_of_the_rival_hardest_to_beat():
    # Before the first query the first of the level systems leads, which is the baseline: it is bet
    # on against the third, ½ - ½, and
    # against the second, ½ - 1; against it is bet on the second, 1 - ½. In the second query the
    # second leads: the mean to beat is
    # -½ / 19 for both others, and it wins by ½ again.
    standings = tally([[0.5, 1.0, 0.5], [0.5, 1.0, 0.5]])
    again = 1 + BETS * (0.5 + 0.5 / 19) / (1 - 0.5 / 19)
    wealth = {"baseline": STAKES @ ((1 + BETS / 2) * again), "third": STAKES @ again}
    assert wealth["baseline"] > wealth["third"]
    assert standings.leader == 1
    assert Separated(0.1, ITEMS).risk(standings) == pytest.approx(1 / wealth["third"])


def test_it_is_met_once_every_other_system_is_out():
    rule = Separated(0.1, ITEMS)
    met = [rule.is_met(tally([[0.5, 1.0, 0.0]] * queries)) for queries in range(1, 12)]
    out = [
        tally([[0.5, 1.0, 0.0]] * queries).race.out(0.1)[[0, 2]].all() for queries in range(1, 12)
    ]
    assert met == out
    assert met == sorted(met)
    assert met[-1]


@pytest.mark.parametrize(
    "rows",
    [[[0.5, 1.0, 1.0]] * 9, [[0.5, 0.5, 0.0]] * 9],
    ids=["two ahead", "level with the baseline"],
)
def test_level_leaders_are_never_separated(rows):
    rule = Separated(0.9, ITEMS)
    assert rule.risk(tally(rows)) == 1.0
    assert not rule.is_met(tally(rows))


def test_before_the_first_query_the_risk_is_one():
    for near_best in (None, 0.1):
        rule = Separated(0.1, ITEMS, near_best)
        empty = WinRates(3, BASELINE).tally((), ITEMS)
        assert rule.risk(empty) == 1.0
        assert not rule.is_met(empty)


def test_picked_queries_prove_nothing():
    standings = tally([[0.5, 1.0, 0.0]] * 15, drawn=False)
    assert Separated(0.5, ITEMS).risk(standings) == 1.0
    assert not Separated(0.5, ITEMS).can_be_met(standings, 5)


def test_near_the_best_is_shown_by_the_differences_to_the_leader_as_worked_by_hand():
    # Three systems, so two rivals, and half of the threshold for these bets: 2 · 2 · the risk of
    # each bet.
    # The leader is 0.1 · 20 = 2 points ahead if it is bet that it is no more than 0.1 behind: the
    # mean to beat is -0.1 before the
    # first query, (-2 - ½) / 19 before the second, and the differences are ½ to both.
    standings = tally([[0.5, 1.0, 0.5], [0.5, 1.0, 0.5]])
    first = 1 + BETS * 0.6 / 0.9
    second = 1 + BETS * (0.5 + 2.5 / 19) / (1 - 2.5 / 19)
    near = 1 / (STAKES @ (first * second))
    out = np.exp(-standings.race.evidence)
    assert Separated(0.1, ITEMS, 0.1).risk(standings) == pytest.approx(
        min(1, max(2 * min(out[rival], 2 * near) for rival in (0, 2)))
    )


def test_near_the_best_names_a_leader_that_cannot_be_separated():
    # Two systems that always win but for one tie: the second is half a point of sixty behind.
    rows = [[0.5, 1.0, 1.0, 0.0]] * 26 + [[0.5, 1.0, 0.5, 0.0]]
    standings = tally(rows, items=60)
    assert not Separated(0.1, 60).is_met(standings)
    assert Separated(0.1, 60, 0.2).is_met(standings)
    assert not Separated(0.1, 60, 0.001).is_met(standings)


def test_abstentions_count_against_the_leader_when_it_is_near_the_best():
    rows = [[0.5, 1.0, 1.0, 0.0]] * 26 + [[0.5, 1.0, 0.5, 0.0]]
    hidden = [*rows[:-5], *([[0.5, NO, NO, 0.0]] * 4), rows[-1]]
    rule = Separated(0.1, 60, 0.2)
    assert rule.risk(tally(hidden, items=60)) > rule.risk(tally(rows, items=60))


def test_with_near_best_the_stated_risk_is_not_zero_while_chance_remains():
    standings = tally([[0.5, 1.0, 0.0]] * 12, items=100)
    rule = Separated(0.1, 100, 0.01)
    assert standings.race.out(rule.level)[[0, 2]].all()
    assert rule.risk(standings) == pytest.approx(2 * np.exp(-standings.race.evidence[[0, 2]]).max())


FIELDS = {
    "0.12 behind": ([[0.5] * 6, [1, 1, 1, 0, 0, 1], [1, 1, 0, 0, 0.5, 0.5]], 0.1),
    "one great win": ([[0.5] * 6, [1, 1, 1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]], 0.15),
    "the baseline": ([[0.5] * 6, [1, 0, 0, 0, 0.5, 0.5], [0, 0, 1, 1, 0, 0]], 0.1),
}


@pytest.mark.parametrize("near_best", [True, False], ids=["near", "separated"])
@pytest.mark.parametrize("field", FIELDS)
def test_over_all_orders_a_wrong_system_is_ever_named_with_at_most_the_risk(field, near_best):
    scores, near = FIELDS[field]
    columns = np.array(scores)
    rates = columns.mean(axis=1)
    near = near if near_best else None
    wrong = set(np.flatnonzero(rates < rates.max() - (near or 0) - 1e-9).tolist())
    assert wrong
    estimator = WinRates(3, BASELINE)
    orders = sorted(set(itertools.permutations(map(tuple, columns.T))))[:: 3 if near_best else 1]
    for risk in (0.3, 0.7):
        rule, named, seen = Separated(risk, 6, near), 0, {}
        for order in orders:
            for queries in range(1, 7):
                rows = order[:queries]
                if rows not in seen:
                    standings = (
                        estimator.extended(
                            seen[rows[:-1]][0], labels_of(rows[-1:], first=queries - 1)
                        )
                        if queries > 1
                        else tally(rows, items=6)
                    )
                    seen[rows] = standings, rule.is_met(standings)
                standings, met = seen[rows]
                if met:
                    named += standings.leader in wrong
                    break
        assert named / len(orders) <= risk


@settings(max_examples=60, deadline=None)
@given(data=st.data(), risk=st.sampled_from([0.05, 0.2, 0.5]))
def test_what_cannot_be_met_is_not_met_whatever_the_answers(data, risk):
    score = st.sampled_from([0.0, 0.5, 1.0, NO])
    rows = st.lists(st.tuples(st.just(0.5), score, score), min_size=1, max_size=8)
    before, more = data.draw(rows), data.draw(rows)
    rule = Separated(risk, ITEMS)
    first = tally(before)
    last = WinRates(3, BASELINE).extended(first, labels_of(more, first=len(before)))
    if not rule.can_be_met(first, len(more)):
        assert not rule.is_met(last)


def test_with_near_best_it_may_be_met_at_any_time():
    assert Separated(0.1, ITEMS, 0.1).can_be_met(tally([[0.5, 1.0, 1.0]]), 1)


def test_a_fixed_budget_states_no_risk_and_names_the_leader_when_all_is_used_up():
    rule, standings = FixedBudget(), tally([[0.5, 1.0, 0.0]] * 15)
    assert math.isnan(rule.risk(standings))
    assert rule.guarantee is None
    assert not rule.is_met(standings)
    assert not rule.can_be_met(standings, 5)
    assert rule.decides_at >= {StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED}
    assert StopKind.ABSTENTIONS not in rule.decides_at


def test_near_best_is_promised_in_words_and_refused_without_a_stated_risk():
    assert (
        "more than 0.05 below"
        in make_rule_among("separated", risk=0.2, items=ITEMS, near_best=0.05).guarantee
    )
    asked = {"outputs": ["a", "b"], "baseline": "a", "judge": "human", "near_best": 0.05}
    check_settings("select", SelectConfig.of(**asked, rule="separated"))
    with pytest.raises(InputError, match=r"^`near_best=0.05` .* it applies to `rule=separated`$"):
        check_settings("select", SelectConfig.of(**asked, rule="fixed-budget"))
