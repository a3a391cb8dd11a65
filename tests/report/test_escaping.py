from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.report.labels import csv_line
from judgeloop.report.words import csv_cell, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="an ANSI colour"),
        pytest.param("\x1b]8;;http://e\x07x", r"\x1b]8;;http://e\x07x", id="an OSC link"),
        pytest.param("\x9b2J", r"\x9b2J", id="an 8-bit control sequence"),
        pytest.param("a\rb\nc\td\0e\x7f", r"a\rb\nc\td\x00e\x7f", id="control characters"),
        pytest.param("a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d", id="separators of lines"),
        pytest.param("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd", id="directions of writing"),
        pytest.param("a\u200bb\u200dc\u2060d\ufeffe\xadf", r"a\u200bb\u200dc\u2060d\ufeffe\xadf", id="no width"),
        pytest.param("\U000e0041", r"\U000e0041", id="a tag character"),
        pytest.param("a\u3164b\u115fc\u1160d\uffa0", r"a\u3164b\u115fc\u1160d\uffa0", id="fillers"),
        pytest.param("a\u2800b\u034fc", r"a\u2800b\u034fc", id="a blank pattern and a joiner"),
        pytest.param("a\ufe0fb\ufe00c\u180bd", r"a\ufe0fb\ufe00c\u180bd", id="variation selectors"),
        pytest.param("a\U000e0100b\U000e01ef", r"a\U000e0100b\U000e01ef", id="more variation selectors"),
        pytest.param("\ud800\ue000\uffff", r"\ud800\ue000\uffff", id="no characters at all"),
    ],
)
def test_what_steers_or_cannot_be_seen_is_shown_as_its_escape(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        *["", "GPT-4.1 (mini)", "na\xefve caf\xe9", "\u65e5\u672c\u8a9e", "\U0001f600", "a\\nb"],
        "\U0001f5a5\ufe0f By day",
    ],
)
def test_what_can_be_seen_stays_as_it_is(text):
    assert visible(text) == text


@given(st.text(st.characters()))
def test_any_text_becomes_one_line_that_can_be_encoded_and_stays_so(text):
    shown = visible(text)
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert len(shown.splitlines()) <= 1
    shown.encode()
    assert visible(shown) == shown


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")  # noqa: RUF001 - full-width signs are what it is about
def test_a_cell_that_begins_a_formula_has_a_quote_before_it(sign):
    assert csv_cell(f"{sign}1") == f"'{sign}1"
    assert csv_cell(f"a; {sign}1") == f"a; '{sign}1"
    assert csv_cell(f"a{sign}1") == f"a{sign}1"


@pytest.mark.parametrize(
    "before", ["\t", " ", "\xa0", "\u3000", "\n", "\t \t", " \xa0\n", ";\t", "a\t", "a\t\xa0", "a;\t "]
)
@pytest.mark.parametrize("sign", "=+-@＝")  # noqa: RUF001 - a full-width sign is one, too
def test_a_formula_behind_blanks_or_a_tab_that_may_separate_cells_has_a_quote_before_it(before, sign):
    assert csv_cell(f"{before}{sign}1") == f"{before}'{sign}1"


def test_a_sign_inside_a_text_and_a_number_stay_as_they_are():
    assert [csv_cell(one) for one in ("a -1", "a\n=1", "1 = 1", " \ta")] == ["a -1", "a\n=1", "1 = 1", " \ta"]
    assert csv_line([-1, -0.5, " -1"]) == "-1,-0.5, '-1"


def test_a_text_of_a_million_tabs_is_searched_once():
    assert csv_cell("\t" * 10**6 + "=").endswith("\t'=")  # else it takes hours
