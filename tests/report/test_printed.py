"""What is printed, page by page. `pytest --snapshot-update` takes over a change of words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.commandline import in_a_command
from support.results import SPEND, make_result, undecided

from judgeloop.cli.output import page_as_flags
from judgeloop.core.choices import Population
from judgeloop.core.outcomes import Control, ControlTally, StopKind, StopReason, Tally
from judgeloop.report.markdown import render_markdown
from judgeloop.report.page import Page, Table, render

PAGES = {
    "decided": make_result(guarantee="the chance of naming the wrong system is at most 10 %"),
    "all items": make_result(
        tally=Tally(items=10, wins=(1, 8), ties=1), stop=StopReason(StopKind.ALL_JUDGED, "all items are judged")
    ),
    "no budget left": undecided(spend=replace(SPEND, next_p=10**10)),
    "gave up": undecided(StopKind.FUTILITY, "gave up at 0.12, under 0.2", give_up=0.2),
    "interrupted": undecided(StopKind.INTERRUPTED, "interrupted; what was paid for is kept"),
    "not worse": make_result(
        winner=None, not_worse=0.05, guarantee="a bound", stop=StopReason(StopKind.NOT_WORSE, "met")
    ),
    "doubtful": make_result(
        judge="openai/m + human",
        vote="majority",
        judge_models=(("m-2025",), ()),
        controlled=True,
        controls=(ControlTally(12, 1, 0, 0, Control.PASSED), None),
        repeated={"small": 40},
        empty={"small": 1, "large": 12},
        old_prices={"openai/m": 95},
        prices="$2.00 in and $8.00 out for a million tokens",
        rubric="short and true",
        left_out="90 matched, 10 only in small",
        guessed="prompt from `question`",
        order="random",
        about=Population.ITEMS_LIKE_THESE,
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_on_80_columns(name, snapshot):
    with in_a_command():
        assert render(page_as_flags(PAGES[name].page), width=80) == snapshot


def test_a_page_on_40_columns(snapshot):
    assert render(PAGES["decided"].page, files="runs/0123abcd.html", width=40) == snapshot


def test_markdown(snapshot):
    assert PAGES["doubtful"].to_markdown() == snapshot


def test_a_notebook(snapshot):
    assert PAGES["decided"]._repr_html_() == snapshot


def test_html(snapshot):
    body = PAGES["decided"].to_html("22 November 2026").partition("<body>")[2].partition("<script")[0]
    assert body == snapshot


TABLE = Table("Rates", ("system", "rate", "items"), (("a" * 40, "50.0 %", "1,200"), ("b", "", "3")))


def test_a_table_stands_in_columns_and_cuts_a_name_that_leaves_no_room():
    lines = render(Page("A headline.", (), tables=(TABLE,)), width=40).splitlines()[2:]
    assert lines == [
        "Rates",
        f"  {'system':<23}{'rate':>8}{'items':>7}",
        f"  {'a' * 22}…{'50.0 %':>8}{'1,200':>7}",
        f"  {'b':<23}{'':>8}{'3':>7}",
    ]


def test_a_table_is_one_in_markdown_too():
    shown = render_markdown(Page("A headline.", (), tables=(TABLE,)))
    assert f"| system | rate | items |\n|---|--:|--:|\n| {'a' * 40} | 50.0 % | 1,200 |" in shown
