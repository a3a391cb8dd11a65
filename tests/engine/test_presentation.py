from __future__ import annotations

import pytest

from judgeloop.core.records import Abstention, Call, Item, Query, Verdict
from judgeloop.engine.presentation import Order, calls_for, combine, settles

QUERY = Query(Item("q1", "p"), ("a", "b"), ("x", "y"))
STRAIGHT = Call(QUERY.item, ("a", "b"), ("x", "y"))
SWAPPED = Call(QUERY.item, ("b", "a"), ("y", "x"))
RATED = Query(QUERY.item, ("a",), ("x",))
RATING = Call(RATED.item, ("a",), ("x",))
REFUSED, CUT_OFF = Abstention("refused"), Abstention("cut off")


def shown_swapped(item_id, seed=0):
    query = Query(Item(item_id, "p"), QUERY.systems, QUERY.outputs)
    (call,) = calls_for(query, Order.RANDOM, seed, order_matters=True)
    assert call.outputs == (("y", "x") if call.systems == ("b", "a") else ("x", "y"))
    return call.systems == ("b", "a")


def both_orders(query, seed=0):
    return calls_for(query, Order.BOTH, seed, order_matters=True)


@pytest.mark.parametrize("seed", range(5))
def test_both_orders_are_two_calls(seed):
    assert set(both_orders(QUERY, seed)) == {STRAIGHT, SWAPPED}


def test_which_of_both_orders_comes_first_is_a_coin_by_seed_and_texts():
    queries = [Query(Item(f"q{n}", f"p{n}"), ("a", "b"), ("x", "y")) for n in range(1000)]
    straight = [both_orders(query)[0].systems == ("a", "b") for query in queries]
    assert 450 < sum(straight) < 550
    other = [both_orders(query, 1)[0].systems == ("a", "b") for query in queries]
    assert 450 < sum(one != two for one, two in zip(straight, other, strict=True)) < 550


@pytest.mark.parametrize("seed", range(9))
def test_items_with_the_same_texts_are_shown_in_the_same_order_first(seed):
    first, _ = both_orders(QUERY, seed)
    alike, _ = both_orders(Query(Item("q2", "p"), ("a", "b"), ("x", "y")), seed)
    turned, _ = both_orders(Query(Item("q1", "p"), ("b", "a"), ("y", "x")), seed)
    assert first.outputs == alike.outputs == turned.outputs


@pytest.mark.parametrize(
    ("first", "settled"),
    [(Verdict(0.5), True), (REFUSED, True), (Verdict(1.0), False), (Verdict(0.4), False)],
)
def test_after_a_tie_or_an_abstention_the_second_call_is_not_looked_at(first, settled):
    assert settles(first) is settled
    if settled:
        seconds = (None, Verdict(1.0), Verdict(0.0), REFUSED)
        answers = {combine(QUERY, (STRAIGHT, SWAPPED), (first, second)) for second in seconds}
        assert answers == {first}


@pytest.mark.parametrize(
    "answer", [Verdict(0.0, "why"), Verdict(0.3, "why"), Verdict(1.0), REFUSED]
)
def test_the_answer_to_a_rating_is_given_as_it_is(answer):
    assert combine(RATED, (RATING,), (answer,)) == answer


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("order", Order)
def test_one_call_asks_in_a_fixed_order_or_where_no_order_can_sway(order, seed):
    assert calls_for(QUERY, Order.FIXED, seed, order_matters=True) == (STRAIGHT,)
    assert calls_for(QUERY, order, seed, order_matters=False) == (STRAIGHT,)
    for matters in (True, False):
        assert calls_for(RATED, order, seed, order_matters=matters) == (RATING,)


def test_random_orders_are_a_coin_by_item_and_seed():
    first, other = ([shown_swapped(f"item-{n}", seed) for n in range(1000)] for seed in (1, 2))
    assert 450 < sum(first) < 550
    assert 450 < sum(one != two for one, two in zip(first, other, strict=True)) < 550


def test_a_random_order_is_the_same_in_every_version():
    assert [shown_swapped(f"item-{n}") for n in range(8)] == [False] * 4 + [True] * 4
    assert isinstance(shown_swapped("\ud800"), bool)


@pytest.mark.parametrize(
    ("straight", "swapped", "score", "flipped"),
    [
        # Scores are for what was shown first: 1 and 0 agree, 1 and 1 do not.
        (1.0, 0.0, 1.0, False),
        (0.0, 1.0, 0.0, False),
        (0.5, 0.5, 0.5, False),
        (1.0, 1.0, 0.5, True),
        (0.0, 0.0, 0.5, True),
        (1.0, 0.5, 0.5, True),
        (0.0, 0.5, 0.5, True),
        (0.75, 0.0, 0.875, False),
        (0.75, 0.75, 0.5, True),
    ],
)
def test_two_orders_that_agree_are_the_verdict_and_others_a_flipped_tie(
    straight, swapped, score, flipped
):
    combined = combine(QUERY, (STRAIGHT, SWAPPED), (Verdict(straight), Verdict(swapped)))
    assert (combined.score, combined.flipped) == (score, flipped)
    assert combined.both is (straight != 0.5)


@pytest.mark.parametrize(
    ("straight", "swapped", "answer"),
    [
        (REFUSED, Verdict(0.0), REFUSED),
        (Verdict(1.0), REFUSED, REFUSED),
        (REFUSED, CUT_OFF, REFUSED),
        (CUT_OFF, REFUSED, CUT_OFF),
    ],
)
def test_without_a_verdict_in_either_order_there_is_none(straight, swapped, answer):
    assert combine(QUERY, (STRAIGHT, SWAPPED), (straight, swapped)) == answer


@pytest.mark.parametrize("score", [0.0, 0.25, 0.5, 1.0])
def test_one_order_alone_is_turned_if_it_was_swapped(score):
    assert combine(QUERY, (STRAIGHT,), (Verdict(score, "why"),)) == Verdict(score, "why")
    assert combine(QUERY, (SWAPPED,), (Verdict(score, "why"),)) == Verdict(1.0 - score, "why")


def test_an_agreed_verdict_keeps_the_reason_of_the_straight_order():
    answers = (Verdict(1.0, "shorter"), Verdict(0.0, "longer"))
    assert combine(QUERY, (STRAIGHT, SWAPPED), answers).reason == "shorter"


AUDITS = 0.3


def audited(query, seed=0):
    return calls_for(query, Order.AUDITED, seed, order_matters=True, audit_share=AUDITS)


def test_an_audit_asks_the_order_drawn_and_for_its_share_of_the_items_the_other():
    queries = [Query(Item(f"q{n}", f"p{n}"), ("a", "b"), ("x", "y")) for n in range(1000)]
    asked = [audited(query) for query in queries]
    drawn = [calls_for(query, Order.RANDOM, 0, order_matters=True) for query in queries]
    assert [calls[:1] for calls in asked] == drawn
    assert 250 < sum(len(calls) == 2 for calls in asked) < 350
    assert all(set(calls) <= {call, *calls} for calls, (call,) in zip(asked, drawn, strict=True))


@pytest.mark.parametrize(
    ("second", "flipped", "both"),
    [
        (Verdict(0.0, "also a"), False, True),  # of the swapped call: "a" is shown second
        (Verdict(1.0, "b"), True, True),
        (Verdict(0.5, "a tie"), True, True),
        (REFUSED, False, False),
    ],
)
def test_in_an_audit_the_first_verdict_stands_and_the_second_is_a_check(second, flipped, both):
    answer = combine(QUERY, (STRAIGHT, SWAPPED), (Verdict(0.9, "a"), second), Order.AUDITED)
    assert answer == Verdict(0.9, "a", flipped=flipped, both=both)


def test_in_an_audit_a_first_call_without_a_verdict_is_an_abstention():
    assert combine(QUERY, (STRAIGHT, SWAPPED), (REFUSED, None), Order.AUDITED) == REFUSED
