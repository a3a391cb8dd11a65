"""Systems that are level at the top: none of them is the best, and a judge that tells nothing apart names none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import commandline
from support.outputs import write_outputs

import judgeloop

ITEMS = 60


def files(folder, ahead=0):
    """A and B are right on 30 items each, but for `ahead` more of A; C, the baseline, is never right."""
    right = {"A": range(30 + ahead), "B": range(30, ITEMS), "C": ()}
    for name, own in right.items():
        texts = ["yes" if item in own else f"no {name}" for item in range(ITEMS)]
        yield write_outputs(folder / f"{name}.jsonl", texts, reference="yes")


NAMES_THE_HIGHEST = ["--rule", "fixed-budget", "--selector", "random"]
SEARCH = ["--judge", "metric:exact", "--baseline", "C"]
RULES = pytest.mark.parametrize("more", [NAMES_THE_HIGHEST, []])


@RULES
def test_of_systems_that_share_the_highest_win_rate_none_is_the_best(tmp_path, more):
    found = commandline.result_of("select", *files(tmp_path), *SEARCH, *more)
    assert (found["winner"], found["leader"], found["level"], found["risk"]) == (None, None, ["A", "B"], None)
    assert (found["outcome"], found["exit_code"], found["advice"]) == ("decided", 0, [])
    for required in "AB":
        done = commandline.judgeloop("select", *files(tmp_path), *SEARCH, *more, "--require-winner", required)
        assert done.exit_code == 3, "another one has not won, either"


@RULES
def test_one_that_is_named_is_level_with_none(tmp_path, more):
    found = commandline.result_of("select", *files(tmp_path, ahead=8), *SEARCH, *more)
    assert (found["winner"], found["level"]) == ("A", [])


def test_a_bound_that_is_the_win_rate_itself_says_that_all_is_judged(tmp_path):
    result = judgeloop.select(list(files(tmp_path)), judge="metric:exact", baseline="C")
    known = [row for row in result.standings if row.known and row.system != "C"]
    assert {row.system for row in known} == {"A", "B"}
    (table,) = result.page.tables
    assert [row[table.columns.index("at least")] for row in table.rows if row[0] in "AB"] == ["all judged"] * 2
    (*_, scale) = result.page.pictures[-1]
    assert {row.name: row.said for row in scale.rows if row.name in "AB"} == {
        row.system: f"{100 * row.win_rate:.1f} %, all judged" for row in known
    }


def ties(first, second):
    del first, second
    return "tie"


def takes_the_first(first, second):
    del first, second
    return "A"


def skips_some(prompt, first, second):
    del first, second
    return None if int(prompt) % 3 == 0 else "tie"


@pytest.fixture
def search(tmp_path):
    systems = {
        name: [{"id": f"q{at}", "prompt": f"{at}", "output": f"{name} on {at}"} for at in range(ITEMS)]
        for name in ("one", "two", "three")
    }

    def found(judge, **settings):
        return judgeloop.select(systems, judge=judge, version="1", ledger=tmp_path / "ledger.sqlite", **settings)

    return found


def test_a_judge_that_ties_always_names_nobody_at_no_risk_and_passes_nothing(search):
    for required in (None, "one", "two"):
        result = search(ties, require_winner=required)
        assert (result.winner, result.leader, result.risk, result.gap) == (None, None, None, None)
        assert set(result.level) == set(result.near_best) == {"one", "two", "three"}
        outcome = ("decided", 0) if required is None else ("undecided", 3)
        assert (result.outcome, result.exit_code, result.stop_reason) == (*outcome, "pool_exhausted")
        codes = [one.code for one in result.warnings]
        assert "all_ties" in codes
        assert "thin_lead" not in codes
        assert result.page.text("risk") == ""
        assert "all are level" in result.page.headline


def test_one_within_a_gap_is_named_of_level_systems_and_is_not_shown_to_be_the_best(search):
    for required in (None, "one", "two", "three"):
        result = search(ties, min_gap=0.1, require_winner=required)
        assert (result.winner is None, result.level) == (False, ())
        assert (result.outcome, result.exit_code) == (("decided", 0) if required is None else ("not_shown", 3))


def test_a_judge_that_contradicts_itself_breaks_the_gate_of_a_search(search):
    result = search(takes_the_first, require_winner="one")
    (flips,) = [one for one in result.conditions if one.name == "flips"]
    assert (result.outcome, result.exit_code, flips.outcome) == ("broken", 4, "broken")
    assert result.options.max_flips == 0.5
    assert search(takes_the_first, require_winner="one", max_flips="none").exit_code == 3
    assert search(takes_the_first, max_flips=0.9).exit_code == 4, "also where no winner is required"
    assert search(takes_the_first).exit_code == 0, "as far as this judge sees, all are level"


def test_a_share_of_flips_takes_both_orders(search):
    with pytest.raises(judgeloop.InputError, match="needs verdicts in both orders"):
        search(ties, order="random", about="like-these", max_flips=0.2)


def test_where_every_item_like_these_is_judged_no_further_judgments_are_advised(search):
    result = search(ties, about="like-these")
    assert (result.stop_reason, result.exit_code, result.level) == ("pool_exhausted", 3, ())
    assert result.more_judgments is None
    assert [one.code for one in result.advice] == ["all_asked"]


def test_judgments_and_the_items_that_they_are_on_are_counted_apart(search):
    broken = search(skips_some, baseline="one")
    asked, items = broken.counts.asked, len({row.item_id for row in broken.labels})
    assert (broken.exit_code, items < asked) == (4, True)
    assert f"of {asked} judgments ({items} items)" in broken.stop_sentence
    assert broken.judged_in_words == f"{broken.judged} judgments on {items}"
    judged = search(ties, baseline="one")
    assert judged.page.text("judged").startswith("120 judgments on 60 of 60 items")
    assert "120 judgments on 60 items, wins and losses first" in judged.to_html()


def test_a_search_that_took_the_usual_number_hears_what_all_would_do(search):
    def nearly_level(prompt, first, second):
        one = first.startswith("one")
        return "tie" if int(prompt) % 2 else "A" if one == bool(int(prompt) % 4) else "B"

    advice = search(nearly_level, max_judgments=40).advice
    assert [one.code for one in advice] == ["usual_limit", "second_test"]
    for about, code in (("items", "all_name"), ("like-these", "all_may_name")):
        late = replace(search(nearly_level, about=about, max_judgments=110), more_judgments=None)
        advice, _ = late.to_decide()
        assert (late.outcome, advice.code, advice.values["limit"]) == ("undecided", code, late.queries_in_all)


def test_a_best_that_is_known_as_all_is_judged_has_no_risk(tmp_path):
    def rows(length):
        return [{"id": at, "prompt": f"q{at}", "output": "x" * length(at)} for at in range(3)]

    def longer(*, prompt, first, second):
        del prompt
        return "A" if len(first) > len(second) else "B" if len(first) < len(second) else "tie"

    systems = {"a": rows(lambda at: at + 2), "b": rows(lambda at: at + 1), "c": rows(lambda at: at + 3 if at else 1)}
    found = judgeloop.select(systems, judge=longer, version="1", ledger=tmp_path / "l.sqlite")
    assert (found.winner, found.risk, found.judged) == ("c", 0.0, found.queries_in_all)
    assert found.page.text("risk").startswith("0: all items have been judged")


def test_systems_that_are_nearly_level_on_all_items_are_told_apart_by_a_gap_that_is_advised(tmp_path):
    right = {"A": range(180), "B": range(1, 180), "C": ()}
    rows = [{"prompt": str(item), "reference": "yes"} for item in range(200)]
    asked = [
        [one | {"output": "yes" if at in own else f"no {name}"} for at, one in enumerate(rows)]
        for name, own in right.items()
    ]
    search = {
        "names": tuple(right),
        "judge": "metric:exact",
        "baseline": "A",
        "about": "like-these",
        "ledger": tmp_path / "l",
    }
    found = judgeloop.select(asked, **search)
    advice, _ = found.advice
    assert (found.stop_reason, advice.code) == ("pool_exhausted", "all_asked_near")
    assert 0 <= advice.values["gap"] - found.gap < 0.01
    named = judgeloop.select(asked, **search, min_gap=advice.values["gap"])
    assert (named.winner, named.outcome) == ("A", "decided")
    assert found.page.text("rates").startswith("A 50.0 % (the baseline), B 49.8 %, ")
