"""Every answer that the bounds give is said, and no other: all are read off one interval."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.results import make_result

from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.core.records import Population
from judgeloop.questions.compare.answers import all_answers

OPEN = StopReason(StopKind.JUDGMENT_LIMIT, "the limit is reached")


def read(bounds, leads="large", **asked):
    """What is shown and what is not, seen from the second system, whose bounds these are."""
    won = (40, 50) if leads == "large" else (50, 40)
    result = make_result(
        winner=None,
        stop=OPEN,
        tally=Tally(items=300, wins=won, ties=10),
        guarantee="proved",
        rule="bets",
        about=Population.ITEMS_LIKE_THESE,
        required_winner="large",
        **asked,
    )
    own = bounds if leads == "large" else (-bounds[1], -bounds[0])
    said = all_answers(replace(result, bounds=own))
    shown, left = (said.partition(f"{word}: ")[2].partition(".")[0].split(", ") for word in (" Shown", "Not shown"))
    return [*filter(None, shown)], [*filter(None, left)]


@pytest.mark.parametrize(
    ("bounds", "leads", "asked", "shown", "left"),
    [
        ((-0.04, 0.21), "large", {"not_worse": 0.1}, ["not worse by 10 points or more"], ["better", "worse"]),
        ((-0.18, 0.01), "small", {"not_worse": 0.1}, [], ["better", "worse", "not worse by 10 points or more"]),
        ((0.0, 0.31), "large", {"not_worse": 0.1}, ["better", "not worse by 10 points or more"], []),
        ((-0.31, 0.0), "small", {"not_worse": 0.1}, ["worse"], ["not worse by 10 points or more"]),
        ((-0.09, -0.01), "small", {"not_worse": 0.1}, ["worse", "not worse by 10 points or more"], []),
        ((-0.04, 0.04), "large", {"near_tie": 0.05}, ["not worse by 5 points or more", "a gap of at most 5 points"], ["better", "worse"]),
        ((-0.3, 0.2), "small", {}, [], ["better", "worse"]),
    ],
)  # fmt: skip
def test_what_the_bounds_show_is_said_and_what_they_leave_open(bounds, leads, asked, shown, left):
    assert read(bounds, leads, **asked) == (shown, left)


def test_where_the_bounds_answer_one_question_alone_no_other_answer_is_said():
    assert not all_answers(make_result(rule="tie-aware"))
    assert not all_answers(make_result(rule="once", guarantee="proved"))
