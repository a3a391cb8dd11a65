"""The rule that bets: which answers it gives, and what it foretells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pools import make_session
from support.tallies import grown_and_plain, tally_of

from judgeloop.core.outcomes import StopKind, Tally, WithProxy
from judgeloop.core.records import UNLIMITED, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import WASTED, WASTED_OF_FEW, Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.bets import Bets, answers

WINNER = Bets(0.1, UNLIMITED, 200)
WITHIN, NOT_WORSE, NEAR = (replace(WINNER, **{name: 0.1}) for name in ("min_gap", "not_worse", "near_tie"))
ASKED = {"winner": WINNER, "within": WITHIN, "not worse": NOT_WORSE, "near": NEAR}


def first(rule, verdict, most=200):
    """After how many equal verdicts the rule stops, and how."""
    for number in range(1, most + 1):
        if (reason := rule.reason_to_stop(tally_of([verdict] * number, 1000))) is not None:
            return number, reason.kind
    return None


def test_a_system_that_wins_all_is_named_soon():
    assert first(WINNER, 1) == (7, StopKind.RISK_MET)
    assert first(WITHIN, 1) == (9, StopKind.RISK_MET)
    assert first(NOT_WORSE, 1)[1] is StopKind.RISK_MET
    assert first(NOT_WORSE, -1)[1] is StopKind.NOT_WORSE


def test_ties_alone_name_nobody_and_pass():
    assert first(WINNER, 0) is None
    assert first(NOT_WORSE, 0)[1] is StopKind.NOT_WORSE
    assert first(NOT_WORSE, 0)[0] < 45, "each tie speaks against a gap of 10 points"
    assert first(NEAR, 0)[1] is StopKind.NO_DIFFERENCE
    assert first(WITHIN, 0) is None, "nobody leads"


@pytest.mark.parametrize("lead", [-3, 0, 3])
def test_a_session_that_judges_all_items_answers_for_certain(lead):
    verdicts = [1] * (20 + max(lead, 0)) + [-1] * (20 + max(-lead, 0)) + [0] * 10
    rule = Bets(1e-6, len(verdicts), len(verdicts), not_worse=0.05)
    session = make_session(len(verdicts), rule=rule, limits=Limits(1, len(verdicts)))
    ending = replay(session, lambda choice: Verdict((1 + verdicts[choice.position]) / 2))
    assert ending.stop.kind is (StopKind.RISK_MET if lead > 0 else StopKind.NOT_WORSE)
    assert ending.asked >= 40


@pytest.mark.parametrize("name", ASKED)
@settings(max_examples=20)
@given(
    history=st.lists(st.sampled_from([1, 1, 0, -1, None]), max_size=30), further=st.lists(st.sampled_from([1, 0, -1]))
)
def test_what_can_happen_within_some_verdicts_was_foreseen(name, history, further):
    rule = replace(ASKED[name], threshold=0.2)
    before, after = tally_of(history, 1000), tally_of([*history, *further], 1000)
    if further and rule.reason_to_stop(after) is not None:
        assert rule.can_be_met(before, len(further))


@pytest.mark.parametrize("name", ASKED)
@settings(max_examples=6)
@given(history=st.lists(st.sampled_from([1, 1, 1, 0, -1, -1, None]), min_size=1, max_size=40))
def test_a_tally_that_grows_is_decided_as_one_that_is_counted_anew(name, history):
    growing, anew = (replace(ASKED[name], threshold=0.3) for _ in (0, 1))
    for tally, plain in grown_and_plain(history, 80):
        assert growing.reason_to_stop(tally) == anew.reason_to_stop(plain)
        for unknown in (1, 5):
            assert growing.can_be_met(tally, unknown) == anew.can_be_met(plain, unknown)


@settings(max_examples=20)
@given(history=st.lists(st.sampled_from([1, 1, 0, -1]), min_size=1, max_size=40), at=st.integers(0, 39))
def test_an_abstention_never_helps_an_answer_more_than_a_verdict_for_it(history, at):
    at %= len(history)
    silent = [*history[:at], None, *history[at + 1 :]]
    for sign in (1, -1):
        with_verdict = [*history[:at], sign, *history[at + 1 :]]
        side = 0 if sign == 1 else 1
        both = [WINNER.bounds_by_draw(tally_of(one, 1000), 1000, 200)[side, -1] for one in (silent, with_verdict)]
        assert both[0] <= both[1]


def test_a_question_about_more_takes_the_verdicts_of_the_one_before():
    assert [rule.goes_on for rule in ASKED.values()] == [True, False, False, True]
    assert [rule.expects_lead for rule in ASKED.values()] == [True, True, False, True]


# Mean judgments and shares of the answers of 10,000 runs that are followed draw by draw (`benchmarks/outlook.py`), by
# limit, what is asked, gap and share of ties.
FOLLOWED = [
    (200, {}, 0.1, 0.3, (142.9, 0.521, 0.010, 0.0)),
    (805, {"not_worse": 0.1}, 0.05, 0.3, (330.6, 0.466, 0.476, 0.0)),
    (805, {"near_tie": 0.1}, 0.05, 0.3, (387.8, 0.460, 0.014, 0.455)),
    (2400, {"not_worse": 0.1}, 0.0, 0.0, (369.9, 0.091, 0.901, 0.0)),
    (5000, {"min_gap": 0.1}, 0.05, 0.7, (387.2, 0.707, 0.223, 0.0)),
]


@pytest.mark.parametrize(("limit", "asked", "gap", "ties", "followed"), FOLLOWED)
def test_an_outlook_is_right_within_three_points_though_it_takes_several_draws_at_once(
    limit, asked, gap, ties, followed
):
    found = Bets(0.1, UNLIMITED, limit, **asked).outlook(gap, ties)
    assert found.judgments == pytest.approx(followed[0], rel=0.1)
    assert found[1:] == pytest.approx(followed[1:], abs=0.03)


def test_the_outlook_tells_what_runs_do():
    level, apart = NOT_WORSE.outlook(0.0, 0.3), NOT_WORSE.outlook(-0.4, 0.3)
    assert 0.5 < level.second < 0.62, "an equal system passes in 56 % of the runs, by an independent computation"
    assert 0.05 < level.first < 0.12
    assert apart.second == 1
    assert apart.judgments < 25 < level.judgments
    assert sum(level[1:]) + level.none == pytest.approx(1)


def test_of_these_items_the_last_judgment_decides():
    whole = Bets(0.1, 60, 60).outlook(0.1, 0.3)
    assert whole.none == pytest.approx(0)
    assert whole.first > 0.9


def test_a_decision_is_the_likelier_the_larger_the_lead():
    chances = [WINNER.chance_at_the_end(Tally(1000, (20 + lead, 20), 20), 100) for lead in (0, 4, 8, 14)]
    assert chances == sorted(chances)
    assert chances[0] < 0.4
    assert chances[-1] > 0.9


def test_the_chance_to_stop_soon_grows_with_the_verdicts_and_with_the_lead():
    def soon(lead, more):
        return WINNER.chance(tally_of([1, -1] * 10 + [1] * lead + [0] * 10, 1000), more)

    assert soon(2, 1) == 0.0, "one verdict cannot decide"
    assert soon(2, 5) <= soon(2, 20) <= soon(2, 60)
    assert soon(0, 20) < soon(5, 20)
    assert soon(14, 4) > 0.1
    assert NOT_WORSE.chance(tally_of([0] * 3, 1000), 1) == 0.0


def test_a_near_tie_is_as_probable_as_the_null_that_is_less_likely_to_fall():
    level, leading = (tally_of([1, -1] * 40 + [0] * 40 + [1] * lead, 1000) for lead in (0, 8))
    sides = [[NEAR._falls(tally, 0, side, 60) for side in (0, 1)] for tally in (level, leading)]
    assert sides[0][0] == sides[0][1] > sides[1][1]
    winner = replace(NEAR, near_tie=None)
    for tally, each in zip((level, leading), sides, strict=True):
        assert 0 < min(each) <= NEAR.chance(tally, 60) < 1
        assert NEAR.chance(tally, 60) == pytest.approx(winner.chance(tally, 60) + min(each), rel=0.3)


@pytest.mark.parametrize("rule", [WINNER, WITHIN, NOT_WORSE, NEAR])
@settings(max_examples=15)
@given(history=st.lists(st.sampled_from([1, 0, -1]), max_size=40), more=st.integers(1, 30))
def test_a_rule_has_a_chance_to_stop_where_it_can_be_met(rule, history, more):
    tally = tally_of(history, 1000)
    if rule.reason_to_stop(tally) is None:
        assert (rule.chance(tally, more) > 0) == rule.can_be_met(tally, more)


@pytest.mark.parametrize("begin", [WINNER.begin, NEAR.begin, Bets(0.1, 60, 60, not_worse=0.2).begin])
def test_many_runs_are_followed_as_each_alone(begin):
    """Also where those that have their answer are left out."""
    shares = np.repeat([[0.9, 0.1, 0.0], [0.4, 0.2, 0.4], [0.0, 0.1, 0.9], [0.05, 0.9, 0.05]], 4, axis=0)
    rng = np.random.default_rng(3)
    draws = np.array([rng.choice([1, 0, -1], size=60, p=one) for one in shares])
    when, which = answers(begin, draws)
    assert len(set(when.tolist())) > 3
    for run, draw in enumerate(draws):
        assert ([when[run]], [which[run]]) == tuple(one.tolist() for one in answers(begin, draw[None]))


def rounds_of(gap, ahead, rule):
    """How often runs waited, what they judged, and what they need not have asked, in the mean."""
    found = []
    for seed in range(8):
        shares = (0.7 + gap) / 2, 0.3, (0.7 - gap) / 2
        scores = np.random.default_rng([seed, 1]).choice([1.0, 0.5, 0.0], size=400, p=shares)
        session = Session(
            items=400, selector=Random(), estimator=Preferences(sampled=True), rule=rule, limits=Limits(5, 200),
            rng=np.random.default_rng(seed), ahead=ahead,
        )  # fmt: skip
        ending = replay(session, lambda choice: Verdict(scores[choice.position]), places=64)  # noqa: B023 - run now
        found.append((ending.rounds, ending.asked - ending.ahead, ending.ahead))
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("gap", "rule"), [(0.2, WINNER), (0.4, WINNER), (0.1, NOT_WORSE), (0.3, WITHIN)])
def test_runs_wait_half_as_often_and_ask_little_that_is_not_needed(gap, rule):
    waited, needed, _ = rounds_of(gap, 0, rule)
    rounds, judged, unneeded = rounds_of(gap, None, rule)
    assert judged == needed
    assert rounds <= waited / 1.8
    assert unneeded <= 1.1 * max(WASTED_OF_FEW, WASTED * (judged + unneeded))


def test_the_projection_goes_on_from_the_wealth_that_there_is():
    tally = tally_of([1, 1, 0, -1, 1, 0] * 4, 1000)
    found = WINNER.first_met(tally, tally, 176)
    assert 5 < found < 100
    assert WINNER.first_met(tally, tally, 3) is None
    level = Tally(1000, (10, 10), 4)
    assert WINNER.first_met(level, level, 150) is None


def test_the_projection_goes_on_to_skip_as_often_as_so_far():
    def needed(skipped):
        tally = Tally(111, (9, 4), 7, skipped)
        return Bets(0.1, 111, 25).first_met(tally, tally, 111 - 20 - skipped)

    assert needed(0) < needed(2) < needed(3), "each skip counts against both"
    assert needed(5) is None, "as many skips as the lead undo it"


def test_more_items_are_foretold_of_a_lead():
    even, likely = WINNER.items_to_decide(Tally(300, (80, 60), 60))
    assert 20 < even < likely


def test_a_cheap_judge_that_foresees_the_labels_makes_fewer_more_items_do():
    labels = ([1, 1, 0, -1, 1, 0, -1] * 9)[:60]

    def wanted(cheap):
        seen = tuple(WithProxy(one, (float(other), 0.05, 2)) for one, other in zip(labels, cheap, strict=True))
        wins = labels.count(1), labels.count(-1)
        return WINNER.items_to_decide(Tally(120, wins, labels.count(0), preferences=seen))

    alone = WINNER.items_to_decide(tally_of(labels, 120))
    assert wanted([0.05] * 60) == alone
    assert wanted(labels).even < alone.even


def test_what_counts_along_many_sequences_is_what_a_session_sees():
    rng = np.random.default_rng(2)
    walks = rng.choice([1, 0, -1], size=(3, 30), p=[0.7, 0.2, 0.1]).astype(np.int8)
    risks = np.array([0.05, 0.2])
    met = WINNER.met_along_each(walks, UNLIMITED, risks)
    for at, risk in enumerate(risks):
        for walk, row in zip(walks.tolist(), met[at], strict=True):
            rule = replace(WINNER, threshold=float(risk))
            assert [rule.is_met(tally_of(walk[: n + 1], 1000)) for n in range(30)] == row.tolist()
    assert met.any()
    assert not met.all()
