"""The report for others: one page that loads nothing, whole without its script, every text as text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html import escape, unescape
from types import SimpleNamespace

import pytest
from support.results import make_result

from judgeloop.core.records import Abstention, Choice, Item, Label, Pool, Shown, Verdict
from judgeloop.report import html as page
from judgeloop.report import labels as texts
from judgeloop.report.labels import LONGEST, Texts
from judgeloop.report.page import Page, PageTable, decided

SYSTEMS = ("small", "large")
EVIL = "</p></details></script><script>alert('x')</script> & \x1b[31m\u202e\u200b"


TWO = Verdict(1.0, "because"), Verdict(0.0, "because")


def texts_of(prompt="What is\n2+2?", first="4", second="5", reference=None):
    """The texts of 100 items, all alike, that `make_result` judges a few of."""
    items = tuple(Item(f"q{number}", prompt, reference) for number in range(100))
    return Texts(Pool(items, SYSTEMS, ((first,) * 100, (second,) * 100)))


def report(shown, answers=TWO, **changes):
    found = tuple(Label(Choice(at, 0.01), answer) for at, answer in enumerate(answers))
    return replace(make_result(labels=found, **changes), texts=shown).to_html()


def items_of(html):
    inside = html.partition('<div id="items" class="compare">')[2].partition('</section>\n<section class="again">')[0]
    return re.findall(r'<(?:details|div) class="item.*?(?=<(?:details|div) class="item|\Z)', inside, re.DOTALL)


def test_a_judged_item_opens_to_show_its_prompt_and_both_outputs():
    html = report(texts_of(reference="four"))
    first, _ = items_of(html)
    assert re.findall(r'<p class="text[^>]*>(.*?)</p>', first, re.DOTALL) == [
        *("What is\n2+2?", "four", "4", "5", "because")
    ]
    headings = re.findall(r"<h3>(.*?)</h3>", first)
    assert headings == [
        "reference",
        '<b class="letter">A</b> small',
        '<b class="letter">B</b> large',
        'Judge <small>who saw <b class="letter">A</b> small <b class="letter">B</b> large</small>',
    ]
    assert '<span class="peek" dir="auto">What is 2+2?</span>' in first
    assert "An item opens to show its prompt and outputs." in html


def test_without_texts_it_shows_ids_verdicts_and_reasons():
    html = report(None)
    assert len(items_of(html)) == 2
    assert '<details class="item' not in html
    assert re.search(r'<span>q0</span><span class="chip lost">small</span>.*because', html)
    assert "opens to show" not in html


@pytest.mark.parametrize(("swapped", "a"), [(False, "small"), (True, "large"), (None, None)])
def test_it_says_which_system_the_judge_knew_as_a(swapped, a):
    first, *_ = items_of(report(texts_of(), [Verdict(1.0, "A is right", swapped=swapped)]))
    shown = dict(re.findall(r'<h3><b class="letter">(\w)</b> (\w+)</h3>', first))
    b = next(s for s in SYSTEMS if s != a)
    assert shown == ({} if a is None else {"A": a, "B": b})
    assert read_by_judge(first) == [("", "A is right") if a is None else (f"A {a} B {b}", "A is right")]


def read_by_judge(item):
    """What stands beside each reason of a judged item, and the reason."""
    found = re.findall(r"<h3>Judge(.*?)</h3><p[^>]*>(.*?)</p>", item)
    return [(" ".join(re.sub("<.*?>|who saw", " ", names).split()), said) for names, said in found]


def test_where_the_order_changed_the_verdict_each_reason_has_its_own_a():
    changed = Verdict(0.5, "A it is", flipped=True, both=True, swapped=True, other_reason="A again")
    first, *_ = items_of(report(texts_of(), [changed]))
    assert read_by_judge(first) == [("A large B small", "A it is"), ("A small B large", "A again")]
    assert re.findall("<h3>(small|large)</h3>", first) == ["small", "large"]
    assert "data-flipped" in first
    assert "tie, order changed it" in first


def test_an_item_that_is_not_in_the_decision_is_marked_in_words():
    result = replace(make_result(), texts=None)
    aside = replace(result.labels[0], in_decision=False)
    html = replace(result, labels=(aside, *result.labels[1:])).to_html()
    first, *_, last = items_of(html)
    assert "not counted" not in first, "what decided stands first"
    assert "<small>not counted</small>" in last
    assert "Items marked “not counted” were judged, but do not count in the decision." in html


@pytest.mark.parametrize(
    ("score", "winner", "said"),
    [(1.0, "a", "a beat b"), (0.0, "b", "b beat a"), (0.5, None, "a tied with b"), (None, None, "a against b: no verdict")],
)  # fmt: skip
def test_of_many_systems_an_item_names_the_pair_that_was_compared(score, winner, said):
    result = make_result()
    row = replace(result.labels[0], system="a", against="b", score=score, winner=winner)
    assert page._verdict(row, SimpleNamespace(job="select")) == said


def test_the_first_lines_say_the_risk_asked_for_in_words():
    html = replace(make_result(guarantee="it holds"), texts=None).to_html()
    assert "at most 1 in 10" in html.partition("</header>")[0]


def test_a_warning_stands_among_what_is_seen_first():
    html = make_result(empty={"large": 3}).to_html()
    assert html.index("<dt>cost</dt>") < html.index('<p class="warning">Warning: ') < html.index("</header>")


def test_words_stand_on_the_left_and_figures_below_each_other():
    table = PageTable("", ("pair", "state", "cost"), (("a", "failed", "$1.00"), ("b", "passed", "")))
    html = page.render_index(Page((decided("Night"),), (table,)), {"a": "a.html"}, {"failed": "lost"})
    assert '<th scope="col" class="word">state</th><th scope="col">cost</th>' in html
    assert '<td class="word" data-name="state"><span class="chip lost">failed</span></td>' in html
    assert '<td data-name="cost">$1.00</td>' in html
    assert '<a href="a.html">a</a>' in html


def test_every_text_is_plain_text():
    html = report(texts_of(EVIL, EVIL, EVIL, EVIL), [Verdict(1.0, EVIL)])
    assert html.count("<script") == html.count("</script>") == 1
    assert not set("\x1b\u202e\u200b") & set(html)
    shown = escape(EVIL, quote=False).replace("\x1b", "\\x1b")
    shown = shown.replace("\u202e", "\\u202e").replace("\u200b", "\\u200b")
    assert html.count(f">{shown}</p>") == 5, "prompt, reference, outputs, reason"
    assert html.count("<details") == html.count("</details>")


def test_its_policy_allows_its_own_script_and_style_alone():
    html = report(texts_of())
    policy = unescape(re.search(r'Policy" content="(.*?)"', html)[1])
    for tag in ("script", "style"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1].encode()
        named = base64.b64encode(hashlib.sha256(inside).digest()).decode()
        assert f"{tag}-src 'sha256-{named}'" in policy
    assert "default-src 'none'" in policy
    assert " style=" not in html, "the policy would not apply it"
    assert not re.search(r"\b(src|href|action|on\w+)=", html)


def test_a_very_long_text_is_cut_and_says_how_much_is_missing():
    assert texts.cut("x" * LONGEST) == "x" * LONGEST
    html = report(texts_of(first="x" * (LONGEST + 1)))
    assert "x… (1 more character)</p>" in html
    assert "x" * (LONGEST + 1) not in html


def test_of_very_many_texts_only_the_first_are_on_the_page(monkeypatch):
    monkeypatch.setattr(page, "MOST_TEXT", 1)
    html = report(texts_of())
    assert html.count('<details class="item') == 1
    assert "1 have their texts; the page would be too large." in html


@pytest.mark.parametrize(("which", "left"), [(Shown.LOST, ["q0"]), (Shown.NONE, [])])
def test_who_may_not_send_texts_leaves_out_prompts_outputs_and_reasons(which, left):
    shown = replace(texts_of("SECRET", "SECRET", "SECRET"), shown=which)
    answers = [Verdict(1.0, "SECRET"), Verdict(0.0, "SECRET"), Abstention("SECRET")]
    items = items_of(report(shown, answers))
    assert [re.search('data-id="(.*?)"', one)[1] for one in items if "SECRET" in one] == left
    assert len(items) == 3


def test_a_button_for_each_kind_of_verdict_that_there_is():
    html = report(None, [Verdict(1.0), Verdict(0.0), Verdict(0.0), Abstention("refused")])
    buttons = re.findall(r'<button.*?value="(\w+)".*?>(.*?)</button>', html)
    assert buttons == [("all", "All 4"), ("won", "large 2"), ("lost", "small 1"), ("none", "no verdict 1")]


def test_an_item_of_an_estimate_shows_the_one_output():
    row = make_result().labels[0]
    alone = type(row)(**{name: getattr(row, name) for name in row.__slots__} | {"against": None})
    assert texts_of().of_systems(alone) == [("small", "4")]


def test_it_says_how_the_run_can_be_made_again():
    html = report(None).rpartition("How to do it again")[2]
    for said in ("judgeloop 0.1.0", "0123abcd", "<dd>7</dd>"):
        assert said in html
