"""The rule that says whether the second system is worse than the first by more than a margin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tallies import grown_and_plain, tally_of

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.betting import log_wealth
from judgeloop.methods.stopping.not_worse import NotWorse


def kind(rule, verdicts):
    reason = rule.reason_to_stop(tally_of(verdicts, rule.items))
    return reason and reason.kind


def test_ties_show_that_it_is_not_worse():
    rule = NotWorse(0.1, 400, margin=0.1)
    assert kind(rule, [0] * 10) is None
    assert kind(rule, [0] * 60) is StopKind.NOT_WORSE


def test_wins_of_the_second_show_it_sooner_the_more_it_may_be_worse():
    wins = [
        next(n for n in range(1, 99) if kind(NotWorse(0.1, 400, margin), [-1] * n))
        for margin in (0.01, 0.2, 0.6)
    ]
    assert wins == sorted(wins, reverse=True)
    assert len(set(wins)) == 3


def test_wins_of_the_first_name_it_later_the_more_the_second_may_be_worse():
    wins = [
        next(n for n in range(1, 99) if kind(NotWorse(0.1, 400, margin), [1] * n))
        for margin in (0.01, 0.2, 0.6)
    ]
    assert wins == sorted(wins)
    assert len(set(wins)) == 3
    rule = NotWorse(0.1, 400, 0.2)
    assert kind(rule, [1] * wins[1]) is StopKind.RISK_MET
    assert rule.is_met(tally_of([1] * wins[1], 400))
    assert not rule.is_met(tally_of([-1] * 50, 400)), "the second is not named the better one"


def test_its_risk_is_what_the_bets_on_the_shifted_mean_say():
    """The wealth is that of Waudby-Smith & Ramdas (2024) against a mean of minus the margin."""
    verdicts = [-1, 0, 1, 0, -1, -1]
    scores = -np.array(verdicts, dtype=np.int8)
    rule = NotWorse(0.1, 50, margin=0.1)
    assert rule.risk(tally_of(verdicts, 50)) == log_wealth(scores, 50, -0.1).risk
    shifted = [1] * 12
    found = log_wealth(np.array(shifted, dtype=np.int8), 50, 0.1).risk
    assert rule.risk(tally_of(shifted, 50)) == found < 0.1


@pytest.mark.parametrize(
    ("first", "second", "worse"), [(5, 0, False), (6, 0, True), (0, 9, False), (52, 47, False)]
)
def test_once_every_item_is_judged_the_answer_is_certain(first, second, worse):
    """A lead of exactly the margin, here 0.05 of 100 items, is within it."""
    verdicts = [0] * (100 - first - second) + [1] * first + [-1] * second
    rule, tally = NotWorse(1e-9, 100, 0.05), tally_of(verdicts, 100)
    assert rule.reason_to_stop(tally).kind is (StopKind.RISK_MET if worse else StopKind.NOT_WORSE)
    assert rule.is_met(tally) is worse
    assert rule.risk(tally) == 0.0
    distance = (first - second) / 100
    assert rule.interval(tally) == (distance, distance)


@pytest.mark.parametrize("lead", range(-3, 9))
def test_a_session_that_judges_all_items_always_answers(lead):
    population = [1] * max(0, lead) + [-1] * max(0, -lead) + [0] * (60 - abs(lead))
    session = Session(
        items=60,
        selector=Random(),
        estimator=Preferences(),
        rule=NotWorse(1e-12, 60, 0.05),  # 3 of 60
        limits=Limits(min_judgments=1, max_judgments=60),
        rng=np.random.default_rng(0),
    )
    end = replay(session, lambda choice: Verdict((1 + population[choice.position]) / 2))
    assert end.stop.kind is (StopKind.RISK_MET if lead > 3 else StopKind.NOT_WORSE)
    assert end.winner == (0 if lead > 3 else None)


def test_an_abstention_counts_against_either_answer():
    rule = NotWorse(0.1, 20, 0.2)  # 4 of 20
    assert kind(rule, [0] * 16 + [1] * 3 + [None]) is StopKind.NOT_WORSE, "at most 4"
    assert kind(rule, [0] * 15 + [1] * 4 + [None]) is not StopKind.RISK_MET
    straddling = NotWorse(1e-12, 20, 0.2)
    assert kind(straddling, [1] * 4 + [0] * 15 + [None]) is None, "3 to 5: not known"


@settings(max_examples=80)
@given(
    verdicts=st.lists(st.sampled_from([1, 1, 0, -1, -1, None]), min_size=1, max_size=60),
    spare=st.integers(0, 20),
    margin=st.sampled_from([0.01, 0.05, 0.4]),
    threshold=st.sampled_from([0.02, 0.1, 0.3]),
)
def test_a_tally_that_grows_is_decided_as_one_that_is_counted_anew(
    verdicts, spare, margin, threshold
):
    items = len(verdicts) + spare
    growing, anew = (NotWorse(threshold, items, margin) for _ in (0, 1))
    for tally, plain in grown_and_plain(verdicts, items):
        assert growing.reason_to_stop(tally) == anew.reason_to_stop(plain)
        assert growing.risk(tally) == pytest.approx(anew.risk(plain), rel=1e-12)
        for unknown in (0, 1, 2, 5, 13):
            if unknown < items - len(tally.preferences):
                assert growing.can_be_met(tally, unknown) == anew.can_be_met(plain, unknown)


@given(
    verdicts=st.lists(st.sampled_from([1, 0, -1]), min_size=1, max_size=40),
    further=st.lists(st.sampled_from([1, 0, -1]), min_size=1, max_size=8),
)
def test_what_can_happen_within_some_verdicts_was_foreseen(verdicts, further):
    rule = NotWorse(0.1, 60, 0.1)
    if rule.reason_to_stop(tally_of(verdicts, 60)) is None:
        ends = kind(rule, verdicts + further) is not None
        if ends:
            assert rule.can_be_met(tally_of(verdicts, 60), len(further))
