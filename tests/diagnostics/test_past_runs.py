"""Days in local time, and what differs between two results."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest
from support.results import make_result

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.core.records import Abstention, Choice, Item, Label, Verdict
from judgeloop.diagnostics.differences import differences, page_of
from judgeloop.diagnostics.past_runs import local_day
from judgeloop.methods.stats.margins import usual_limit
from judgeloop.report.labels import Texts
from judgeloop.report.terminal import render


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "began"),
    [
        ("today", "2026-03-29T23:00:00.000+00:00".replace("23:00", "22:00")),
        ("yesterday", "2026-03-28T23:00:00.000+00:00"),  # the night in which the clock went forward
        ("7", "2026-03-22T23:00:00.000+00:00"),
        ("2026-07-01", "2026-06-30T22:00:00.000+00:00"),
    ],
)
def test_a_day_begins_at_local_midnight_also_across_a_change_of_the_clock(berlin, text, began):
    assert local_day(text, date(2026, 3, 30)) == began


@pytest.mark.parametrize("text", ["", "-1", "last week", "2026-13-01", "9" * 30, "²"])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(InputError, match="expected today, yesterday"):
        local_day(text, date(2026, 3, 30))


def judged(*scores, outputs=("a", "b"), **changes):
    """A result of these scores of "small", item by item; None is an abstention."""
    labels = tuple(
        Label(Choice(n, None), Abstention("refused") if score is None else Verdict(score))
        for n, score in enumerate(scores)
    )
    result = make_result(labels=labels, **changes)
    items = tuple(Item(f"q{n}", "a question") for n in range(len(scores)))
    texts = tuple((text,) * len(scores) for text in outputs)
    return replace(result, texts=Texts(Pool(items, result.setup.systems, texts)))


def test_an_item_turned_if_it_has_another_winner_and_says_whose_output_changed():
    before = judged(1.0, 0.0, 0.5, None, 0.5)
    after = judged(0.0, 0.25, 0.5, 1.0, outputs=("a", "c"), systems=("small", "large-2"), seed=8)
    found = differences(before, after)
    assert [(one.item_id, one.before, one.after) for one in found.turned] == [
        ("q0", "small", "large-2"), ("q3", "no verdict", "small"),
    ]  # fmt: skip
    assert {one.changed for one in found.turned} == {("large-2",)}
    assert (found.both, found.only, found.moved) == (4, (1, 0), 1)
    assert found.outputs == {"small": 0, "large-2": 4}
    assert {name for name, *_ in found.settings} == {"seed", "systems"}


def test_both_decisions_come_first_and_what_makes_a_judges_verdicts_others_is_named():
    before = judged(1.0, judge_parameters=({"endpoint": "http://a", "prompt": "1"},))
    after = judged(None, judge_parameters=({"endpoint": "house", "prompt": "1"},))
    found = differences(before, after)
    text = render(page_of(found, ("x", "y")))
    assert [text.index(f"  {run}  {one.page.headline}") for run, one in (("x", before), ("y", after))]
    (judge,) = before.setup.judges
    assert found.settings == ((f"{judge}, endpoint", "http://a", "house"),)


def test_runs_that_judged_no_item_in_common_have_nothing_to_compare():
    before, after = judged(1.0), judged(1.0)
    after = replace(after, labels=(replace(after.labels[0], item_id="another"),))
    text = render(page_of(differences(before, after), ("x", "y")))
    assert text.startswith("no item was judged in both: there is nothing to compare")
    assert "outputs of" not in text


def test_a_judge_that_says_otherwise_of_the_same_outputs_is_named():
    text = render(page_of(differences(judged(1.0), judged(0.0)), ("x", "y")))
    assert text.startswith("1 item turned, of 1 judged in both")
    assert "none: the judge said otherwise" in text
    assert render(page_of(differences(judged(1.0), judged(1.0)), ("x", "y"))).startswith("0 items")


def test_what_follows_from_settings_is_none_that_differs():
    gate = {"rule": "not-worse", "not_worse": 0.1, "max_judgments": usual_limit(0.1, 0.1)}
    after = judged(
        1.0, guarantee="a long sentence", controlled=True, calls_per_item=4, old_prices={"m": 99}, **gate
    )  # fmt: skip
    before = judged(1.0, max_judgments=200)
    found = differences(before, after).settings
    assert [name for name, *_ in found] == ["rule", "not_worse", "max_judgments"]
    assert found[-1] == ("max_judgments", 200, None)


def test_the_same_pair_in_swapped_places_is_matched_by_name():
    before = judged(1.0, 0.3, None)
    after = judged(0.0, 0.7, None, outputs=("b", "a"), systems=("large", "small"))
    assert before.setup.systems == ("small", "large")
    found = differences(before, after)
    assert (found.turned, found.moved, found.both) == ((), 0, 3)
    assert found.outputs == {"small": 0, "large": 0}
    (turned, *_) = differences(before, judged(1.0, systems=("large", "small"))).turned
    assert (turned.before, turned.after) == ("small", "large")


def test_two_questions_are_not_compared():
    other = judged(1.0)
    with pytest.raises(InputError, match="two runs of one question"):
        differences(other, _Selected())


class _Selected:
    job = "select"
