"""The stopping rules: golden values, and what may be asked before they could fire."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from judgeloop.records import Tally
from judgeloop.stats.crossing import boundary, crossing_probabilities
from judgeloop.stats.hypergeometric import survival
from judgeloop.stopping import RULES, Hypergeometric, Sequential, TieAware, can_be_met, first_met, is_met


def test_the_papers_worked_example():
    # Ashury-Tahan et al. 2024, appendix A.2: sf(7, 500, 250, 10) = 0.0529.
    assert round(survival(8, 500, 250, 10), 4) == 0.0529
    tally = Tally(items=500, wins=(8, 2))
    assert round(Hypergeometric(0.1).risk(tally), 4) == 0.0529


@given(st.integers(1, 40), st.data())
def test_the_survival_function_is_the_sum_of_exact_binomials(population, data):
    successes = data.draw(st.integers(0, population))
    draws = data.draw(st.integers(0, population))
    at_least = data.draw(st.integers(0, draws))
    ways = sum(
        comb(successes, i) * comb(population - successes, draws - i) for i in range(at_least, draws + 1)
    )
    assert survival(at_least, population, successes, draws) == pytest.approx(
        ways / comb(population, draws), abs=1e-9
    )


@given(st.integers(1, 3000), st.data())
def test_the_survival_function_is_scipys(population, data):
    successes = data.draw(st.integers(0, population))
    draws = data.draw(st.integers(0, population))
    at_least = data.draw(st.integers(0, draws))
    expected = hypergeom.sf(at_least - 1, population, successes, draws)
    assert survival(at_least, population, successes, draws) == pytest.approx(expected, rel=1e-8, abs=1e-290)


def test_ties_are_votes_against_the_leader_for_the_papers_rule_only():
    without, with_ties = Tally(items=500, wins=(8, 2)), Tally(items=500, wins=(8, 2), ties=20)
    assert Hypergeometric(0.1).risk(with_ties) > 0.99
    # 10 decisive of 30 judged: N' = round(500 · 10 / 30) = 167, K = 83: sf(7, 167, 83, 10).
    assert TieAware(0.1).risk(with_ties) == survival(8, 167, 83, 10)
    assert TieAware(0.1).risk(without) == survival(8, 500, 250, 10)


def test_the_tie_aware_population_is_at_least_what_was_decisive():
    # Everything judged and decisive: N' = 6; 5 of 6 cannot come from a population with 3 wins.
    assert TieAware(0.1).risk(Tally(items=6, wins=(5, 1))) == 0.0


def test_an_odd_population_has_its_null_at_the_most_votes_that_are_no_majority():
    # N = 5, K = 2: C(2,2)·C(3,0)/C(5,2) = 0.1.
    assert Hypergeometric(0.1).risk(Tally(items=5, wins=(2, 0))) == pytest.approx(0.1)


@pytest.mark.parametrize("name", RULES)
def test_without_a_leader_the_risk_is_whole(name):
    for tally in (Tally(items=9), Tally(items=9, wins=(2, 2)), Tally(items=9, ties=4)):
        assert RULES[name](0.5, 9, 9).risk(tally) == 1.0
        assert not is_met(RULES[name](1.0, 9, 9), tally)


@pytest.mark.parametrize("name", RULES)
@given(wins=st.tuples(st.integers(0, 30), st.integers(0, 30)), ties=st.integers(0, 30))
def test_the_risk_is_the_same_whichever_side_leads(name, wins, ties):
    rule, tally = RULES[name](0.1, 100, 100), Tally(items=100, wins=wins, ties=ties)
    assert rule.risk(tally) == rule.risk(replace(tally, wins=wins[::-1]))
    assert 0 <= rule.risk(tally) <= 1


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("threshold", [0.01, 0.1, 0.3])
@given(
    wins=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    ties=st.integers(0, 9),
    unknown=st.integers(0, 6),
    more_items=st.integers(6, 60),
)
def test_can_be_met_tells_whether_any_of_all_possible_answers_meets_the_rule(
    name, threshold, wins, ties, unknown, more_items
):
    items = sum(wins) + ties + more_items
    rule, tally = RULES[name](threshold, items, items), Tally(items=items, wins=wins, ties=ties)
    possible = any(
        is_met(rule, replace(tally, wins=(wins[0] + a, wins[1] + b), ties=ties + unknown - a - b))
        for a, b in itertools.product(range(unknown + 1), repeat=2)
        if a + b <= unknown
    )
    assert can_be_met(rule, tally, unknown) == possible


def test_the_projection_finds_where_the_same_shares_would_meet_the_rule():
    rule, shares = TieAware(0.05), Tally(items=500, wins=(6, 3), ties=1)
    enough = first_met(rule, shares, 11, 500)
    assert enough is not None
    assert is_met(rule, replace(shares, wins=(round(0.6 * enough), round(0.3 * enough)), ties=enough // 10))
    assert first_met(rule, shares, 11, 12) is None
    assert first_met(rule, replace(shares, wins=(3, 3)), 11, 500) is None
    assert first_met(rule, shares, 12, 11) is None


def test_the_boundary_of_a_known_case():
    # Risk 0.1, 800 items, limit 200: the constant boundary on the p-value is 0.0153.
    assert round(boundary(800, 200, 0.1), 4) == 0.0153


def test_the_chance_of_crossing_is_that_of_all_orders_counted_one_by_one():
    items, limit, threshold = 8, 6, 0.25
    orders = set(itertools.permutations([1, 1, 1, 1, 0, 0, 0, 0]))
    crossed = sum(
        any(survival(sum(order[:t]), items, 4, t) <= threshold for t in range(1, limit + 1))
        for order in orders
    )
    (chance,) = crossing_probabilities(items, limit, np.array([threshold]))
    assert chance == pytest.approx(crossed / len(orders))


@pytest.mark.parametrize("risk", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize(("items", "limit"), [(20, 20), (100, 60), (500, 200)])
def test_the_boundary_keeps_the_risk_and_the_next_p_value_would_not(items, limit, risk):
    edge = boundary(items, limit, risk)
    assert crossing_probabilities(items, limit, np.array([edge]))[0] <= risk
    reachable = sorted({survival(w, items, items // 2, t) for t in range(1, limit + 1) for w in range(t + 1)})
    above = [p for p in reachable if p > edge * (1 + 1e-12)]
    assert crossing_probabilities(items, limit, np.array(above[:1]))[0] > risk


def test_a_sequential_risk_is_met_exactly_at_the_boundary():
    rule = Sequential(0.1, items=200, limit=100)
    for wins in range(40):
        for losses in range(wins):
            tally = Tally(items=200, wins=(wins, losses))
            under = survival(wins, 200, 100, wins + losses) <= boundary(200, 100, 0.1)
            assert is_met(rule, tally) == under


def test_abstentions_count_for_the_other_side_under_a_guarantee():
    rule = Sequential(0.1, items=200, limit=100)
    lead = Tally(items=200, wins=(12, 2))
    assert rule.risk(replace(lead, abstentions=3)) == rule.risk(replace(lead, wins=(12, 5)))
