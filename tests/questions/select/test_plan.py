"""Forecasts of a search for the best of many, against what really happens when the answers go on as
they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.racing import after
from judgeloop.methods.stopping.best_of_many import Separated
from judgeloop.questions.select import plan
from judgeloop.questions.select.plan import ASSUMED, judgments_to_separate, more_to_separate
from judgeloop.run.plan import Range

BASELINE, RISK, ITEMS = 0, 0.1, 120
NO_LIMIT = Limits(1, 10**6, 1.0)


def rows_of(seed, systems, queries, silent=0.0):
    """Rows of scores of systems whose win rates differ."""
    rng = np.random.default_rng(seed)
    rates = rng.random(systems)
    rows = (rng.random((queries, systems)) < rates).astype(float)
    rows[rng.random(rows.shape) < rng.choice([0.0, 0.3])] = 0.5
    rows[rng.random(rows.shape) < silent] = np.nan
    rows[:, BASELINE] = 0.5
    return rows


def run_on(rows, selector, *, items=ITEMS):
    """A whole run in which the answers are `rows` over and over; the tally once all were given
    once, and what came after."""
    systems = rows.shape[1]
    rule = Separated(RISK, items)
    pairs = tuple((one, BASELINE) for one in range(1, systems))
    session = Session(
        items=items,
        selector=Racing(systems, BASELINE, RISK) if selector == "race" else Random(pairs),
        estimator=WinRates(systems, BASELINE),
        rule=rule,
        limits=NO_LIMIT,
        rng=np.random.default_rng(0),
    )
    session._could_stop = lambda active: bool(session._pending)
    tally = asked = None
    queries = 0
    while choices := session.ask():
        if queries == len(rows):
            tally, asked = session.estimate.tally, session.asked
        row = rows[queries % len(rows)]
        scores = [row[choice.systems[0]] for choice in choices]
        session.tell([Abstention("no") if np.isnan(one) else Verdict(float(one)) for one in scores])
        queries += 1
    outcome = session.outcome()
    return tally, asked, outcome


@pytest.mark.parametrize("selector", ["race", "random"])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    systems=st.integers(2, 8),
    queries=st.integers(5, 12),
    silent=st.sampled_from([0.0, 0.1]),
)
def test_the_forecast_comes_true_when_the_answers_go_on_as_they_were(
    selector, seed, systems, queries, silent
):
    tally, asked, outcome = run_on(rows_of(seed, systems, queries, silent), selector)
    if tally is None or outcome.stop.kind is not StopKind.RISK_MET:
        return
    more = outcome.asked - asked
    shrinking = selector == "race"
    assert more_to_separate(tally, RISK, shrinking=shrinking) == more
    judgments, assumed = judgments_to_separate(
        tally, NO_LIMIT, level=RISK, asked=asked, shrinking=shrinking
    )
    assert assumed is None
    assert judgments.expected == more
    assert judgments.low <= more <= judgments.worst <= ITEMS * (systems - 1) - asked


def tally_of(rows, items=ITEMS, *, drawn=True, sampled=False):
    labels = [
        Label(Choice(position, 0.1 if drawn else None, (system, BASELINE)), Verdict(float(score)))
        for position, row in enumerate(rows)
        for system, score in enumerate(row)
        if system != BASELINE
    ]
    return WinRates(len(rows[0]), BASELINE, sampled=sampled).tally(labels, items)


def test_level_systems_are_never_told_apart():
    assert more_to_separate(tally_of([[0.5, 1.0, 1.0]] * 6), RISK, shrinking=True) is None


def test_in_one_order_no_forecast_looks_further_than_the_pool(monkeypatch):
    """The race is then over a population without end, in which level systems meet for ever."""
    queries = []

    def counted(*given):
        queries.append(given)
        assert len(queries) <= 2 * ITEMS
        return after(*given)

    monkeypatch.setattr(plan, "after", counted)
    tally = tally_of([[0.5, 1.0, 1.0]] * 6, sampled=True)
    assert more_to_separate(tally, RISK, shrinking=True) is None
    judgments, _ = judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=12, shrinking=True)
    assert judgments.low <= judgments.expected <= judgments.worst == 2 * (ITEMS - 6)


def test_nothing_is_foreseen_from_no_answers_or_picked_ones():
    empty = WinRates(3, BASELINE).tally((), ITEMS)
    assert more_to_separate(empty, RISK, shrinking=True) is None
    assert (
        more_to_separate(tally_of([[0.5, 1.0, 0.0]] * 6, drawn=False), RISK, shrinking=True) is None
    )


def test_nothing_more_is_needed_once_all_but_one_are_out():
    assert more_to_separate(tally_of([[0.5, 1.0, 0.0]] * 20), RISK, shrinking=True) == 0


@pytest.mark.parametrize("queries", [0, 4])
def test_with_little_known_the_expected_case_is_assumed_and_the_same_every_time(queries):
    tally = (
        tally_of([[0.5, 1.0, 0.0]] * queries) if queries else WinRates(3, BASELINE).tally((), ITEMS)
    )
    first, assumed = judgments_to_separate(
        tally, NO_LIMIT, level=RISK, asked=2 * queries, shrinking=True
    )
    assert assumed == ASSUMED
    assert (
        judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=2 * queries, shrinking=True)[0]
        == first
    )
    assert 0 < first.low <= first.expected <= first.worst == 2 * (ITEMS - queries)


def test_a_budget_is_used_to_its_end_by_a_rule_without_a_risk():
    tally = tally_of([[0.5, 1.0, 0.0]] * 6)
    limits = Limits(1, 50, 1.0)
    assert judgments_to_separate(tally, limits, level=None, asked=12, shrinking=False) == (
        Range(38, 38, 38),
        None,
    )
    assert judgments_to_separate(tally, limits, level=None, asked=60, shrinking=False)[0] == Range(
        0, 0, 0
    )
    small = tally_of([[0.5, 1.0, 0.0]] * 6, items=10)
    assert judgments_to_separate(small, limits, level=None, asked=12, shrinking=False)[0] == Range(
        8, 8, 8
    )


def test_at_worst_a_race_asks_all_queries_left_for_the_systems_still_in_it():
    tally = tally_of([[0.5, 1.0, 1.0, 0.0]] * 15)
    assert tally.race.out(RISK)[1:].tolist() == [False, False, True]
    assert judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=45, shrinking=True)[
        0
    ].worst == 2 * (ITEMS - 15)
    assert judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=45, shrinking=False)[
        0
    ].worst == 3 * (ITEMS - 15)


def test_a_race_between_level_systems_is_expected_to_take_all_queries():
    tally = tally_of([[0.5, 1.0, 1.0, lost] for lost in (1.0, 0.0, 1.0, 1.0, 0.0, 1.0)])
    judgments, _ = judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=18, shrinking=True)
    assert 2 * (ITEMS - 6) < judgments.expected < judgments.worst == 3 * (ITEMS - 6)


def test_the_limit_of_judgments_cuts_every_case():
    tally = tally_of([[0.5, 1.0, 0.9]] * 6)
    assert judgments_to_separate(tally, Limits(1, 14, 1.0), level=RISK, asked=12, shrinking=True)[
        0
    ] == Range(2, 2, 2)


def test_a_race_is_expected_to_take_less_than_asking_for_all():
    # One loses everywhere, the other sometimes.
    tally = tally_of(
        [[0.5, 1.0, 0.0], [0.5, 1.0, 0.0], [0.5, 1.0, 0.0], [0.5, 0.0, 0.0], [0.5, 1.0, 0.0]]
    )
    race, _ = judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=10, shrinking=True)
    random, _ = judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=10, shrinking=False)
    assert race.expected < random.expected


@pytest.mark.parametrize("seed", range(10))
def test_no_search_takes_less_than_the_low_case_while_all_are_asked_for(seed):
    tally, asked, outcome = run_on(rows_of(seed, 5, 6), "random")
    if tally is not None:
        judgments, _ = judgments_to_separate(
            tally, NO_LIMIT, level=RISK, asked=asked, shrinking=False
        )
        assert judgments.low <= outcome.asked - asked


def test_no_race_takes_less_than_the_low_case():
    tally, asked, outcome = run_on(race_that_ends_sooner(), "race", items=200)
    judgments, _ = judgments_to_separate(tally, NO_LIMIT, level=RISK, asked=asked, shrinking=True)
    assert judgments.low <= outcome.asked - asked


def race_that_ends_sooner():
    """After five queries the fifth system leads all others; the baseline, asked about for nothing,
    is the last to leave."""
    return np.array(
        [
            [0.5, 0, 0, 1, 1, 1, 0, 0],
            [0.5, 0, 0, 0, 1, 0, 0, 0],
            [0.5, 0, 0, 0, 1, 0, 1, 0],
            [0.5, 0, 0, 0, 1, 0, 0, 0],
            [0.5, 1, 1, 0, 1, 0, 0, 0],
        ]
    )
