"""A person judges on the page in a real browser, while the run is killed, goes on, and ends."""

from __future__ import annotations

import json
import socket
import time

import httpx2
import pytest
from support.browser import CHROMIUM, DESK, DRIVER, PHONE, WANTED, browser
from support.page_runs import answered, page_run, write_outputs
from support.patience import PATIENCE_S

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=WANTED)]
ENTER, ESCAPE = "\ue007", "\ue00c"


@pytest.fixture(scope="module")
def chromium():
    with browser() as one:
        yield one


# Does it as soon as the last answer may be taken back, and says so.
AT_ONCE = """
const done = arguments[0];
const at = setInterval(() => { if (document.getElementById('mundo')) { clearInterval(at); pressed; done(); } }, 20);
"""


def pressed(key):
    """A key, pressed by a script, which no load of the machine keeps from the next line."""
    return f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}));"


class Judging:
    """A person at the page."""

    def __init__(self, chromium):
        self.page = chromium

    def text(self, name):
        return self.page.run("return document.getElementById(arguments[0]).textContent", name)

    def hidden(self, name):
        return self.page.run("return document.getElementById(arguments[0]).hidden", name)

    def until(self, script, wanted: object = True):  # noqa: FBT002 - what a script returns
        until = time.monotonic() + PATIENCE_S / 10
        while (got := self.page.run(f"return {script}")) != wanted:
            assert time.monotonic() < until, (script, got, self.text("mhead"))
            time.sleep(0.05)

    def sees(self, view):
        self.until(f"!document.getElementById('{view}').hidden")

    def pair(self, number):
        self.until("document.getElementById('itemtitle').textContent", f"Pair {number}")
        time.sleep(0.45)  # an answer right after a pair appears is none

    def better(self):
        """The key of the better answer; a tie of equal ones."""
        first, second = ("better" in self.text(name) for name in ("texta", "textb"))
        return "t" if first == second else "a" if first else "b"

    def wide_enough(self):
        over = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.run(f"return {over}") <= 0, "nothing has to be scrolled sideways"

    def begins(self, run):
        self.page.visit(run.link())
        self.sees("start")
        self.page.press(ENTER)

    def judge(self, first, last):
        for number in range(first, last + 1):
            self.pair(number)
            self.page.press(self.better())


def test_a_person_judges_while_the_run_is_killed_three_times_and_nothing_is_asked_twice(chromium, tmp_path):
    write_outputs(tmp_path, alike=3)
    person, at = Judging(chromium), 1
    chromium.look(size=DESK)
    for killed in range(4):
        with page_run(tmp_path, "--human-price", "40", "--budget", "80") as run:
            chromium.visit(run.link())
            person.sees("start")
            assert "#" not in chromium.run("return location.href"), "the token is in no history"
            # What a dry run says; later it is by the time that was taken, which may be none here.
            assert killed or " each" in person.text("howmany")
            chromium.press(ENTER)
            if killed < 3:
                person.judge(at, at + 1)
                at += 2
                person.pair(at)
                run.kill()
                continue
            while True:
                person.pair(at)
                chromium.press(person.better())
                person.until(
                    f"document.getElementById('itemtitle').textContent === 'Pair {at + 1}'"
                    " || !document.getElementById('message').hidden"
                )
                at += 1
                if not person.hidden("message"):
                    break
            assert person.text("mhead") == "That was all. Close the page."
            assert run.ended() == 0
            result = run.result()
    assert result["winner"] == "secret-new"
    given = answered(tmp_path)  # which holds that nothing was asked twice
    assert len(given) in {at - 1, at - 2}, "the last pair was on the screen when the run ended"
    booked = sum(one["seconds"] for one in given) * 40 / 3600
    assert result["run_spent_usd"] == pytest.approx(booked)
    assert result["unconfirmed_usd"] == 0


def test_keys_notes_windows_and_a_lost_network(chromium, tmp_path):  # noqa: PLR0915 - a session at the page
    write_outputs(tmp_path)
    person = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path, "--people", "anna,ben", "--rubric", "Be <b>kind</b>.") as run:
        chromium.visit(run.link())
        person.sees("start")
        assert person.text("hello") == "Hello anna. Which answer is better?"
        assert person.text("startrubric") == "Be <b>kind</b>."
        chromium.press(ENTER)
        person.pair(1)
        assert chromium.run("return document.activeElement.id") == "itemtitle"
        chromium.press("n")
        person.until("document.activeElement.id", "note")
        chromium.press("abtz?")
        chromium.press(ESCAPE)
        person.until("document.activeElement.id", "addnote")
        assert person.text("itemtitle") == "Pair 1", "letters in a note are no answers"
        assert person.text("notelabel") == "Note kept"
        chromium.press("p")
        person.sees("message")
        chromium.press(ENTER)
        person.pair(1)
        assert chromium.run("return document.getElementById('note').value") == "abtz?", "a pause keeps it"
        chromium.press("5q")
        chromium.run(
            "for (const more of [{ctrlKey: true}, {repeat: true}, {metaKey: true}])"
            " document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true, ...more}))"
        )
        assert person.text("itemtitle") == "Pair 1", "nor are other keys, held ones, and those of the browser"
        chromium.run(f"for (const _ of 'aaa') {pressed('a')}")  # faster than any answer is saved
        person.pair(2)
        assert person.text("live").startswith("You said: A is better. Saved. Note kept. Pair 2.")
        assert person.text("lastsaid") == "Last pair, you said: A is better. Note kept."
        assert "more" not in person.text("forecast"), "a forecast that moves tells who leads"
        chromium.press("z")
        person.pair(1)
        assert "You said: A is better" in person.text("before")
        assert chromium.run("return document.getElementById('note').value") == "abtz?"
        assert not person.hidden("notebox"), "it is shown"
        assert person.hidden("last")
        chromium.press("z")
        chromium.press("b")
        person.pair(2)
        chromium.press("?")
        person.until("document.getElementById('helpbox').open")
        chromium.press("a")
        chromium.press(ESCAPE)
        assert person.text("itemtitle") == "Pair 2", "help is open"
        chromium.press("m")
        assert chromium.run("return document.getElementById('texta').className") == "text plain"
        chromium.press("m")
        chromium.press("d")
        assert chromium.run("return document.querySelectorAll('mark').length") > 0
        chromium.press("w")
        place = "document.getElementById('{}').getBoundingClientRect()".format
        person.until(f"{place('artb')}.top > {place('arta')}.bottom")
        person.until(f"Math.round({place('verdict')}.bottom) === innerHeight")
        chromium.press("w")
        chromium.press("p")
        person.sees("message")
        chromium.press(ENTER)
        person.pair(2)
        chromium.reload()
        person.pair(2)
        chromium.offline(lost=True)
        chromium.press("t")
        person.until("!document.getElementById('lost').hidden")
        chromium.offline(lost=False)
        person.pair(3)
        chromium.run("document.getElementById('letters').checked = false")
        chromium.press("a")
        time.sleep(0.3)
        assert person.text("itemtitle") == "Pair 3", "letters are switched off"
        chromium.run("document.querySelector('[data-key=s]').click()")
        person.pair(4)
        token = json.dumps({"token": run.tokens[0]})
        chromium.run_async(
            "fetch('/api/enter', {method: 'POST', body: arguments[0],"
            " headers: {'content-type': 'application/json'}}).then(arguments[1])",
            token,
        )  # another window of anna's
        person.until("document.getElementById('mhead').textContent", "You are judging in another window")
        chromium.press(ENTER)
        person.pair(4)
        chromium.visit(f"{run.url}/#0000")
        person.until("document.getElementById('mhead').textContent", "This link does not work")
        run.interrupt()
        assert run.ended() == 130
    given = answered(tmp_path)
    assert [one["said"] for one in given] == ["b", "t", "s"]
    assert given[0]["note"] == "abtz?"
    assert run.result()["run_spent_usd"] == 0


HOSTILE = (
    "</p></div></script><script>window.ran = 1</script><img src=x onerror='window.ran=1'><svg onload='window.ran=1'>"
    "<style>*{display:none}</style><iframe src=http://127.0.0.1:9></iframe><base href=http://127.0.0.1:9>"
    "\n\n# Pair 7\n\n[x](javascript:window.ran=1) ![y](http://127.0.0.1:9/p.png) <http://127.0.0.1:9>\u202e\x1b[0m \n"
    "|" + "wide |" * 80 + "\n|" + "--|" * 80 + "\n|" + "cell |" * 80 + "\n\n```\n" + "x" * 4000 + "\n```\n"
)
HARMFUL = "script, img, svg, style, iframe, base, a, link, meta, [onerror], [onload], [style], [src], [href], h1, h2"


@pytest.mark.parametrize(("size", "dark"), [(DESK, False), (PHONE, True), ((320, 256), False)])
def test_hostile_texts_are_texts_on_every_screen(chromium, tmp_path, size, dark):
    write_outputs(tmp_path)
    for name in ("secret-old", "secret-new"):
        path = tmp_path / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row | {"output": HOSTILE + row["output"]}) + "\n" for row in rows))
    person = Judging(chromium)
    chromium.look(size=size, dark=dark)
    chromium.complaints()
    with page_run(tmp_path) as run:
        chromium.visit(run.link())
        person.sees("start")
        person.wide_enough()
        chromium.run("document.getElementById('begin').click()")
        person.pair(1)
        for _ in range(2):
            assert chromium.run("return window.ran") is None
            assert chromium.run(f"return document.querySelectorAll('#two .text :is({HARMFUL})').length") == 0
            assert "onerror" in person.text("texta")
            assert "\u202e" not in chromium.run("return document.body.textContent")
            for width in {size[0], 768, 1024} if dark else {size[0]}:
                chromium.look(size=(width, size[1]), dark=dark)
                person.wide_enough()
            chromium.press("m")  # plain
        loaded = chromium.run(
            "return performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
        )
        assert {one.split("/")[1] for one in loaded} <= {"api"}, "nothing else was asked for"
        refused = chromium.run(
            "try { document.body.innerHTML = '<p>'; return '' } catch (error) { return String(error) }"
        )
        assert "TrustedHTML" in refused
        assert not [one for one in chromium.complaints() if run.url in one and "TrustedHTML" not in one]


def test_a_window_goes_on_by_itself_when_judgeloop_is_started_again(chromium, tmp_path):
    write_outputs(tmp_path, alike=2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    person = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path, JUDGELOOP_PAGE_PORT=port) as run:
        person.begins(run)
        person.judge(1, 2)
        person.pair(3)
        task = person.text("task")
        run.kill()
        person.until("!document.getElementById('lost').hidden")
        chromium.press(person.better())  # kept in the window
    with page_run(tmp_path, JUDGELOOP_PAGE_PORT=port) as run:
        person.pair(4)
        assert person.text("task") != task
        read = person.text("task")
        run.kill()
        person.until("!document.getElementById('lost').hidden")
    with page_run(tmp_path, JUDGELOOP_PAGE_PORT=port) as run:
        person.until("document.getElementById('lost').hidden")
        assert person.text("task") == read, "it is still on the screen"
        chromium.press(person.better())
        person.pair(5)
        run.interrupt()
        assert run.ended() == 130
    assert len(answered(tmp_path)) == 4


def test_the_owner_sees_people_judge_and_hears_the_end(chromium, tmp_path):
    write_outputs(tmp_path)
    owner = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path, "--people", "anna,ben", "--human-price", "40", "--budget", "80") as run:
        chromium.visit(run.link())
        owner.until("document.getElementById('start').hidden", False)
        chromium.visit(run.owner)  # only the fragment differs
        owner.until("document.getElementById('ohead').textContent", "0 judged")
        assert "has not begun" in owner.text("orows")
        with httpx2.Client(base_url=run.url, timeout=40) as client:
            session = client.post("/api/enter", json={"token": run.tokens[0]}).json()["session"]
            client.headers["authorization"] = f"Bearer {session}"
            for _ in range(2):
                pair = client.get("/api/next").json()["pair"]
                client.post("/api/answer", json={"id": pair["id"], "key": "a", "seconds": 1, "seen": False})
            client.get("/api/next")
            owner.until("document.getElementById('ohead').textContent", "2 judged")
            owner.until("document.getElementById('ohand').textContent", "1 item")
            chromium.reload()
            owner.until("document.getElementById('ohead').textContent", "2 judged")
            assert "anna answered 2 of 2 before the end" in owner.text("olook")
            assert "secret" not in chromium.run("return document.body.textContent")
            chromium.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
            chromium.run("document.querySelector('#orows button').click()")
            owner.until("window.copied", run.link())
            chromium.run("navigator.clipboard.writeText = async () => { throw new Error('no'); }")
            chromium.run("document.getElementById('newname').value = 'chi'")
            chromium.run("document.getElementById('addperson').click()")
            owner.until("document.getElementById('ocopy').textContent.startsWith('The link of chi: http')")
            owner.until("document.getElementById('orows').childElementCount", 3)
            for _ in range(2):  # it asks whether that is meant
                chromium.run("document.getElementById('stop').click()")
            owner.until("document.getElementById('stop').hidden")
            assert run.process.poll() is None, "anna has a pair in hand"
            pair = client.get("/api/next").json()["pair"]
            client.post("/api/answer", json={"id": pair["id"], "key": "a", "seconds": 1})
            while "over" not in (said := client.get("/api/next").json()):
                assert said["last"] == "a"
            assert said["over"] == "stopped"
            owner.until("document.getElementById('mhead').textContent", "The run was stopped")
            assert "same command" in owner.text("mtext")
        assert run.ended() == 130


ENDS = """
const [a, b] = arguments, long = (n) => ({text: "x", tree: Array(n).fill(["p", "x"])});
show({...now.pair, kind: "pair", outputs: [long(a), long(b)], last: null, said: undefined});
const at = (id) => document.getElementById(id).getBoundingClientRect(), pill = at("below");
const ends = [...document.querySelectorAll(".end")].map((one) => one.getBoundingClientRect().top);
return [now.seen, unseen("t"), document.getElementById("below").hidden, pill.left < at("artb").left, pill.right > at("arta").right, ends];
"""


def test_only_the_answer_whose_end_was_not_seen_is_named(chromium, tmp_path):
    write_outputs(tmp_path)
    person = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path) as run:
        person.begins(run)
        person.pair(1)
        chromium.run("now.polling++; now.pair = {...now.pair, id: 'other'}")  # it is no longer asked about
        fresh = "now.pair = {...now.pair, id: String(Math.random())}; show(now.pair); now.seen = [false, false];"
        found = {}
        for name, lengths in {"neither": (1, 1), "A": (60, 1), "B": (1, 60), "both": (60, 60)}.items():
            chromium.run(fresh)
            found[name] = chromium.run(ENDS, *lengths)
        assert [one[1] for one in found.values()] == ["", "A", "B", "A and B"]
        assert [one[2] for one in found.values()] == [True, False, False, False]
        assert found["A"][3:5] == [True, False], "it stands below A"
        assert found["B"][3:5] == [False, True]
        assert found["both"][3:5] == [True, True]
        of_a, of_b = found["A"][5]
        assert of_b < of_a, "the mark stands right below the text"


def test_an_answer_that_was_taken_back_is_kept_by_a_key_and_saved_is_said_for_a_moment(chromium, tmp_path):
    write_outputs(tmp_path)
    person = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path) as run:
        person.begins(run)
        person.judge(1, 1)
        person.pair(2)
        person.until("document.getElementById('saved').hidden")
        chromium.press("z")
        person.pair(1)
        chromium.press(ENTER)
        person.pair(2)
    assert len(answered(tmp_path)) == 1


def test_who_pauses_hears_that_the_run_is_over(chromium, tmp_path):
    write_outputs(tmp_path)
    person = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path) as run:
        person.begins(run)
        person.judge(1, 3)
        person.pair(4)
        chromium.press("p")
        person.until("document.getElementById('mhead').textContent", "Paused")
        run.interrupt()
        person.until("document.getElementById('mhead').textContent", "The run was stopped")
        assert run.ended() == 130
    assert len(answered(tmp_path)) == 3


def test_the_pointer_space_and_the_last_answer(chromium, tmp_path):
    write_outputs(tmp_path, items=12)
    for name in ("secret-old", "secret-new"):
        path = tmp_path / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row | {"output": "long\n\n" * 80 + row["output"]}) + "\n" for row in rows))
    person = Judging(chromium)
    chromium.look(size=DESK)
    with page_run(tmp_path, "--max-judgments", "3") as run:
        chromium.visit(run.link())
        person.sees("start")
        assert "rather send" in person.text("startrubric"), "there is no rubric"
        chromium.press(ENTER)
        person.pair(1)
        chromium.tap("#format")
        chromium.press(" ")
        person.until("scrollY > 0")
        assert chromium.run("return now.formatted") is False, "Space scrolls, and presses no button"
        chromium.press("p")
        person.sees("message")
        chromium.press("p")
        person.pair(1)
        chromium.press("a")
        person.pair(2)
        assert "You had not seen the end of A and B." in person.text("lastsaid")
        chromium.press("s")
        person.pair(3)
        assert "end of" not in person.text("lastsaid"), "a skip is no answer"
        chromium.run_async(
            f"{pressed('b')} {AT_ONCE.replace('pressed', pressed('z'))}"
        )  # it can be taken back for seconds
        person.pair(3)
        chromium.run("document.getElementById('keepanswer').click()")
        person.until("document.getElementById('mhead').textContent.startsWith('Nothing more')")
        run.ended()
    assert [one["said"] for one in answered(tmp_path)] == [*"asb"]
