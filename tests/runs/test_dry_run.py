"""What a dry run says, and its JSON values."""

from __future__ import annotations

import pytest
from support.results import make_result, undecided

from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.core.spend import Spend
from judgeloop.report.terminal import MOST_LINES
from judgeloop.runs.forecast import Forecast, Range


def foreseen(**changes):
    """A dry run that asked nothing."""
    changes = {"tally": Tally(items=100)} | changes
    return undecided(StopKind.DRY_RUN, "a dry run", more_judgments=None, **changes)


def forecast(result=None, **changes):
    cases = {
        "judgments": Range(5, 30, 1000),
        "calls": Range(10, 60, 2000),
        "cost_p": Range(10**9, 6 * 10**9, 2 * 10**11),
        "assumed": "that one system wins 45 % and the other 25 % of the items, with 30 % ties",
    }
    cases |= changes
    return Forecast(result or foreseen(), **{"unknown": cases["judgments"]} | cases)


def test_a_forecast_on_80_columns(snapshot):
    result = foreseen(asked=4, empty={"small": 2}, prices="$2.00 in", guessed="prompt from `question`")
    assert forecast(result, questions=100, unasked=12).text(80) == snapshot


def test_what_is_known_after_those_that_count_is_in_the_one_figure():
    text = forecast(foreseen(asked=4), questions=100, unasked=12, known=5).text(200)
    assert "9 of 100 items have a verdict already" in text
    assert "3 items need no call (identical" in text


def test_a_forecast_without_price_budget_or_assumption(snapshot):
    result = foreseen(asked=4, spend=Spend())
    assert forecast(result, assumed=None, unpriced=("openai/judge",)).text(80) == snapshot


@pytest.mark.parametrize(
    ("affordable", "words"),
    [
        (1000, "is enough"),
        (999, "covers about 999 judgments: enough for the expected 30, not for all 1,000"),
        (30, "covers about 30 judgments: enough for the expected 30, not for all 1,000"),
        (29, "covers about 29 judgments: probably too few to decide"),
        (1, "covers about 1 judgment: probably too few to decide"),
    ],
)
def test_a_forecast_says_how_far_the_budget_goes(affordable, words):
    text = forecast(affordable=affordable).text(10**6)
    assert f"\nThe budget of $5.00 {words}." in text
    assert ("`budget=" in text) == (affordable < 30), "what falls short names a sum"


def test_numbers_that_the_table_does_not_have_are_not_said():
    assert "enough for the expected case" in forecast(affordable=30, unknown=Range(1, 20, 900)).text(10**6)


def test_a_limit_that_most_runs_reach_is_not_said_to_be_the_average():
    text = forecast(foreseen(asked=4, max_judgments=40), judgments=Range(5, 31, 36), needs=62).text(10**6)
    assert (
        "31 on average, decided or not; most runs reach the limit of 40 undecided (with 62, most would decide)" in text
    )


def test_one_way_to_buy_is_no_table():
    ways = ("Ways to decide:", "  without it   40 labels  <- chosen", "J is not asked: why.")
    text = forecast(ways=ways).text(80)
    assert "J is not asked: why." in text
    assert "without it" not in text
    assert "Ways to" not in text
    assert "Ways to decide:\n  on every item" in forecast(ways=(ways[0], "  on every item", *ways[1:])).text(80)


def test_what_the_ledger_decides_is_shown_as_the_decision():
    decided = make_result()
    first, _, last = forecast(decided).text(10**6).partition("\n\n")
    assert decided.page.headline in first
    assert "already decide" in last.splitlines()[-1]
    assert "controls" in last.splitlines()[-1]
    nothing = forecast(decided, calls=Range(0, 0, 0)).text(100).splitlines()
    assert nothing[-1].startswith("Nothing would be asked")
    assert len(nothing) <= MOST_LINES


def test_a_forecast_as_json_has_no_dollars_without_a_price():
    values = forecast().to_dict()
    assert values["usd"] == {"low": 0.001, "expected": 0.006, "worst": 0.2}
    unpriced = forecast(unpriced=("openai/judge",)).to_dict()
    assert unpriced["usd"] is None
    assert unpriced["judgments"] == {"low": 5, "expected": 30, "worst": 1000}
    assert (unpriced["decided_by_ledger"], unpriced["dry_run"]) == (None, True)
