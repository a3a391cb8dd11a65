"""How a run ends before its time: a judge that is down, an interruption, a deadline, a fault; what
is paid for is kept."""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import replace

import pytest
from support.driving import failing, run, script_from
from support.pools import make_pool, make_session, scores

from judgeloop.core.errors import ErrorKind, JudgeError, LedgerError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Order, Reply, Verdict
from judgeloop.engine.accounts import AHEAD
from judgeloop.engine.loop import drive
from judgeloop.engine.pace import RetryPolicy
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.papers.diffuse.rules import TieAware

HOUR_S = 3600.0
CENT_P = 10**10
pytestmark = pytest.mark.usefixtures("no_task_is_lost")


class AtOnce(ScriptedJudge):
    """Answers once so many calls have come: first the first of them, then the others."""

    def __init__(self, so_many, *script, **costs):
        super().__init__(*script, **costs)
        self.so_many, self.come, self.over = so_many, asyncio.Event(), asyncio.Event()

    async def judge(self, call):
        self.calls.append(call)
        if len(self.calls) == self.so_many:
            self.come.set()
        await self.come.wait()
        if call is not self.calls[0]:
            await self.over.wait()
        self.over.set()
        return Reply(self.script(call), cost_p=self.cost_p, model=self.model)


def test_a_judge_that_is_down_stops_the_run():
    judge = ScriptedJudge(failing(10**6, JudgeError(ErrorKind.RETRY, "no reply", billed=False)))
    outcome = run(judge, limits=Limits(30, 30, 1.0)).ending
    assert outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "no reply" in outcome.stop.sentence
    assert len(judge.calls) <= 4 * (5 + round(AHEAD * 8)), "five calls, and what was in flight with them"


def test_a_judge_that_fails_closes_no_other_run_of_the_same_command():
    down = ScriptedJudge(failing(10**6, JudgeError(ErrorKind.REJECTED, "no key", billed=False)))
    sound = ScriptedJudge(script_from([1.0] * 40))

    async def story():
        together, book = Interruption(), open_ledger(":memory:")
        try:
            return [
                await drive(make_session(40), make_pool(40), judge, book, Terms(name), interruption=together)
                for name, judge in (("down", down), ("sound", sound))
            ]
        finally:
            await book.aclose()

    kinds = [finished.ending.stop.kind for finished in asyncio.run(story())]
    assert kinds == [StopKind.JUDGE_FAILED, StopKind.RISK_MET]


def test_a_charge_above_the_worst_case_stops_the_run():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=9, worst_p=5)
    outcome = run(judge).ending
    assert outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "more than the worst case" in outcome.stop.sentence


def test_a_judge_that_never_answers_is_timed_out_and_stays_charged():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=6, delay_s=lambda call: 60)
    terms = Terms("run", timeout_s=0.05, policy=RetryPolicy(attempts=1), order=Order.FIXED)
    finished = run(judge, items=2, terms=terms)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED, "it has not abstained"
    assert "no reply within" in finished.ending.stop.sentence
    assert finished.spend.charged_p == 12


def test_a_fault_in_a_judge_surfaces_after_what_was_in_flight_has_landed(tmp_path):
    def script(call):
        if call is judge.calls[0]:
            raise ZeroDivisionError
        return Verdict(1.0)

    judge, ledger = AtOnce(8, script, cost_p=1, worst_p=4), tmp_path / "l.sqlite"
    terms = Terms("run", concurrency=8, order=Order.FIXED)
    with pytest.raises(ZeroDivisionError):
        run(judge, ledger=ledger, terms=terms, limits=Limits(40, 40))
    assert len(judge.calls) == 8, "no reservation that waited was sent"
    again = ScriptedJudge(script_from([1.0] * 40), cost_p=1)
    finished = run(again, ledger=ledger, terms=terms, limits=Limits(40, 40))
    assert judge.calls[0].item.id in {call.item.id for call in again.calls}
    assert len(again.calls) == 33
    assert finished.spend.run_p == 7 + 4 + 33, "seven verdicts, the fault at its worst case, the rest"


def at_call(number, act, delay_s):
    """Do something when the judge gets its call of that number; every call takes `delay_s`."""
    calls = itertools.count(1)

    def delay(call):
        if next(calls) == number:
            act()
        return delay_s

    return delay


@pytest.mark.parametrize("how", [StopKind.INTERRUPTED, StopKind.DEADLINE])
def test_an_interruption_or_a_deadline_drains_what_is_in_flight_and_keeps_it(how, tmp_path, clock):
    interruption = Interruption()
    terms, delay_s = Terms("run", concurrency=4), at_call(20, interruption.request, 0.03)
    if how is StopKind.DEADLINE:
        terms, delay_s = replace(terms, deadline_s=HOUR_S), at_call(20, lambda: clock.skip(HOUR_S), 0.03)
    judge = ScriptedJudge(script_from([1.0, 0.0] * 20), cost_p=1, delay_s=delay_s)
    finished = run(
        judge, limits=Limits(40, 40), terms=terms, interruption=interruption,
        ledger=tmp_path / "l.sqlite",
    )  # fmt: skip
    assert finished.ending.stop.kind is how
    if how is StopKind.DEADLINE:
        assert finished.ending.stop.sentence == "the deadline of 3600 s is reached", "no call failed"
    assert 0 < finished.ending.asked < 40
    assert finished.spend.charged_p == len(judge.calls)
    assert finished.spend.charged_p >= 2 * finished.ending.asked, "first calls alone are kept too"


def test_a_second_interruption_abandons_what_is_in_flight_and_leaves_it_charged(tmp_path):
    interruption = Interruption()

    def twice():
        interruption.request()
        asyncio.get_running_loop().call_later(0.05, interruption.request)

    delay_s = at_call(4, twice, 60)
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=5, delay_s=delay_s)
    terms = Terms("run", concurrency=4)
    finished = run(judge, terms=terms, interruption=interruption, ledger=tmp_path / "l.sqlite")
    assert finished.ending.stop.kind is StopKind.INTERRUPTED
    assert finished.ending.asked == 0
    assert finished.spend.charged_p == 5 * len(judge.calls) > 0


def test_a_deadline_says_that_the_calls_before_it_failed(clock):
    down = JudgeError(ErrorKind.RETRY, "HTTP 500: boom", billed=False)
    judge = ScriptedJudge(failing(10**6, down), delay_s=at_call(2, lambda: clock.skip(HOUR_S), 0.0))
    finished = run(judge, terms=Terms("run", concurrency=1, order=Order.FIXED, deadline_s=HOUR_S))
    assert finished.ending.stop.kind is StopKind.DEADLINE
    assert finished.ending.stop.sentence.endswith("; the last call failed: HTTP 500: boom")


def test_a_deadline_says_that_no_reply_came(clock):
    late = at_call(1, lambda: clock.skip(HOUR_S), 60)
    judge = ScriptedJudge(lambda call: Verdict(1.0), delay_s=late)
    seen = []
    terms = Terms("run", concurrency=1, order=Order.FIXED, deadline_s=HOUR_S, timeout_s=0.05)
    finished = run(judge, terms=terms, observe=lambda one: seen.append(one.trouble))
    assert finished.ending.stop.sentence.endswith("; the last call failed: no reply within 0.05 s")
    assert "no reply within 0.05 s" in seen, "it is said while it happens"


def test_a_budget_that_failed_calls_used_up_says_why_they_failed():
    down = JudgeError(ErrorKind.RETRY, "HTTP 500: boom", billed=True)
    judge = ScriptedJudge(failing(10**6, down), cost_p=5, worst_p=5)
    at_once = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.002)
    finished = run(judge, terms=Terms("run", budget_p=12, policy=at_once))
    assert finished.ending.stop.kind is StopKind.BUDGET
    assert finished.ending.stop.sentence.endswith("; the last call failed: HTTP 500: boom")


def test_a_crowded_server_that_ends_a_run_says_for_how_long_it_was_tried():
    crowded = JudgeError(ErrorKind.CROWDED, "HTTP 429", billed=False)
    policy = RetryPolicy(attempts=2, first_wait_s=1.0, longest_wait_s=1.2, patience_s=1.0)
    judge, limits = ScriptedJudge(failing(10**6, crowded)), Limits(30, 30, 1.0)
    said = run(judge, limits=limits, terms=Terms("run", policy=policy)).ending.stop.sentence
    assert re.search(r"5 calls in a row failed in every attempt \(the last was tried for \d s\): HTTP 429", said)


def test_a_judge_whose_calls_hold_the_rest_of_a_budget_is_what_ended_the_run():
    down = JudgeError(ErrorKind.RETRY, "HTTP 500: boom", billed=True)
    judge = ScriptedJudge(failing(10**6, down), cost_p=5 * CENT_P, worst_p=5 * CENT_P)
    at_once = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.002)
    finished = run(judge, terms=Terms("run", budget_p=32 * CENT_P, policy=at_once))
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert finished.ending.stop.sentence == (
        "the judge failed: HTTP 500: boom; it was not tried again, as calls in flight held the rest of the money"
    )
    assert finished.spend.charged_p <= 32 * CENT_P
    assert finished.spend.held_p == 0


def test_an_interruption_ends_the_wait_for_another_attempt():
    interruption = Interruption()

    def script(call):
        asyncio.get_running_loop().call_later(0.05, interruption.request)
        raise JudgeError(ErrorKind.RETRY, "busy", billed=False, wait_s=50)

    finished = run(ScriptedJudge(script), terms=Terms("run"), interruption=interruption)
    assert finished.ending.stop.kind is StopKind.INTERRUPTED


def test_a_cancelled_run_books_what_was_in_flight(tmp_path):
    async def story():
        book = open_ledger(tmp_path / "l.sqlite")
        asked = asyncio.Event()
        delay_s = at_call(1, asked.set, 60)
        judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=5, delay_s=delay_s)
        running = asyncio.create_task(drive(make_session(40), make_pool(40), judge, book, Terms("run")))
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        spend = await book.spend("run", None)
        await book.aclose()
        return spend, judge

    spend, judge = asyncio.run(story())
    assert spend.charged_p == 5 * len(judge.calls) > 0


def test_offline_answers_from_the_ledger_and_halts_where_it_has_nothing(tmp_path):
    table, ledger = scores(40, 3), tmp_path / "l.sqlite"
    run(ScriptedJudge(script_from(table)), ledger=ledger, limits=Limits(max_judgments=7), rule=TieAware(-1))
    judge = ScriptedJudge(script_from(table))
    terms = Terms("run", offline=True)
    outcome = run(judge, ledger=ledger, limits=Limits(max_judgments=20), rule=TieAware(-1), terms=terms).ending
    assert outcome.stop.kind is StopKind.DRY_RUN
    assert outcome.asked == 7
    assert not judge.calls


@pytest.mark.parametrize("order", [Order.FIXED, Order.BOTH])
@pytest.mark.parametrize("billed", [False, True])
def test_after_a_terminal_answer_no_reservation_that_waits_is_sent(billed, order, tmp_path):
    """Eight calls are in flight and four wait for a place; the first reply is terminal, the others
    come when their places could have been taken by those that wait."""

    def script(call):
        if call is judge.calls[0]:
            raise JudgeError(ErrorKind.REJECTED, "the key is not accepted", billed=billed)
        return Verdict(1.0)

    judge = AtOnce(8, script, cost_p=1, worst_p=5)
    terms = Terms("run", concurrency=8, order=order, policy=RetryPolicy(first_wait_s=0.01))
    finished = run(judge, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite", terms=terms)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert "the key is not accepted" in finished.ending.stop.sentence
    assert len(judge.calls) == 8
    assert finished.spend.charged_p == 7 + 5 * billed


def test_after_a_terminal_answer_no_call_is_tried_again(tmp_path):
    asked = []

    def script(call):
        asked.append(call.item.id)
        if len(asked) == 1:
            raise JudgeError(ErrorKind.REJECTED, "the key is not accepted", billed=False)
        raise JudgeError(ErrorKind.RETRY, "busy", billed=False)

    judge = AtOnce(8, script)
    terms = Terms("run", concurrency=8, order=Order.FIXED, policy=RetryPolicy(first_wait_s=0.2))
    finished = run(judge, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite", terms=terms)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert len(asked) == 8


class FailingLedger:
    """A ledger of which a method fails at a call; all others take a moment."""

    def __init__(self, ledger, method, at, slow):
        self.ledger, self.method, self.at, self.slow = ledger, method, at, slow

    def __getattr__(self, name):
        method = getattr(self.ledger, name)

        async def called(*given, **more):
            self.at -= name == self.method
            if name == self.method and self.at == 0:
                raise LedgerError("disk full")
            await asyncio.sleep(self.slow.get(name, 0))
            return await method(*given, **more)

        return called


def run_with_failure(judges, at, slow):
    async def story():
        ledger = open_ledger(":memory:")
        terms = Terms("run", order=Order.FIXED, concurrency=2)
        session = make_session(6, limits=Limits(min_judgments=4, max_judgments=6))
        try:
            with pytest.raises(LedgerError, match="disk full"):
                await drive(session, make_pool(6), judges, FailingLedger(ledger, "sending", at, slow), terms)
        finally:
            await ledger.aclose()

    asyncio.run(story())


def test_nothing_is_sent_after_an_error_of_the_ledger():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1)
    run_with_failure(judge, 1, {"sending": 0.01, "release": 0.1})
    assert judge.calls == []


def test_an_error_of_the_ledger_is_told_although_another_call_was_given_up():
    slow = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, model="slow", delay_s=lambda call: 0.1)
    quick = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, model="quick")
    run_with_failure([slow, quick], 5, {})
