"""The desk: who has what, what may be taken back, and what is left when a process dies."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.office import call, check

from judgeloop.core.errors import JudgeError
from judgeloop.core.records import SecondReading
from judgeloop.page.desk import AWAY_S, HELD_S, KEPT_S, LAST_S, LEASE_S, Desk, Given, Sheet, TakenError
from judgeloop.page.journal import PageJournal

ANNA, BEN = "anna", "ben"
LOOPS = []  # of the desks that are open


@contextmanager
def desk_of(path, *people, checks=(), each=1):
    journal = PageJournal(path)
    loop = asyncio.new_event_loop()
    try:
        LOOPS.append(loop)
        yield Desk(people or (ANNA,), journal, checks, each)
    finally:
        journal.close()
        LOOPS.remove(loop)
        loop.close()


def asked(desk, at):
    sheet = Sheet(call(at), f"key-{at}", LOOPS[-1].create_future())
    desk.add(sheet)
    return sheet


def said(sheet):
    return sheet.settled.result().key if sheet.settled.done() else None


def answer(desk, name, key, now, seconds=5.0):
    sheet = desk.take(name, now)
    desk.answer(name, Given(key, seconds), sheet.id, now + seconds)
    return sheet


def test_the_last_answer_counts_once_the_next_is_given_or_nothing_is_left(tmp_path):
    with desk_of(tmp_path / "j") as desk:
        first, second = asked(desk, 0), asked(desk, 1)
        assert answer(desk, ANNA, "a", 0) is first
        assert said(first) is None
        assert answer(desk, ANNA, "b", 10) is second
        assert (said(first), said(second)) == ("a", None)
        assert desk.take(ANNA, 15 + LAST_S) is None
        desk.tick(15 + LAST_S)
        assert said(second) is None, "it may be the last, and can be taken back for a moment"
        assert desk.undo(ANNA, 15 + LAST_S) == (second, Given("b", 5.0, "", ANNA))
        desk.answer(ANNA, Given("t", 5), second.id, 25)
        desk.tick(25 + LAST_S + 1)
        assert said(second) == "t", "whether or not a window asks"


def test_an_answer_counts_at_once_where_the_next_call_waits_for_its_money(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        desk.lacks_money = True
        first = asked(desk, 0)
        answer(desk, ANNA, "a", 0)
        assert said(first) == "a", "in no time"
        second, third = asked(desk, 1), asked(desk, 2)
        answer(desk, ANNA, "b", 10)
        assert said(second) is None, "she has another one, and may take this one back"
        assert desk.take(ANNA, 16) is third
        assert desk.take(BEN, 17) is None
        assert said(second) == "b", "as ben waits"
        answer(desk, ANNA, "t", 16)
        assert said(third) == "t"


def test_nobody_loses_an_undo_for_the_money_of_who_has_gone(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        assert desk.take(BEN, 0) is None
        desk.lacks_money = True
        first, second = asked(desk, 0), asked(desk, 1)
        answer(desk, ANNA, "a", AWAY_S + 1)
        assert desk.take(ANNA, AWAY_S + 7) is second
        desk.tick(AWAY_S + 8)
        assert said(first) is None


def test_who_has_answered_the_last_pair_keeps_nobody_waiting(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        first, second = asked(desk, 0), asked(desk, 1)
        assert desk.take(BEN, 0) is first
        assert answer(desk, ANNA, "a", 0) is second
        assert desk.is_busy(ANNA), "ben has one"
        answer(desk, BEN, "b", 1)
        assert (said(first), said(second)) == (None, None), "both may be taken back"
        assert not desk.is_busy(ANNA)
        assert not desk.is_busy(BEN)
        desk.undo(BEN, 7)
        assert desk.is_busy(ANNA)


def test_an_answer_that_is_held_for_long_counts(tmp_path):
    with desk_of(tmp_path / "j") as desk:
        first, _ = asked(desk, 0), asked(desk, 1)
        answer(desk, ANNA, "a", 0)
        desk.tick(HELD_S)
        assert said(first) is None
        desk.tick(HELD_S + 10)
        assert said(first) == "a"
        assert desk.undo(ANNA, HELD_S + 11) is None


def test_a_skip_goes_to_another_person_and_is_an_answer_once_all_who_are_there_have_skipped(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN, "chi") as desk:
        sheets = [asked(desk, at) for at in range(3)]
        assert desk.take(BEN, 0) is sheets[0]
        assert answer(desk, ANNA, "s", 0, seconds=4) is sheets[1]
        answer(desk, ANNA, "a", 10)
        assert said(sheets[1]) is None
        answer(desk, BEN, "t", 20)
        assert answer(desk, BEN, "s", 30, seconds=6) is sheets[1]
        desk.pause(BEN, 40)
        assert said(sheets[1]) == "s", "chi has not come"
        assert sheets[1].seconds == 10, "of both"
        assert desk.people[ANNA].skips == desk.people[BEN].skips == 1


def test_a_skip_that_nobody_else_comes_for_is_an_answer(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        first = asked(desk, 0)
        desk.take(BEN, 0)
        desk.pause(BEN, 0)
        desk.people[BEN].hand = None
        first.holder = None
        answer(desk, ANNA, "s", 1)
        desk.pause(ANNA, 10)
        assert said(first) is None, "ben is there"
        desk.beat(ANNA, LEASE_S)
        desk.tick(LEASE_S + 5)
        assert said(first) == "s"


def test_what_is_with_nobody_who_is_there_goes_to_others(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        sheet = asked(desk, 0)
        assert desk.take(ANNA, 0) is sheet
        old = sheet.id
        assert desk.take(BEN, KEPT_S) is None
        desk.tick(KEPT_S + 1)
        assert not desk.resume(ANNA, old, KEPT_S + 1), "she is not there"
        assert desk.take(BEN, KEPT_S + 1) is sheet
        with pytest.raises(TakenError):
            desk.answer(ANNA, Given("a", 1), old, KEPT_S + 2)
        desk.answer(BEN, Given("b", 1), sheet.id, KEPT_S + 3)
        desk.pause(BEN, KEPT_S + 4)
        assert said(sheet) == "b"


def test_who_is_away_holds_nothing_back_for_long_neither_a_call_nor_the_answer_before(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        first, second, third = (asked(desk, at) for at in range(3))
        answer(desk, ANNA, "a", 0)
        assert desk.take(ANNA, 2) is second
        assert desk.take(BEN, 3) is third
        desk.tick(KEPT_S + 3)
        assert said(first) == "a", "she does not come back to take it back"
        desk.answer(BEN, Given("b", 1), third.id, KEPT_S + 4)
        assert desk.take(BEN, KEPT_S + 5) is second, "what waits longest comes first"


def test_a_person_alone_keeps_what_is_theirs(tmp_path):
    with desk_of(tmp_path / "j") as desk:
        sheet = asked(desk, 0)
        desk.take(ANNA, 0)
        old = sheet.id
        assert desk.take(ANNA, 100 * LEASE_S) is sheet
        assert sheet.id == old


def test_leaving_settles_what_was_said_and_lets_go_of_the_rest(tmp_path):
    with desk_of(tmp_path / "j") as desk:
        sheets = [asked(desk, at) for at in range(3)]
        answer(desk, ANNA, "x", 0)
        desk.take(ANNA, 10)
        desk.leave("stopped")
        assert said(sheets[0]) == "x"
        late = asked(desk, 4)
        for sheet in (*sheets[1:], late):
            with pytest.raises(JudgeError):
                sheet.settled.result()
        assert desk.take(ANNA, 11) is None


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_what_was_said_and_not_booked_is_said_again_after_a_crash(tmp_path, cut):
    path = tmp_path / "j"
    with desk_of(path) as desk:
        for at in range(4):
            asked(desk, at)
        answer(desk, ANNA, "a", 0)
        answer(desk, ANNA, "b", 10)
        desk.undo(ANNA, 20)
        answer(desk, ANNA, "s", 21)
        secret = desk._journal.secret
    if cut:
        with path.open("ab") as file:
            file.write(b'{"what": "answer"'[:cut])
    with desk_of(path) as desk:
        sheets = [asked(desk, at) for at in range(4)]
        assert [said(sheet) for sheet in sheets] == ["a", "s", None, None], "nobody else may answer what she skipped"
        assert desk.take(ANNA, 0) is sheets[2]
        assert (desk.people[ANNA].judged, desk.people[ANNA].skips) == (1, 1)
        assert desk._journal.secret == secret
    assert path.stat().st_mode & 0o777 == 0o600


def test_who_reads_when_the_process_dies_goes_on_with_the_same_call(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        for at in range(3):
            asked(desk, at)
        given = answer(desk, ANNA, "a", 0).id
        read = desk.take(ANNA, 10).id
        bens = desk.take(BEN, 10).id
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        sheets = [asked(desk, at) for at in range(3)]
        desk.answer(ANNA, Given("a", 5), given, 20)  # its reply was lost
        assert desk.people[ANNA].judged == 1
        with pytest.raises(TakenError):
            desk.answer(BEN, Given("a", 5), read, 20)
        with pytest.raises(TakenError):
            desk.answer(BEN, Given("a", 5), "é.1", 20)
        assert desk.resume(ANNA, read, 20)
        assert desk.take(ANNA, 21) is sheets[1]
        assert sheets[1].id == read
        desk.answer(BEN, Given("b", 7), bens, 22)
        desk.pause(BEN, 23)
        assert (said(sheets[2]), sheets[2].seconds) == ("b", 7)
        assert not desk.resume(BEN, bens, 24)


def test_a_journal_that_is_cut_anywhere_is_read_up_to_there(tmp_path):
    path = tmp_path / "j"
    with desk_of(path) as desk:
        for at in range(3):
            asked(desk, at)
            answer(desk, ANNA, "ab"[at % 2], 10 * at)
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    for length in sorted({*range(0, len(whole), 11), *ends, *(at + 1 for at in ends[:-1])}):
        path.write_bytes(whole[:length])
        with desk_of(path) as desk:
            known = len(desk._known)
            asked(desk, 7)
            answer(desk, ANNA, "t", 0)
        with desk_of(path) as desk:
            assert len(desk._known) == known + 1, "what follows is on a line of its own"
            assert known == sum(b'"answer"' in line for line in whole[:length].split(b"\n")[:-1])


@pytest.mark.parametrize("back", ["not yet", "free", "in hand anew", "beside another"])
def test_an_answer_that_was_given_while_judgeloop_was_dead_counts_whatever_comes_first(tmp_path, back):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        asked(desk, 0)
        of = desk.take(ANNA, 0).id
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        if back == "beside another":
            asked(desk, 1)
            desk.take(ANNA, 1)
        sheet = None if back == "not yet" else asked(desk, 0)
        if back == "in hand anew":
            assert desk.take(ANNA, 1).id != of
        desk.answer(ANNA, Given("b", 7), of, 2)
        sheet = sheet or asked(desk, 0)
        desk.pause(ANNA, 3)
        assert (said(sheet), sheet.seconds, desk.people[ANNA].judged) == ("b", 7, 1)
        assert desk.take(BEN, 4) is None
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        assert said(asked(desk, 0)) == "b", "the journal has it under its call"


def test_what_somebody_had_in_hand_is_kept_for_them_for_a_while_after_a_start(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        asked(desk, 0)
        of = desk.take(ANNA, 0).id
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        assert desk.comes_back(ANNA, of, 0)
        assert not desk.comes_back(BEN, of, 0)
        assert not desk.comes_back(ANNA, of, HELD_S + 1)
        first, second = asked(desk, 0), asked(desk, 1)
        assert desk.take(BEN, 1) is second
        assert desk.take(ANNA, 2) is first
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        second, first = asked(desk, 1), asked(desk, 0)
        assert desk.take(ANNA, 3) is first, "not what comes first"
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        first, more = asked(desk, 0), asked(desk, 2)
        assert desk.take(BEN, 4) is more
        desk.answer(BEN, Given("a", 1), more.id, 5)
        assert desk.take(BEN, HELD_S) is None
        assert desk.take(BEN, HELD_S + 1) is first, "she did not come"
        with pytest.raises(TakenError):
            desk.answer(ANNA, Given("a", 1), of, HELD_S + 2)


def test_a_skip_is_asked_again_by_the_command_after_the_run_has_ended_and_not_before(tmp_path):
    path, settled = tmp_path / "j", {}
    for time in range(3):
        with desk_of(path, ANNA, BEN) as desk:
            sheet = asked(desk, 0)
            if time == 0:
                assert answer(desk, ANNA, "s", 0, seconds=4) is sheet
                desk.take(BEN, 6)
                desk.pause(ANNA, 7)
            if time == 1:
                assert desk.take(ANNA, 10) is None, "ben may still judge it"
                desk.tick(11)
                assert said(sheet) is None
                assert answer(desk, BEN, "s", 12, seconds=6) is sheet
                desk.pause(BEN, 20)
                assert (said(sheet), sheet.seconds) == ("s", 10)
            settled[time] = said(sheet), sheet.seconds if sheet.said else None
            assert desk.people[ANNA].skips == 1
            if time == 2:
                desk.leave("decided")
    assert settled == {0: (None, None), 1: ("s", 10), 2: ("s", 0)}, "the time is booked once"
    with desk_of(path, ANNA, BEN) as desk:
        sheet = asked(desk, 0)
        assert desk.take(ANNA, 0) is sheet
        assert desk.skipped_before(ANNA, sheet), "and told so"
        desk.answer(ANNA, Given("s", 1), sheet.id, 1)
        assert desk.people[ANNA].skips == 1, "of one pair"


class Judging(RuleBasedStateMachine):
    """People who take, answer, take back, go away, while calls come and time passes."""

    def __init__(self):
        super().__init__()
        import tempfile
        from pathlib import Path

        self.folder = tempfile.TemporaryDirectory()
        self.stack = desk_of(Path(self.folder.name) / "j", ANNA, BEN, "chi", checks=[*map(check, range(9))])
        self.desk, self.now, self.sheets, self.final = self.stack.__enter__(), 0.0, [], {}

    def teardown(self):
        self.desk.leave("decided")
        for sheet in self.sheets:
            assert sheet.settled.done(), "nobody waits for ever"
            sheet.settled.exception()
        self.stack.__exit__(None, None, None)
        self.folder.cleanup()

    names = st.sampled_from([ANNA, BEN, "chi"])

    @precondition(lambda self: len(self.sheets) < 12)
    @rule()
    def call_comes(self):
        self.sheets.append(asked(self.desk, len(self.sheets)))

    @rule(name=names)
    def takes(self, name):
        self.desk.take(name, self.now)

    @precondition(lambda self: any(one.hand for one in self.desk.people.values()))
    @rule(name=names, key=st.sampled_from("abtxs"))
    def answers(self, name, key):
        sheet = self.desk.people[name].hand
        if sheet is not None:
            self.desk.answer(name, Given(key, 2.0), sheet.id, self.now)

    @rule(name=names)
    def takes_back(self, name):
        last = self.desk.people[name].last
        final = last is not None and last.settled.done()
        assert not final
        self.desk.undo(name, self.now)

    @rule(seconds=st.sampled_from([1.0, 100.0, 700.0]), name=names)
    def time_passes(self, seconds, name):
        self.now += seconds
        self.desk.beat(name, self.now)
        self.desk.tick(self.now)

    @invariant()
    def each_call_is_with_one_person_and_what_counts_stays(self):
        hands = [id(one.hand) for one in self.desk.people.values() if one.hand]
        lasts = [id(one.last) for one in self.desk.people.values() if one.last]
        assert len({*hands, *lasts}) == len(hands) + len(lasts)
        for number, sheet in enumerate(self.sheets):
            if sheet.settled.done() and sheet.settled.exception():
                assert self.desk.all_failed, "nobody is left"
            elif sheet.settled.done():
                assert self.final.setdefault(number, sheet.settled.result()) == sheet.settled.result()
                assert id(sheet) not in {*hands, *lasts}
            elif sheet.holder is None:
                assert id(sheet) not in hands


Judging.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestJudging = Judging.TestCase


def reading(desk, at, by, *, same=False):
    one = replace(call(at), reading=SecondReading(by, same))
    sheet = Sheet(one, f"again-{at}", LOOPS[-1].create_future())
    desk.add(sheet)
    return sheet


def test_a_second_reading_is_another_persons_and_one_of_the_same_theirs(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        another, same = reading(desk, 0, ANNA), reading(desk, 1, ANNA, same=True)
        assert desk.take(BEN, 0) is another
        assert desk.take(ANNA, 0) is same
        third = reading(desk, 2, BEN)
        answer(desk, BEN, "a", 0)
        assert desk.take(BEN, 10) is None, "they gave the first"
        assert answer(desk, ANNA, "s", 0) is same
        assert desk.take(ANNA, 20) is third
        assert said(same) is None, "held, to be taken back"
        desk.answer(ANNA, Given("a", 1.0), third.id, 21)
        assert said(same) == "s", "nobody else may give it"


def test_a_second_reading_for_which_nobody_comes_is_none_and_costs_nothing(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        sheet = reading(desk, 0, ANNA)
        desk.take(ANNA, 0)
        desk.tick(1)
        desk.beat(ANNA, LEASE_S)
        desk.tick(LEASE_S)
        assert said(sheet) is None, "ben may still come"
        desk.tick(LEASE_S + 2)
        assert said(sheet) == "s"
        assert sheet.seconds == 0
        late = reading(desk, 1, ANNA)
        desk.tick(LEASE_S + 3)
        desk.take(BEN, 2 * LEASE_S)
        desk.tick(2 * LEASE_S + 10)
        assert late.holder == BEN
        assert said(late) is None


def test_a_second_reading_that_nobody_is_left_for_waits_for_nobody(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        for_anna, for_ben, again = reading(desk, 0, BEN), reading(desk, 1, ANNA), reading(desk, 2, ANNA, same=True)
        desk.tick(1)
        assert desk.awaits == [for_anna, for_ben, again]
        desk.people[ANNA].failed = True
        desk.tick(2)
        assert (said(for_anna), said(for_ben), said(again)) == ("s", None, "s")
        assert desk.take(BEN, 3) is for_ben
        assert not desk.awaits


def pair_of(desk, at):
    """The two calls of a pair that two people answer."""
    found = []
    for which in "12":
        one = call(at) if which == "1" else replace(call(at), outputs=call(at).outputs[::-1])
        sheet = Sheet(one, f"key-{at}-{which}", LOOPS[-1].create_future(), pair=f"pair-{at}")
        desk.add(sheet)
        found.append(sheet)
    return found


def test_an_item_of_two_people_ends_the_run_where_one_is_left(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        first, second = pair_of(desk, 0)
        desk.people[ANNA].failed = True
        desk.tick(0)
        assert desk.take(BEN, 1) is first
        desk.tick(2)
        with pytest.raises(JudgeError):
            second.settled.result()


def test_two_people_answer_the_two_calls_of_a_pair(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN, each=2) as desk:
        (first, other), (third, fourth) = pair_of(desk, 0), pair_of(desk, 1)
        assert answer(desk, ANNA, "a", 0) is first
        assert desk.take(ANNA, 10) is third, "she has answered the first pair"
        assert desk.take(BEN, 10) is other
        assert desk.held == 0
        desk.answer(BEN, Given("b", 1.0), other.id, 12)
        assert desk.held == 1
        assert desk.take(BEN, 13) is fourth, "she has the other"
        desk.answer(BEN, Given("s", 1.0), fourth.id, 14)
        desk.answer(ANNA, Given("a", 1.0), third.id, 15)
        assert desk.take(ANNA, 16) is None, "nor does she get what he skipped"
        assert desk.take(BEN, 14 + LAST_S + 1) is None
        assert said(fourth) == "s"
    with desk_of(tmp_path / "j", ANNA, BEN, each=2) as desk:
        first, other = pair_of(desk, 2)
        assert answer(desk, ANNA, "a", 20) is first
        assert desk.undo(ANNA, 26)[0] is first
        desk.answer(ANNA, Given("b", 1.0), first.id, 27)
    with desk_of(tmp_path / "j", ANNA, BEN, each=2) as desk:
        _, other = pair_of(desk, 2)
        assert desk.take(ANNA, 0) is None, "the journal says who gave the other"
        assert desk.take(BEN, 0) is other


def test_an_item_is_judged_once_by_both_and_never_by_the_halves_of_two(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN, each=2) as desk:
        (hers, his), (third, fourth), (fifth, sixth) = (pair_of(desk, at) for at in range(3))
        for at, (one, other, key) in enumerate([(hers, his, "s"), (third, fourth, "s"), (fifth, sixth, "b")]):
            assert answer(desk, ANNA, "a", 10 * at) is one
            assert desk.held == 0, "one of the two"
            assert desk.take(BEN, 10 * at + 5) is other
            desk.answer(BEN, Given(key, 1.0), other.id, 10 * at + 6)
        assert desk.held == 1, "two were skipped by one of the two"
        assert desk.undo(BEN, 27)[0] is sixth
        assert desk.held == 0
        desk.answer(BEN, Given("a", 1.0), sixth.id, 28)
        desk.leave("decided")
        assert (desk.held, said(his), said(fourth)) == (1, "s", "s")
    with desk_of(tmp_path / "k", ANNA, BEN, each=2) as desk:
        for name, one in zip((ANNA, BEN), pair_of(desk, 0), strict=True):
            assert answer(desk, name, "a", 0) is one
    with desk_of(tmp_path / "k", ANNA, BEN, each=2) as desk:
        pair_of(desk, 0)
        assert desk.held == 1, "both are in the journal, and no run has booked them"
    with desk_of(tmp_path / "l", ANNA, BEN, each=2) as desk:
        desk.answered([("pair-0", ANNA)])
        _, other = pair_of(desk, 0)
        assert answer(desk, BEN, "a", 0).pair == other.pair
        assert desk.held == 1, "the first is in the ledger"


def test_who_skips_one_call_of_an_item_has_skipped_the_item_where_nobody_else_is_left(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN, each=2) as desk:
        first, second = pair_of(desk, 0)
        third, _ = pair_of(desk, 1)
        desk.people[BEN].here = True
        assert answer(desk, ANNA, "s", 0) is first
        assert answer(desk, ANNA, "a", 10) is third
        assert desk.take(BEN, 20) is first, "it goes to him"
        desk.tick(21)
        assert said(second) == "s"
        desk.answer(BEN, Given("a", 1.0), first.id, 22)
        assert desk.held == 0


def test_one_person_who_passed_is_too_few_for_two_an_item_and_the_error_names_who_is_left(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN, each=2) as desk:
        _, second = pair_of(desk, 0)
        answer(desk, ANNA, "a", 0)
        desk.people[BEN].failed = True
        desk.tick(1)
        error = second.settled.exception()
        assert isinstance(error, JudgeError)
        assert f"`people={ANNA},NAME`" in str(error)


def test_people_finish_what_they_have_in_hand_before_more_comes_and_who_is_away_does_not_hold_it_up(tmp_path):
    with desk_of(tmp_path / "j", ANNA, BEN) as desk:
        hers, his, spare = (asked(desk, at) for at in range(3))
        desk.take(ANNA, 0)
        desk.take(BEN, 0)
        desk.beat(ANNA, AWAY_S)
        desk.let_go(AWAY_S + 1)
        assert isinstance(his.settled.exception(), JudgeError)
        assert isinstance(spare.settled.exception(), JudgeError)
        for one in (his, spare):
            desk.drop(one)
        desk.answer(ANNA, Given("b", 1.0), hers.id, AWAY_S + 2)
        assert desk.take(ANNA, AWAY_S + 3 + LAST_S) is None
        assert said(hers) == "b"
        more = asked(desk, 3)
        assert desk.take(ANNA, AWAY_S + 4 + LAST_S) is more
        desk.tick(AWAY_S + 5 + LAST_S)
        assert not more.settled.done()
