"""A person judges on the page in a real browser, while the run is killed, goes on, and ends."""

from __future__ import annotations

import time

import pytest
from support.browser import CHROMIUM, DESK, DRIVER, WANTED, browser
from support.page_runs import answered, page_run, write_outputs
from support.patience import PATIENCE_S

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=WANTED)]
ENTER, ESCAPE = "\ue007", "\ue00c"


@pytest.fixture(scope="module")
def chromium():
    with browser() as one:
        yield one


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
            assert person.text("mhead") == "Enough. Close the page."
            assert run.ended() == 0
            result = run.result()
    assert result["winner"] == "secret-new"
    given = answered(tmp_path)
    assert len(given) == at - 1, "nothing was asked twice"
    booked = sum(one["seconds"] for one in given) * 40 / 3600
    assert result["run_spent_usd"] == pytest.approx(booked)
    assert result["unconfirmed_usd"] == 0
