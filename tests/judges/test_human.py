"""A person as the judge, with scripted keys and a screen in memory."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import queue
import select
import termios
import threading
import time
from decimal import Decimal

import pytest
from support.endings import ends
from support.patience import PATIENCE_S
from support.pools import driven

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.protocols import SoFar
from judgeloop.core.records import Abstention, Call, Item, Order, Verdict
from judgeloop.judges import human
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.wage import LONGEST_S, Wage

A, B, TIE, SKIPPED = Verdict(1.0), Verdict(0.0), Verdict(0.5), Abstention("skipped")
LEFT = "left"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(human, "SECONDS_TO_GATHER", 0.005)


def calls(count):
    return [Call(Item(f"i{n}", f"task {n}"), ("secret-x", "secret-y"), (f"one {n}", f"two {n}")) for n in range(count)]


class Person:
    """Presses these keys, and then is gone."""

    def __init__(self, keys, rubric=None):
        self.keys = list(keys)
        self.screen = io.StringIO()
        self.judge = HumanJudge(rubric=rubric, read_key=self.press, screen=self.screen)

    def press(self):
        return self.keys.pop(0) if self.keys else ""

    def answers(self, *rounds):
        """The answers to each round of calls, one round after another."""

        async def story():
            found = []
            for wanted in rounds:
                replies = await asyncio.gather(*map(self.judge.judge, wanted), return_exceptions=True)
                found += [LEFT if isinstance(one, JudgeError) else one.answer for one in replies]
            await self.judge.aclose()
            return found

        return asyncio.run(asyncio.wait_for(story(), 10))


def test_an_empty_text_is_said_to_be_empty():
    person = Person("a")
    person.answers([Call(Item("i", "task"), ("secret-x", "secret-y"), ("", " \n"))])
    assert person.screen.getvalue().count(human.EMPTY) == 2


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        ("abts", [A, B, TIE, SKIPPED]),
        ("ABTS", [A, B, TIE, SKIPPED]),
        ("axb?t1s", [A, B, TIE, SKIPPED]),  # a key that means nothing is asked for again
        ("abzats", [A, A, TIE, SKIPPED]),  # back one, and another answer
        ("abzzbts", [A, B, TIE, SKIPPED]),  # what counts is not given back: only the last can be changed
        ("zzabts", [A, B, TIE, SKIPPED]),  # there is nothing before the first
        ("q", [LEFT] * 4),
        ("abq", [A, B, LEFT, LEFT]),
        ("ab", [A, B, LEFT, LEFT]),  # the end of input
        ("abzq", [A, LEFT, LEFT, LEFT]),  # back at the second, and gone
    ],
)
def test_a_key_is_an_answer_and_counts_once_the_next_is_given(keys, answers):
    assert Person(keys).answers(calls(4)) == answers


def test_nobody_is_asked_again_after_leaving():
    person = Person("aq")
    assert person.answers(calls(2), calls(2)) == [A, LEFT, LEFT, LEFT]
    shown = person.screen.getvalue()
    assert shown.count("Task") == 2


def test_calls_that_come_later_are_asked_as_they_come():
    person = Person("abt")
    assert person.answers(calls(2), calls(1)) == [A, B, TIE]
    assert person.screen.getvalue().count("Task") == 3, "no key is asked for between them"


def test_the_screen_shows_the_texts_and_never_who_wrote_them():
    person = Person("abt")
    person.answers(calls(3))
    shown = person.screen.getvalue()
    assert "secret" not in shown
    for number in range(3):
        assert shown.index(f"task {number}") < shown.index(f"one {number}") < shown.index(f"two {number}")
    assert "Reference" not in shown


@pytest.mark.parametrize("calls_of", [lambda: calls(2), lambda: ratings(2)])
def test_the_rubric_is_shown_above_each_question(calls_of):
    person = Person("ss", rubric="Prefer the \x1bshorter one.")
    person.answers(calls_of())
    heads = [line.split()[1] for line in person.screen.getvalue().splitlines() if line.startswith("── ")]
    assert heads[: len(heads) // 2] == heads[len(heads) // 2 :]
    assert heads[:2] == ["Rubric", "Task"]
    assert r"Prefer the \x1bshorter one." in person.screen.getvalue()


def test_people_who_judge_by_another_rubric_are_another_judge():
    short, long = (HumanJudge(rubric=f"Prefer the {which} one.") for which in ("shorter", "longer"))
    assert len({one.identity.parameters.get("rubric") for one in (HumanJudge(), short, long)}) == 3
    assert HumanJudge().identity.parameters == {}, "the keys of verdicts without a rubric stay"


def test_a_reference_is_shown_where_there_is_one():
    person = Person("a")
    person.answers([Call(Item("i", "p", "the right answer"), ("x", "y"), ("one", "two"))])
    assert "Reference" in person.screen.getvalue()
    assert "the right answer" in person.screen.getvalue()


def test_what_steers_a_terminal_is_made_visible_and_lines_and_tabs_stay():
    person = Person("a")
    person.answers([Call(Item("i", "p"), ("x", "y"), ("\x1b[2Jred\u202e\r", "a\n\tb"))])
    shown = person.screen.getvalue()
    assert not set("\x1b\u202e\r") & set(shown)
    assert r"\x1b[2Jred\u202e\r" in shown
    assert "a\n\tb" in shown


def ratings(count, reference=None):
    return [Call(Item(f"i{n}", f"task {n}", reference), ("secret-x",), (f"one {n}",)) for n in range(count)]


RATED = [Verdict(score) for score in (0.0, 0.25, 0.5, 0.75, 1.0)]


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        ("12345s", [*RATED, SKIPPED]),
        ("1a2b3t4506s", [*RATED, SKIPPED]),  # keys of a comparison, and other digits, mean nothing
        ("1234z1s", [*RATED[:3], RATED[0], SKIPPED]),
        ("123q", [*RATED[:3], LEFT, LEFT]),
        ("1S", [RATED[0], SKIPPED, LEFT]),
    ],
)
def test_one_output_is_rated_from_1_to_5(keys, answers):
    assert Person(keys).answers(ratings(len(answers))) == answers


def test_digits_mean_nothing_in_a_comparison():
    assert Person("1a5b").answers(calls(2)) == [A, B]


def test_a_rating_shows_task_reference_and_answer_but_no_author():
    person = Person("x3")
    person.answers(ratings(1, "the right answer"))
    shown = person.screen.getvalue()
    heads = [line.split()[1] for line in shown.splitlines() if line.startswith("── ")]
    assert heads == ["Task", "Reference", "Answer"]
    assert shown.index("task 0") < shown.index("the right answer") < shown.index("one 0")
    assert "secret" not in shown
    assert shown.count(human.RATING.keys) == 2  # on the sheet, and after a key that means nothing
    assert human.COMPARISON.keys not in shown


@pytest.mark.parametrize("form", [human.COMPARISON, human.RATING])
def test_the_keys_fit_a_narrow_terminal_and_one_explains_them(form):
    assert max(map(len, form.keys.split("\n"))) < 80
    assert max(map(len, human._HELP.split("\n"))) < 80
    person = Person("?s")
    assert person.answers(calls(1) if form is human.COMPARISON else ratings(1)) == [SKIPPED]
    shown = person.screen.getvalue()
    assert shown.count(form.keys) == 2
    assert human._HELP in shown
    assert "none of these" not in shown


def test_the_terminal_says_what_a_key_said():
    person = Person("abts")
    person.answers(calls(4))
    shown = person.screen.getvalue().splitlines()
    assert [one for one in shown if one in {"A is better.", "B is better.", "A tie.", "Skipped."}] == [
        "A is better.", "B is better.", "A tie.", "Skipped."
    ]  # fmt: skip
    rated = Person("4s")
    rated.answers(ratings(2))
    assert {"4 of 5.", "Skipped."} <= set(rated.screen.getvalue().splitlines())


class Typing(Person):
    """A person who presses a key when a test says so."""

    def __init__(self):
        super().__init__("")
        self.typed = queue.SimpleQueue()

    def press(self):
        return self.typed.get()

    async def until(self, found):
        while not found():  # noqa: ASYNC110 - the screen tells nobody
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(("key", "answer"), [("b", B), ("s", SKIPPED)])
def test_an_answer_counts_after_a_moment_without_another_key(key, answer, monkeypatch):
    monkeypatch.setattr(human, "HELD_S", 0.02)

    async def story():
        person = Typing()
        first, *others = [asyncio.create_task(person.judge.judge(call)) for call in calls(3)]
        person.typed.put(key)
        reply = await first
        tasks = person.screen.getvalue().count("Task")
        person.typed.put("z")
        await person.until(lambda: "counts already" in person.screen.getvalue())
        assert person.screen.getvalue().count("Task") == tasks == 2, "and nothing is asked twice"
        person.typed.put("q")
        assert [one.kind for one in await asyncio.gather(*others, return_exceptions=True)] == [ErrorKind.QUIT] * 2
        return reply.answer

    assert asyncio.run(asyncio.wait_for(story(), PATIENCE_S)) == answer


def test_what_is_taken_back_counts_as_it_is_said_then(monkeypatch):
    monkeypatch.setattr(human, "HELD_S", 0.2)

    async def story():
        person = Typing()
        first, *others = [asyncio.create_task(person.judge.judge(call)) for call in calls(3)]
        person.typed.put("a")
        person.typed.put("z")
        await person.until(lambda: person.screen.getvalue().count("task 0") == 2)
        await asyncio.sleep(0.3)
        assert not first.done(), "it was taken back in time"
        person.typed.put("t")
        reply = await first
        person.typed.put("q")
        await asyncio.gather(*others, return_exceptions=True)
        return reply.answer

    assert asyncio.run(asyncio.wait_for(story(), PATIENCE_S)) == TIE


def judged_by(person, ledger, items=6):
    terms = {"order": Order.RANDOM, "concurrency": items, "timeout_s": None}
    return driven(person.judge, items, ledger, **terms)


def scores_of(finished):
    return [one.answer.score for one in finished.ending.labels]


def test_where_nobody_is_the_judge_has_failed(tmp_path):
    halted = judged_by(Person(""), tmp_path / "l.sqlite")
    assert halted.ending.stop.kind is StopKind.JUDGE_FAILED
    assert "standard input ended before any key was pressed" in halted.ending.stop.sentence


def test_quitting_halts_the_run_and_the_same_command_resumes_without_asking_again(tmp_path):
    first = Person("aabq")
    halted = judged_by(first, tmp_path / "l.sqlite")
    assert halted.ending.stop.kind is StopKind.INTERRUPTED
    assert "the person who judges has stopped" in halted.ending.stop.sentence
    assert halted.ending.asked == 3
    assert halted.spend.attempts == 3, "what was on the screen then was not answered"
    second = Person("ttt")
    finished = judged_by(second, tmp_path / "l.sqlite")
    assert finished.ending.asked == 6
    assert second.screen.getvalue().count("Task") == 3
    assert scores_of(finished)[:3] == scores_of(halted)
    assert scores_of(finished)[3:] == [0.5] * 3
    assert finished.spend.remembered == 3


def test_the_run_shows_outputs_in_an_order_of_its_own_and_turns_the_answers_back(tmp_path):
    person = Person("a" * 30)
    finished = judged_by(person, tmp_path / "l.sqlite", items=30)
    shown = person.screen.getvalue()
    for label in finished.ending.labels:
        position = label.choice.position
        first_is_a = shown.index(f"a's answer {position}\n") < shown.index(f"b's answer {position}\n")
        assert label.answer.score == float(first_is_a)
    assert 0 < sum(scores_of(finished)) < 30


def test_a_skipped_item_abstains_and_is_asked_about_again(tmp_path):
    halted = judged_by(Person("sssss" + "a"), tmp_path / "l.sqlite")
    assert halted.ending.estimate.tally.abstentions == 5
    again = Person("ttttt")
    assert judged_by(again, tmp_path / "l.sqlite").ending.estimate.tally.ties == 5
    assert again.screen.getvalue().count("Task") == 5


def test_a_terminal_that_is_gone_stops_the_run_and_hangs_nobody():
    def gone():
        raise OSError("tty gone")

    judge = HumanJudge(read_key=gone, screen=io.StringIO())
    call = Call(Item("i", "p"), ("a", "b"), ("x", "y"))
    with ends(ErrorKind.REJECTED, match="tty gone"):
        asyncio.run(asyncio.wait_for(judge.judge(call), 5))


def test_a_terminal_that_has_gone_gives_no_key(monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("click.getchar", lambda: None)
    assert human.read_key_from_terminal() == ""


class Terminal(io.StringIO):
    """A screen that is one."""

    def isatty(self):
        return True


def test_how_far_the_run_is_stands_above_each_question():
    person = Person("ab")
    person.judge.hear(SoFar(16, 200, 30, skipped=2))
    person.answers(calls(2))
    first, second = person.screen.getvalue().split("── Task")[:2]
    assert "14 judged, 2 skipped, of at most 200, about 7 to 60 more\n" in first
    assert "15 judged, 2 skipped, of at most 200, about 7 to 59 more, in about 1 min\n" in second, (
        "once there is a pace"
    )
    person = Person("sab")
    person.judge.hear(SoFar(16, 200, 30, skipped=2))
    person.answers(calls(3))
    _, second, third, _ = person.screen.getvalue().split("── Task")
    assert "14 judged, 3 skipped, of at most 200" in second, "what may be taken back counts"
    assert "15 judged, 3 skipped, of at most 200, about 7 to 58 more" in third
    for more, near in ((8, ", a decision may be near"), (0, ""), (None, "")):  # and it was not; or none is foreseen
        person = Person("a")
        person.judge.hear(SoFar(14, 200, more))
        person.answers(calls(1))
        assert f"14 of at most 200 judged{near}\n" in person.screen.getvalue()


def test_what_is_read_again_after_the_decision_leaves_no_room_for_one():
    assert SoFar(26, 34, 6).is_near()
    assert not SoFar(26, 34, 6, again=4).is_near(), "the limit comes before it"
    assert SoFar(10, 34, 15, again=4).likely() == (3, 20), "at most what is left before the limit"
    assert SoFar(10, 34, 15, again=4).left() == 24


def test_time_is_measured_and_paid():
    wage = Wage(Decimal(36))
    person = Person("a")
    person.judge = HumanJudge(wage=wage, read_key=slowly(person.press), screen=person.screen)

    async def story():
        return await person.judge.judge(calls(1)[0])

    reply = asyncio.run(story())
    assert 0.05 <= reply.seconds < LONGEST_S
    assert reply.cost_p == pytest.approx(wage.cost_p(reply.seconds), abs=wage.cost_p(0.06))
    assert person.judge.quote(calls(1)[0]).cost_p == wage.cost_p(LONGEST_S)


def slowly(press):
    def pressed():
        time.sleep(0.05)
        return press()

    return pressed


def test_a_pager_shows_a_question_and_the_next_key_answers_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PAGER", "tee -a seen")
    person = Person("va")
    person.judge = HumanJudge(read_key=person.press, screen=Terminal())
    assert person.answers(calls(1)) == [A]
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert "one 0" in seen
    assert "two 0" in seen
    without = Person("va")
    assert without.answers(calls(1)) == [A], "where there is no terminal, it says so"
    assert "PAGER" in without.screen.getvalue()


def test_a_person_who_presses_nothing_is_let_go(tmp_path):
    person, pressed = Person("a"), threading.Event()

    def wait_for_ever():
        if person.keys:
            return person.press()
        pressed.wait()
        return ""

    person.judge = HumanJudge(read_key=wait_for_ever, screen=person.screen)

    async def story():
        waiting = [asyncio.create_task(person.judge.judge(call)) for call in calls(3)]
        while person.screen.getvalue().count("Task") < 2:  # noqa: ASYNC110 - the screen tells nobody
            await asyncio.sleep(0.01)
        person.judge.leave(None)
        replies = await asyncio.gather(*waiting, return_exceptions=True)
        await person.judge.aclose()
        return [LEFT if isinstance(one, JudgeError) else one.answer for one in replies]

    assert asyncio.run(story()) == [A, LEFT, LEFT], "and the process waits for no key"
    assert "not needed" in person.screen.getvalue()
    pressed.set()


def test_who_quits_is_not_told_that_the_rest_is_not_needed():
    person = Person("aq")
    person.answers(calls(3))
    assert "not needed" not in person.screen.getvalue()


def test_no_key_stands_in_what_is_printed_and_none_is_left_for_the_shell(monkeypatch):
    here, there = pty.openpty()

    def read(seconds):
        return os.read(here, 1000) if select.select([here], [], [], seconds)[0] else b""

    async def story(judge):
        waiting = asyncio.create_task(judge.judge(calls(1)[0]))
        while termios.tcgetattr(there)[3] & termios.ICANON:  # noqa: ASYNC110 - until it waits for a key
            await asyncio.sleep(0.01)
        os.write(here, b"a")
        reply = await waiting
        os.write(here, b"t\n")
        assert select.select([there], [], [], PATIENCE_S)[0], "it has arrived"
        await judge.aclose()
        return reply.answer

    with os.fdopen(there, closefd=True) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        before = termios.tcgetattr(there)
        assert asyncio.run(story(HumanJudge(screen=io.StringIO()))) == A
        assert read(0.2) == b""
        assert termios.tcgetattr(there) == before
        assert select.select([there], [], [], 0.2)[0] == [], "no line waits"
    os.close(here)
