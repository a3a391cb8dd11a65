"""Warnings and advice: a program reads codes and values, people read sentences."""

from __future__ import annotations

from dataclasses import replace
from string import Formatter

import pytest
from support.results import SPEND, make_result, undecided

from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.core.records import Population
from judgeloop.report.notes import TEXTS, Note, NoteCode

RESULTS = [
    make_result(
        repeated={"small": 40},
        empty={"large": 12},
        old_prices={"openai/m": 95},
        asked_anew="a lambda",
        tally=Tally(items=20, wins=(0, 1), ties=9, flips=9, both=10),
    ),
    undecided(),
    undecided(StopKind.INTERRUPTED),
    undecided(spend=SPEND, tally=Tally(items=100)),
]


def advised(kind=StopKind.BUDGET, **changes):
    return [one.code for one in undecided(kind, more_judgments=None, **changes).advice]


def test_no_budget_is_advised_where_what_was_skipped_keeps_all_items_from_deciding():
    spend, skipped = replace(SPEND, next_p=10**9), Tally(items=100, wins=(5, 4), ties=1, abstentions=2)
    assert advised(spend=spend, tally=skipped) == [NoteCode.FEWER_SKIPS]


@pytest.mark.parametrize(
    ("lead", "skips", "first"), [(6, 5, True), (3, 5, True), (6, 1, True), (2, 1, False), (0, 1, False)]
)
def test_what_people_skipped_comes_first_where_their_answers_may_decide(lead, skips, first):
    tally = Tally(items=110, wins=(0, lead), ties=9 - lead, abstentions=skips)
    codes = advised(StopKind.JUDGMENT_LIMIT, tally=tally, judges=("human",), about=Population.ITEMS_LIKE_THESE)
    assert (codes[0] == NoteCode.ASK_SKIPPED) is first
    assert codes.count(NoteCode.FEWER_SKIPS) == 0
    assert NoteCode.ASK_SKIPPED not in advised(StopKind.JUDGMENT_LIMIT, tally=tally)


@pytest.mark.parametrize(("wins", "first"), [((8, 7), False), ((0, 6), True)])
def test_a_skip_of_a_gate_is_asked_for_only_where_it_may_fail_or_pass_by_it(wins, first):
    tally = Tally(items=110, wins=wins, ties=19 - sum(wins), abstentions=1)
    like = {"judges": ("human",), "about": Population.ITEMS_LIKE_THESE, "not_worse": 0.1}
    assert (NoteCode.ASK_SKIPPED in advised(StopKind.JUDGMENT_LIMIT, tally=tally, **like)) is first


def test_no_budget_is_advised_where_the_lead_is_too_small_for_all_items_or_the_judge_prefers_a_place():
    spend = replace(SPEND, next_p=10**9)
    assert advised(spend=spend) == [NoteCode.OUT_OF_REACH]
    places = Tally(items=100, wins=(5, 4), ties=40, both=49, flips=40)
    for kind in (StopKind.BUDGET, StopKind.JUDGMENT_LIMIT):
        assert advised(kind, spend=spend, tally=places) == [NoteCode.STEADIER_JUDGE]


def test_a_budget_is_advised_where_all_items_may_decide_though_they_would_not_at_the_lead_so_far():
    spend = replace(SPEND, next_p=10**9)
    run = replace(undecided(more_judgments=None, spend=spend), within_reach=True)
    assert [one.code for one in run.advice] == [NoteCode.WITHIN_REACH, NoteCode.PAYS_TO_LIMIT]


def test_a_lead_too_small_for_all_items_may_grow():
    assert advised(StopKind.JUDGMENT_LIMIT)[0] == NoteCode.ALL_MAY_NAME
    level = Tally(items=100, wins=(5, 5))
    assert advised(StopKind.JUDGMENT_LIMIT, tally=level)[0] == NoteCode.ALL_MAY_NAME


def test_a_rehearsal_without_a_forecast_is_told_alone_how_to_go_through_the_table():
    assert advised(spend=replace(SPEND, next_p=10**9, rehearsed_p=10**12)) == [NoteCode.RECORDED_COSTS]


def test_every_code_has_a_sentence():
    assert set(TEXTS) == set(NoteCode)


@pytest.mark.parametrize("result", RESULTS)
def test_another_sentence_changes_no_field_but_its_message(result, monkeypatch):
    before = result.to_json()
    for code in NoteCode:
        monkeypatch.setitem(TEXTS, code, "x")
    after = result.to_json()
    for kind in ("warnings", "advice"):
        assert [one | {"message": "x"} for one in before[kind]] == after[kind]
        before[kind] = after[kind]
    assert before == after


@pytest.mark.parametrize("result", RESULTS)
def test_all_values_that_a_sentence_names_are_in_the_json(result):
    for one in (*result.warnings, *result.advice):
        named = {name for _, name, _, _ in Formatter().parse(TEXTS[one.code]) if name}
        assert named <= set(one.to_json()) - {"code", "message"}


def test_a_message_escapes_what_cannot_be_seen():
    note = Note(NoteCode.OUTPUTS_EMPTY, {"system": "a\x1b[31m{0}", "empty": 1200})
    assert note.message == r"a\x1b[31m{0} has 1,200 empty outputs."


def test_the_sentences_name_settings_as_the_caller_says_them():
    values = undecided(StopKind.FUTILITY).to_json(str.upper)
    assert values["advice"][-1]["message"] == (
        "GO ON WITHOUT `GIVE_UP`, THE SAME TEST; OR WITH A HIGHER `MAX_JUDGMENTS`, A NEW TEST, WITH ITS OWN RISK."
    )
    assert values["advice"][-1]["code"] == "raise_limit"


@pytest.mark.parametrize("kind", StopKind)
def test_another_sentence_for_the_end_changes_no_field_but_sentences(kind):
    one, other = undecided(kind, "x").to_json(), undecided(kind, "y").to_json()
    changed = {name for name in one if one[name] != other[name]}
    assert {"stop_sentence"} <= changed <= {"stop_sentence", "headline"}
    assert undecided(kind, "x").exit_code == undecided(kind, "y").exit_code
