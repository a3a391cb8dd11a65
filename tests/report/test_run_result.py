"""A result shows itself: as text, in a notebook, as JSON values, as a data frame."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import narwhals
import polars as pl
import pytest
from support.tables import ROWS
from support.text import unwrapped

import judgeloop
from judgeloop.core.errors import InputError
from judgeloop.core.records import Shown
from judgeloop.questions.select.page import page
from judgeloop.report.page import Fact, Section
from judgeloop.report.pictures import Bar

EVIL = "<script>alert('x')</script> & \x1b[31m"


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A result of each question, by what was done."""
    ledger = tmp_path_factory.mktemp("results") / "ledger.sqlite"
    given = {"ledger": ledger, "version": "1"}
    two = ROWS["terse"], ROWS["chatty"]
    return {
        "compared": judgeloop.compare(*two, judge=shorter, **given),
        "searched": judgeloop.select(ROWS, baseline="chatty", judge=shorter, **given),
        "estimated": judgeloop.estimate(two[1], judge=lambda output: 1 / len(output), **given),
    }


@pytest.fixture(params=["compared", "searched", "estimated"])
def result(request, asked):
    return asked[request.param]


@pytest.fixture
def compared(asked):
    return asked["compared"]


@pytest.fixture
def searched(asked):
    return asked["searched"]


class Tags(HTMLParser):
    """The tags and the text of a fragment; fails on a tag that is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data}\n"


def unticked(text):
    """A text without marks of code and line breaks."""
    return re.sub(r"[`\s]+", "", text)


def test_a_notebook_shows_decision_evidence_and_cost(result):
    shown = Tags(result._repr_html_())
    assert not shown.seen & {"script", "style"}
    assert result.page.headline in shown.text
    for one in result.page.facts:
        assert one.section is Section.AGAIN or unticked(one.text) in unticked(shown.text)
    for table in result.page.tables:
        assert all(cell in shown.text for cells in table.rows for cell in cells)
    assert {"cost", "interval" if result.job == "estimate" else "rule"} <= {*shown.text.split("\n")}


def test_settings_between_backticks_are_code_in_a_notebook_and_on_a_page(result):
    advice = "Raise it: `budget=<3>`. `a"
    shown = replace(result, page=result.page.with_facts(Fact("next", Section.NEXT, "next", advice, first=True)))
    for text in (shown._repr_html_(), shown.to_html()):
        assert "<dd>Raise it: <code>budget=&lt;3&gt;</code>. `a</dd>" in text


def test_names_and_reasons_of_strangers_are_escaped_in_a_notebook():
    tables = {EVIL: ROWS["terse"], "<b>": ROWS["chatty"]}
    result = judgeloop.select(tables, baseline="<b>", judge=shorter)
    shown = result._repr_html_()
    assert "script" not in Tags(shown).seen
    assert "&lt;script&gt;" in shown
    assert "\x1b" not in shown


def test_a_result_prints_as_the_command_line_does(result):
    first = [one for one in result.page.facts if one.first and one.label]
    summary = " ".join([f"\N{CHECK MARK} {result.page.head}", *(f"{one.label} {one.text}" for one in first)])
    for text in (str(result), result.to_text()):
        assert unwrapped(text).startswith(unwrapped(summary))
        assert max(map(len, text.split("\n"))) <= 100
    assert len(list(filter(None, str(result).split("\n")))) <= 12
    assert all(table.heading in result.to_text() for table in result.page.tables)


def test_a_dictionary_holds_json_values_and_the_judged_items(result):
    values = result.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert (values["job"], values["run"]) == (result.job, result.setup.run)
    assert len(values["labels"]) == len(result.labels) == result.asked - result.counts.ahead
    assert (values["about"], values["items"]) == (str(result.about), result.items)
    assert values["labels"][0]["item_id"] == result.labels[0].item_id


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_judged_items_are_a_data_frame_of_the_callers_library(result, library):
    frame = result.to_frame(library)
    assert type(frame).__module__.split(".")[0] == library
    table = narwhals.from_native(frame)
    assert table["item_id"].to_list() == [label.item_id for label in result.labels]
    assert table["score"].to_list() == [label.score for label in result.labels]
    for row, label in zip(table.iter_rows(named=True), result.labels, strict=True):
        written = {name: next(r for r in ROWS[name] if r["id"] == label.item_id) for name in ROWS}
        assert row["prompt"] == written["chatty"]["prompt"]
        assert row["output"] == written[label.system]["output"]
        other = written[label.against]["output"] if label.against else None
        assert row["output_against"] == other


def test_what_was_paid_is_a_number_of_dollars(compared):
    paid = replace(compared, spend=replace(compared.spend, now_p=25 * 10**10, run_p=10**12))
    assert (paid.spent_usd, paid.run_spent_usd) == (0.25, 1.0)
    assert paid.to_dict()["spent_usd"] == 0.25
    unknown = replace(compared, spend=replace(compared.spend, known=False))
    assert (unknown.spent_usd, unknown.run_spent_usd) == (None, None)


def test_a_page_shows_prompts_and_outputs_and_values_do_not(result):
    label = result.labels[0]
    row = next(row for row in ROWS[label.system] if row["id"] == label.item_id)
    assert html.escape(row["output"]) in result.to_html()
    assert html.escape(row["prompt"]) in result.to_html()
    assert row["output"] not in json.dumps(result.to_dict(), ensure_ascii=False)
    assert "texts" not in result.to_dict()
    assert "Texts" not in repr(result)
    bare = replace(result, texts=None)
    assert bare == result
    assert html.escape(row["output"]) not in bare.to_html()
    assert "prompt" not in bare.to_frame("polars").columns


@pytest.mark.parametrize("shown", Shown)
def test_a_table_of_items_has_the_texts_that_a_report_may_show(result, shown):
    result = replace(result, texts=replace(result.texts, shown=shown))
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    every = result.texts.columns(result.labels)["output"]
    may = [result.shows(label) for label in result.labels]
    wanted = [text if one else "" for text, one in zip(every, may, strict=True)]
    assert [row["output"] for row in rows] == wanted
    assert any(may) or shown is not Shown.ALL
    assert "group" in rows[0]


def test_a_data_frame_may_be_empty(compared):
    frame = replace(compared, labels=()).to_frame("polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.shape == (0, 18)


def test_a_library_that_is_not_installed_or_not_known_is_named(compared, monkeypatch):
    with pytest.raises(InputError, match="`library`: expected pandas, polars, pyarrow, found 'r'"):
        compared.to_frame("r")
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    with pytest.raises(InputError, match=r"`library=pandas` cannot be imported .*: install it"):
        compared.to_frame()


def test_standings_are_sorted_by_win_rate_with_the_baseline_among_them(searched):
    row = searched.standings[0]
    rates = {"poor": 0.1, "unasked": None, "able": 0.8, "best": 0.9, "chatty": None}
    rows = tuple(replace(row, system=name, win_rate=rate) for name, rate in rates.items())
    table = page(replace(searched, standings=rows, winner=None)).tables[0]
    named = ["best", "able", "chatty (baseline)", "poor", "unasked"]
    assert [name for name, *_ in table.rows] == named
    near = page(replace(searched, standings=rows, winner="able")).tables[0]
    assert [name for name, *_ in near.rows][:2] == ["able", "best"], "the decision comes first"


def test_a_result_is_shown_in_one_line(result):
    line = repr(result)
    assert "\n" not in line
    assert len(line) < 250
    assert result.page.headline in line


def test_a_notebook_shows_the_evidence_as_a_picture(result):
    drawn = result.plot()
    assert drawn._repr_svg_().startswith("<svg")
    assert drawn.picture.said in drawn._repr_svg_()
    words = " ".join(re.findall(r">([^<>]+)</text>", str(drawn)))
    assert html.escape(drawn.picture.note) in words


def test_a_notebook_shows_every_picture_of_the_report(searched):
    drawn = [picture for card in searched.page.pictures for picture in card]
    assert len(drawn) > 1
    assert [searched.plot(n).picture for n in range(1, len(drawn) + 1)] == drawn
    for number in (0, len(drawn) + 1):
        with pytest.raises(InputError, match=f"expected 1 to {len(drawn)}, found {number}"):
            searched.plot(number)


def test_a_picture_of_verdicts_names_its_parts(compared):
    drawn = next(one for one in map(compared.plot, (1, 2)) if isinstance(one.picture, Bar))
    (legend,) = re.findall(r">([^<>]+)</text></svg>", str(drawn))
    assert legend == ", ".join(f"{name} {number}" for name, number, _ in drawn.picture.parts)
    assert "ties" in legend


def test_a_result_without_evidence_says_that_there_is_no_picture(compared):
    with pytest.raises(InputError, match="no picture of this result"):
        replace(compared, page=replace(compared.page, pictures=())).plot()


def test_standings_are_a_data_frame_with_bounds_around_the_rates(searched):
    table = searched.standings_frame("polars")
    assert table["system"].to_list() == [row.system for row in searched.standings]
    columns = ["system", "win_rate", "won", "ties", "lost", "no_verdict", "items"]
    assert table.columns == [*columns, "at_least", "at_most", "near_best"]
    rows = [row for row in searched.standings if row.win_rate is not None]
    assert rows
    assert all(row.at_least <= row.win_rate <= row.at_most for row in rows)
