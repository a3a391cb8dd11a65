"""How many judgments would still decide, were the shares so far to go on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.rules import make_rule

from judgeloop.core.memory import Growing
from judgeloop.core.outcomes import Tally
from judgeloop.core.protocols import SoFar
from judgeloop.core.records import UNLIMITED
from judgeloop.engine.session import Limits
from judgeloop.questions.compare import question
from judgeloop.questions.compare.outlook import judgments_to_decide, more_to_decide, needs_more, with_an_equal_system

ITEMS = 500


def more(wins, ties, abstentions=0, left_the_decision=0, *, sampled=False, risk=0.2):
    tally = Tally(ITEMS, wins=wins, ties=ties, abstentions=abstentions)
    unasked = ITEMS - tally.judged - abstentions - left_the_decision
    rule = make_rule("bets", risk=risk, items=UNLIMITED if sampled else ITEMS, limit=200)
    return more_to_decide(rule, tally, unasked, sampled=sampled)


def test_a_clear_lead_is_soon_enough():
    found = more((8, 1), 61)
    assert 0 < found < 100


def test_beyond_the_limit_it_is_what_a_run_takes_that_plans_for_more():
    assert 200 - 70 < more((5, 4), 61) < ITEMS - 70


def test_for_items_like_these_all_items_need_not_decide():
    assert more((5, 4), 61, sampled=True, risk=0.02) is None
    assert 0 < more((8, 1), 61, sampled=True) < 100


def test_no_more_are_foreseen_than_are_left_to_ask():
    assert more((5, 4), 61, left_the_decision=20, risk=0.02) <= ITEMS - 90
    clear = more((8, 1), 61)
    assert more((8, 1), 61, left_the_decision=ITEMS - 70 - clear + 1) == clear - 1


@pytest.mark.parametrize("wins", [(3, 2), (3, 3)])
def test_people_hear_of_no_decision_where_not_even_all_items_decide(wins, monkeypatch):
    monkeypatch.setattr(question, "_most_labels", lambda run: run.most_judgments)
    rule = make_rule("bets", risk=0.02, items=UNLIMITED, limit=60)
    run = SimpleNamespace(
        parts=SimpleNamespace(rule=rule), most_judgments=60, limits=Limits(1, 60), sampled=True, each=1
    )
    tally = Tally(ITEMS, wins=wins, ties=5, abstentions=1)
    assert more_to_decide(rule, tally, 60 - tally.judged - 1, sampled=True) is None
    assert question.CompareQuestion.more(None, run, tally) is None, "as the result says that none would"


def test_a_decision_that_is_foreseen_after_the_limit_is_not_near(monkeypatch):
    monkeypatch.setattr(question, "_most_labels", lambda run: ITEMS)
    rule = make_rule("bets", risk=0.1, items=UNLIMITED, limit=30)
    parts = SimpleNamespace(rule=rule)
    run = SimpleNamespace(parts=parts, most_judgments=30, limits=Limits(1, 30), sampled=True, judgments_a_draw=1)
    tally = Tally(ITEMS, wins=(5, 11), ties=8, abstentions=2)
    foreseen = question.CompareQuestion.more(None, run, tally)
    assert foreseen == more_to_decide(rule, tally, ITEMS - 26, sampled=True) > 30 - 26
    assert not SoFar(26, 34, foreseen, again=4).is_near()


def test_a_lead_that_is_larger_does_not_take_all_items_where_a_smaller_one_takes_a_few_more():
    """The plan for its shares has fewer judgments than were asked: others of them come too late, or are skips."""
    rule = make_rule("bets", risk=0.1, items=UNLIMITED, limit=30)
    order = [1, 1, 0, -1, 1, 0, None, 1, -1, 0, 0, 1, 0, 1, -1, 1, 0, 1, 0, 1, 0, -1, 0, 1, 1, 0, 1, 1, None, 1]
    counts = {one: order.count(one) for one in (1, -1, 0, None)}
    larger = Tally(130, wins=(counts[1], counts[-1]), ties=counts[0], abstentions=counts[None], preferences=order)
    smaller = Tally(130, wins=(13, 5), ties=10, abstentions=2)
    assert not rule.is_met(larger)
    assert 0 < more_to_decide(rule, larger, 100, sampled=True) <= more_to_decide(rule, smaller, 100, sampled=True)


def test_level_systems_have_no_lead_to_go_on():
    assert more((5, 5), 60) is None


def test_a_share_of_ties_that_earlier_runs_had_is_that_of_the_expected_case():
    rule, none = make_rule("bets", risk=0.1, items=300, limit=300, not_worse=0.1), Tally(300, (0, 0))
    limits = Limits(1, 300)
    usual, said = judgments_to_decide(rule, none, limits, asked=0, ties=None)
    many, instead = judgments_to_decide(rule, none, limits, asked=0, ties=0.7)
    assert (said, instead) == (
        "that both systems are level, with 30 % ties",
        "that both systems are level, with 70 % ties",
    )
    (equal,) = with_an_equal_system(rule, [0.7], 300)
    assert many.expected == round(equal.judgments) < usual.expected


def test_where_the_limit_mostly_comes_first_one_is_named_with_which_most_runs_decide():
    def rule(limit, items=111):
        return make_rule("bets", risk=0.1, items=items, limit=limit)

    assert needs_more(rule(111), 111) is None
    needed = needs_more(rule(30), 111)
    assert 30 < needed <= 111
    assert needs_more(rule(needed), 111) is None, "who follows it is not told so again"
    assert needs_more(rule(10, UNLIMITED), 20) == 0, "not even all items would"
    assert needs_more(make_rule("tie-aware", risk=0.1, items=111, limit=30), 111) is None


def test_the_forecast_that_people_hear_follows_bets_of_its_own(monkeypatch):
    monkeypatch.setattr(question, "_most_labels", lambda run: run.most_judgments)
    rule = make_rule("bets", risk=0.1, items=UNLIMITED, limit=60)
    run = SimpleNamespace(
        parts=SimpleNamespace(rule=rule), most_judgments=60, limits=Limits(1, 60), sampled=True, judgments_a_draw=1
    )
    scores = Growing([1] * 6)
    before = Tally(ITEMS, wins=(5, 0), preferences=Growing([1] * 5))
    now = Tally(ITEMS, wins=(6, 0), preferences=scores)
    met = rule.is_met(now)
    followed = rule._following._entries
    assert question.CompareQuestion.more(None, run, before) > 0
    assert rule._following._entries is followed is scores, "a thread must not go on from where the run is"
    assert rule.is_met(now) is met
