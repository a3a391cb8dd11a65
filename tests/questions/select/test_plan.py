"""Forecasts of a search for the best of many, against what happens when the answers go on as they
were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Verdict
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.best_of_many import FixedBudget, Separated
from judgeloop.questions.select.config import MORE_EACH, USUAL, SelectConfig
from judgeloop.questions.select.question import ASSUMED, assumed_wins, judgments_to_name, likely_shares, more_to_name
from judgeloop.runs.forecast import Range

BASELINE, RISK, ITEMS = 0, 0.1, 120
NO_LIMIT = Limits(1, 10**6, 1.0)
CUT = StopReason(StopKind.DRY_RUN, "asks nobody")


def sessions(systems, selector="race", items=ITEMS, risk=RISK):
    """What makes a session of the run, given its limits."""
    pairs = tuple((one, BASELINE) for one in range(1, systems))
    race = Racing(systems, BASELINE, risk)

    def new(limits):
        return Session(
            items=items,
            selector=race if selector == "race" else Random(pairs),
            estimator=WinRates(systems, BASELINE, None if selector == "fixed" else risk),
            rule=FixedBudget() if selector == "fixed" else Separated(risk),
            limits=limits,
            rng=np.random.default_rng(0),
        )

    return new


def run(new, rows, rounds, limits=NO_LIMIT):
    """The outcomes after so many rounds and at the end, if each system's answers come again."""
    found = []
    for last in (rounds, 10**6):
        session, own, count = new(limits), {}, 0
        while choices := session.ask():
            if count == last:
                session.tell([], halt=CUT)
                break
            answers = []
            for choice in choices:
                system = choice.systems[0]
                at = own.setdefault(system, 0)
                own[system] += 1
                answers.append(Verdict(float(rows[system][at % len(rows[system])])))
            session.tell(answers)
            count += 1
        found.append((session.outcome(), count))
    return found


@pytest.mark.parametrize("selector", ["race", "random"])
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), systems=st.integers(2, 6))
@pytest.mark.simulation
def test_the_forecast_is_between_its_cases_and_near_what_happens(selector, seed, systems):
    rng = np.random.default_rng(seed)
    rows = (rng.random((systems, 12)) < rng.random((systems, 1))).astype(float)
    new = sessions(systems, selector)
    (cut, _), (end, _) = run(new, rows, 12)
    if cut.stop.kind is not StopKind.DRY_RUN:
        return
    foreseen = judgments_to_name(cut, NO_LIMIT, new, every=ITEMS * (systems - 1), states_risk=True, over=False)
    judgments = foreseen.judgments
    assert not foreseen.open
    assert 0 < judgments.low <= judgments.expected <= judgments.worst
    assert judgments.worst == ITEMS * (systems - 1) - cut.asked
    more = more_to_name(cut, new)
    assert more is None or more == judgments.expected or judgments.expected > 0
    assert end.winner is not None


def test_the_fewer_answers_are_known_the_closer_a_forecast_takes_the_systems_to_be():
    new = sessions(3, "random")
    (cut, _), (end, _) = run(new, [[0.5], [1.0], [0.5]], 5)
    assert cut.asked == 10
    more = more_to_name(cut, new)
    judgments, assumed, *_ = judgments_to_name(cut, NO_LIMIT, new, every=2 * ITEMS, states_risk=True, over=False)
    assert judgments.expected == more
    assert 0 < judgments.low <= end.asked - cut.asked <= more, "five answers are few"
    assert assumed == ASSUMED


def test_a_stricter_risk_is_not_foreseen_to_take_fewer_judgments():
    """The imagined answers are the same."""
    expected = []
    for risk in (0.1, 0.02, 0.01, 0.001):
        new = sessions(6, risk=risk)
        (empty, _), _ = run(new, [[0.5]] * 6, 0)
        found = judgments_to_name(empty, NO_LIMIT, new, every=5 * ITEMS, states_risk=True, over=False)
        expected.append(found.judgments.expected)
    assert expected == sorted(expected)


@pytest.mark.parametrize("win", [0.75, 0.51])
def test_a_forecast_knows_a_win_as_the_tally_does(win):
    """A panel's mean, or probabilities, prefer a system with a score below 1."""
    foreseen = []
    for score in (win, 1.0):
        new = sessions(3, "random")
        (cut, _), _ = run(new, [[0.5], [score], [0.5]], 5)
        foreseen.append(judgments_to_name(cut, NO_LIMIT, new, every=2 * ITEMS, states_risk=True, over=False))
    assert foreseen[0] == foreseen[1]


def test_likely_shares_go_from_the_assumed_ones_to_those_of_the_answers():
    rng = np.random.default_rng(1)
    none = np.zeros(7)
    wins, ties = likely_shares(none, none, none, rng)
    assert sorted(wins) == pytest.approx(assumed_wins(7))
    assert ties == pytest.approx(0.3)
    many = np.full(7, 10_000.0)
    wins, ties = likely_shares(0.6 * many, 0.1 * many, many, rng)
    assert wins == pytest.approx(0.6, abs=0.01)
    assert ties == pytest.approx(0.1, abs=0.001)
    few = np.full(7, 27.0)  # as much as the spread says
    wins, ties = likely_shares(few, 0 * few, few, rng)
    assert (wins + ties / 2).mean() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("rounds", [0, 2])
def test_with_little_known_the_expected_case_is_assumed_and_the_same_every_time(rounds):
    new = sessions(3)
    (cut, _), _ = run(new, [[0.5], [1.0], [1.0]], rounds)
    first, assumed, *_ = judgments_to_name(cut, NO_LIMIT, new, every=2 * ITEMS, states_risk=True, over=False)
    assert assumed == ASSUMED
    assert judgments_to_name(cut, NO_LIMIT, new, every=2 * ITEMS, states_risk=True, over=False)[0] == first
    assert 0 < first.low <= first.expected <= first.worst


def test_nothing_is_foreseen_from_no_answers_or_without_a_risk():
    (empty, _), _ = run(sessions(3), [[0.5], [1.0], [0.0]], 0)
    assert more_to_name(empty, sessions(3)) is None
    new = sessions(3, "fixed")
    (cut, _), _ = run(new, [[0.5], [1.0], [0.0]], 6)
    assert more_to_name(cut, new) is None


def test_a_budget_is_used_to_its_end_by_a_rule_without_a_risk():
    limits, new = Limits(1, 50, 1.0), sessions(3, "fixed")
    (cut, _), _ = run(new, [[0.5], [1.0], [0.0]], 0, limits)
    found = judgments_to_name(cut, limits, new, every=2 * ITEMS, states_risk=False, over=False)
    assert found == (Range(50, 50, 50), None, False, 0)
    none = judgments_to_name(cut, limits, new, every=2 * ITEMS, states_risk=True, over=True)
    assert none == (Range(0, 0, 0), None, False, 0)


def test_the_limit_of_judgments_cuts_every_case():
    limits, new = Limits(1, 14, 1.0), sessions(3)
    (cut, _), _ = run(new, [[0.5], [1.0], [0.9]], 4, limits)
    judgments, *_ = judgments_to_name(cut, limits, new, every=2 * ITEMS, states_risk=True, over=False)
    assert judgments.worst == 14 - cut.asked
    assert judgments.expected <= judgments.worst


def test_a_limit_that_is_too_low_is_foreseen_with_what_it_takes():
    new, free = sessions(4), Limits(1, 10**6, 1.0)
    (cut, _), _ = run(new, [[0.5], [1.0], [0.9], [0.2]], 0)
    enough = judgments_to_name(cut, free, new, every=3 * ITEMS, states_risk=True, over=False)
    assert (enough.open, enough.needed) == (False, 0)
    limit = Limits(1, enough.judgments.expected // 2, 1.0)
    short = judgments_to_name(cut, limit, new, every=3 * ITEMS, states_risk=True, over=False)
    assert short.open
    assert short.needed == enough.judgments.expected


@pytest.mark.parametrize("systems", [6, 18, 54])
def test_the_usual_limit_covers_what_is_expected_of_a_search(systems):
    config = SelectConfig.of(outputs=[f"s{one}" for one in range(systems)], judge="human")
    limits = Limits(1, config.max_judgments, 1.0)
    new = sessions(systems, items=400)
    (cut, _), _ = run(new, [[0.5], [1.0], *[[0.0]] * systems], 0, limits)
    foreseen = judgments_to_name(cut, limits, new, every=ITEMS * (systems - 1), states_risk=True, over=False)
    assert not foreseen.open
    assert foreseen.judgments.expected < config.max_judgments


def test_without_a_stated_risk_the_limit_does_not_depend_on_the_systems():
    asked = {"outputs": ["a"] * 50, "judge": "human", "baseline": "a"}
    assert SelectConfig.of(**asked, selector="confidence").max_judgments == USUAL
    assert SelectConfig.of(**asked, selector="random").max_judgments == USUAL + 50 * MORE_EACH
    assert SelectConfig.of(**asked, max_judgments=70).max_judgments == 70
