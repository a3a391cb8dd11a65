"""Items with a known answer among the others: when they come, what they cost, and what becomes of who fails them."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager

import pytest
from support.office import Office, call, check

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import Checked
from judgeloop.core.records import Call, Item
from judgeloop.page import server
from judgeloop.page.checks import CheckItem, checks_among, place
from judgeloop.page.desk import Desk, Given, Sheet
from judgeloop.page.journal import PageJournal

ANNA, BEN = "anna", "ben"
CHECKS = tuple(map(check, range(40)))


@contextmanager
def desk_of(path, *people, calls=60):
    journal, loop = PageJournal(path), asyncio.new_event_loop()
    desk = Desk(people or (ANNA,), journal, CHECKS)
    sheets = [Sheet(call(at), f"key-{at}", loop.create_future()) for at in range(calls)]
    for sheet in sheets:
        desk.add(sheet)
    try:
        yield desk, sheets
    finally:
        for sheet in sheets:
            if sheet.settled.done():
                sheet.settled.exception()
        journal.close()
        loop.close()


def judge(desk, name, say, most, now=0.0, seconds=5.0):
    """What a person is shown who says `say(is_check)`: True for each check."""
    shown = []
    for at in range(most):
        began = now + 10 * at
        sheet = desk.take(name, began)
        if sheet is None:
            break
        shown.append(sheet.check is not None)
        desk.answer(name, Given(say(shown[-1]), seconds), sheet.id, began + seconds)
    return shown


def test_two_of_the_first_come_early_and_then_one_in_twenty():
    places = [place("aa" * 32, name, number) for name in ("anna", "ben", "chi") for number in range(12)]
    for one in range(3):
        first, second, *later = places[12 * one : 12 * one + 12]
        assert 1 <= first <= 3 < second <= 7
        assert [at // 20 for at in (one - 8 for one in later)] == [*range(10)]
    assert len(set(places)) > 20, "nobody can tell when"
    assert [checks_among(n) for n in (0, 3, 4, 8, 27, 28, 48)] == [0, 0, 1, 2, 2, 3, 4]


def test_checks_come_among_the_others_and_each_is_another(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as (desk, sheets):
        shown = judge(desk, ANNA, lambda check: "a", 34)
        assert shown.count(True) in {3, 4}
        assert not shown[0]
        assert desk.checked == [Checked(ANNA, shown.count(True), 0, 0, asked_no_more=False)]
        assert sum(sheet.said is not None for sheet in sheets) == shown.count(False)
        judge(desk, BEN, lambda check: "a", 12, now=1000)
        keys = [line["key"] for line in desk.lines if line["what"] == "check"]
        assert len(keys) == len(set(keys))


def test_no_reply_tells_a_check_from_another_item(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "LOOK_S", 0.01)

    async def steps():
        office = Office(tmp_path, (ANNA, BEN), None, None, CHECKS)
        office.add(*map(call, range(20)))
        window, said = await office.entered(ANNA), []
        for number in range(12):
            found = await window.next()
            pair = found.pop("pair")
            assert (pair["number"], found["progress"]["judged"]) == (number + 1, number)
            status, told = await window.post("answer", id=pair["id"], key="a", seconds=1)
            said.append((status, pair.keys(), told["progress"]["judged"], told["progress"]["mine"]))
        office.journal.close()
        checks = sum("check" in line["key"] for line in office.journal.lines if "key" in line)
        return said, checks, json.dumps([*map(str, said)])

    said, checks, text = asyncio.run(steps())
    assert checks >= 2
    assert "secret" not in text
    first = said[0][1]
    assert said == [(200, first, number + 1, number + 1) for number in range(12)]


def test_the_time_of_a_check_is_booked_with_the_next_answer(tmp_path):
    with desk_of(tmp_path / "j") as (desk, sheets):
        shown = judge(desk, ANNA, lambda check: "a", 12)
        desk.pause(ANNA, 500)
        booked = sum(sheet.seconds for sheet in sheets if sheet.settled.done())
        assert booked == 12 * 5 if not shown[-1] else 11 * 5
        answers = [line["seconds"] for line in desk.lines if line["what"] == "answer"]
        assert sum(answers) == booked, "as the journal says"


def test_a_check_can_be_taken_back_and_its_time_stays(tmp_path):
    with desk_of(tmp_path / "j") as (desk, _):
        judge(desk, ANNA, lambda check: "a", 1)
        number = 1
        while desk.people[ANNA].checks == {}:
            judge(desk, ANNA, lambda check: "b", 1, now=100 * number)
            number += 1
        assert desk.checked == [Checked(ANNA, 0, 0, 1, asked_no_more=False)]
        sheet, said = desk.undo(ANNA, 3000)
        assert said.key == "b"
        assert desk.people[ANNA].owed == 0
        assert desk.checked == []
        desk.answer(ANNA, Given("a", 2.0), sheet.id, 3010)
        assert desk.checked == [Checked(ANNA, 1, 0, 0, asked_no_more=False)]
        assert desk.people[ANNA].owed == 7.0


@pytest.mark.parametrize("again", [False, True])
def test_who_is_wrong_twice_is_asked_no_more_and_what_they_said_stays(tmp_path, again):
    with desk_of(tmp_path / "j", ANNA, BEN) as (desk, sheets):
        shown = judge(desk, ANNA, lambda check: "b", 30)
        assert shown.count(True) == 2
        assert desk.checked == [Checked(ANNA, 0, 0, 2, asked_no_more=True)]
        assert desk.take(ANNA, 900) is None
        ours = [sheet for sheet in sheets if sheet.said is not None]
        assert len(ours) == shown.count(False)
        assert all(sheet.settled.result().key == "b" for sheet in ours), "nobody waits for what they may take back"
        assert not desk.all_failed
        assert desk.take(BEN, 901) is not None
    if again:
        with desk_of(tmp_path / "j", ANNA, BEN) as (desk, _):
            assert desk.take(ANNA, 0) is None, "a restart changes nothing"
            assert desk.checked == [Checked(ANNA, 0, 0, 2, asked_no_more=True)]


def test_ties_and_skips_of_checks_are_neither_right_nor_wrong(tmp_path):
    with desk_of(tmp_path / "j") as (desk, _):
        keys = iter("tsxt")
        shown = judge(desk, ANNA, lambda check: next(keys) if check else "a", 52)
        assert desk.checked == [Checked(ANNA, 0, shown.count(True), 0, asked_no_more=False)]


def test_when_nobody_is_left_the_run_ends_and_says_so(tmp_path):
    with desk_of(tmp_path / "j") as (desk, sheets):
        judge(desk, ANNA, lambda check: "b", 30)
        assert desk.all_failed
        left = [sheet for sheet in sheets if sheet.said is None]
        assert left
        for sheet in left:
            with pytest.raises(JudgeError) as why:
                sheet.settled.result()
            assert why.value.kind is ErrorKind.REJECTED
            assert not why.value.billed


def test_a_rating_of_a_foreign_answer_is_wrong_if_it_is_high():
    one = CheckItem(Call(Item("i", "task"), ("x",), ("foreign",)), 0)
    assert [one.result(key) for key in "12345s"] == [1, 1, 0, -1, -1, 0]


def test_who_reads_a_check_when_the_process_dies_goes_on_with_it(tmp_path):
    with desk_of(tmp_path / "j") as (desk, _):
        while (sheet := desk.take(ANNA, 0)).check is None:
            desk.answer(ANNA, Given("a", 1.0), sheet.id, 1)
        of = sheet.id
    with desk_of(tmp_path / "j") as (desk, _):
        desk.answer(ANNA, Given("a", 3.0), of, 10)
        assert desk.checked == [Checked(ANNA, 1, 0, 0, asked_no_more=False)]
