"""The page of a night: a line a pair, and what pairs have in common said once."""

from __future__ import annotations

import re
from dataclasses import replace

from support.results import make_result

from judgeloop.core.outcomes import AnsweredBy, Outcome, Tally
from judgeloop.ledger.records import Balance
from judgeloop.methods.stats.drift import Halves
from judgeloop.methods.stats.margins import usual_limit
from judgeloop.questions.compare.result import EQUAL_BOUND, WORSE_FAILS
from judgeloop.report.notes import DOUBTED, NoteCode
from judgeloop.report.terminal import render
from judgeloop.report.turned import Since
from judgeloop.suite.changes import _asked_otherwise
from judgeloop.suite.line import GAPS, MOVED, ON_ALL, ON_BOTH, OTHER_JUDGE, OTHERWISE, Line, one_output_of
from judgeloop.suite.night import _without_risk
from judgeloop.suite.summary import (
    ABOUT_GAPS,
    ABOUT_MOVED,
    ABOUT_NIGHTS,
    AS_BEFORE,
    BY_OTHER,
    FEW_MOVED,
    ON_FEW,
    Summary,
)

USD = 10**12
GATE = (("not-worse = 0.1", "the caller"),)
ANOTHER_DAY = "(on another day with --night 2026-01-02)"
CONTROLS = "No winner yet between old and {} on items like these 300: openai/m cannot tell an answer."


def line(name, exit_code, headline, gate=GATE, **values):
    systems = ("old", name)
    passed = Outcome.PASSED if gate else Outcome.DECIDED
    outcome = {0: passed, 3: Outcome.UNDECIDED, 4: Outcome.BROKEN, 5: Outcome.FAILED}.get(exit_code)
    return Line(name=f"all {name}", question="compare", exit_code=exit_code, headline=headline, outcome=outcome,
                systems=systems, gate=gate, **values)  # fmt: skip


def brief(most, *lines, longest=240):
    return "\n".join(render(one) for one in night(*lines).brief(most, longest))


def text(*lines):
    return render(night(*lines).page)


def night(*lines):
    return Summary(night="2026-01-02", budget_p=USD, lines=lines)


def test_a_judge_that_fails_all_pairs_is_told_of_once_and_so_are_their_conditions():
    found = text(*(line(f"new-{n}", 4, CONTROLS.format(f"new-{n}")) for n in range(10)))
    assert found.count("openai/m cannot tell") == found.count("not-worse = 0.1") == 1
    each = "each of new-0, new-1, new-2, new-3, new-4 and 5 more"
    assert f"all 10 pairs No winner yet between old and {each} on" in " ".join(found.split())
    assert len(found.splitlines()) <= 22


def test_pairs_that_differ_are_told_apart_and_the_others_are_one_row():
    passed = "{} is not worse than old."
    found = text(
        line("a", 0, passed.format("a")),
        line("b", 0, passed.format("b")),
        line("c", 0, passed.format("c")),
        line("d", 1, "the disk is full"),
        line("e", 1, "the disk is full"),
        line("f", 3, "No answer yet.", (*GATE, ("max-flips = 0.2", "night.toml"))),
        line("g", 2, "no file", ()),
    )
    assert "  2 pairs            The disk is full. (all d, all e)\n" in found
    assert "  all f              No answer yet.\n" in found
    assert "  the other 3 pairs  Each of a, b, c is not worse than old.\n" in found
    assert found.endswith(
        "  all f    not-worse = 0.1 (the caller); max-flips = 0.2 (night.toml)\n"
        "  5 pairs  not-worse = 0.1 (the caller) (all a, all b, all c, all d, all e)"
    )


def test_pairs_with_first_systems_of_their_own_share_a_text_after_those_that_failed():
    ends = [
        Line(name=name, question="compare", exit_code=code, systems=(f"{name}-old", f"{name}-new"),
             headline=f"{name}-new is {how} than {name}-old.", gate=GATE)
        for name, code, how in (("a", 0, "no worse"), ("b", 0, "no worse"), ("c", 5, "worse"))
    ]  # fmt: skip
    found = text(*ends)
    assert "  c                  c-new is worse than c-old.\n  the other 2 pairs  Each of a-new" in found
    assert "Each of a-new and b-new is no worse than the first system of its pair." in found


def test_outputs_that_are_those_of_an_earlier_night_again_are_said_to_be():
    again = line("a", 0, "a won.", before="failed", outputs="new", same_as="2025-12-30")
    shown = render(Summary(night="n", budget_p=0, lines=(again,), last_night="2026-01-01").page)
    assert re.search(r"✗ failed +as in 2025-12-30\n", shown)


def test_a_name_within_another_word_or_of_a_lone_pair_stays():
    found = text(line("old-2", 0, "old-2 is better than old."), line("o", 3, "No: o is open-ended."))
    assert "all old-2  old-2 is better than old." in found
    assert "all o      No: o is open-ended." in found


def test_a_warning_that_pairs_share_is_said_once_and_stands_at_each_of_their_tests():
    same, few = "All 22 pairs of outputs are identical.", "{} gives the same output for 9 items."
    ends = night(
        line("a", 0, "a won.", warnings=(same, few.format("a"))),
        line("b", 3, "Open.", warnings=(same, few.format("b"))),
        line("c", 0, "c won."),
    )
    found = render(ends.page)
    assert "\nWarnings\n" in found
    assert f"  2 pairs  {same} (all a, all b)" in found
    assert "  2 pairs  Each of a and b gives the same output for 9 items. (all a, all b)" in found
    assert same in ends.to_html({})
    assert ends.to_junit().count(f"<system-err>Warning: {same}\nWarning: ") == 2
    assert ends.warned(passed=False) == (("all b", same), ("all b", few.format("b")))


def test_a_pass_of_which_a_warning_says_that_its_risk_may_not_hold_is_doubtful():
    sound = make_result(tally=Tally(items=100, wins=(1, 9)))
    found = [sound, make_result(neighbours=0.007), replace(sound, drift=Halves(32, 1.0, -1.0, 0.001))]
    assert [one.doubtful for one in found] == [False, True, True]


def test_a_decision_by_a_judge_that_was_not_shown_to_tell_is_doubtful():
    assert {NoteCode.CONTROLS_BEFORE, NoteCode.CONTROLS_NOT_PASSED, NoteCode.SEARCHED} < DOUBTED


def test_a_copy_that_passes_is_warned_of_where_others_that_pass_are_not():
    ends = night(
        line("a", 0, "passed", warnings=("few",)), line("b", 0, "passed", warnings=("a copy?",), doubtful=True)
    )
    assert ends.warned(passed=False) == (("all b", "it passed, but: a copy?"),)
    best = line("c", 0, "decided", (), warnings=("a thin lead",), doubtful=True)
    assert night(best).warned(passed=False) == (("all c", "it is decided, but: a thin lead"),)


def test_a_bound_that_is_the_gap_says_why():
    at, beside = (
        line(shown, 0, "passed.", shown=shown, gap="+9") for shown in ("+9 (above -10 to +9)", "+9 (-10 to +19)")
    )
    assert (at.at_bound, beside.at_bound) == (True, False)
    notes = [night(one).page.tables[0].note for one in (at, beside)]
    assert [EQUAL_BOUND in one for one in notes] == [True, False]


def test_a_cost_that_is_a_maximum_is_named_with_the_command_that_settles_it():
    said = text(line("a", 4, "Down.", unconfirmed_p=USD // 2))
    assert "`judgeloop ledger settle --run 2026-01-02 0`" in said


def test_the_page_says_of_a_pair_what_the_last_night_had_of_it():
    lines = (line("a", 0, "a.", before="failed"), line("b", 0, "b."), line("c", 0, "c.", before="wrong input"))
    (table,) = Summary(night="n", budget_p=0, lines=lines, last_night="2026-01-01").page.tables
    at = table.columns.index("2026-01-01")
    assert [row[at] for row in table.rows] == ["✗ failed", "no such pair", "! wrong input"]


def test_trouble_stands_first_then_what_moved_most():
    def answered(model):
        return (("openai/m", (AnsweredBy(model, 9, "2026-01-02", "2026-01-02"),)),)

    found = night(
        line("still", 0, "passed.", since=Since((), 40, (0.01, -0.02, 0.04))),
        line("fell", 0, "passed.", since=Since((), 40, (-0.13, -0.3, 0.04)), nights=(0.18, 0.05)),
        line("open", 3, "open.", advice="80 more judgments"),
        line("odd", 0, "passed.", doubtful=True),
        line("broken", 4, "broken."),
        line("lost", 5, "failed.", lost=("i1 “Why?”: it invents a rule",)),
        line("other", 0, "passed.", answered_by=answered("m2"), answered_before=answered("m1")),
    )
    (table,) = found.page.tables
    assert [row[0] for row in table.rows] == [
        f"all {name}" for name in ["lost", "broken", "odd", "open", "other", "fell", "still"]
    ]
    judge = table.columns.index("judge")
    assert [row[judge] for row in table.rows] == [*[""] * 4, "new", "", ""], "first of those that passed"
    assert [row[1] for row in table.rows[:4]] == ["✗ failed", "! broken", "✓ passed in doubt", "? open"]
    assert "failed. Lost: i1 “Why?”: it invents a rule" in render(found.page)
    assert "lost  i1" in found.to_junit()
    assert "next  80 more judgments" in found.to_junit()
    assert found.to_junit().count("broken.") == 1, "the message has it"


def test_a_change_since_the_last_night_has_its_interval_and_a_small_line():
    same = Since((), 40, (-0.13, -0.3, 0.04), same=True)
    fell = line("fell", 0, "passed.", before="passed", since=same, nights=(0.18, 0.05))
    (table,) = Summary(night="n", budget_p=0, lines=(fell,), last_night="2026-01-01").page.tables
    shown = dict(zip(table.columns, table.rows[0], strict=True))
    assert (shown[MOVED], shown["nights"], shown["2026-01-01"]) == ("by -13 (-30 to +4)", "█▅", "✓ passed")
    few = replace(fell, since=Since((), 4, (-0.13, -0.3, 0.04), on_all=True, many=(14, 6)))
    on_all = ON_ALL.format("14 items", 6)
    assert few.moved_where == f"by -13 (-30 to +4){on_all}", "that the items are others stands where the figure does"
    both = replace(few, since=Since((), 10, (0.1, -0.06, 0.26)), gap_before="+24", shown="+6 (-9 to +20)")
    assert both.moved_where == f"by +10 (-6 to +26){ON_BOTH.format('10 items')}{GAPS.format('+24', '+6')}"
    assert both.moved == "by +10 (-6 to +26)", "a terminal has the change alone"
    bare = replace(few, since=Since((), 4, (0.72, None, None), on_all=True, many=(14, 6)))
    assert bare.moved_where == f"by +72{on_all}"
    notes = [replace(night(one), last_night="2026-01-01").page.tables[0].note for one in (fell, both, few, bare)]
    assert [[ABOUT_MOVED.format("2026-01-01").strip() in note, ABOUT_GAPS in note, ON_FEW in note, FEW_MOVED in note] for note in notes] == [
        [True, False, False, False], [True, True, False, False], [True, False, True, False], [True, False, True, True]
    ]  # fmt: skip
    assert replace(fell, question="estimate").moved == "by -0.130 (-0.300 to +0.040)", "a score moves on its own scale"
    alone, also = (
        Summary(night="n", budget_p=0, lines=(one,), last_night="2026-01-01").page.tables[0].note
        for one in (fell, replace(fell, other_judge=True, since=Since((), 4, (0.72, None, None))))
    )
    assert [FEW_MOVED in alone, BY_OTHER in alone, FEW_MOVED in also, BY_OTHER in also] == [False, False, False, True]
    edited = replace(fell, other_judge=True)
    assert (edited.moved, edited.to_json()["moved"], edited.rank[1]) == (OTHER_JUDGE, None, 0.0)


def test_what_turned_since_the_last_night_is_named_first():
    before = {
        "fell": ("passed", 5), "open": ("open", 5), "rose": ("failed", 0), "still": ("passed in doubt", 0),
        "lost": ("passed", 3), "new": ("", 0), "was": ("failed", 3), "gone": ("failed", 2),
    }  # fmt: skip
    lines = [line(name, code, "said.", before=then) for name, (then, code) in before.items()]
    lines.append(line("best", 3, "open.", (), before="decided"))
    lines.append(line("doubt", 0, "passed.", (), before="passed", doubtful=True))
    found = Summary(night="n", budget_p=0, lines=tuple(lines), last_night="2026-01-01")
    assert found.turned == (
        "Since 2026-01-01 newly failed: all fell, all open; newly in doubt: all doubt; no longer passed: all lost; no longer failed: all was; "
        "no longer decided: all best; newly passed: all rose."
    )
    assert render(found.page, short=True).splitlines()[1].startswith("Since 2026-01-01 newly failed: all fell")
    assert render(found.brief(1)[0]).splitlines()[1].startswith("Since 2026-01-01 newly failed: all fell")
    assert not night(*(replace(one, before=one.state) for one in lines)).turned


def test_a_pair_that_names_another_system_than_last_night_is_told_of():
    turned = line("new", 0, "said.", (), before="decided", winner="prod", winner_before="new")
    (said,) = {
        replace(night(one), last_night="2026-01-01").turned for one in (turned, replace(turned, before="passed"))
    }
    assert said == "Since 2026-01-01 another winner: all new (new, now prod)."
    doubted = replace(night(replace(turned, doubtful=True)), last_night="2026-01-01").turned
    assert doubted == "Since 2026-01-01 another winner: all new (new, now prod); newly in doubt: all new."


def test_a_limit_that_follows_from_other_settings_is_no_other_setting():
    def asked(margin, limit):
        made = make_result()
        options = replace(made.options, not_worse=margin)
        return replace(made, options=options, setup=replace(made.setup, max_judgments=limit))

    usual = [usual_limit(margin, 0.1) for margin in (0.1, 0.15)]
    said = "not-worse 0.1, now 0.15"
    assert _asked_otherwise(asked(0.1, usual[0]), asked(0.15, usual[1])) == (said, "")
    set_before = _asked_otherwise(asked(0.1, 100), asked(0.15, usual[1]))
    assert set_before == (said, f"max-judgments 100, now {usual[1]}")


def test_other_settings_are_named_with_their_pairs():
    limit, margin = "max-judgments 100, now 140", "not-worse 0.2, now 0.1"
    lines = [line(name, 0, "said.", before="passed", limit_otherwise=limit) for name in "ab"]
    lines.append(line("c", 0, "said.", before="passed", asked_otherwise=margin, since=Since((), 40, (0.1, 0.0, 0.2))))
    found = replace(night(*lines), last_night="2026-01-01")
    said = f"Asked otherwise than in 2026-01-01: all a, all b ({limit}), all c ({margin})."
    for page in (*found.brief(9), found.page):
        assert said in " ".join(render(page, short=True).split())
    assert [one.moved for one in found.lines] == ["", "", OTHERWISE], "a change of the limit leaves the gap's change"


def test_outputs_that_are_all_empty_are_told_of_first_and_put_an_answer_in_doubt():
    data = make_result().data
    empty = replace(data, empty={"a": data.items, "b": 3}, repeated={"a": data.items, "c": data.items})
    assert one_output_of(empty) == {
        "a": f"all {data.items} outputs of a are empty",
        "c": f"all {data.items} outputs of c are the same",
    }
    told = ("all 140 outputs of a are empty",)
    one = line("a", 0, "passed.", doubtful=True, warnings=told, one_output=told)
    for page in (night(one).brief(9)[0], night(one).page):
        assert f"In doubt: {told[0]} (all a)." in render(page, short=True).splitlines()


def test_an_open_pair_has_the_cause_of_its_doubt_and_not_a_risk_that_it_does_not_state():
    (warning,) = make_result(neighbours=0.007).data.warnings
    said = _without_risk(warning.message)
    assert said[0] == "V"
    assert "risk" not in said
    assert said.partition(". ")[2] == warning.message.partition(". ")[2]
    assert "all a: " + said.partition(". ")[0] in " ".join(
        brief(9, line("a", 3, "open.", doubtful=True, warnings=(said,))).split()
    )


def test_the_lines_of_the_last_nights_have_one_scale_and_a_night_in_each_column():
    gaps = {"small": (0.19, None, 0.19), "large": (0.57, 0.57, None), "alone": (None, None, 0.4)}
    lines = tuple(line(name, 0, "passed.", before="passed", nights=of) for name, of in gaps.items())
    (table,) = Summary(night="n", budget_p=0, lines=lines, last_night="2026-01-01").page.tables
    drawn = [row[table.columns.index("nights")] for row in table.rows]
    assert [[mark == "·" for mark in one] for one in drawn] == [[False, True, False], [False, False, True], []]
    assert drawn[0][0] < drawn[1][0], "a larger gap is taller, whatever its row"
    (bare,) = Summary(night="n", budget_p=0, lines=lines[2:], last_night="2026-01-01").page.tables
    assert (ABOUT_NIGHTS.strip() in table.note, ABOUT_NIGHTS.strip() in bare.note) == (True, False)


def test_a_cause_that_pairs_share_is_said_once_above_all_else():
    refused = "openai/m refused the key (401)"
    lines = [line(f"n{n}", 4, f"BROKEN: No winner yet between old and n{n}: {refused}", why=refused) for n in range(12)]
    page = night(*lines).page
    assert f"12 pairs: {refused}" in render(page, short=True).splitlines()
    assert not night(lines[0]).page.text("cause")


def test_each_cause_is_said_once_with_its_pairs_on_a_terminal():
    refused, torn, full = "refused the key (401)", "a.jsonl: the file holds no rows", "the disk is full"
    whys = [*[refused] * 3, torn, torn, full]
    lines = [line(f"n{n}", 4, "BROKEN", why=why) for n, why in enumerate(whys)]
    lines += [line(f"o{n}", 3, "open.", stopped="the limit is reached") for n in range(2)]
    lines.append(line("d", 0, "passed.", doubtful=True, warnings=("36 of 60 verdicts changed.", "another")))
    said = brief(9, *lines).splitlines()
    assert said[1:6] == [
        f"3 pairs: {refused}",
        f"all n3, all n4: {torn}",
        f"all n5: {full}",
        "all o0, all o1: the limit is reached",
        "all d: 36 of 60 verdicts changed.",
    ]
    assert said[-1].startswith("  all o1"), "a pair stands there once"
    fewer = brief(1, *lines)
    assert (fewer.count(torn), fewer.count(full)) == (1, 0)
    assert (
        "4 others: 1 broken, 2 open, 1 passed in doubt (open: all o0, all o1; broken: all n5; passed in doubt: all d)"
        in " ".join(fewer.split())
    )


def test_a_pair_that_failed_has_its_row_before_causes_and_before_what_passed():
    lines = [
        line("p", 0, "passed.", since=Since((), 40, (0.5, 0.3, 0.7))),
        line("torn", 2, "torn", why="torn.jsonl, line 4: this is no JSON"),
        line("f", 5, "failed.", shown="-100 (-100 to -12)"),
    ]
    for most, others in ((1, "2 others: 1 wrong input, 1 passed (wrong input: all torn)"), (9, "  all p ")):
        said = brief(most, *lines).splitlines()
        assert [row.split()[:4] for row in said[2:4]] == [
            ["pair", "state", "gap,", "points"],
            ["all", "f", "✗", "failed"],
        ]
        assert any(row.startswith(others) for row in said[4:])


def test_a_gap_that_does_not_show_why_its_pair_failed_has_the_reason_under_its_row():
    at_all = f"FAILED: a is worse than old on items like these 9. {WORSE_FAILS}, even by less than 15 points."
    by_more = "FAILED: b is worse than old by more than 15 points on items like these 9."
    warned = "FAILED: there is 1 warning, and warnings fail here. Otherwise it passes: c is better."
    lines = [line(*one) for one in (("a", 5, at_all), ("b", 5, by_more), ("c", 5, warned))]
    (table,) = night(*lines).brief(9)[0].tables
    assert table.note == (
        f"all a: {WORSE_FAILS[0].lower()}{WORSE_FAILS[1:]}, even by less than 15 points; "
        "all c: there is 1 warning, and warnings fail here"
    )


def test_a_doubtful_pass_says_on_the_page_why():
    passed = line(
        "a", 0, "PASSED, in doubt: a is not worse.", doubtful=True, warnings=("9 of 16 verdicts changed: it guesses.",)
    )
    assert "PASSED, in doubt: a is not worse. 9 of 16 verdicts changed." in " ".join(text(passed).split())
    opened = replace(passed, outcome=Outcome.UNDECIDED, headline="No winner yet.")
    assert opened.headline_here == "No winner yet."


def test_what_is_in_doubt_as_last_night_is_a_few_words_behind_what_is_new():
    known = {"before": "passed in doubt", "outputs": "same", "same_as": "2026-01-01"}
    old = line("old", 0, "passed.", doubtful=True, warnings=("36 of 60 verdicts changed.",), **known)
    new = line("new", 3, "open.", stopped="the limit is reached")
    said = brief(9, old, new).splitlines()
    assert said[1:3] == ["all new: the limit is reached", f"all old: {AS_BEFORE.format('passed in doubt')}"]
    assert not replace(old, further=True).as_before
    assert not replace(old, outputs="new").as_before


def test_new_doubt_is_named_where_no_line_is_left_for_its_cause():
    failed = [line(f"f{n}", 5, "failed.") for n in range(5)]
    new = line("new", 0, "passed.", doubtful=True, warnings=("36 of 60 verdicts changed.",))
    old = replace(new, name="all old", before="passed in doubt", outputs="same", same_as="2026-01-01")
    shown = {most: brief(most, *failed, new, old, line("p", 0, "passed.")) for most in (3, 5, 6)}
    assert "5 others: 2 failed, 1 passed, 2 passed in doubt (passed in doubt: all new)" in shown[3]
    assert "3 others: 1 passed, 2 passed in doubt (passed in doubt: all new)" in shown[5], (
        "each that failed has its row first"
    )
    assert "all new: 36 of 60" in shown[6]


def test_pairs_without_a_row_are_counted_beside_the_rows_of_others():
    open_ = [line(f"o{n}", 3, "open.", stopped="no money") for n in range(8)]
    assert "6 others: 5 open, 1 passed" in brief(4, *open_, line("p", 0, "passed."))
    best = Line(name="best", question="select", exit_code=0, headline="b.", outcome=Outcome.DECIDED, winner="b")
    assert "✓ decided: b" in brief(4, best), "a search has no gap that shows who won"


def test_a_cause_is_cut_after_a_word():
    torn = line("torn", 2, "torn", why="torn.jsonl, line 44: the file seems to be cut off: write it again")
    assert "all torn: torn.jsonl, line 44: the file …" in brief(9, torn, longest=44).splitlines()


def test_systems_that_several_pairs_have_are_counted():
    passed = "{} is ahead on items like these {}."
    lines = [line(name, 0, passed.format(name, 9), ()) for name in ("a", "b")]
    again = Line(name="more a", question="compare", exit_code=0, headline=passed.format("a", 9), systems=("old", "a"))
    assert "Each of a and b is ahead" in text(*lines, again)


def test_an_order_that_changed_nothing_counts_as_no_tie():
    told = {flips: dict(night(line("a", 0, "a.", flips=flips, both_orders=9)).order)["order"] for flips in (0, 2)}
    assert told[2].startswith("2 of 9")
    assert told[2].endswith("tie") > told[0].endswith("tie")


def test_a_sum_that_rests_on_no_verdict_is_no_probable_one_and_says_who_shares_it():
    guess = line("g", 3, "open.", used_up=True, stopped="no money", wants_p=3 * USD, likely_p=2 * USD, guess=True)
    assert "about $2.00 in all may be enough; $3.00 even" in " ".join(text(guess).split())
    vain = line("v", 3, "open.", used_up=True, hopeless=True, stopped="no money. Add items.")
    hope = replace(guess, guess=False, likely_p=3 * USD)
    assert "in all is enough for all g, with an equal share for all v even" in " ".join(text(vain, hope).split())


def test_a_name_that_begins_a_warning_of_several_pairs_stays_as_it_is():
    said = ("reranker has 13 empty outputs.",)
    lines = [
        replace(line(name, 0, "passed.", warnings=said), systems=systems)
        for name, systems in (("score", ("reranker",)), ("pick", ("a", "reranker", "z")))
    ]
    assert [text for _, text in night(*lines, line("b", 0, "passed.")).warned()] == [
        "reranker has 13 empty outputs. (all score, all pick)"
    ]


def test_answers_that_are_certain_are_counted_beside_those_at_a_risk():
    lines = [line(f"n{n}", 0, "passed.", risk=0.1) for n in range(6)]
    certain = line("c", 0, "passed.", certain=True)
    assert night(*lines, certain).wrong[0][1] == "of 7 answers, 1 of them certain, expect at most 0.6 wrong"
    assert night(*lines).wrong[0][1] == "of 6 answers, expect at most 0.6 wrong"
    assert not night(certain, certain).wrong


def test_money_is_one_cause_with_the_sum_that_finishes_the_night():
    ends = [line(f"n{n}", 3, "open.", used_up=True, stopped="no money", wants_p=USD // 4, likely_p=USD // 20,
                 next_p=USD // 100 * n) for n in range(3)]  # fmt: skip
    found = night(*ends, line("m", 3, "open.", stopped="the limit", charged_p=USD))
    assert found.to_json()["pairs"][0]["wants_usd"] == 0.25
    said = " ".join(render(found.page).split())
    assert "3 pairs Out of money, as another judgment may cost up to $0.020." in said
    for what in (f"it goes on {ANOTHER_DAY}", "raise --budget"):
        assert f"{what}: about $1.15 in all is probably enough; $1.75 even at maximum costs." in said


def test_a_pair_that_another_budget_ended_asks_for_that_and_for_none_of_the_night():
    own = {"used_up": True, "stopped": "no money", "own_p": USD // 5, "next_p": USD // 50, "table": "all"}
    ends = [line(f"n{n}", 3, "open.", charged_p=USD * 19 // 100, wants_p=USD, likely_p=USD * n // 10, **own)
            for n in (1, 2)]  # fmt: skip
    said = " ".join(text(*ends).split())
    enough = (
        "ts own budget of $0.20 lacks the $0.020 of another judgment: budget = 0.39 in [pairs.all] is probably enough"
    )
    assert f"all 2 pairs I{enough}." in said
    assert "--budget" not in said
    assert f"all n1, all n2: i{enough}" in " ".join(brief(9, *ends).split())
    by_ledger = [replace(one, own_p=0, by_ledger=True) for one in ends]
    spent = Balance("all", USD, "day", "00:00+00:00", "", "", USD * 38 // 100, {})
    for more, limit in (
        ((), "0.68"),
        ((replace(by_ledger[0], hopeless=True),), "0.88"),  # it takes as much as the longest of the others
        ((replace(by_ledger[0], hopeless=True, own_p=USD // 4),), "0.74"),
        ((replace(ends[0], by_ledger=True),), "0.68"),
    ):
        found = replace(night(*by_ledger, *more), drawn_on=spent)
        said = " ".join(render(found.page).split())
        assert f"`judgeloop budget set --name all '${limit}'`." in said
        assert "--budget" not in said
    by_night = replace(ends[0], own_p=USD)
    assert f"With a higher --budget it goes on {ANOTHER_DAY}: about $" in " ".join(text(by_night).split())


def test_a_night_whose_money_failed_calls_hold_says_what_frees_it_before_it_goes_on():
    held = line("h", 4, "BROKEN", used_up=True, goes_on=True, charged_p=USD // 2, unconfirmed_p=USD // 2)
    said = " ".join(text(held).split())
    free = f"To go on, free that money or give --budget 1.50 {ANOTHER_DAY}."
    assert free in said
    assert not held.asks_again
    fails = replace(held, used_up=False)
    assert fails.asks_again
    assert free not in " ".join(text(fails).split()), "as much is left as failed calls took"
    fails = replace(fails, charged_p=USD * 6 // 10, unconfirmed_p=USD // 2)
    some_left = f"goes on with the $0.40 that is left {ANOTHER_DAY}; for more, free that money"
    assert f"{some_left} or give --budget 1.50." in " ".join(text(fails).split()), "it may not be enough"
    own = " ".join(text(replace(fails, own_p=USD * 7 // 10)).split())
    assert f"{some_left}." in own, "the budget of the night does not help"
    other = line("o", 4, "BROKEN")
    assert "Once the cause is gone (all h), the same" in " ".join(text(fails, other).split())


def test_a_pair_that_was_interrupted_did_not_turn():
    ends = {Outcome.INTERRUPTED: "", Outcome.UNDECIDED: "Since 2026-01-01 no longer passed: all a."}
    for outcome, said in ends.items():
        one = replace(line("a", 3, "open."), outcome=outcome, before="passed")
        assert Summary(night="n", budget_p=0, lines=(one,), last_night="2026-01-01").turned == said


def test_no_money_is_asked_for_where_all_items_would_not_decide_if_the_lead_stays():
    vain = line("v", 3, "open.", used_up=True, hopeless=True, stopped="no money. Add items.", charged_p=USD // 10)
    assert "--budget" not in text(vain)
    assert "all v: no money. Add items." in brief(9, vain).splitlines()
    hope = line("h", 3, "open.", used_up=True, stopped="no money", charged_p=USD // 5, wants_p=USD, likely_p=USD)
    said = " ".join(text(vain, hope).split())
    # What pairs share equally: until one has 1.20, the other may have it, too.
    assert re.findall(r"(\S+) in all is enough for (all \w)", said) == [("$2.40", "all h")] * 2
