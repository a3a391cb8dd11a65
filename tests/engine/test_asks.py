from __future__ import annotations

import pytest

from judgeloop.core.records import Item, Query, Verdict
from judgeloop.engine.asks import asks_for
from judgeloop.engine.presentation import Order
from judgeloop.engine.terms import Terms
from judgeloop.judges.scripted import ScriptedJudge

ITEM = Item("q1", "p")
COMPARISON = Query(ITEM, ("a", "b"), ("one", "two"))
OF_EQUALS = Query(ITEM, ("a", "b"), ("same", "same"))
RATING = Query(ITEM, ("a",), ("same",))


def panel(**options):
    return [ScriptedJudge(lambda call: Verdict(1.0), model=name, **options) for name in ("m", "n")]


def asked(query, order=Order.BOTH, **options):
    return [
        (ask.judge, ask.call.systems)
        for ask in asks_for(query, panel(**options), Terms("run", order=order))
    ]


def test_a_comparison_is_put_to_each_judge_in_each_order():
    assert asked(COMPARISON) == [(0, ("a", "b")), (0, ("b", "a")), (1, ("a", "b")), (1, ("b", "a"))]


@pytest.mark.parametrize("order", Order)
def test_a_rating_is_put_to_each_judge_once(order):
    assert asked(RATING, order) == [(0, ("a",)), (1, ("a",))]


def test_only_a_judge_that_goes_by_names_is_asked_about_equal_outputs():
    assert asked(OF_EQUALS) == []
    assert asked(OF_EQUALS, blind=False, order_matters=False) == [(0, ("a", "b")), (1, ("a", "b"))]


def test_a_rating_and_a_comparison_of_the_same_text_are_asked_under_different_keys():
    judges = panel(blind=False)
    keys = {
        ask.key
        for query in (RATING, OF_EQUALS)
        for ask in asks_for(query, judges, Terms("run", order=Order.FIXED))
    }
    assert len(keys) == 4
