from __future__ import annotations

from dataclasses import replace

import pytest

from judgeloop.core.records import (
    DECISION_MARGIN,
    Abstention,
    Call,
    Item,
    Order,
    Query,
    Verdict,
    Vote,
    as_score,
    leaning,
)
from judgeloop.engine.presentation import calls_for, combine, decide, settles

QUERY = Query(Item("q1", "p"), ("a", "b"), ("x", "y"))
STRAIGHT = Call(QUERY.item, ("a", "b"), ("x", "y"))
SWAPPED = Call(QUERY.item, ("b", "a"), ("y", "x"))
RATED = Query(QUERY.item, ("a",), ("x",))
RATING = Call(RATED.item, ("a",), ("x",))
BOTH = (STRAIGHT, SWAPPED)
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


def test_which_of_both_orders_comes_first_is_a_coin_by_texts_with_every_seed():
    queries = [Query(Item(f"q{n}", f"p{n}"), ("a", "b"), ("x", "y")) for n in range(1000)]
    straight = [both_orders(query)[0].systems == ("a", "b") for query in queries]
    assert 450 < sum(straight) < 550
    assert [both_orders(query, 1)[0].systems == ("a", "b") for query in queries] == straight


@pytest.mark.parametrize("seed", range(9))
def test_items_with_the_same_texts_are_shown_in_the_same_order_first(seed):
    first, _ = both_orders(QUERY, seed)
    alike, _ = both_orders(Query(Item("q2", "p"), ("a", "b"), ("x", "y")), seed)
    turned, _ = both_orders(Query(Item("q1", "p"), ("b", "a"), ("y", "x")), seed)
    assert first.outputs == alike.outputs == turned.outputs


@pytest.mark.parametrize(
    ("first", "settled"), [(Verdict(0.5), True), (REFUSED, True), (Verdict(1.0), False), (Verdict(0.4), False)]
)
def test_after_a_tie_or_an_abstention_the_second_call_is_not_looked_at(first, settled):
    assert settles(first) is settled
    if settled:
        seconds = (None, Verdict(1.0), Verdict(0.0), REFUSED)
        answers = {combine(QUERY, (STRAIGHT, SWAPPED), (first, second)) for second in seconds}
        assert answers == {first}


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


A, B, TIE = Verdict(1.0, "why"), Verdict(0.0, "other"), Verdict(0.5)
LEAN = Verdict(0.75, "why")
FLIP = Verdict(0.5, "why", flipped=True, both=True)
FLIP_OTHER = replace(FLIP, reason="other")


@pytest.mark.parametrize(
    ("calls", "answers", "combined"),
    [
        # Scores are for what was shown first: 1 and 0 agree, 1 and 1 do not.
        (BOTH, (A, B), Verdict(1.0, "why", both=True)),
        (BOTH, (B, A), Verdict(0.0, "other", both=True)),
        (BOTH, (LEAN, B), Verdict(0.875, "why", both=True)),
        (BOTH, (TIE, TIE), TIE),
        (BOTH, (TIE, None), TIE),
        (BOTH, (A, A), FLIP),
        (BOTH, (B, B), FLIP_OTHER),
        (BOTH, (A, TIE), FLIP),
        (BOTH, (B, TIE), FLIP_OTHER),
        (BOTH, (LEAN, LEAN), FLIP),
        (BOTH, (REFUSED, B), REFUSED),
        (BOTH, (A, REFUSED), REFUSED),
        (BOTH, (REFUSED, CUT_OFF), REFUSED),
        (BOTH, (CUT_OFF, REFUSED), CUT_OFF),
        *((BOTH[:1], (one,), one) for one in (A, B, TIE, LEAN)),
        *((BOTH[1:], (one,), replace(one, score=1 - one.score)) for one in (A, B, TIE, LEAN)),
        *(((RATING,), (one,), one) for one in (A, B, LEAN, REFUSED)),
    ],
)  # fmt: skip
def test_the_answers_in_one_or_both_orders_are_combined(calls, answers, combined):
    query = RATED if calls == (RATING,) else QUERY
    assert combine(query, calls, answers) == combined


@pytest.mark.parametrize("calls", [BOTH, BOTH[::-1]], ids=["straight first", "swapped first"])
def test_two_orders_that_disagree_keep_both_reasons_and_the_order_of_the_first(calls):
    found = combine(QUERY, calls, (A, Verdict(1.0, "again the first")))
    assert (found.reason, found.other_reason) == ("why", "again the first")
    assert found.swapped is (calls[0].systems != QUERY.systems)
    agreed = combine(QUERY, calls, (A, B))
    assert (agreed.reason, agreed.other_reason) == ("why", "")
    assert decide([found, found, agreed], Vote.MAJORITY).other_reason == "again the first / again the first"


def by_shares(first, second, neither=None):
    """A decision model's verdict as the ledger has it, read with the usual margin."""
    rest = 1 - first - second if neither is None else neither
    shares = {"first": first, "second": second, "neither": rest}
    return Verdict(as_score(leaning(shares, DECISION_MARGIN)), probabilities=shares)


def test_no_tie_of_probabilities_settles_as_another_margin_might_undo_it():
    tie = by_shares(0.45, 0.43)
    assert tie.preference == 0
    assert not settles(tie)
    assert settles(REFUSED)


@pytest.mark.parametrize(
    ("straight", "swapped", "margin", "score", "flipped"),
    [
        (by_shares(0.6, 0.3), by_shares(0.3, 0.6), 0.05, 1.0, False),
        (by_shares(0.6, 0.3), by_shares(0.3, 0.6), 0.4, 0.5, False),
        (by_shares(0.6, 0.3), by_shares(0.6, 0.3), 0.05, 0.5, True),
        (by_shares(0.46, 0.44), by_shares(0.3, 0.6), 0.05, 0.5, True),
        (by_shares(0.46, 0.44), by_shares(0.3, 0.6), 0.0, 1.0, False),
        (by_shares(0.11, 0.1), by_shares(0.1, 0.11), 0.0, 0.5, False),
        (by_shares(0.2, 0.7), by_shares(0.8, 0.1), 0.05, 0.0, False),
    ],
)
def test_probabilities_are_read_with_the_margin_of_the_run(straight, swapped, margin, score, flipped):
    found = combine(QUERY, BOTH, (straight, swapped), margin)
    assert (found.score, found.flipped, found.both) == (score, flipped, True)
    graded = (straight.graded + 1 - swapped.graded) / 2
    assert found.graded == pytest.approx(graded), "the mean of both orders, whatever the margin"


def test_a_rating_keeps_its_score_whatever_the_margin():
    levels = {"useless": 0.5, "poor": 0.0, "middling": 0.0, "good": 0.0, "excellent": 0.5}
    rated = Verdict(0.5, probabilities=levels)
    found = combine(RATED, (RATING,), (rated,), 1.0)
    assert (found.score, found.graded) == (0.5, None)
