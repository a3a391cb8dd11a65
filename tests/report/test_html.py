"""The report for others: one file that shows what was judged, with every text as plain text."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

from support.results import make_result

from judgeloop.core.pool import Pool
from judgeloop.core.records import Choice, Item, Label, Verdict
from judgeloop.report import labels as texts
from judgeloop.report.labels import LONGEST, Texts

SYSTEMS = ("small", "large")
EVIL = "</p></details><script>alert('x')</script> & \x1b[31m"


def texts_of(prompt="What is\n2+2?", first="4", second="5", reference=None):
    """The texts of 100 items, all alike, that `make_result` judges a few of."""
    items = tuple(Item(f"q{number}", prompt, reference) for number in range(100))
    return Texts(Pool(items, SYSTEMS, ((first,) * 100, (second,) * 100)))


def report(shown, labels=((0, 1.0), (1, 0.0))):
    found = tuple(Label(Choice(at, 0.01), Verdict(score, "because")) for at, score in labels)
    return replace(make_result(labels=found), texts=shown).to_html()


def test_a_judged_item_opens_to_show_its_prompt_and_both_outputs():
    html = report(texts_of(reference="four"))
    first = html.partition("<span>q0</span>")[2].partition("</details>")[0]
    assert re.findall(r"<h3>(.*?)</h3><p>(.*?)</p>", first, re.DOTALL) == [
        ("prompt", "What is\n2+2?"),
        ("reference", "four"),
        ("small", "4"),
        ("large", "5"),
    ]
    assert html.count("<details>") == 2
    assert "An item opens to show its prompt and outputs." in html


def test_without_texts_it_shows_the_ids_alone():
    html = report(None)
    assert '<div class="row"><span>q0</span>' in html
    assert "<details>" not in html
    assert "opens to show" not in html


def test_every_text_is_plain_text():
    html = report(texts_of(EVIL, EVIL, EVIL, EVIL))
    assert "<script" not in html
    assert "\x1b" not in html
    shown = escape(EVIL).replace("\x1b", "\\x1b")
    assert html.count(f"<p>{shown}</p>") == 4 * 2
    assert html.count("<details>") == html.count("</details>") == 2


def test_a_very_long_text_is_cut_and_says_how_much_is_missing():
    assert texts.cut("x" * LONGEST) == "x" * LONGEST
    html = report(texts_of(first="x" * (LONGEST + 1)))
    assert "x… (1 more character)</p>" in html
    assert "x" * (LONGEST + 1) not in html


def test_of_very_many_items_only_the_first_have_their_texts(monkeypatch):
    monkeypatch.setattr("judgeloop.report.html.MOST", 1)
    html = report(texts_of())
    assert html.count("<details>") == 1
    assert '<div class="row"><span>q1</span>' in html
    assert "The first 1 have their texts." in html


def test_an_item_of_an_estimate_shows_the_one_output():
    row = make_result().labels[0]
    alone = type(row)(**{name: getattr(row, name) for name in row.__slots__} | {"against": None})
    assert texts_of().of_systems(alone) == [("small", "4")]


def test_the_columns_of_standings_keep_their_gaps():
    """A browser shows two spaces as one, unless it is told not to."""
    style = re.search(r"\ntd \{(.*?)\}", report(None))
    assert style is not None
    assert "white-space: pre-wrap" in style[1]
