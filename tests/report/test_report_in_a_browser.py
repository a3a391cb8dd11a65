"""The report in a real browser: nothing runs that is not its own, everything can be found and read."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.browser import CHROMIUM, DESK, DRIVER, PHONE, WANTED, axe_core, browser, settled
from support.results import make_result
from support.tables import ROWS

import judgeloop
from judgeloop.core.outcomes import AnsweredBy, Outcome
from judgeloop.core.records import Choice, Item, Label, Pool, Verdict
from judgeloop.questions.compare.page import page as text_of
from judgeloop.report.labels import Texts
from judgeloop.report.page import Fact, Section
from judgeloop.report.pictures import Curve
from judgeloop.report.turned import Since
from judgeloop.suite.line import Line
from judgeloop.suite.summary import Summary

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=WANTED)]
NIGHT = ("2026-01-01", "2026-01-02")
HOSTILE = (
    "</p></section></details></div></script><script>window.ran = 1</script>"
    "<img src=x onerror='window.ran=1'><svg onload='window.ran=1'><style>*{display:none}</style>"
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9'><base href=http://127.0.0.1:9>"
    "\u202e\u2066\u200b\u200d\ufeff \x00 ]]> <!-- ${7*7} {{7*7}} javascript:alert(1) "
)


def result_of(first="the quick red fox", second="the quick brown fox", items=40):
    pool_items = tuple(Item(f"q{number}", f"prompt {number} {first}") for number in range(100))
    pool = Pool(pool_items, ("small", "large"), ((first,) * 100, (second,) * 100))
    found = tuple(Label(Choice(n, 0.01), Verdict(n % 3 / 2, f"reason {n} {first}", both=True)) for n in range(items))
    lead = Curve("large", "lead", tuple((n, n / 2) for n in range(items)))
    result = replace(
        make_result(labels=found, groups=(f"g0{first}", f"g1{first}")), texts=Texts(pool), course=(lead,) * 3
    )
    return replace(result, page=text_of(result))


@pytest.fixture(scope="module")
def chromium():
    with browser() as one:
        yield one


@pytest.fixture
def shown(chromium, tmp_path):
    """A function that opens the report of a result."""

    def show(result, *, script=True, **looks):
        path = tmp_path / "report.html"
        page = result.to_html("24 November 2026")
        page = page if script else re.sub("script-src '[^']*'", "script-src 'none'", page)
        path.write_text(page, encoding="utf-8")
        chromium.look(**looks)
        chromium.open(path)
        return chromium

    return show


def visible_items(page):
    return page.run("return [...document.querySelectorAll('.item')].filter(i => i.checkVisibility()).length")


def test_hostile_outputs_run_nothing_load_nothing_and_stay_text(shown):
    page = shown(result_of(HOSTILE, HOSTILE * 50))
    page.run("for (const one of document.querySelectorAll('.item')) one.open = true")
    settled()
    assert page.run("return window.ran || null") is None
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.complaints() == []
    assert page.run("return document.querySelectorAll('script').length") == 1
    assert visible_items(page) == 40
    output = page.run("return document.querySelector('.output').textContent")
    assert "<script>window.ran = 1</script>" in output
    assert "\\u202e\\u2066\\u200b\\u200d\\ufeff \\x00" in output


def test_its_policy_stops_a_script_that_is_not_its_own(shown):
    page = shown(result_of())
    page.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    assert page.run("return window.ran || null") is None
    assert any("Content Security Policy" in one for one in page.complaints())


def test_search_filters_and_order_act_on_the_items(shown):
    page = shown(result_of())
    page.run("document.querySelector('button[value=lost]').click()")
    assert visible_items(page) == 13
    page.run("document.querySelector('button[value=all]').click()")
    page.run("const s = document.getElementById('search'); s.value = 'REASON 7'; s.dispatchEvent(new Event('input'))")
    settled()
    assert visible_items(page) == 4
    assert page.run("return document.getElementById('shown').textContent") == "4 of 40 fit."
    page.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))")
    page.run(
        "const s = document.querySelector('select[name=group]'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))"
    )
    settled()
    assert visible_items(page) == 20
    page.run("const s = document.getElementById('sort'); s.value = 'score'; s.dispatchEvent(new Event('change'))")
    scores = page.run("return [...document.querySelectorAll('.item')].map(i => Number(i.dataset.score))")
    assert scores == sorted(scores)


def test_an_item_that_is_opened_marks_what_differs(shown):
    page = shown(result_of())
    page.run("document.querySelector('.item').open = true")
    settled()
    marks = page.run("return [...document.querySelectorAll('.item mark')].map(m => m.textContent)")
    assert marks == ["red", "brown"]


def test_of_texts_that_differ_throughout_no_word_is_marked_and_it_says_so(shown):
    page = shown(result_of("the quick red fox jumps", "a lazy dog sleeps there all day"))
    page.run("document.querySelector('.item').open = true")
    settled()
    assert page.run("return document.querySelector('.item mark')") is None
    assert "differ throughout" in page.run("return document.querySelector('.item .note').textContent")


def test_without_script_everything_is_there_to_read(shown):
    page = shown(result_of(), script=False)
    assert page.run("return document.querySelector('.tools').checkVisibility()") is False
    assert visible_items(page) == 40
    page.run("document.querySelector('.item summary').click()")
    assert page.run("return document.querySelector('.output').checkVisibility()") is True
    assert page.run("return document.querySelector('svg.jl').checkVisibility()") is True


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_no_part_of_the_page_is_wider_than_the_window(shown, size):
    result = result_of("a-very-long-name-without-a-blank" * 20)
    file = Fact("file", Section.AGAIN, "folder/" * 30, "sha256 " + "0" * 64)
    page = shown(replace(result, page=result.page.with_facts(file)), size=size)
    page.run("document.querySelector('.item').open = true")
    settled()
    assert page.run("return document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1_100, 1_280])
def test_the_page_of_a_night_clips_no_column(chromium, tmp_path, width, dark):
    """Of a night in which every column is filled, with long names and long figures."""
    then, now = (AnsweredBy(model, 9, day, day) for model, day in (("judge-2026-01", NIGHT[0]), ("judge-2", NIGHT[1])))
    lines = [
        Line(
            name="candidate production-next-checkpoint-48000",
            question="compare",
            exit_code=0,
            headline="so",
            outcome=outcome,
            systems=("production", "assistant-large-instruct-2026-07"),
            winner="assistant_large_instruct_2026_07",
            shown="-100 (at least -100, less than 0)",
            nights=tuple(n / 10 for n in range(7)),
            judged=1_234,
            charged_p=9_700_000_000,
            doubtful=True,
            before=before,
            outputs="new",
            same_as=NIGHT[0],
            since=Since((), 4, (-0.13, -0.3, 0.04), on_all=True),
            answered_by=(("openai/judge", (then, now)),),
            answered_before=(("openai/judge", (then,)),),
        )
        for outcome, before in ((Outcome.DECIDED, "failed"), (Outcome.PASSED, "wrong input"))
    ]
    night = Summary(night=NIGHT[1], budget_p=10**12, lines=tuple(lines), last_night=NIGHT[0])
    assert len(night.page.tables[0].columns) == 11
    path = tmp_path / "night.html"
    path.write_text(night.to_html({}), encoding="utf-8")
    chromium.look(dark=dark, size=(width, 900))
    chromium.open(path)
    wider = "[...document.querySelectorAll('html, .card, td, th')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert chromium.run(f"return {wider}.map(e => e.textContent.slice(0, 40))") == []


def test_a_keyboard_reaches_every_item_and_opens_it(shown):
    page = shown(result_of())
    assert page.run("const s = document.querySelector('.item summary'); s.focus(); return document.activeElement === s")
    assert page.run("return document.querySelector('.item summary').tabIndex") == 0


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The accessibility checker, from npm."""
    return axe_core(tmp_path_factory.mktemp("axe"))


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


def of_select(folder):
    """A search that chooses its baseline, so that some items do not count in the decision."""
    return judgeloop.select(ROWS, judge=shorter, version="1", ledger=folder / "l.sqlite").to_html()


def of_estimate(folder):
    rows = [row | {"reference": "answer"} for row in ROWS["chatty"]]
    judged = {"judge": "metric:token-f1", "ledger": folder / "l.sqlite", "max_judgments": 20}
    return judgeloop.estimate(rows, **judged).to_html()


def of_night(folder):
    del folder
    ends = ((0, "small"), (3, None), (5, "large"))
    lines = tuple(
        Line(name=f"pair {code} of-a-long-name", question="compare", exit_code=code, headline="so", winner=who)
        for code, who in ends
    )  # fmt: skip
    return Summary(night="2026-11-24", budget_p=0, lines=lines).to_html({"pair 0 of-a-long-name": "a"})


PAGES = {
    "compare": lambda folder: result_of().to_html(),
    "select": of_select,
    "estimate": of_estimate,
    "night": of_night,
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("kind", PAGES)
def test_an_accessibility_checker_finds_nothing_serious(chromium, tmp_path, axe, kind, dark, size):
    path = tmp_path / "page.html"
    path.write_text(PAGES[kind](tmp_path), encoding="utf-8")
    chromium.look(dark=dark, size=size)
    chromium.open(path)
    chromium.run("for (const one of [...document.querySelectorAll('.item')].slice(0, 2)) one.open = true")
    settled()
    chromium.run(axe)
    found = chromium.run_async("axe.run(document).then(r => arguments[0](r.violations))")
    serious = [one for one in found if one["impact"] in {"serious", "critical"}]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == []
    assert chromium.run("return document.documentElement.scrollWidth") <= size[0]
