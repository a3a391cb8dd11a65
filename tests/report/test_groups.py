from __future__ import annotations

import csv
import io
import json
import re

import pytest
from support.results import make_result

from judgeloop.cli.files import render_json
from judgeloop.core.outcomes import Tally
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.report.groups import MOST_SHOWN
from judgeloop.report.labels import render_csv

# Of each of two groups five items are judged; chat has the even positions, and one abstention.
PREFERENCES = [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0, 0.5, 1.0, None]
LABELS = tuple(
    Label(Choice(n, None), Abstention("refused") if score is None else Verdict(score))
    for n, score in enumerate(PREFERENCES)
)
TALLY = Tally(items=12, wins=(3, 5), ties=2, abstentions=1)


def grouped(*groups):
    return make_result(tally=TALLY, labels=LABELS, groups=groups)


def test_each_group_counts_its_own_verdicts_from_the_side_of_the_second_system():
    chat, code = json.loads(render_json(grouped("chat", "code")))["groups"]
    assert chat == {
        "group": "chat", "items": 6, "judged": 5, "wins": 3, "ties": 2, "losses": 0, "gap": 0.6,
        "claim": None, "interval": None, "more": None,
    }  # fmt: skip
    assert code == {
        "group": "code", "items": 6, "judged": 5, "wins": 2, "ties": 0, "losses": 3, "gap": -0.2,
        "claim": None, "interval": None, "more": None,
    }  # fmt: skip


def test_the_groups_add_up_to_the_whole_decision():
    result = grouped("a", "b", None)
    assert sum(row.items for row in result.groups) == result.items
    assert sum(row.judged for row in result.groups) == result.judged
    assert sum(row.wins for row in result.groups) == result.wins["large"]
    assert sum(row.losses for row in result.groups) == result.wins["small"]


def test_every_form_shows_the_table_and_says_that_it_claims_nothing():
    result = grouped("chat", "code")
    for text in (result.to_text(), result.to_html(), result.to_markdown(), result._repr_html_()):
        assert "By group, for large: counts, without a claim" in text
    assert result.to_html().count(">By group") == 1
    assert "  chat       6       5    3     2     0          +60" in result.to_text()
    rows = list(csv.DictReader(io.StringIO(render_csv(result.labels))))
    assert [row["group"] for row in rows] == ["chat", "code"] * 5 + ["chat"]


@pytest.mark.parametrize("groups", [(None,), ("only",)])
def test_items_of_one_group_or_none_have_no_table(groups):
    assert "By group" not in str(grouped(*groups))


def test_items_without_a_group_are_a_row_of_their_own():
    result = grouped("code", None)
    assert [row.group for row in result.groups] == ["code", None]
    assert "(no group)" in result.to_text()


def test_of_many_groups_the_largest_are_shown_and_the_rest_counted():
    labels = tuple(Label(Choice(n, None), Verdict(0.0)) for n in range(205))
    names = [f"g{n:02}" for n in range(20)]
    result = make_result(tally=Tally(items=210, wins=(0, 205)), labels=labels, groups=(*names, "g00"))
    assert [row.group for row in result.groups] == names
    text = result.to_text()
    shown = [line.split()[:3] for line in text.splitlines() if line[:4] in {"  g0", "  g1"}]
    assert shown[0] == ["g00", "20", "19"]
    assert [name for name, *_ in shown] == names[:MOST_SHOWN]
    assert re.search(r"  \(8 more groups\)     80 .*\n  The JSON has each group.\n", text)


def test_a_group_with_fewer_verdicts_than_five_is_only_counted():
    result = grouped("chat", "code", "code")
    (chat,) = [row for row in result.groups if row.name == "chat"]
    (line,) = [line.split() for line in result.to_text().splitlines() if line.startswith("  chat ")]
    counts = (chat.items, chat.judged, chat.wins, chat.ties, chat.losses)
    assert line == ["chat", *map(str, counts)], "and no gap"


def test_a_strangers_group_is_shown_safely_and_kept_whole_in_the_json():
    name = "a\x1b[31m|<b>\n" + "x" * 500
    result = grouped(name, "other")
    assert {row["group"] for row in json.loads(render_json(result))["groups"]} == {name, "other"}
    for text in (result.to_text(), result.to_html(), result.to_markdown()):
        assert "\x1b" not in text
        assert "x" * 100 not in text
    assert "<b>" not in result.to_html()
    assert "<b>" not in result.to_markdown()
