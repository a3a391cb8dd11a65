"""The judge of a page: what an answer becomes, what it costs, and what is left of a run that people leave."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from dataclasses import replace
from decimal import Decimal

import httpx2
import pytest
from support.patience import PATIENCE_S
from support.pools import make_pool, make_session

from judgeloop.core.errors import ErrorKind, InputError, JudgeError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.protocols import SoFar
from judgeloop.core.records import Abstention, Call, Item, Order, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Terms
from judgeloop.judges import page
from judgeloop.judges.base import PageOptions
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.page import PageJudge
from judgeloop.judges.wage import LONGEST_S, Wage
from judgeloop.ledger.opening import open_ledger
from judgeloop.page import desk, server

PAIR = Call(Item("secret-item", "task", "reference"), ("secret-x", "secret-y"), ("one", "two"))
RATED = Call(Item("secret-item", "task"), ("secret-x",), ("one",))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(server, "LATELY_S", 0.2)
    monkeypatch.setattr(server, "LOOK_S", 0.01)
    monkeypatch.setattr(desk, "LAST_S", 0.0)
    monkeypatch.setattr(page, "TICK_S", 0.02)


def judge_of(folder, *people, price=None, rubric=None):
    judge = PageJudge(rubric=rubric, wage=Wage(price), options=PageOptions(people, port=0))
    judge.begin("run", str(folder))
    return judge


class Person:
    """Judges in a window of a real server until it is over."""

    def __init__(self, judge, at=0, say=lambda pair: "a", most=10**6, seconds=1.0, then=lambda: None, reads=0.0):
        self.judge, self.at, self.say, self.most, self.seconds, self.then = judge, at, say, most, seconds, then
        self.reads = reads
        self.shown, self.end, self.said = [], "", 0

    async def judges(self):
        while self.judge.pages is None or self.judge._server is None:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)
        token = [*self.judge.pages.links.tokens.values()][self.at]
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.judge._server.port}", timeout=30) as client:
            entered = (await client.post("/api/enter", json={"token": token})).json()
            client.headers["authorization"] = f"Bearer {entered['session']}"
            while self.said < self.most:
                found = (await client.get("/api/next")).json()
                self.end = found.get("over", "")
                if self.end:
                    return
                if "pair" not in found:
                    continue
                pair = found["pair"]
                self.shown.append(pair["prompt"]["text"])
                await asyncio.sleep(self.reads)
                await client.post(
                    "/api/answer",
                    json={"id": pair["id"], "key": self.say(pair), "seconds": self.seconds, "note": "why"},
                )
                self.said += 1
        self.then()


@pytest.mark.parametrize(
    ("call", "key", "answer"),
    [
        (PAIR, "a", Verdict(1.0, reason="why")),
        (PAIR, "b", Verdict(0.0, reason="why")),
        (PAIR, "t", Verdict(0.5, reason="why")),
        (PAIR, "x", Verdict(0.5, reason="both bad: why")),
        (PAIR, "s", Abstention("why")),
        (RATED, "4", Verdict(0.75, reason="why")),
    ],
)
def test_a_key_is_an_answer(tmp_path, capsys, call, key, answer):
    async def story():
        judge = judge_of(tmp_path, "anna")
        person = asyncio.create_task(Person(judge, say=lambda pair: key).judges())
        reply = await judge.judge(call)
        await judge.aclose()
        await person
        return reply

    reply = asyncio.run(story())
    assert reply.answer == answer
    assert reply.person == "anna"
    assert reply.seconds is not None
    assert reply.cost_p == 0
    assert "anna: http://127.0.0.1:" in capsys.readouterr().err


def test_people_on_a_page_are_another_judge_than_at_a_terminal(tmp_path):
    at_page = judge_of(tmp_path).identity
    assert at_page != HumanJudge().identity
    assert at_page != judge_of(tmp_path, rubric="Be kind.").identity
    assert at_page == judge_of(tmp_path, "anna", "ben", price=Decimal(40)).identity, "who judges is no part of it"


def test_time_is_paid_up_to_the_longest(tmp_path):
    judge = judge_of(tmp_path, price=Decimal(36))
    assert judge.quote(PAIR).cost_p == 3 * 10**12 == Wage(Decimal(36)).cost_p(10 * LONGEST_S)
    assert Wage(Decimal(36)).cost_p(1) == 10**10
    assert 0 < judge.quote(PAIR).likely_cost_p < judge.quote(PAIR).cost_p
    assert judge_of(tmp_path).quote(PAIR).cost_p == 0


def judged(folder, persons, *, ledger="l.sqlite", items=12, price=None, **more):
    """A run that these people judge, and what became of them."""

    async def told():
        judge = judge_of(folder, *[f"person-{at}" for at in range(len(persons))], price=price)
        people = [Person(judge, at, **person) for at, person in enumerate(persons)]
        windows = [asyncio.create_task(person.judges()) for person in people]
        book = open_ledger(folder / ledger)
        try:
            await book.recover("run")
            terms = Terms("run", order=Order.RANDOM, concurrency=judge.at_once, timeout_s=None, **more.pop("terms", {}))
            session = make_session(
                items, limits=more.pop("limits", Limits(items, items, max_abstentions=1.0)), ahead=judge.at_once
            )
            finished = await drive(session, make_pool(items), judge, book, terms, **more)
        finally:
            await judge.aclose()
            await book.aclose()
            for window in windows if judge.pages is None else ():
                window.cancel()
            await asyncio.gather(*windows, return_exceptions=True)
        return finished, people

    return asyncio.run(asyncio.wait_for(told(), PATIENCE_S))


def better(pair):
    return "a" if pair["outputs"][0]["text"].startswith("a's") else "b"


def journal_seconds(folder):
    (path,) = folder.glob("people-*.jsonl")
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return sum(line["seconds"] for line in lines if line["what"] == "answer")


@pytest.mark.parametrize("count", [1, 3])
def test_people_together_judge_each_item_once_and_the_booked_time_is_theirs(tmp_path, count):
    rng = random.Random(7)
    persons = [{"say": better, "seconds": rng.choice([0.0, 0.01])} for _ in range(count)]
    finished, people = judged(tmp_path, persons, price=Decimal(40))
    assert [label.answer.score for label in finished.ending.labels] == [1.0] * 12
    shown = [text for person in people for text in person.shown]
    assert len(shown) == len(set(shown)) == 12
    assert {person.end for person in people} == {"decided"}
    assert finished.spend.charged_p == pytest.approx(journal_seconds(tmp_path) * 40 * 10**12 / 3600, abs=12)


def test_the_decision_is_that_of_one_after_another(tmp_path):
    limits = Limits(5, 40)
    alone, _ = judged(tmp_path / "one", [{"say": better}], items=40, limits=limits)
    team, _ = judged(tmp_path / "three", [{"say": better}] * 3, items=40, limits=limits)
    assert alone.ending.winner == team.ending.winner == 0
    assert alone.ending.estimate.tally == team.ending.estimate.tally
    assert team.ending.ahead <= 12


def test_who_is_interrupted_has_what_was_said_and_nothing_else_is_charged(tmp_path):
    interruption = Interruption()
    persons = [{"say": better, "most": 4, "then": interruption.request}]
    finished, (person,) = judged(tmp_path, persons, price=Decimal(40), interruption=interruption)
    assert finished.ending.stop.kind is StopKind.INTERRUPTED
    assert finished.ending.asked == 4, "the last, which could be taken back, too"
    assert finished.spend.charged_p < 4 * 10**11
    again, (person,) = judged(tmp_path, [{"say": better}], price=Decimal(40))
    assert again.ending.asked == 12
    assert len(person.shown) == 8


def test_who_skips_too_much_hears_that_and_is_asked_again_by_the_next_command(tmp_path):
    limits = Limits(12, 12, max_abstentions=0.1)
    finished, (person,) = judged(tmp_path, [{"say": lambda pair: "s"}], limits=limits, terms={"repeated": 0.5})
    assert finished.ending.stop.kind is StopKind.ABSTENTIONS
    assert person.end == "skips"
    again, (person,) = judged(tmp_path, [{"say": better}])
    assert again.ending.estimate.tally.judged == len(person.shown) == 12


def test_a_budget_that_is_used_up_is_told(tmp_path):
    wage = Wage(Decimal(40))
    finished, (person,) = judged(
        tmp_path, [{"say": better, "seconds": 0.0}], price=Decimal(40), terms={"budget_p": wage.cost_p(LONGEST_S) - 1}
    )
    assert finished.ending.stop.kind is StopKind.BUDGET
    assert finished.ending.asked == 0
    assert person.shown == []


@pytest.mark.parametrize("count", [1, 3, 8])
def test_no_more_is_set_aside_or_booked_than_the_budget_has(tmp_path, count):
    budget_p = 2 * Wage(Decimal(40)).cost_p(LONGEST_S) + 1
    finished, people = judged(
        tmp_path, [{"say": better, "seconds": 0.01}] * count, items=12, price=Decimal(40), terms={"budget_p": budget_p}
    )
    assert finished.ending.asked == 12, "what is not taken of the most is free again"
    assert sum(person.said for person in people) == 12
    assert finished.spend.charged_p <= budget_p
    assert finished.spend.charged_p == pytest.approx(journal_seconds(tmp_path) * 40 * 10**12 / 3600, abs=12)


def test_nobody_waits_where_the_budget_holds_one_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(desk, "LAST_S", 2 * PATIENCE_S)
    wage = Wage(Decimal(40))
    finished, (person,) = judged(
        tmp_path, [{"say": better, "reads": 0.1}], items=40, price=Decimal(40),
        terms={"budget_p": wage.cost_p(LONGEST_S) + wage.cost_p(1.0)},
    )  # fmt: skip
    assert finished.ending.stop.kind is StopKind.BUDGET
    assert 2 <= finished.ending.asked == len(person.shown) <= 11, "of a tenth to a whole second each"
    assert person.end == "budget", "also who has nothing in hand when it ends"


@pytest.mark.parametrize("items", [6, 40])
def test_who_judged_up_to_a_limit_that_decides_nothing_hears_that_it_may_go_on(tmp_path, items):
    finished, (person,) = judged(
        tmp_path, [{"say": lambda pair: "s" if pair["number"] > 2 else "t"}], items=items,
        limits=Limits(5, 6, max_abstentions=1.0),
    )  # fmt: skip
    assert finished.ending.stop.kind in {StopKind.JUDGMENT_LIMIT, StopKind.POOL_EXHAUSTED}
    assert person.end == "open"


def test_who_judged_up_to_a_decision_hears_that_it_is_over(tmp_path):
    finished, (person,) = judged(tmp_path, [{"say": better}], limits=Limits(5, 12))
    assert finished.ending.winner is not None
    assert person.end == "decided"


def test_the_terminal_says_how_far_the_budget_goes_and_how_many_it_holds(tmp_path, capsys):
    async def said(budget_p, affords, asked=0, most=111, **known):
        judge = PageJudge(rubric=None, wage=Wage(Decimal(40)), options=PageOptions((), port=0, budget_p=budget_p))
        judge.begin(f"run{asked}", str(tmp_path))
        judge.hear(SoFar(asked, most, each_s=45.0, affords=affords, **(known or {"usual": (10, 62)})))
        call = asyncio.create_task(judge.judge(PAIR))
        while judge._server is None or judge._ticking is None:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)
        await judge.aclose()
        await asyncio.gather(call, return_exceptions=True)
        return capsys.readouterr().err

    short = asyncio.run(said(5 * 10**12, 4))
    assert "about 62 are judged" in short
    assert "pays for about 4 pairs, at 45 s each." in short
    assert "(with 162, most would decide)" in asyncio.run(said(None, None, needs=162))
    assert "$5.00 holds 1 at a time, as $3.33" in short
    enough = asyncio.run(said(80 * 10**12, None))
    assert "about 62 are judged" in enough
    assert "budget" not in enough
    one = asyncio.run(said(None, None, asked=40, most=83, usual=(45, 77)))
    assert "Usually about 37 more are judged, at most 43 more (40 are known), about 30 min of" in one, "of one kind"
    one = asyncio.run(said(None, 50, asked=41, most=83, skipped=1, usual=(45, 77)))
    assert "about 37 more are judged, at most 42 more (40 are known)" in one
    assert "pays for about 10 more pairs, at 45 s each." in one
    one = asyncio.run(said(None, None, asked=40, needs=162))
    assert "At most 71 more are judged (40 are known), about 55 min" in one
    assert "(with 122 more, most would decide)" in one


def test_a_taken_port_is_left_to_its_owner(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        found = server._bound("127.0.0.1", taken)
        assert found.getsockname()[1] != taken
        found.close()


def test_what_a_run_has_heard_of_is_counted_once(tmp_path):
    async def story():
        judge = judge_of(tmp_path)
        judge.hear(SoFar(5, 200))
        person = asyncio.create_task(Person(judge).judges())
        await judge.judge(PAIR)
        flying = judge.desk.held
        judge.hear(SoFar(6, 200))
        after = judge.desk.held
        await judge.aclose()
        await person
        return flying, after

    assert asyncio.run(story()) == (1, 0)


def test_what_is_usual_is_what_was_known_before_the_first_answer_also_after_a_restart(tmp_path, capsys):
    async def story(*heard, people=("anna", "ben"), most=200):
        judge = judge_of(tmp_path, *people)
        judge.hear(SoFar(0, 200, usual=heard[0]))
        call = asyncio.create_task(judge.judge(PAIR))
        while judge._ticking is None:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)
        judge.hear(SoFar(24, most, usual=heard[1]))
        await judge.aclose()
        await asyncio.gather(call, return_exceptions=True)
        return judge._standing

    assert asyncio.run(story((10, 31), (10, 31))).usual == (10, 31)
    again = asyncio.run(story((3, 7), (3, 7)))
    assert (again.usual, again.asked) == ((10, 31), 24)
    assert "Usually about 7 are judged" in capsys.readouterr().err, "whoever runs it reads what a dry run says"
    assert asyncio.run(story((3, 7), (3, 7), most=30)).usual is None, "fewer are left to judge"
    assert asyncio.run(story((3, 7), (3, 7), people=())).usual == (3, 7), "who judges alone is told all along"


def test_a_skip_is_booked_once_though_the_run_is_started_again(tmp_path):
    async def story(say):
        judge = judge_of(tmp_path, "anna", "ben", price=Decimal(40))
        call = asyncio.create_task(judge.judge(PAIR))
        # Below a twentieth of a second is rounded to none.
        windows = [asyncio.create_task(Person(judge, at, say=lambda pair: "s", reads=0.1).judges()) for at in say]
        reply = await call
        judge.leave(StopKind.INTERRUPTED)
        await judge.aclose()
        await asyncio.gather(*windows)
        return reply

    first, again = asyncio.run(story((0, 1))), asyncio.run(story(()))
    assert first.cost_p > 0
    assert first.person in {"anna", "ben"}
    assert (again.answer, again.cost_p, again.person, again.seconds) == (Abstention("skipped"), 0, "", None)


def test_the_terminal_hears_how_far_all_are_and_nothing_of_the_lead(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(page, "TELL_S", 0.0)

    async def story():
        judge = judge_of(tmp_path, "anna", "ben")
        judge.hear(SoFar(5, 200, 30, usual=(10, 31), each_s=60.0))
        calls = [asyncio.create_task(judge.judge(replace(PAIR, outputs=("one", str(at))))) for at in range(3)]
        person = Person(judge, say=lambda pair: "abs"[pair["number"] - 1], most=3)
        await person.judges()
        said = ""
        while "7 of at most 200 judged: anna 2 and 1 skipped, ben 0\n" not in said:
            said += capsys.readouterr().err
            await asyncio.sleep(0.01)
        await judge.aclose()
        await asyncio.gather(*calls, return_exceptions=True)
        return said

    said = asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    first, _, later = said.partition("Ctrl-C")
    assert " 25 min " in first, "of the 26 that are left"
    assert "25" not in later


def test_without_the_extra_a_page_is_refused(monkeypatch):
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"judgeloop\[page\]"):
        page.check_extra()


def test_after_leaving_nobody_is_asked(tmp_path):
    async def story():
        judge = judge_of(tmp_path)
        judge.leave(StopKind.INTERRUPTED)
        with pytest.raises(JudgeError) as refused:
            await judge.judge(PAIR)
        return refused.value

    error = asyncio.run(story())
    assert error.kind is ErrorKind.QUIT
    assert not error.billed


def test_a_stop_by_the_owner_ends_the_run_once_nobody_has_anything_in_hand(tmp_path):
    async def story():
        judge = judge_of(tmp_path, "anna")
        calls = [asyncio.create_task(judge.judge(replace(PAIR, item=Item(str(at), f"task {at}")))) for at in range(3)]
        await asyncio.create_task(Person(judge, most=1).judges())
        assert judge.desk.take("anna", asyncio.get_running_loop().time()) is not None
        judge.desk.stops = True
        await asyncio.sleep(0.1)
        assert not judge.desk.over, "anna has one in hand"
        judge.desk.people["anna"].hand.there -= 1000
        left = await asyncio.gather(*calls, return_exceptions=True)
        await judge.aclose()
        return left, judge.desk.over

    (first, *others), over = asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    assert first.answer == Verdict(1.0, reason="why")
    assert [(one.kind, "owner" in str(one)) for one in others] == [(ErrorKind.QUIT, True)] * 2
    assert over == "stopped"
