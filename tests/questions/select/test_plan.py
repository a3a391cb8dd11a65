"""Forecasts of a search for the best of many: a table of what searches took, and what is made of it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from judgeloop.engine.session import Limits
from judgeloop.questions.select.question import (
    ASSUMED,
    GAPS,
    GAPS_LIKE_THESE,
    USUAL_CALLS,
    USUAL_LIKE_THESE,
    WITHIN,
    Foreseen,
    judgments_to_name,
    more_to_name,
    usual_calls,
)
from judgeloop.questions.select.settings import MORE_EACH, USUAL, SelectSettings
from judgeloop.runs.forecast import Range

EVERY = 53 * 400
# Mean calls of searches that the table was not made of, by items, systems and gap, computed once by functions of
# `benchmarks/race.py`: other numbers of GPT-4's verdicts, GPT-4-turbo's, searches that choose their baseline
# (`choosing`), and imagined systems with win rates around 50 %, a standard deviation of 8 points, and 30 % ties.
SEARCHES = [
    *((200, 5, 0.0, 389), (200, 5, 0.1, 196), (600, 5, 0.0, 734), (600, 5, 0.05, 564)),
    *((200, 10, 0.0, 622), (200, 18, 0.05, 740), (200, 53, 0.0, 1455), (200, 53, 0.1, 626)),
    *((600, 10, 0.1, 659), (600, 18, 0.0, 1988), (600, 53, 0.0, 3795), (600, 53, 0.1, 1147)),
    *((200, 10, 0.0, 840), (600, 10, 0.05, 1195), (600, 18, 0.0, 1817), (600, 36, 0.05, 2167)),
    *((400, 2, 0.05, 77), (400, 3, 0.0, 234), (400, 5, 0.0, 468), (400, 10, 0.05, 819)),
    *((400, 18, 0.0, 2336), (400, 53, 0.0, 4791)),
    *((400, 10, 0.0, 1086), (400, 18, 0.05, 1128), (400, 53, 0.0, 2914), (400, 53, 0.05, 2314)),
]


def usual(systems=18, items=400, gap=0.0, risk=0.1, *, sampled=False):
    return usual_calls(systems, items, gap, risk, sampled=sampled)


def test_a_search_takes_what_the_table_says_where_it_has_a_figure():
    for pool, rows in USUAL_CALLS.items():
        for systems, row in rows.items():
            assert tuple(usual(systems, pool, gap) for gap in GAPS) == row
    for systems, row in USUAL_LIKE_THESE.items():
        for pool in (50, 805):
            assert tuple(usual(systems, pool, gap, sampled=True) for gap in GAPS_LIKE_THESE) == row


@pytest.mark.parametrize(("items", "systems", "gap", "calls"), SEARCHES)
def test_searches_that_are_not_in_the_table_take_half_to_twice_as_many(items, systems, gap, calls):
    assert 1 / WITHIN <= usual(systems, items, gap) / calls <= WITHIN


@pytest.mark.parametrize("sampled", [False, True])
def test_more_systems_and_items_a_smaller_gap_and_a_smaller_risk_take_more(sampled):
    for values, name in (
        ((2, 3, 4, 6, 7, 18, 30, 54, 200), "systems"),
        ((0.5, 0.2, 0.1, 0.07, 0.05, 0.01, 0.0), "gap"),
        ((0.9, 0.2, 0.1, 0.05, 0.01, 0.001), "risk"),
        *([] if sampled else [((20, 100, 200, 400, 805, 5000), "items")]),
    ):
        found = [usual(**{name: value}, sampled=sampled) for value in values]
        assert all(less < more for less, more in itertools.pairwise(found)), name
        assert found[0] >= 2, "no search is free"


def test_a_forecast_has_half_of_the_usual_the_usual_and_the_limit():
    limits = Limits(1, 3000, 1.0)
    found = judgments_to_name(0, 1599, limits, every=EVERY, over=False)
    assert found == (Range(799, 1599, 3000), ASSUMED, 0)
    assert judgments_to_name(600, 1599, limits, every=EVERY, over=False).judgments == Range(199, 999, 2400)
    assert judgments_to_name(900, 1599, limits, every=EVERY, over=False).judgments == Range(1, 699, 2100)
    assert judgments_to_name(0, 1599, limits, every=1000, over=False) == (Range(500, 1000, 1000), ASSUMED, 0)


def test_a_search_that_took_more_than_the_usual_may_go_on_to_its_limit():
    found = judgments_to_name(1700, 1599, Limits(1, 3000, 1.0), every=EVERY, over=False)
    assert found == (Range(1, 1300, 1300), ASSUMED, 0)
    assert more_to_name(2239, 1599, EVERY) is None
    assert more_to_name(100, 1599, EVERY) == 2139
    assert more_to_name(100, 1599, 1000) == 900
    assert more_to_name(100, None, EVERY) is None


def test_a_limit_that_is_too_low_is_foreseen_with_what_it_takes():
    short = judgments_to_name(50, 1599, Limits(1, 800, 1.0), every=EVERY, over=False)
    assert short == Foreseen(Range(749, 750, 750), ASSUMED, needed=1599)
    whole = judgments_to_name(50, 1599, Limits(1, 800, 1.0), every=800, over=False)
    assert whole.needed == 0, "all judgments that there are name one"


def test_a_search_without_a_usual_length_uses_up_its_limit():
    limits = Limits(1, 50, 1.0)
    assert judgments_to_name(0, None, limits, every=EVERY, over=False) == (Range(50, 50, 50), None, 0)
    assert judgments_to_name(20, 1599, limits, every=EVERY, over=True) == (Range(0, 0, 0), None, 0)


@pytest.mark.parametrize("systems", [6, 18, 54])
def test_the_usual_limit_covers_what_is_expected_of_a_search(systems):
    config = SelectSettings.of(outputs=[f"s{one}" for one in range(systems)], judge="human")
    assert usual(systems) < config.max_judgments
    assert usual(systems, 805) < config.max_judgments


def test_without_a_stated_risk_the_limit_does_not_depend_on_the_systems():
    asked = {"outputs": ["a"] * 50, "judge": "human", "baseline": "a"}
    assert SelectSettings.of(**asked, selector="confidence").max_judgments == USUAL
    config = SelectSettings.of(**asked, selector="random")
    assert (config.max_judgments, bool(config.usual_limit)) == (USUAL + 50 * MORE_EACH, True)
    assert not replace(config, max_judgments=99).usual_limit
    assert SelectSettings.of(**asked, max_judgments=70).max_judgments == 70
