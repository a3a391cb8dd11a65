"""A rule that names the highest win rate says that several systems share it: that is an answer."""

from __future__ import annotations

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


def test_systems_that_share_the_highest_win_rate_are_said_to_be_level(tmp_path):
    result = commandline.judgeloop("select", *files(tmp_path), *SEARCH, *NAMES_THE_HIGHEST)
    assert result.exit_code == 0
    assert result.stdout.startswith("✓ DECIDED: A, B share the highest win rate of 3 systems, each compared with C, on")
    assert "  leads " not in result.stdout, "the answer says who"
    found = commandline.result_of("select", *files(tmp_path), *SEARCH, *NAMES_THE_HIGHEST)
    assert (found["winner"], found["level"], found["outcome"]) == (None, ["A", "B"], "decided")


@pytest.mark.parametrize("more", [NAMES_THE_HIGHEST, []])
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
