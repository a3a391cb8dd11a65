"""The pictures and facts of results: what they show is what the result says."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from support.results import make_result, undecided
from support.tables import ROWS

import judgeloop
from judgeloop.core.outcomes import Control, ControlTally, Generated, StopKind, StopReason, Tally
from judgeloop.core.records import Choice, Label, Population, Verdict
from judgeloop.questions.compare import page as of_two
from judgeloop.questions.select.page import facts, page, standings
from judgeloop.report.page import Section
from judgeloop.report.pictures import Bar, Chart, Scale


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


def tally_of(*preferences, items=100):
    wins = (preferences.count(1), preferences.count(-1))
    silent = preferences.count(None)
    return Tally(items, wins, preferences.count(0), silent, preferences=preferences)


def pictures(result, kind):
    return [one for card in of_two.pictures(result) for one in card if isinstance(one, kind)]


def told(result, section):
    """The facts of a section, by their keys."""
    return {one.key: one.text for one in of_two.facts(result) if one.section is section}


def narrowing(*preferences, items=100, **changes):
    """The picture of a comparison with these verdicts, and its result."""
    given = {"winner": None, "stop": StopReason(StopKind.BUDGET, "no money"), "guarantee": "a bound", "rule": "bets"}
    result = make_result(tally=tally_of(*preferences, items=items), labels=(), **{**given, **changes})
    return *pictures(result, Chart), result


def test_the_bounds_narrow_around_the_gap_of_the_leader():
    chart, result = narrowing(*[-1] * 12, 1, 0, *[-1] * 10)
    gap, lower, upper, level = chart.lines
    assert [len(line.points) for line in (gap, lower, upper)] == [24] * 3
    assert gap.points[-1] == (24, pytest.approx(100 * result.gap))
    assert (lower.points[-1][1] / 100, upper.points[-1][1] / 100) == pytest.approx(result.gap_interval)
    assert [y for _, y in lower.points] == sorted(y for _, y in lower.points)
    assert chart.band == (lower.points, upper.points)
    assert (level.name, {y for _, y in level.points}) == ("level", {0.0})
    assert chart.above == "large better"


@pytest.mark.parametrize(
    ("asked", "marks"),
    [
        ({"not_worse": 0.1}, {0.0, -10.0}),
        ({"min_gap": 0.1}, {0.0, 10.0, -10.0}),
        ({"near_tie": 0.2}, {0.0, 20.0, -20.0}),
    ],
)
def test_the_gaps_that_were_asked_about_are_lines(asked, marks):
    chart, _ = narrowing(*[-1, 0, -1, 1] * 6, **asked)
    assert {line.points[0][1] for line in chart.lines if line.role == "other"} == marks


def test_items_without_a_verdict_are_said_to_count_against_either_side():
    chart, _ = narrowing(-1, -1, 1, None, None)
    assert "2 items without a verdict count against either side" in chart.note
    assert chart.across == "items asked about"


def test_what_must_hold_stands_on_top_with_whether_it_does():
    def required(result):
        return {one.text: one.label for one in result.page.facts if one.key.startswith("gate.")}

    passed = required(make_result(required_winner="large", max_flips=0.2))
    assert set(passed.values()) == {"✓ passed"}
    assert next(iter(passed)) == "large must be better than small (gap of large: +7 to +97 points)"
    assert any("that named a system changed in the other order" in one for one in passed)
    assert any("may be without a verdict: " in one for one in passed)
    failed = make_result(required_winner="small")
    (said,) = [one for one, state in required(failed).items() if state == "✗ FAILED"]
    assert said.startswith("small must be better than large (gap of small: -")
    assert failed.to_text().index("What must hold") < failed.to_text().index("rule")
    open_ = required(undecided(not_worse=0.1, rule="bets"))
    assert next(iter(open_.values())) == "? OPEN"
    assert next(iter(open_)).startswith(
        "large passes if shown to be less than 10 points behind small, and fails if shown to be behind at all (gap of large: -"
    )
    assert not required(make_result())


def test_without_the_order_of_the_verdicts_there_is_no_line():
    assert not pictures(make_result(), Chart)


def test_the_bar_has_the_votes_and_the_scale_the_gap():
    result = make_result()
    (bar,) = pictures(result, Bar)
    (scale,) = pictures(result, Scale)
    assert bar.parts == (("large", 8, "won"), ("ties", 1, "tie"), ("small", 1, "lost"))
    (row,) = scale.rows
    assert (row.value, row.interval) == (result.gap, result.gap_interval)


@pytest.mark.parametrize(
    ("asked", "own"),
    [
        ({"not_worse": 0.1}, "large"),
        ({"required_winner": "large"}, "large"),
        ({"required_winner": "small"}, "small"),
        ({"by_group": "require"}, "large"),
        ({}, "small"),
    ],
)
def test_a_gate_is_seen_from_its_candidate_and_another_question_from_the_leader_on_the_whole_page(asked, own):
    preferences = [*([1] * 5 + [-1]) * 4, 0]  # small wins 20, large 4
    scores = [Label(Choice(n, None), Verdict((1 + one) / 2)) for n, one in enumerate(preferences)]
    given = {"winner": 0, "guarantee": "a bound", "about": Population.ITEMS_LIKE_THESE, "groups": ("g0", "g1")} | asked
    result = make_result(tally=tally_of(*preferences), labels=tuple(scores), **given)
    sign = 1 if own == "small" else -1
    gap, (low, high), _ = result.of(own)
    assert gap == sign * 0.64
    assert told(result, Section.EVIDENCE)["gap"].startswith(f"{own} {100 * gap:+.0f} points against ")
    assert result.found.startswith(f"gap of {own}: ")
    (chart,), (bar,), (scale,) = (pictures(result, kind) for kind in (Chart, Bar, Scale))
    line, lower, upper = chart.lines[:3]
    assert (line.points[-1][1], lower.points[-1][1], upper.points[-1][1]) == pytest.approx(
        (100 * gap, 100 * low, 100 * high)
    )
    assert chart.above == f"{own} better"
    assert bar.parts[0] == (own, 20 if own == "small" else 4, "won")
    (row,) = scale.rows
    assert (row.name, row.value, row.interval) == (own, gap, (low, high))
    (groups,) = [one for one in result.page.tables if one.section is Section.GROUPS]
    assert groups.heading.startswith(f"By group, for {own}")
    won, lost = (sum(int(line[groups.columns.index(name)]) for line in groups.rows) for name in ("won", "lost"))
    assert (won, lost) == ((20, 4) if own == "small" else (4, 20))
    assert {result.favoured(label) for label in result.labels} == {own}


@pytest.mark.parametrize("candidate", ["large", "small"])
def test_the_items_that_are_lost_are_those_of_the_candidate(candidate):
    scores = [Label(Choice(n, None), Verdict(one)) for n, one in enumerate((1.0, 0.0, 0.5))]
    result = make_result(labels=tuple(scores), required_winner=candidate)
    assert [result.lost(label) for label in result.labels] == [candidate == "large", candidate == "small", False]


def test_a_gap_among_picked_items_is_not_drawn_as_one_of_all():
    assert not pictures(replace(make_result(), gap_biased=True), Scale)


def test_the_cost_of_judging_everything_is_at_the_mean_of_this_run():
    result = make_result()  # 0.042 dollars for 20 calls, and about 1.9 calls for each of 100 items
    assert told(result, Section.COST)["cost"].endswith("; all 100 items would cost about $0.40")
    assert result.usd_of_all == pytest.approx(0.042 / 20 * 1.9 * 100)


def test_the_cost_of_judging_everything_counts_all_verdicts():
    result = make_result()
    aside = [replace(row, in_decision=False) for row in result.labels]
    more = replace(result, labels=(*result.labels, *aside))
    assert more.usd_of_all == pytest.approx(0.042 / 20 * (100 + 0.5 * 90)), "half of them in one order"


def test_the_judge_is_shown_with_controls_order_and_abstentions():
    asked = make_result(
        controlled=True,
        controls=(ControlTally(8, 1, 0, 0, Control.PASSED),),
        tally=Tally(100, (1, 8), 1, abstentions=2, flips=1, both=9),
    )
    shown = told(asked, Section.JUDGE)
    assert "(8 right, 1 tied, 0 wrong)" in shown["controls"]
    assert shown["order"].startswith("both; 1 of 9 verdicts asked in both changed with it (11 %, ")
    assert shown["order"].endswith("; each counts as a tie")
    assert shown["silent"].startswith("2 of 12 items; ")
    assert "9 controls" in told(asked, Section.COST)["calls"]
    assert "controls" not in told(make_result(), Section.COST)["calls"]


def test_a_live_system_is_shown_with_its_price_and_seconds():
    gave = Generated(
        system="large", asked=4, remembered=0, oldest="", unjudged=0, failed=0, empty=0,
        models=(), usd=0.02, usd_of_all=0.5, output_tokens=400, seconds_median=1.25, seconds_p95=3.0,
    )  # fmt: skip
    result = make_result()
    result = replace(result, counts=replace(result.counts, generated=(gave,)))
    assert told(result, Section.COST)["outputs.large"] == (
        "large: 4 outputs now for $0.020 (all 100 would cost about $0.50, an estimate), 400 output tokens, "
        "1.2 s in the median and 3.0 s at 95 %"
    )
    spend = replace(result.spend, remembered=0, outputs_p=2 * 10**10)
    costs = told(replace(result, spend=spend), Section.COST)
    assert "($0.020 for outputs, $0.0010 for judging)" in costs["calls"]
    assert costs["cost"].endswith("; all 100 items would cost about $0.010"), "judging alone: 0.001 for 10 of 100"
    assert "all 100" not in told(result, Section.COST)["cost"], "some were paid for before"


def test_the_bounds_of_a_search_narrow_and_end_at_those_of_the_standings(tmp_path):
    result = judgeloop.select(ROWS, baseline="chatty", judge=shorter, ledger=tmp_path / "ledger.sqlite", version="1")
    *others, lower, upper = result.course
    rows = {row.system: row for row in result.standings}
    assert upper.name == result.leader
    for line in (*others, upper):
        # The race divides its risk over the bounds, so that they are wider than those shown alone.
        assert line.points[-1][1] >= 100 * rows[line.name].at_most - 1e-9
        assert (np.diff([y for _, y in line.points]) <= 1e-9).all()
    assert 0 < lower.points[-1][1] <= 100 * rows[result.leader].at_least
    (table,) = result.page.tables
    assert {row[0].removesuffix(" (baseline)") for row in table.rows} == set(rows)


def selected(tmp_path, rows=ROWS, **settings):
    return judgeloop.select(rows, judge=shorter, ledger=tmp_path / "ledger.sqlite", version="1", **settings)


def drawn(result):
    return [one for card in result.page.pictures for one in card]


def test_a_search_draws_its_standings_with_the_named_system_in_colour(tmp_path):
    result = selected(tmp_path, baseline="chatty")
    *_, bars = drawn(result)
    (table,) = result.page.tables
    assert [row.name for row in bars.rows] == [name.removesuffix(" (baseline)") for name, *_ in table.rows]
    assert [row.name for row in bars.rows if row.role == "lead"] == [result.winner]
    own = {row.system: row for row in result.standings}
    for row in bars.rows:
        assert row.interval == (100 * own[row.name].at_least, 100 * own[row.name].at_most)


def test_a_leader_that_is_the_baseline_is_a_line_and_no_band(tmp_path):
    result = selected(tmp_path, baseline="terse")
    assert result.leader == "terse"
    chart, *_ = drawn(result)
    assert chart.band is None
    assert all(line.name for line in chart.lines), "few systems are all named"
    assert [{y for _, y in one.points} for one in chart.lines if one.role == "lead"] == [{50.0}]
    assert "terse against terse" not in chart.note + chart.said
    low, high = chart.view
    assert low < 50 < high < 100


def test_an_estimate_of_all_items_has_no_interval_and_says_what_was_asked(tmp_path):
    result = judgeloop.estimate(
        ROWS["chatty"], judge=lambda output: 1 / len(output), version="1", require_score=0.9,
        ledger=tmp_path / "ledger.sqlite", max_judgments=len(ROWS["chatty"]), min_judgments=len(ROWS["chatty"]),
    )  # fmt: skip
    assert result.stop_reason is StopKind.ALL_JUDGED
    (scale,) = drawn(result)
    assert (scale.note, scale.rows[0].interval) == ("", None)
    assert " to " not in scale.rows[0].said
    gate = [(one.label, one.text) for one in result.page.facts if one.key.startswith("gate.")]
    assert gate == [("✗ FAILED", "the score must be at least 0.9 (0.042 to 0.042)")]


def test_a_search_says_which_judgments_and_items_do_not_count(tmp_path):
    result = selected(tmp_path, max_judgments=11, min_gap=0.01)
    assert (result.options.chosen_by, result.judged_items) == (6, 2)
    assert result.page.text("judged").startswith(
        "4 judgments (1 with identical outputs) on 2 of 40 items, 6 more on 3 other items to choose the baseline, "
    )
    assert "on 37 of these 40 items (the other 3 served to choose the baseline)" in result.page.headline
    assert "not counted" not in selected(tmp_path).page.text("judged")


def test_bounds_that_hold_one_by_one_say_so_where_several_may_be_the_best(tmp_path):
    result = selected(tmp_path, baseline="chatty", max_judgments=20)
    (table,) = result.page.tables
    assert len(result.near_best) > 1
    for shown in (result.to_text(), result.to_markdown(), result.to_html()):
        assert "need not all hold at once" in shown
    assert table.note.removeprefix("They") in drawn(result)[-1].note
    decided = selected(tmp_path, baseline="chatty")
    assert "they need not all hold at once: those of the first picture do" in drawn(decided)[-1].note
    assert "one by one" not in decided.page.tables[0].note


def test_a_gap_says_what_it_is_in_win_rate_and_nothing_where_each_may_be_the_best(tmp_path):
    result = selected(tmp_path, baseline="chatty")
    every = result.setup.systems
    cut = replace(result, winner=None, level=(), leader=every[0], near_best=every, gap=0.842)
    shown = {gap: {one.key: one.text for one in facts(replace(cut, gap=gap))}["leader"] for gap in (0.842, 0.0905)}
    assert shown[0.842] == "nothing yet: any of the 3 may be the best"
    assert "9.1 points better" in shown[0.0905]
    assert "at most 4.6 points higher" in shown[0.0905], "not below the half"
    few = replace(cut, near_best=every[:2])
    assert "84.2 points" in {one.key: one.text for one in facts(few)}["leader"]


def test_a_table_says_why_its_bounds_overlap_and_why_one_is_the_win_rate(tmp_path):
    result = selected(tmp_path, baseline="chatty")
    best, *others = (replace(row, at_least=0.3, at_most=0.9) for row in result.standings)
    rows = (best, *(replace(row, at_most=row.win_rate) for row in others))
    note = standings(replace(result, standings=rows, gap=0.0)).note
    assert note.startswith("Bounds that overlap were told apart by the items")
    assert note.endswith("the bound is the win rate.")


def test_before_a_baseline_is_chosen_none_is_named_and_no_item_is_set_aside(tmp_path):
    result = selected(tmp_path, deadline=1e-9)
    assert (result.options.baseline, result.judged) == (None, 0)
    for text in (result.to_text(), result.to_html()):
        assert "none is chosen yet" in text
        assert not re.search(r"chose the baseline|\(baseline\)|against|100\.0 %", text.split("How to do")[0])


def test_where_a_system_is_the_best_no_line_of_another_ends_above_it(tmp_path):
    for baseline in ("chatty", "terse"):
        result = selected(tmp_path, baseline=baseline)
        assert result.winner
        chart, *_ = drawn(result)
        ends = {one.name: one.points[-1][1] for one in chart.lines if one.name}
        assert max(ends.values()) == ends[result.winner]
        assert "in direct comparison" in chart.note
        assert "may be level" not in chart.note
        lines = {one.name: one.points[-1] for one in result.course}
        level = max(set(lines) - {result.winner, ""}, key=lambda name: lines[name][1])
        same = page(replace(result, near_best=(result.winner, level)))
        chart = same.pictures[0][0]
        assert next(one for one in chart.lines if one.name == level).points[-1] == lines[level]
        assert f"{level} may be level with it, but not better." in chart.note
    open_, *_ = drawn(selected(tmp_path, baseline="chatty", max_judgments=8))
    assert "drops to blue" not in open_.note


def test_a_search_up_to_a_gap_draws_the_gap_and_what_was_asked_for(tmp_path):
    result = selected(tmp_path, baseline="chatty", min_gap=0.2)
    chart, behind, _ = drawn(result)
    assert behind.rows[0].value == result.gap
    assert behind.bound == (0.2, "asked for")
    (dashed,), lower = ([one for one in chart.lines if one.role == role and not one.name] for role in ("bound", "lead"))
    assert [y - x for (_, x), (_, y) in zip(lower[0].points, dashed.points, strict=True)] == pytest.approx(
        [10.0] * len(dashed.points)
    )


def test_items_that_chose_the_baseline_are_filtered_apart_and_lost_to_nobody(tmp_path):
    result = selected(tmp_path)
    rows = {row.system: row for row in result.standings}
    won, lost = (sum(getattr(row, name) for row in rows.values()) for name in ("wins", "losses"))
    html = unescape(result.to_html())
    counted = {"not counted": result.options.chosen_by, "beat the baseline": won, "lost to the baseline": lost}
    for name, number in counted.items():
        assert (f">{name} {number}</button>" in html) is (number > 0)
    assert result.options.chosen_by * lost
    assert sum(map(result.lost, result.labels)) == lost
