"""The page by keyboard alone, by touch on a phone, and as an accessibility checker sees each of its states."""

from __future__ import annotations

import json
import re
import time

import pytest
from support.browser import CHROMIUM, DESK, DRIVER, PHONE, WANTED, axe_core, browser
from support.page_runs import answered, page_run, write_outputs
from support.patience import PATIENCE_S

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=WANTED)]
ENTER, ESCAPE, TAB, SPACE = "\ue007", "\ue00c", "\ue004", "\ue00d"
TEXT = (
    "# A heading\n\nA *list*:\n\n1. one\n2. two [with](http://a.example) `code`\n\n> said\n\n|a|b|\n|-|-|\n|1|2|\n\n"
    "```\n" + "wide " * 60 + "\n```\n\n" + "Some more words of an answer that is long. " * 12
)
LONG = ("wide wide", "Some more words")
OWNER = {
    "judged": 44, "most": 200, "usual": [40, 90], "stops": False, "in_hand": 1, "seconds": 2760, "usd": 30.85, "aside": 3.33,
    "budget": 80,
    "people": [
        {"name": name, "away": 400, "state": state, "in_hand": False, "judged": 20, "skips": 1, "seconds": 1200,
         "usual": 74, "unseen": 3, "usd": 13.3, "checks": {"right": 2, "tied": 0, "wrong": 2}}
        for name, state in (("anna", "judging"), ("ben", "away"), ("chi", "unopened"), ("dan", "failed"))
    ],
}  # fmt: skip
# What a person sees, by a script that brings it about once a pair is on the screen.
STATES = {
    "pair": "",
    "plain": "format()",
    "folded": "unfold(false)",
    "marked": "format(); differences()",
    "note": "openNote(true)",
    "help": "openNote(false); helps()",
    "lost": "document.getElementById('helpbox').close(); setLost(true)",
    "owner's lost": "setLost(false); now.owner = true; setLost(true); now.owner = false",
    "undone": "setLost(false); show({...now.pair, said: 'b', note: 'why', skipped: false})",
    "skipped": "show({...now.pair, said: undefined, skipped: true})",
    "last": "show({...now.pair, last: 'x', noted: true, skipped: false})",
    "unseen": "now.said = {unseen: 'B'}; show({...now.pair, last: 'a', noted: false}); now.said = null",
    "last skipped": "show({...now.pair, last: 's', noted: false})",
    "final": "now.pair.last = null; last(false); undo()",
    "rating": "show({...now.pair, kind: 'rating', outputs: [now.pair.outputs[0]], skipped: false})",
    "plain, since one would be cut": "show({...now.pair, kind: 'pair', outputs: [{text: 'x', tree: null}, now.pair.outputs[0]]})",
    "empty": "show({...now.pair, kind: 'pair', prompt: {text: '', tree: []}, outputs: [now.pair.outputs[0], {text: ''}]})",
    "live": "now.start.people = 1; now.progress = {judged: 14, most: 200, left: 186, near: false, more: [11, 74], minutes: [3, 22]};"
    " progress()",
    "close": "now.progress = {judged: 14, skips: 2, most: 200, left: 186, more: null, near: true}; progress()",
    "limit": "now.progress = {judged: 14, skips: 2, most: 200, left: 9, more: null, near: false}; progress()",
    "none left": "now.progress = {judged: 29, skips: 6, most: 35, left: 0, near: false}; message('A moment', 'x', 'y')",
    "money for fewer than decide": "now.progress = {judged: 11, most: 110, left: 99, near: true, more: [20, 50], minutes: [9, 22], usual: [10, 62],"
    " affords: 14}; show(now.pair)",
    "more is judged than the money was for": "now.progress.judged = 15; progress()",
    "as far as the limit": "now.progress = {judged: 20, most: 60, left: 40, near: false, more: [10, 40]}; progress()",
    "usual": "now.progress = {judged: 14, most: 200, usual: [12, 45]}; progress()",
    "two people an item": "now.start.people = now.start.each = 2; now.progress = {judged: 6, mine: 8, skips: 1, most: 14};"
    " progress(); now.start.each = 1",
    "longer": "now.start.people = 2; now.progress = {judged: 46, mine: 20, most: 200, usual: [12, 45]}; progress()",
    "paused": "pause()",
    "wait": "waits({others: true})",
    "wait at the last": "now.progress.mine = 3; waits({others: false, last: 'a'})",
    "wait for money": "waits({others: true, money: true})",
    **{f"over {why}": f"over('{why}')" for why in ("decided", "left", "open", "stopped", "budget", "skips", "failed")},
    **{why: f"refused(new Gone('{why}'))" for why in ("elsewhere", "taken", "away", "link")},
    "start": "now.progress.judged = 0; now.time = {each_s: 100, usual_s: 4500}; start()",
    "start of an hour and more": "now.start.people = 1; now.time = {each_s: 180, usual_s: 8100}; start()",
    "start without a rubric": "now.start.rubric = ''; start()",
    "start with little money": "now.progress.affords = 4; start(); progress()",
    "start with money for one": "now.progress.affords = 1; start()",
    "start after a restart": "now.progress.judged = 14; now.progress.left = 186; now.progress.affords = null; now.time = {each_s: 30, usual_s: 1350}; start()",
    "start after long": "now.progress.judged = 46; now.progress.left = 154; start()",
    "start of second readings": "now.progress = {judged: 0, most: 29, again: 5}; start()",
    "start where second readings are left": "now.progress = {judged: 16, most: 21, again: 5, left: 5}; start()",
    "start with two people an item": "now.start.people = now.start.each = 2;"
    " now.progress = {judged: 0, most: 14, needs: 54}; now.time = {each_s: 38, usual_s: 1064}; start()",
    "several after a restart": "now.start.each = 1; now.progress = {judged: 14, most: 200, left: 186, usual: [12, 45]};"
    " start(); now.start.people = 1",
    "start with a low limit": "now.progress = {judged: 0, most: 30, needs: 62}; now.time = {each_s: 37.5, usual_s: 1125};"
    " start(); progress()",
    "start with a low limit after a restart": "now.progress.judged = 10; now.progress.left = 20; start()",
    "start of ratings": "now.start.rates = true; start()",
    "owner": f"overview({json.dumps(OWNER)})",
    "owner with nothing in hand": f"overview({json.dumps({**OWNER, 'in_hand': 0, 'aside': 0})})",
    "owner with a low limit": f"overview({json.dumps({**OWNER, 'most': 30, 'usual': None, 'needs': 62})})",
}


@pytest.fixture(scope="module")
def chromium():
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The accessibility checker, from npm."""
    return axe_core(tmp_path_factory.mktemp("axe"))


def until(chromium, script):
    end = time.monotonic() + PATIENCE_S / 10
    while not (got := chromium.run(f"return {script}")):
        assert time.monotonic() < end, (script, chromium.run("return document.body.innerText"))
        time.sleep(0.05)
    return got


def pair(chromium, number):
    until(chromium, f"document.getElementById('itemtitle').textContent === 'Pair {number}'")
    time.sleep(0.45)  # an answer right after a pair appears is none


def write_texts(folder):
    """Answers that fill more than a phone's screen; the second system's are better."""
    write_outputs(folder, items=60, alike=2)
    for name in ("secret-old", "secret-new"):
        path = folder / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row |= {"output": f"{TEXT} {row['output']}", "reference": f"It is {row['id'][12:]}."}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def judging(chromium, tmp_path_factory):
    """A browser with a pair on its screen, of which the server hears no more."""
    folder = tmp_path_factory.mktemp("run")
    write_texts(folder)
    chromium.look(size=DESK)
    paid = ("--people", "anna,ben", "--human-price", "40", "--budget", "80")
    with page_run(folder, *paid, "--rubric", "Be kind.", JUDGELOOP_CHECKS="1") as run:
        chromium.visit(run.link())
        until(chromium, "!document.getElementById('start').hidden")
        chromium.press(ENTER)
        pair(chromium, 1)
        yield chromium


def test_every_sentence_of_the_page(judging, snapshot):
    """Those of each state that no state before it has."""
    found: dict[str, list[str]] = {}
    shown = (
        "[...document.querySelectorAll('dialog[open], main:not([hidden]), #lost:not([hidden]), .top:not([hidden])')]"
    )
    judging.look(size=DESK)
    for state, script in STATES.items():
        judging.run(script)
        lines = judging.run(f"return {shown}.map((one) => one.innerText).join('\\n')").splitlines()
        lines = [re.sub(r"^\d+:\d\d", "0:00", line) for line in lines]
        before = {line for said in found.values() for line in said}
        found[state] = [line for line in dict.fromkeys(lines) if line not in before and not line.startswith(LONG)]
    assert found == snapshot


def test_an_accessibility_checker_finds_nothing_in_any_state(judging, axe):
    judging.run(axe)
    found = {}
    for state, script in STATES.items():
        judging.run(script)
        for size, dark in ((DESK, False), (PHONE, True)):
            judging.look(size=size, dark=dark)
            until(judging, "!document.getAnimations().length")  # colours change slowly
            said = judging.run_async("axe.run(document).then((r) => arguments[0](r.violations))")
            bad = [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in said]
            over = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
            bad += [("wide", [])] if judging.run(f"return {over}") > 0 else []
            found |= {(state, size, dark): bad} if bad else {}
    assert not found


def test_small_phones_have_in_sight_what_is_needed(judging):
    inside = (
        "(() => { const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight && box.height > 0; })()"
    ).replace("arguments[0]", "'{}'")
    judging.run("Object.assign(now, {owner: false}); now.start.rates = false")
    for size in (PHONE, (360, 640)):
        judging.look(size=size)
        judging.run("start(); scrollTo(0, 0)")
        assert judging.run(f"return {inside.replace('{}', '#begin')}"), size
        judging.run("show({...now.pair, kind: 'pair', last: 'a', noted: false}); scrollTo(0, 0); helps()")
        assert judging.run(f"return {inside.replace('{}', '#closehelp')}"), size
        judging.run("document.getElementById('helpbox').close(); scrollTo(0, 0); look()")
        tab = "const one = document.querySelector('.jump a[aria-current=true]').getBoundingClientRect();"
        task = "document.getElementById('taskhead').getBoundingClientRect()"
        assert judging.run(f"{tab} return one.left < 20 && one.bottom <= {task}.top"), (size, "the tab of the task")
        judging.run("openNote(true)")
        left = judging.run("return document.getElementById('verdict').getBoundingClientRect().top / innerHeight")
        assert left > 0.5, (size, "the texts keep half of the screen")
        for name in ("#note", "#closenote", "[data-key=b]"):
            assert judging.run(f"return {inside.replace('{}', name)}"), (size, name)
        judging.run("openNote(false)")


ACTIVE = """
const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
const at = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 8));
return [one.id || one.dataset.key || one.className, one.matches(":focus-visible") && style.outlineStyle !== "none",
  !!at && (one.contains(at) || at.contains(one))];
"""
LAST = ["undo"]  # there is an answer to take back
ORDER = ["skip", "pause", "help", "fold", "format", "diff", "wide", "smaller", "larger"]
BUTTONS = ["a", "t", "b", "bad", "s", "addnote"]


def test_pairs_are_judged_by_keyboard_alone(chromium, tmp_path):
    """Each stop of the tabulator is in order, on the screen, and shows that it has the focus."""
    write_texts(tmp_path)
    chromium.look(size=DESK)
    with page_run(tmp_path) as run:
        chromium.visit(run.link())
        until(chromium, "!document.getElementById('start').hidden")
        chromium.press(TAB)
        if chromium.run(ACTIVE)[0] == "skip":
            chromium.press(TAB)
        assert chromium.run(ACTIVE) == ["begin", True, True]
        chromium.press(SPACE)
        for number, wanted in enumerate("tba", 1):
            pair(chromium, number)
            assert chromium.run("return document.activeElement.id") == "itemtitle"
            stops = []
            while not stops or stops[-1][0] != wanted:
                chromium.press(TAB)
                stops.append(chromium.run(ACTIVE))
                assert len(stops) < 40, stops
            assert all(seen and there for _, seen, there in stops), stops
            names = [name for name, _, _ in stops]
            order = [*ORDER[3:], *(LAST if number > 1 else []), *BUTTONS]
            wide = [name for name in names if name not in order]
            assert [name for name in names if name not in wide] == order[: len(names) - len(wide)]
            chromium.press(ENTER)
        pair(chromium, 4)
        chromium.run("document.activeElement.blur(); document.body.focus(); scrollTo(0, 0)")
        before = chromium.run("return scrollY")
        chromium.press(SPACE)
        until(chromium, f"scrollY > {before}")
        for number, key in enumerate("abtxs", 4):
            pair(chromium, number)
            chromium.press(key)
        pair(chromium, 9)
        chromium.press("z")
        pair(chromium, 8)
        chromium.press("n")
        until(chromium, "document.activeElement.id === 'note'")
        chromium.press(f"why{ESCAPE}b")
        pair(chromium, 9)
        run.interrupt()
        assert run.ended() == 130
    given = answered(tmp_path)
    assert [one["said"] for one in given] == [*"tbaabtxb"]
    assert given[-1]["note"] == "why"


@pytest.mark.first
def test_twenty_pairs_are_judged_on_a_phone_by_touch(chromium, tmp_path):
    write_texts(tmp_path)
    chromium.look(size=PHONE)
    with page_run(tmp_path, "--rubric", "Be kind.", JUDGELOOP_MIN_JUDGMENTS="30") as run:
        chromium.visit(run.link())
        until(chromium, "!document.getElementById('start').hidden")
        chromium.run("document.getElementById('begin').scrollIntoView()")
        chromium.tap("#begin")
        small = "[...document.querySelectorAll('#judge button, .jump a')].filter((one) => one.offsetHeight)"
        forecasts: list[str] = []
        for number in range(1, 21):
            pair(chromium, number)
            if number == 1:
                sizes = chromium.run(f"return {small}.map((one) => [one.offsetWidth, one.offsetHeight])")
                assert min(min(one) for one in sizes) >= 24
                main = "[...document.querySelectorAll('#pairkeys button')].map((one) => one.offsetHeight)"
                assert min(chromium.run(f"return {main}")) >= 44
                said = chromium.run("return document.getElementById('judge').innerText")
                assert {"A is better", "Equal", "B is better"} <= set(said.splitlines()), "no words for keys"
            forecasts.append(chromium.run("return document.getElementById('forecast').textContent"))
            end = time.monotonic() + PATIENCE_S / 10
            while not chromium.run("return now.seen.every(Boolean)"):
                assert time.monotonic() < end
                chromium.swipe(500)
                time.sleep(0.05)
            if number == 1:
                here = "document.querySelector('.jump a[aria-current=true]')"
                assert chromium.run(f"return {here}.textContent") == "Answer B", "whose end is on the screen"
                assert chromium.run(f"return {here}.getBoundingClientRect().top") >= 0
            first, second = (
                "better" in chromium.run(f"return document.getElementById('text{one}').textContent") for one in "ab"
            )
            chromium.tap(f"[data-key={'t' if first == second else 'a' if first else 'b'}]")
        pair(chromium, 21)
        assert not any("about " in one for one in forecasts[:10]), "too few are judged"
        assert any(one.startswith("· about ") for one in forecasts[10:]), "30 are asked for, and it is reckoned beside"
        assert chromium.run("return scrollY") == 0, "the next begins at its top"
        chromium.tap("#undo")
        pair(chromium, 20)
        chromium.tap("[data-key=x]")
        pair(chromium, 21)
        run.interrupt()
        assert run.ended() == 130
    given = answered(tmp_path)
    assert len(given) == 20
    assert given[-1]["said"] == "x"
    assert all(one["seen"] for one in given[:-1])
