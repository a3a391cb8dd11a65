"""What a terminal shows first: at most twelve lines, the outcome as a word and a sign, what a failed gate lost."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.results import make_result, undecided

import judgeloop
from judgeloop.core.outcomes import Outcome, StopKind, Tally
from judgeloop.core.records import Choice, Label, Population, Verdict
from judgeloop.questions.compare.page import facts as compare_facts
from judgeloop.report.labels import LabelRow
from judgeloop.report.lost import _said, lost_first
from judgeloop.report.notes import NoteCode
from judgeloop.report.page import BADGES, Fact, Page, Section, decided
from judgeloop.report.records import AskedBefore
from judgeloop.report.terminal import MOST_LINES, columns, render
from judgeloop.report.words import WIDTH

ROWS = [{"prompt": f"What is {n}?\nSay why.", "output": "long enough" if n else "short"} for n in range(60)]
FIGURES = [Fact(f"f{n}", Section.EVIDENCE, f"f{n}", "a figure", first=True) for n in range(5)]


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_has_a_word_and_a_sign_in_every_form(outcome):
    page = Page((decided("No winner yet."),), outcome=outcome)
    word, sign, mark = BADGES[outcome]
    assert render(page) == f"{sign} {word}: no winner yet."
    assert page.parted == (word, "No winner yet.")
    assert mark not in {sign, ""}


def test_a_word_stands_once_before_a_headline():
    page = Page((decided("BROKEN, 1 of 3 pairs: there is 1 warning. New is better."),), outcome=Outcome.BROKEN)
    assert render(page).startswith("! BROKEN, 1 of 3 pairs: there is")
    assert page.parted == ("BROKEN, 1 of 3 pairs", "There is 1 warning. New is better.")


def test_warnings_give_way_where_it_is_said_where_the_rest_is():
    warnings = [Fact(f"w{n}", Section.WARNING, "", f"warning {n}", first=True) for n in range(9)]
    page = Page((decided("a is better."), *FIGURES, *warnings), outcome=Outcome.DECIDED)
    lines = render(page, short=True, more="All of it: --details").split("\n")
    assert len(lines) == MOST_LINES
    assert lines[-2:] == ["5 more warnings: --details", "All of it: --details"]
    assert len(render(page, short=True, more="").split("\n")) == MOST_LINES, "as many where nothing says so (-q)"
    assert render(page, short=True).endswith("warning 8")


@pytest.mark.parametrize("name", ["new", "a-candidate-with-a-name-as-long-as-those-of-models-2026-11-29"])
def test_the_worst_gate_has_twelve_lines_with_its_decision_gap_and_first_doubts(name):
    """Items were searched, the two were compared before, most verdicts known speak against it, data are warned of."""
    label = Label(Choice(0, None), Verdict(0.0, f"{'very ' * 30}wrong", swapped=True))
    gate = make_result(
        systems=("old", name), winner=0, tally=Tally(items=40, wins=(20, 2), ties=5), not_worse=0.1, guarantee="proved",
        labels=(label,) * 5, order="both", repeated={name: 30}, empty={name: 12}, about=Population.ITEMS_LIKE_THESE,
        asked_anew="python:m:f has no version", rule="bets",
    )  # fmt: skip
    before = AskedBefore((0.1,) * 2, 1, (20, 40))
    gate = replace(gate, comparison=6, risk_before=0.5, searched=5, asked_before=before)
    page = replace(gate.page, facts=(*compare_facts(gate), *lost_first(gate)))
    text = render(page, short=True, more="All of it: judgeloop runs show 0123abcd --details -o report.html")
    assert len(text.split("\n")) <= MOST_LINES
    assert "FAILED" in text.split("\n")[0]
    for said in (
        "\n  gap ",
        " 40 to 20.",
        "\nWarning: ",
        " more warnings: --details",
        "\nAll of it: ",
        "20 for old",
        "5 ties",
    ):
        assert said in text
    assert max(map(len, text.split("\n"))) <= WIDTH


def test_who_judged_and_the_votes_share_a_line_before_either_gives_way():
    told = {
        "judged": "9 of 10 items, by j",
        "votes": "8 for a, 1 for b; 3 more",
        "cost": "$1",
        "risk": "0.1",
        "holds": "x",
    }
    page = Page(
        (
            decided("a."),
            *(Fact(key, Section.EVIDENCE, key, text, first=True) for key, text in told.items()),
            *FIGURES,
            *(Fact(f"w{n}", Section.WARNING, "", "Few items. Take more.", first=True) for n in range(3)),
        ),
        outcome=Outcome.FAILED,
    )
    shown = render(page, short=True, more="x").split("\n")
    assert len(shown) == MOST_LINES
    assert [line.strip() for line in shown if "judged" in line or "votes" in line] == [
        "judged  9 of 10 items, by j: 8 for a, 1 for b"
    ]
    assert shown[-3:] == ["Warning: Few items.", "2 more warnings: --details", "x"], (
        "of a warning the first sentence stays"
    )
    assert "Take more." in render(page)


def test_what_was_asked_before_gives_way_before_the_cost():
    rows = [Fact(f"f{n}", Section.EVIDENCE, f"f{n}", "x", first=True) for n in range(8)]
    last = [Fact(key, Section.RISK, key, "y", first=True) for key in ("asked", "holds", "cost", "risk")]
    page = Page((decided("a."), *rows, *last), outcome=Outcome.DECIDED)
    shown = render(page, short=True, more="x").split("\n")
    assert len(shown) == MOST_LINES
    assert [line.split()[0] for line in shown if line.endswith("y")] == ["cost", "risk"]


def test_what_was_paid_lost_shown_and_comes_next_are_the_last_to_give_way_in_a_narrow_window():
    two = "a text that takes two lines of a window of eighty columns, as most do where names are long"
    told = {
        **dict.fromkeys(("judged", "rates", "leader"), two),
        "risk": f"0.1, guaranteed: {two}",
        "cost": f"$1 of $5; {two}",
        "next": f"Take more. {two.title()}",
        **dict.fromkeys(("lost.1", "lost.2", "holds"), "y"),
    }
    facts = [Fact(key, Section.EVIDENCE, key, text, first=True) for key, text in told.items()]
    page = Page((decided(f"small was required, and {two}."), *facts), outcome=Outcome.FAILED)
    shown = render(page, width=80, short=True, more="x").split("\n")
    assert len(shown) == MOST_LINES
    assert [line.split(maxsplit=1) for line in shown[-4:-1]] == [
        ["cost", "$1 of $5"],
        ["next", "Take more."],
        ["lost.1", "y"],
    ]
    assert "leader" in (begin := {line.split()[0] for line in shown})
    assert not {"risk", "holds"} & begin


@pytest.mark.parametrize("kind", [StopKind.BUDGET, StopKind.JUDGMENT_LIMIT])
@pytest.mark.parametrize("more", [None, 30])
def test_an_open_run_shows_what_comes_next_in_a_narrow_window(kind, more):
    page = undecided(kind, systems=("summaries-of-march", "summaries-of-april"), more_judgments=more).page
    text = render(page, width=80, short=True, more="All of it:\njudgeloop runs show 0123abcd --details")
    assert len(text.split("\n")) <= MOST_LINES
    assert "\n  next " in text


def test_items_that_do_not_fit_give_way():
    lost = [Fact(f"lost.{n}", Section.EVIDENCE, "lost", f"i{n}", first=True) for n in (1, 2, 3)]
    figures = [replace(FIGURES[0], key=f"f{n}") for n in range(3)]
    page = Page((decided("a."), *FIGURES, *figures, *lost), outcome=Outcome.FAILED)
    shown = render(page, short=True, more="x").split("\n")
    assert len(shown) <= MOST_LINES
    assert [line.split(maxsplit=1)[1] for line in shown if " lost" in line] == ["i1", "i2"]
    assert render(page, short=True).count(" lost") == 3


def test_of_a_judge_beside_people_both_verdicts_come_before_the_reason():
    row = LabelRow("q7", "old", "new", 1.0, "old", False, "why " * 60, None, True, (1.0, 0.0), shown_first="old")
    assert _said(row, SimpleNamespace(job="agree", texts=None), 0) == "q7 (judge old, people new)"


def test_the_reason_begins_in_the_line_of_an_item_on_which_the_judge_differs():
    row = LabelRow("q094", "old", "new", 1.0, "old", False, "Both name her. " * 9, None, True, (1.0, 0.0))
    texts = SimpleNamespace(name=lambda label: label.item_id, of_item=lambda _: [("prompt", "Who is older? " * 9)])
    setup = SimpleNamespace(order=None)
    of = SimpleNamespace(job="agree", texts=texts, shows=lambda _: True, setup=setup)
    fact = Fact("lost.1", Section.EVIDENCE, "differs", _said(row, of, 0, "on 44: "), first=True)
    (line,) = columns([replace(fact, label="within a step")], 80, capped=True)
    assert len(line) <= 80
    assert "(judge old, people new)" in line
    assert "”: Both" in line


def test_what_to_do_next_stands_below_the_figures():
    page = Page((decided("a."), Fact("next", Section.NEXT, "next", "go on", first=True), *FIGURES))
    assert render(page, short=True).split("\n")[-1] == "  next  go on"


@pytest.mark.parametrize(("shown", "named"), [("all", "What is"), ("none", "")])
def test_a_failed_gate_names_the_first_items_that_the_candidate_lost(shown, named):
    worse = [one | {"output": "longer than that"} for one in ROWS]
    result = judgeloop.compare(ROWS, worse, judge=shorter, not_worse=0.1, report_texts=shown)
    assert result.outcome is Outcome.FAILED
    lost = [one.text for one in result.page.facts if one.label == "lost"]
    of, first = lost[0].split(" items, the first: ")
    assert int(of) == result.wins[result.setup.systems[0]] > 3
    lost[0] = first
    rows = [int(text.split()[1]) for text in lost]
    assert len(set(rows)) == 3
    for row, text in zip(rows, lost, strict=True):
        assert text == (f"row {row} “What is {row - 1}?”" if named else f"row {row}")
    for form in (str(result), result.to_markdown(), result.to_html()):
        assert f"row {rows[0]}" in form


def test_a_required_baseline_names_the_items_that_it_lost_to_the_winner():
    """Which met both others on the same items, and lost some to each."""
    right = {"best": range(55), "fair": range(5, 35), "base": range(3, 25)}
    asked = [{"prompt": f"{n}: why?", "reference": "yes"} for n in range(60)]
    files = [
        [one | {"output": "yes" if n in own else name} for n, one in enumerate(asked)] for name, own in right.items()
    ]
    gate = {"baseline": "base", "require_winner": "base", "report_texts": "none"}
    result = judgeloop.select(files, names=tuple(right), judge="metric:exact", **gate)
    best, fair = (next(row for row in result.standings if row.system == name) for name in ("best", "fair"))
    assert (result.winner, result.outcome) == ("best", Outcome.FAILED)
    assert fair.wins > 0
    of, *lost = [one.text for one in result.page.facts if one.label == "lost"]
    before, _, first = of.partition(" items to best, the first: ")
    assert before == f"{best.wins} of {best.queries}"
    assert len({first, *lost}) == 3


def test_the_lowest_scores_of_an_estimate_are_not_called_lost():
    low = judgeloop.estimate(ROWS, judge=lambda output: 0.25, require_score=0.9)
    assert low.outcome is Outcome.FAILED
    assert [one.label for one in low.page.facts if one.key.startswith("lost.")] == ["lowest"] * 3


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_scores_that_are_all_the_same_are_warned_of_and_end_at_nothing(score):
    result = judgeloop.estimate(ROWS, judge=lambda output: score, max_judgments=30)
    assert [one.values for one in result.warnings if one.code is NoteCode.ALL_SAME] == [{"judged": 30, "score": score}]
    assert "earlier" not in result.page.text("interval")
    mixed = judgeloop.estimate(ROWS, judge=lambda output: float("short" not in output), max_judgments=60)
    assert NoteCode.ALL_SAME not in {one.code for one in mixed.warnings}


def test_the_reach_of_an_interval_is_that_of_the_ends_in_the_headline():
    result = judgeloop.estimate(ROWS, judge=lambda output, prompt: int(prompt[8:9]) / 10, half_width=0.2)
    ends = re.search(r"about ([0-9.]+) out of 1 \(([0-9.]+) to ([0-9.]+)\)", result.page.headline)
    score, low, high = map(float, ends.groups())
    assert f"reaches at most {max(score - low, high - score):.3f} from the score" in result.page.text("interval")


def test_the_figures_of_a_lost_item_say_whose_they_are_and_stand_on_a_line():
    rows = [{"prompt": f"{n}: {'why ' * 20}", "output": "yes", "reference": "yes"} for n in range(60)]
    worse = [one | {"output": "no"} for one in rows]
    result = judgeloop.compare(rows, worse, names=("old", "new"), judge="metric:exact", not_worse=0.1)
    lost = [one.text for one in result.page.facts if one.label == "lost"]
    assert len(lost) == 3
    assert lost[0].startswith(f"{result.wins['old']} items, the first: ")
    for text in lost:
        assert text.endswith("…”: exact 1.0000 for old, 0.0000 for new")
    shown = [one for one in render(result.page, short=True, more="").splitlines() if one.startswith("  lost")]
    assert 1 <= len(shown) <= 3
    assert all(len(one) <= WIDTH for one in shown)
    assert "exact 1.0000 for old, 0.0000 for new" in result.to_html()


def test_a_reason_that_speaks_of_a_letter_says_who_that_was():
    row = LabelRow("i", "old", "new", 1.0, "old", False, "B invents a rule", None, True, (), shown_first="new")
    assert row.by_name("0.5 for A, 0.25 for B, and B is for A") == "0.5 for new, 0.25 for old, and B is for A"
    assert row.by_name(row.reason) == row.reason
    (label,) = (Label(Choice(0, None), Verdict(0.0, "B invents a rule", swapped=True)),)
    result = make_result(labels=(label,) * 3, not_worse=0.1, winner=0, tally=Tally(items=9, wins=(3, 0)), order="both")
    lost = [one.text for one in result.page.facts if one.label == "lost"]
    assert all(one.endswith(": small invents a rule") for one in lost)


def test_a_gate_that_only_warns_names_no_item():
    result = judgeloop.compare(ROWS, ROWS, judge=shorter, not_worse=0.3, fail_on_warning=True)
    assert result.exit_code == 5
    assert result.page.head.startswith("FAILED: there are 3 warnings, and warnings fail here. Otherwise it passes: ")
    assert not [one for one in result.page.facts if one.label == "lost"]
