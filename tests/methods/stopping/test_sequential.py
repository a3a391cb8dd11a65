"""The spending boundary: its promise counted over all orders of small populations, and its
parts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rules import make_rule
from support.tallies import tally_of
from support.walks import first_crossing

from judgeloop.core.memory import grown
from judgeloop.core.outcomes import Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.predictive import items_to_decide
from judgeloop.methods.stats.spending import Spending
from judgeloop.methods.stopping.sequential import Sequential

LEVELS = np.array([0.02, 0.1, 0.2, 0.4, 0.8])


def orders(each, ties):
    return np.array(sorted(set(itertools.permutations([1] * each + [-1] * each + [0] * ties))), dtype=np.int8)


@pytest.mark.parametrize(("each", "ties"), [(1, 0), (2, 3), (4, 0), (3, 2), (2, 5), (4, 1)])
@pytest.mark.parametrize("unseen", [0, 3])
def test_over_all_orders_level_systems_cross_at_most_as_often_as_stated(each, ties, unseen):
    everything = orders(each, ties)
    limit = 2 * each + ties - min(unseen, 2 * each + ties - 1)
    spending = Spending(2 * each + ties, limit, LEVELS)
    sides = np.array([first_crossing(order[:limit], spending) for order in everything])
    crossed = (sides != 0).mean(axis=0)
    assert (crossed <= LEVELS + 1e-12).all()
    assert (sides > 0).sum(axis=0).tolist() == (sides < 0).sum(axis=0).tolist()


@pytest.mark.smoke
def test_without_ties_the_chance_of_crossing_is_exactly_what_is_spent():
    everything = orders(4, 0)
    spending = Spending(8, 8, LEVELS)
    sides = np.array([first_crossing(order, spending) for order in everything])
    *_, last = spending._steps(np.ones(8, dtype=bool))
    assert (sides != 0).mean(axis=0) == pytest.approx(last.spent)


@settings(max_examples=40)
@given(pattern=st.lists(st.booleans(), min_size=1, max_size=30), more=st.integers(0, 40))
def test_no_more_is_spent_than_the_schedule_allows(pattern, more):
    spending = Spending(len(pattern) + more, len(pattern), LEVELS)
    for drawn, step in enumerate(spending._steps(np.array(pattern)), 1):
        assert (step.spent <= LEVELS * np.sqrt(drawn / len(pattern)) + 1e-12).all()
        assert step.spent + step.alive.sum(axis=1) == pytest.approx(np.ones(len(LEVELS)))


def test_a_boundary_is_the_same_whether_it_is_worked_out_at_once_or_draw_by_draw():
    pattern = np.random.default_rng(0).random(60) < 0.6
    spending = Spending(300, 60, LEVELS)
    at_once = spending.barriers(pattern).tolist()
    for drawn in range(1, 61):
        assert spending.barriers(pattern[:drawn]).tolist() == at_once[:drawn]


def test_a_high_limit_needs_no_more_room_than_a_walk_strays():
    spending = Spending(10**6, 10_000, np.array([0.2]))
    step = spending.start()
    for drawn in range(400):
        step = spending.after(step, drawn, decisive=True)
    assert step.alive.shape[1] < 1000
    assert step.spent + step.alive.sum(axis=1) == pytest.approx(1)


def test_a_lead_that_no_balanced_population_can_give_is_certain():
    # 12 items, 7 wins: whatever the other 5 are, the first has more.
    rule = Sequential(1e-9, items=12, limit=12)
    assert rule.is_met(Tally(items=12, wins=(7, 0), preferences=(1,) * 7))
    assert not rule.is_met(Tally(items=12, wins=(6, 0), preferences=(1,) * 6))


@pytest.mark.smoke
def test_more_judgments_than_the_limit_meet_nothing():
    rule = Sequential(0.1, items=100, limit=10)
    assert rule.risk(Tally(items=100, wins=(11, 0))) == 1.0


@pytest.mark.parametrize("threshold", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("wins", [0, 1, 5])
def test_the_stated_risk_is_known_at_every_threshold(threshold, wins):
    rule = Sequential(threshold, items=100, limit=10)
    tally = Tally(items=100, wins=(wins, 0), preferences=(1,) * wins)
    assert rule.is_met(tally) == (rule.risk(tally) <= 0.5)


def test_ties_cost_less_power_than_verdicts_for_the_other_side():
    rule = make_rule("sequential", risk=0.1, items=500, limit=100)
    tied = Tally(items=500, wins=(12, 2), ties=10)
    lost = Tally(items=500, wins=(12, 12))
    assert rule.risk(tied) < rule.risk(lost)


@pytest.mark.parametrize("items", [5, 10])
@pytest.mark.parametrize("threshold", [0.1, 0.3])
def test_a_stated_risk_of_any_size_is_kept_by_all_walks_of_level_systems(threshold, items):
    """Of a name, and at the limit of naming the leader now."""
    rule = Sequential(threshold, UNLIMITED, items)
    ends: dict[tuple[int, ...], float] = {}  # the risk of naming the first system, by the verdicts
    going = [Tally(items)]
    while going:
        tally = going.pop()
        if len(tally.preferences) < items and not rule.is_met(tally):
            going += [follow(tally, preference) for preference in (1, -1)]
        elif tally.leader == 0:
            ends[tuple(tally.preferences)] = rule.risk(tally)
    assert min(map(len, ends)) < items
    for stated in ends.values():
        most = sum(0.5 ** len(walk) for walk, risk in ends.items() if risk <= stated + 1e-12)
        assert most <= stated + 1e-9


def test_the_stated_risk_of_a_name_is_half_of_what_was_spent_by_then():
    rule = Sequential(0.1, UNLIMITED, 200)
    wins = next(n for n in range(1, 20) if rule.is_met(follow_all([1] * n)))
    earlier = [rule.risk(follow_all([1] * n)) for n in range(1, wins)]
    assert rule.risk(follow_all([1] * wins)) == pytest.approx(0.5**wins)
    assert min(earlier) > 0.1 > rule.risk(follow_all([1] * wins))
    assert rule.risk(follow_all([1] * wins + [0, -1])) == pytest.approx(0.5**wins)


@pytest.mark.parametrize("limit", [8, 40])
def test_the_stated_risk_is_the_same_from_counts_and_verdict_by_verdict(limit):
    """At the limit, and of a name."""
    rule = Sequential(0.1, UNLIMITED, limit)
    verdicts = (1, -1, 1, 0, 1, -1, 1, 0) if limit == 8 else (1, 1, 0, 1, 1, 1, 1, -1)
    known = tally_of(verdicts, 8)
    growing = replace(known, preferences=grown((), verdicts))
    assert rule.is_met(growing) == rule.is_met(known) == (limit == 40)
    assert rule.risk(growing) == pytest.approx(rule.risk(known))
    assert rule.items_to_decide(growing) == rule.items_to_decide(known)


def test_who_takes_the_lead_after_the_other_was_named_is_not_named():
    verdicts = (1, 1, 0, 1, 1, 1, 1, -1, *[-1] * 6)
    assert Sequential(0.1, UNLIMITED, 40).risk(tally_of(verdicts, 60)) == 1.0


def follow_all(preferences):
    tally = Tally(len(preferences))
    for preference in preferences:
        tally = follow(tally, preference)
    return tally


@pytest.mark.parametrize("risk", [0.3, 0.1, 0.01])
@pytest.mark.parametrize("items", range(1, 7))
def test_after_any_verdicts_that_decide_nothing_at_least_one_more_item_is_asked_for(items, risk):
    rule = Sequential(risk, UNLIMITED, items)
    for verdicts in itertools.product((1, 0, -1), repeat=items):
        tally = tally_of(verdicts, items)
        if tally.leader is None or rule.is_met(tally):
            continue
        found = rule.items_to_decide(tally)
        assert found is None or found.even >= 1
        assert found is None or found.likely is None or found.likely >= found.even


@pytest.mark.parametrize("ties", [0, 0.3, 0.7])
@pytest.mark.parametrize("items", [25, 26, 27, 51, 100, 333, 805])
def test_a_run_that_no_lead_could_end_any_more_foretells_by_the_last_that_could(items, ties):
    """At a lead of one deviation, a boundary of c deviations takes c² - 1 times the items more."""
    decisive = round((1 - ties) * items)
    first = round((decisive + decisive**0.5) / 2)
    verdicts = [1] * first + [-1] * (decisive - first) + [0] * (items - decisive)
    np.random.default_rng(0).shuffle(verdicts)
    even = Sequential(0.1, UNLIMITED, items).items_to_decide(tally_of(verdicts, items)).even
    lead = (2 * first - decisive) / decisive**0.5
    boundary = lead * (1 + even / items) ** 0.5
    assert 1.5 < boundary < 2.4
    if decisive > 10:
        assert 0.5 < even / items_to_decide(items, lead, 2.0).even < 2


def follow(tally, preference):
    return replace(
        tally,
        wins=(tally.wins[0] + (preference == 1), tally.wins[1] + (preference == -1)),
        ties=tally.ties + (preference == 0),
        preferences=(*tally.preferences, preference),
    )
