"""Rules by table: what they answer, when, at which stated risk, and what abstentions do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pools import make_session
from support.tallies import tally_of

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import UNLIMITED, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stopping.by_table import NotWorse, WithinGap
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.methods.stopping.rule import scores_for
from judgeloop.methods.stopping.sequential import Sequential

WITHIN = WithinGap(0.1, 60, 60, 0.2)
NOT_WORSE = NotWorse(0.1, 60, 60, 0.2)
LIKE_THESE = WithinGap(0.1, UNLIMITED, 60, 0.2)
RULES = [WITHIN, NOT_WORSE, LIKE_THESE, NotWorse(0.1, UNLIMITED, 40, 0.3)]
VERDICTS = st.lists(st.sampled_from([1, 0, -1, None]), min_size=1, max_size=60)


def kind(rule, verdicts):
    reason = rule.reason_to_stop(tally_of(verdicts, 60))
    return reason and reason.kind


def first(rule, verdict, most=60):
    """After how many equal verdicts the rule ends a run."""
    return next(n for n in range(1, most) if kind(rule, [verdict] * n))


def test_a_system_that_wins_all_is_named_and_only_then():
    won = first(WITHIN, 1)
    assert first(WITHIN, -1) == won
    tally = tally_of([1] * won, 60)
    assert WITHIN.is_met(tally)
    assert tally.leader == 0
    error = WITHIN.table.error(0)
    assert WITHIN.risk(tally) <= error < WITHIN.risk(tally_of([1] * (won - 1), 60))


def test_ties_alone_pass_and_name_nobody():
    ties = first(NOT_WORSE, 0)
    assert kind(NOT_WORSE, [0] * ties) is StopKind.NOT_WORSE
    assert not NOT_WORSE.is_met(tally_of([0] * ties, 60))
    assert WITHIN.risk(tally_of([0] * 30, 60)) == 1.0
    assert kind(WITHIN, [0] * 30) is None


def test_wins_of_the_second_pass_it_and_losses_fail_it():
    assert kind(NOT_WORSE, [-1] * first(NOT_WORSE, -1)) is StopKind.NOT_WORSE
    lost = [1] * first(NOT_WORSE, 1)
    assert kind(NOT_WORSE, lost) is StopKind.RISK_MET
    assert NOT_WORSE.is_met(tally_of(lost, 60))


@pytest.mark.parametrize("lead", [-7, 0, 12, 13])
def test_a_session_that_judges_all_items_always_answers(lead):
    """Behind by 12 of 60, a fifth, is behind by the gap; at a risk this small only all answer."""
    limits = Limits(min_judgments=1, max_judgments=60)
    session = make_session(60, rule=NotWorse(1e-9, 60, 60, 0.2), limits=limits)
    score = 1.0 if lead > 0 else 0.0
    end = replay(session, lambda choice: Verdict(score if choice.position < abs(lead) else 0.5))
    assert end.stop.kind is (StopKind.RISK_MET if lead >= 12 else StopKind.NOT_WORSE)
    assert end.winner == (0 if lead >= 12 else None)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None)
@given(verdicts=VERDICTS)
def test_an_answer_is_given_at_a_stated_risk_of_at_most_the_risk(rule, verdicts):
    tally = tally_of(verdicts, 60)
    if rule.reason_to_stop(tally) is not None:
        assert rule.risk(tally) <= 0.1


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=60, deadline=None)
@given(verdicts=VERDICTS, further=st.lists(st.sampled_from([1, 0, -1, None]), min_size=1, max_size=8))
def test_what_can_happen_within_some_verdicts_was_foreseen(rule, verdicts, further):
    before, after = (tally_of(known, 60) for known in (verdicts, verdicts + further))
    began = len(verdicts + further) <= 60 and rule.reason_to_stop(before) is None
    if began and rule.reason_to_stop(after) is not None:
        assert rule.can_be_met(before, len(further))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=60, deadline=None)
@given(verdicts=VERDICTS, at=st.integers(0, 59))
def test_an_abstention_never_helps_an_answer_more_than_a_verdict_for_it(rule, verdicts, at):
    """In the place of an abstention, a verdict for the answer would have given it no later."""
    verdicts = [*verdicts[:at], None, *verdicts[at:]][:60]
    given_at = next((n for n in range(1, len(verdicts) + 1) if kind(rule, verdicts[:n]) is not None), None)
    if given_at is None:
        return
    tally = tally_of(verdicts[:given_at], 60)
    passes = kind(rule, verdicts[:given_at]) is StopKind.NOT_WORSE
    for_it = -1 if passes or tally.leader == 1 else 1
    known = [for_it if one is None else one for one in verdicts[:given_at]]
    assert any(kind(rule, known[:n]) is not None for n in range(1, given_at + 1))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=60, deadline=None)
@given(verdicts=VERDICTS)
def test_each_view_takes_an_abstention_for_a_verdict_against_its_answer(rule, verdicts):
    """So each answer's error is that of the table without abstentions."""
    given = [rule._gives(tally_of(verdicts, 61), side) for side in (0, 1)]
    for side, system in enumerate(rule.of_answer):
        against = -1 if system == 0 else 1
        filled = [against if one is None else one for one in verdicts]
        assert rule._gives(tally_of(filled, 61), side) == given[side]
    assert not all(given), "both answers are never given"


def test_a_run_that_will_hardly_name_anybody_is_given_up():
    check = GivingUp(WithinGap(0.1, UNLIMITED, 60, 0.05), 0.3, 60)
    assert check.reason_to_stop(tally_of([1, -1] * 25, 90)).kind is StopKind.FUTILITY
    assert check.reason_to_stop(tally_of([1] * 30, 90)) is None


@pytest.mark.parametrize(
    ("rule", "verdicts", "said"),
    [
        (LIKE_THESE, [1] * 30, "naming a system that is behind by 20 points or more"),
        (NotWorse(0.1, UNLIMITED, 60, 0.2), [1] * 30, "failing a system that is not worse"),
        (NotWorse(0.1, UNLIMITED, 60, 0.2), [-1] * 30, "passing a system that is worse by 20 points"),
    ],
)
def test_the_reason_to_stop_says_of_what_the_risk_is(rule, verdicts, said):
    assert f"the stated risk of {said}" in rule.reason_to_stop(tally_of(verdicts, 60)).sentence


def test_the_limit_is_part_of_the_test():
    assert WITHIN.for_limit(30) is WITHIN
    assert kind(WithinGap(0.1, UNLIMITED, 20, 0.1), [0] * 20 + [1] * 40) is None
    assert not WithinGap(0.1, UNLIMITED, 20, 0.1).can_be_met(tally_of([0] * 20, 60), 9)


def test_the_stronger_sentences_are_those_of_the_rules_beside():
    name, better = [1] * first(LIKE_THESE, 1), [1] * 20
    beside = Sequential(0.1, UNLIMITED, 60)
    for verdicts in (name, better):
        tally = tally_of(verdicts, 60)
        assert LIKE_THESE.risk_beyond(tally) == (beside.risk(tally) if beside.is_met(tally) else None)
    assert LIKE_THESE.risk_beyond(tally_of(better, 60)) < 0.1
    assert LIKE_THESE.risk_beyond(tally_of([1, 1, -1] * 5, 60)) is None
    rule = NotWorse(0.1, UNLIMITED, 60, 0.2)
    for verdicts in ([1] * first(rule, 1), [1] * 30):
        tally = tally_of(verdicts, 60)
        risk = risk_by_bets(scores_for(tally, 0), UNLIMITED, 0.2)
        assert rule.risk_beyond(tally) == (risk if risk <= 0.1 else None)
    assert rule.risk_beyond(tally_of([-1] * 20, 60)) < 0.1


def test_with_all_items_judged_the_stronger_sentence_is_a_fact():
    assert WITHIN.risk_beyond(tally_of([1] + [0] * 59, 60)) == 0.0
    assert NOT_WORSE.risk_beyond(tally_of([1] * 12 + [0] * 48, 60)) is None
    assert NOT_WORSE.risk_beyond(tally_of([1] * 13 + [0] * 47, 60)) == 0.0
    assert NOT_WORSE.risk(tally_of([1] * 13 + [0] * 47, 60)) == 0.0
