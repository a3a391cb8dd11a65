"""Texts of strangers as a tree of few tags: no letter is lost, and nothing is markup."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.page.texts import MOST_FORMATTED, TAGS, shown, tree_of


def letters(node):
    """The texts of a tree, without what is only said about it."""
    if isinstance(node, str):
        return node
    return "".join(letters(one) for one in node[1:] if not isinstance(one, dict))


def tags(node):
    return (
        set() if isinstance(node, str) else {node[0]}.union(*(tags(one) for one in node[1:] if isinstance(one, list)))
    )


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("# Head\n\nA **b** *c* ~~d~~ `e`", [["h4", "Head"], ["p", "A ", ["strong", "b"], " ", ["em", "c"], " ", ["s", "d"], " ", ["code", "e"]]]),
        ("3. x\n4. y", [["ol", {"start": 3}, ["li", "x"], ["li", "y"]]]),
        ("| a |\n|--|\n| 1 |", [["table", ["thead", ["tr", ["th", "a"]]], ["tbody", ["tr", ["td", "1"]]]]]),
        ("```python\nx = 1\n```", [["url", "python"], ["pre", "x = 1\n"]]),
        ('[a](http://b.c "d") <http://e.f>', [["p", "a", ["url", " (http://b.c)"], ["url", " “d”"], " ", "http://e.f"]]),
        ("![a](b.png)", [["p", ["url", "[picture “a”, not loaded: b.png]"]]]),
        ("<script>alert(1)</script> &lt; [x](javascript:y)", [["p", "<script>alert(1)</script> &lt; [x](javascript:y)"]]),
        ("> a\n\n---\nb  \nc\nd", [["blockquote", ["p", "a"]], ["hr"], ["p", "b", ["br"], "c", "\n", "d"]]),
    ],
)  # fmt: skip
def test_markdown_is_a_tree(text, tree):
    assert tree_of(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|--|--|\n| 1 | 2 | lost |",  # a cell beyond the columns
        "[a]: http://unused.example\n\ntext",
        "[a][b]\n\n[b]: http://used.example",
        ">" * 30 + " deep",
        "x" * (MOST_FORMATTED + 1),
    ],
    ids=lambda text: text[:12],
)
def test_a_text_that_would_lose_a_letter_has_no_tree(text):
    assert tree_of(text) is None


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("2*3 + 4*5", False),
        ("so `2*3` is **6**", True),
        ("```\nif a:\n    2*3\n```\n**b**", True),
        ("- a\n  - b", True),
        ('def __init__(self):\n__x__ = "**b**"', False),
        ("**a** snake_case_name and _b_", True),
    ],
)
def test_code_that_formatting_would_make_look_wrong_is_shown_plain(text, formatted):
    assert (tree_of(text) is not None) == formatted


@pytest.mark.parametrize(
    "text",
    [
        "Try:\n\ndef f(a):\n    return a*2",
        " /\\_/\\\n( o.o )\n > ^ <",
        "/\\_/\\\n( o.o )\n > ^ <",
        "A house:\n /\\\n/__\\\n |[]|",
    ],
)
def test_the_lines_of_a_program_or_a_drawing_that_nothing_marks_are_code(text):
    assert tree_of(text) == [["pre", text]]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (r"\d\.\d **b** and \*a\*", [["p", r"\d\.\d ", ["strong", "b"], r" and \*a\*"]]),
        ("a\\\nb \\\\ [c\\](d)\\", [["p", "a\\", "\n", "b \\\\ [c\\](d)\\"]]),
        ("> ^ <\n\n> a\n>\n> b", [["p", "> ^ <"], ["blockquote", ["p", "a"], ["p", "b"]]]),
    ],
)
def test_a_backslash_and_a_mark_of_a_quote_without_words_stay(text, tree):
    assert tree_of(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (r"so \(a_1 * b_1\) and $2*3_a + 4_a$ are **b**", [["p", r"so \(a_1 * b_1\) and $2*3_a + 4_a$ are ", ["strong", "b"]]]),
        ("x\n\\[\n  a &= b \\\\\n- c\n\\]\n*d*", [["p", "x"], ["pre", "\\[\n  a &= b \\\\\n- c\n\\]"], ["p", ["em", "d"]]]),
        ("- x\n  $$\n  y\n  ===\n  $$\n- z", [["ul", ["li", "x", ["pre", "$$\ny\n===\n$$"]], ["li", "z"]]]),
        ("**$5**, *$10* and $20", [["p", ["strong", "$5"], ", ", ["em", "$10"], " and $20"]]),
        ("$$ *a*\n\nb", [["p", "$$ ", ["em", "a"]], ["p", "b"]]),
    ],
)  # fmt: skip
def test_a_formula_stays_as_it_is_written_and_money_is_none(text, tree):
    assert [one if isinstance(one, str) else [*filter(None, one)] for one in tree_of(text)] == tree


@given(st.text("ab1 \n*_`#|$-[]()<>!&;~\\\t.\"'>+=:/é", max_size=200))
def test_no_letter_is_lost_and_no_tag_is_another(text):
    tree = tree_of(text)
    if tree is None:
        return
    node = ["p", *tree]
    assert tags(node) <= TAGS
    lost = Counter(one for one in text if one.isalpha() or one == "\\") - Counter(letters(node))
    assert not lost


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\r\n\tb", "a\n\tb"),
        ("\x1b[0m\u202e\ud800\x00", r"\x1b[0m\u202e\ud800\x00"),
        ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),  # written so
        ("x\u200cy", r"x\u200cy"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("::error::x", "::error::x"),
    ],
)
def test_what_has_no_glyph_is_made_visible_and_what_a_script_needs_stays(text, seen):
    assert shown(text) == seen


@pytest.mark.parametrize("part", ["[", "![](", "|a", "_*", "~~a", "$a", "\\(", "- $$\n", "\\[\n"])
def test_a_hostile_text_takes_some_seconds_at_most(part):
    """Half of the longest text within a quarter of half a minute: the time grows with the square of the length."""
    began = time.process_time()
    tree_of(part * (MOST_FORMATTED // 2 // len(part)))
    assert time.process_time() - began < 30 / 4
