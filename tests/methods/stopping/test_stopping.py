"""The stopping rules: golden values, and what may be asked before they could fire."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom
from support.rules import RULES, check_settings, make_rule
from support.tallies import tally_of

from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Tally
from judgeloop.methods.stopping.rule import Rule
from judgeloop.papers.diffuse.rules import Hypergeometric, TieAware, survival
from judgeloop.questions.compare.settings import CompareSettings


def test_the_papers_worked_example():
    # Ashury-Tahan et al. 2024, appendix A.2: sf(7, 500, 250, 10) = 0.0529.
    assert round(survival(8, 500, 250, 10), 4) == 0.0529
    tally = Tally(items=500, wins=(8, 2))
    assert round(Hypergeometric(0.1).risk(tally), 4) == 0.0529


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


@pytest.mark.parametrize("name", RULES)
def test_without_a_leader_the_risk_is_whole(name):
    for tally in (Tally(items=9), Tally(items=9, wins=(2, 2)), Tally(items=9, ties=4)):
        assert make_rule(name, risk=0.5, items=9, limit=9).risk(tally) == 1.0
        assert not make_rule(name, risk=1.0, items=9, limit=9).is_met(tally)


@pytest.mark.parametrize("name", RULES)
@given(wins=st.tuples(st.integers(0, 30), st.integers(0, 30)), ties=st.integers(0, 30))
def test_the_risk_is_the_same_whichever_side_leads(name, wins, ties):
    rule = make_rule(name, risk=0.1, items=100, limit=100)
    tally = Tally(items=100, wins=wins, ties=ties)
    assert rule.risk(tally) == rule.risk(replace(tally, wins=wins[::-1]))
    assert 0 <= rule.risk(tally) <= 1


HISTORIES = st.lists(st.sampled_from([1, 1, 0, -1, None]), max_size=12)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=20)
@given(
    threshold=st.sampled_from([0.01, 0.1, 0.3]),
    history=HISTORIES,
    unknown=st.integers(0, 4),
    items=st.sampled_from([16, 30, 72]),  # few: a rule that bets has tables for each
)
def test_can_be_met_tells_whether_any_of_all_possible_answers_meets_the_rule(name, threshold, history, unknown, items):
    rule = make_rule(name, risk=threshold, items=items, limit=items)
    possible = any(
        rule.is_met(tally_of([*history, *more], items)) for more in itertools.product([1, 0, -1], repeat=unknown)
    )
    assert rule.can_be_met(tally_of(history, items), unknown) == possible


@pytest.mark.parametrize("name", RULES)
@given(history=HISTORIES)
def test_a_rule_is_met_where_its_stated_risk_is_at_or_under_its_threshold(name, history):
    rule, tally = make_rule(name, risk=0.2, items=40, limit=40), tally_of(history, 40)
    assert rule.is_met(tally) == (rule.risk(tally) <= 0.2 and tally.leader is not None)


@pytest.mark.parametrize("name", RULES)
def test_only_the_rule_that_bets_takes_a_near_tie(name):
    config = CompareSettings.of(first="a", second="b", judge="human", rule=name, near_tie=0.05)
    if name == "bets":
        check_settings("compare", config)
        assert make_rule(name, risk=0.1, items=9, limit=9, near_tie=0.05).near_tie == 0.05
    else:
        with pytest.raises(InputError, match=r"^`near_tie=0.05` .* it applies to `rule=bets`$"):
            check_settings("compare", config)


def test_the_projection_finds_where_the_same_shares_would_meet_the_rule():
    rule, shares = TieAware(0.05), Tally(items=500, wins=(6, 3), ties=1)
    enough = shares.judged + rule.first_met(shares, shares, 490)
    assert rule.is_met(replace(shares, wins=(round(0.6 * enough), round(0.3 * enough)), ties=enough // 10))
    assert rule.first_met(shares, shares, 2) is None
    assert rule.first_met(shares, replace(shares, wins=(3, 3)), 490) is None
    assert rule.first_met(shares, shares, 0) is None
    skipping = replace(shares, abstentions=2)
    assert rule.first_met(skipping, skipping, 488) > rule.first_met(shares, shares, 490)


@pytest.mark.parametrize("name", ["tie-aware", "hypergeometric"])
@given(
    wins=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    ties=st.integers(0, 60),
    unknown=st.integers(0, 40),
    threshold=st.sampled_from([1e-6, 0.01, 0.1, 0.3]),
)
def test_a_test_of_counts_can_be_met_as_by_trying_every_mixture(name, wins, ties, unknown, threshold):
    rule = make_rule(name, risk=threshold, items=300, limit=300)
    tally = Tally(items=300, wins=wins, ties=ties)
    assert rule.can_be_met(tally, unknown) == Rule.can_be_met(rule, tally, unknown)
