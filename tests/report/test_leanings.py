"""What a judge leans to: a place, its own word, length."""

from __future__ import annotations

from judgeloop.core.records import Abstention, Call, Choice, Item, Label, Pool, Query, Verdict
from judgeloop.engine.presentation import combine
from judgeloop.report.leanings import Leanings, leanings_of, said_of

POOL = Pool(
    tuple(Item(str(n), f"p{n}") for n in range(4)),
    ("old", "new"),
    (("a", "long", "a", "a"), ("long", "a", "long", "b")),
)


def label(at, score, **more):
    return Label(Choice(at, None), Verdict(score, **more))


def test_a_verdict_that_changes_with_the_order_says_which_place_it_kept_to():
    query = Query(POOL.items[0], POOL.systems, ("a", "b"))
    straight, swapped = Call(query.item, query.systems, ("a", "b")), Call(query.item, query.systems[::-1], ("b", "a"))
    for score, place in ((1.0, 1), (0.0, -1)):
        for calls in ((straight, swapped), (swapped, straight)):
            found = combine(query, calls, [Verdict(score), Verdict(score)])
            assert (found.flipped, found.place) == (True, place)
    assert combine(query, (straight, swapped), [Verdict(1.0), Verdict(0.0)]).place == 0


def test_places_agreement_and_length_are_counted_apart():
    labels = [
        label(0, 0.0, both=True),
        label(1, 0.0, both=True),
        label(2, 0.5, both=True, flipped=True, place=1),
        label(3, 0.5),
        Label(Choice(3, None), Abstention("none")),
    ]
    assert leanings_of(labels, POOL) == Leanings(1, 0, (0, 2), longer=1, shorter=1)
    assert leanings_of(labels) == Leanings(1, 0, (0, 2))


def test_in_one_random_order_the_place_is_that_of_each_verdict():
    labels = [label(0, 1.0, swapped=False), label(1, 0.0, swapped=True), label(2, 0.0, swapped=False)]
    assert leanings_of(labels, one_order=True) == Leanings(2, 1)
    assert leanings_of(labels) == Leanings()


def test_a_place_is_preferred_only_where_that_is_shown():
    def said(first, second):
        return said_of(Leanings(first, second), ("old", "new"), first + second, 40, one_order=False)

    assert said(3, 0) == "contradicts itself on 3 of 40", "of three nothing is said"
    assert said(0, 9) == "contradicts itself on 9 of 40, each time for the output shown second"
    assert said_of(Leanings(), ("old", "new"), 0, 0, one_order=False) == ""
