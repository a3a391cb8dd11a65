from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.results import make_result

from judgeloop.report.forms import escape, render_markdown
from judgeloop.report.page import Fact, Page, PageTable, Section, decided
from judgeloop.report.words import visible

SPECIAL = set("\\`*_{}[]<>#|!&~")


APART = "<!-- -->"  # what keeps a mention or an address from being one, and is not seen


def unescaped(text):
    return re.sub(r"\\(.)", r"\1", text.replace(APART, ""))


@given(text=st.text())
def test_escaping_changes_what_markup_is_read_and_nothing_that_is_seen(text):
    escaped = escape(text)
    assert unescaped(escaped) == text
    assert not SPECIAL & set(re.sub(r"\\.", "", escaped.replace(APART, "")))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "see `judgeloop runs show 1 --ledger a_b_<i>.sqlite`, x_y_z",
            ["judgeloop runs show 1 --ledger a_b_<i>.sqlite"],
        ),
        ("``judgeloop a`` and `judgeloop b|c` and `x`", ["judgeloop a"]),
        ("\\`judgeloop a`", ["judgeloop a"]),
        ("`<b>`", []),
    ],
)
def test_a_command_is_code_and_nothing_else_is(text, code):
    (inline,) = (one for one in MarkdownIt().parse(escape(text)) if one.type == "inline")
    assert [one.content for one in inline.children if one.type == "code_inline"] == code
    assert {one.type for one in inline.children} <= {"text", "code_inline", "text_special"}


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("@somebody", f"@{APART}somebody"),
        ("a@b.example", f"a@{APART}b.example"),
        ("http://e.example", f"http:{APART}//e.example"),
        ("see https://e.example", f"see https:{APART}//e.example"),
        ("HTTPS://e.example", f"HTTPS:{APART}//e.example"),
        ("www.e.example", f"www{APART}.e.example"),
        ("Www.e.example", f"Www{APART}.e.example"),
        ("GH-123", f"GH-{APART}123"),
        ("org/repo#1", rf"org/repo\#{APART}1"),
    ],
)
def test_what_would_mention_or_link_is_taken_apart(text, apart):
    assert escape(text) == apart


def test_a_comment_that_a_stranger_wrote_is_not_one():
    assert escape("<!-- -->") == r"\<\!-- --\>"


@pytest.mark.parametrize(
    "name",
    [
        "a|b",
        "<script>",
        "[x](http://e)",
        "![x](http://e)",
        "**b**",
        "`c`",
        "&lt;",
        "\\|",
        "a\n| b | c |",
        "a\n\n# Big",
        "\x1b[1m",
        "@somebody",
        "https://e.example",
        "www.e.example",
    ],
)
def test_strangers_text_adds_no_row_cell_link_or_tag(name):
    calm, evil = (make_result().to_markdown(), make_result(systems=("small", name)).to_markdown())
    assert len(evil.splitlines()) == len(calm.splitlines())
    rows = [row for row in evil.splitlines() if row.startswith("- **")]
    assert len(rows) == len([row for row in calm.splitlines() if row.startswith("- **")]) > 6
    table = replace(make_result().page, tables=(PageTable("", ("system", "won"), ((visible(name), "1"),)),))
    for row in render_markdown(table).partition("|---")[2].splitlines()[1:2]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3
    texts = re.sub(r"^- \*\*[^*]*\*\*", "", evil, flags=re.MULTILINE)  # without the names, which are bold
    texts = re.sub("</?(details|summary)>", "", texts.replace(APART, ""))  # which fold the rest
    assert not re.search(r"(?<!\\)(?:\\\\)*[<\[`*]", texts)
    assert not re.search(r"@\w|https?://|www\.", evil)
    assert "\x1b" not in evil


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "12) a", "= a", "- - -"])
def test_a_paragraph_begins_no_list_whatever_its_first_words_are(text):
    shown = Page((decided("decided"), Fact("said", Section.DECISION, "", text, first=True)))
    tokens = MarkdownIt().parse(render_markdown(shown))
    assert {token.type for token in tokens} == {
        "heading_open", "inline", "heading_close", "paragraph_open", "paragraph_close",
    }  # fmt: skip
