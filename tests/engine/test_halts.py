"""How a run ends before its time: a judge that is down, an interruption, a deadline, a fault; what
is paid for is kept."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

import pytest
from support.driving import failing, run, script_from
from support.pools import make_pool, make_session, scores

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Reply, Verdict
from judgeloop.engine.accounts import AHEAD
from judgeloop.engine.loop import drive
from judgeloop.engine.presentation import Order
from judgeloop.engine.retrying import RetryPolicy
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption
from judgeloop.engine.terms import Terms
from judgeloop.judges.scripted import ScriptedJudge
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.methods.stopping.majority import TieAware

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
    outcome = run(judge, limits=Limits(30, 30, 1.0)).outcome
    assert outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "no reply" in outcome.stop.sentence
    assert len(judge.calls) <= 4 * (5 + round(AHEAD * 8)), (
        "five calls, and what was in flight with them"
    )


def test_a_rejection_stops_at_once_and_keeps_what_was_in_flight(tmp_path):
    def script(call):
        if call.item.id == "item-7":
            raise JudgeError(ErrorKind.REJECTED, "the key is not accepted", billed=False)
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    judge = ScriptedJudge(
        script, cost_p=1, delay_s=lambda call: 0.0 if call.item.id == "item-7" else 0.02
    )
    finished = run(judge, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite")
    assert finished.outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "not accepted" in finished.outcome.stop.sentence
    assert finished.spend.charged_p == sum(call.item.id != "item-7" for call in judge.calls)
    again = ScriptedJudge(script_from([1.0] * 40))
    run(again, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite")
    assert len(again.calls) == 80 - finished.spend.charged_p


def test_a_charge_above_the_worst_case_stops_the_run():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=9, worst_p=5)
    outcome = run(judge).outcome
    assert outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "more than the worst case" in outcome.stop.sentence


def test_a_judge_that_never_answers_is_timed_out_and_stays_charged():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=6, delay_s=lambda call: 60)
    terms = Terms("run", timeout_s=0.05, policy=RetryPolicy(attempts=1), order=Order.FIXED)
    finished = run(judge, items=2, terms=terms)
    assert finished.outcome.stop.kind is StopKind.ABSTENTIONS
    assert "no reply within" in finished.outcome.stop.sentence
    assert finished.spend.charged_p == 12


def test_a_fault_in_a_judge_surfaces_after_what_was_in_flight_has_landed(tmp_path):
    def script(call):
        if call is judge.calls[0]:
            raise ZeroDivisionError
        return Verdict(1.0)

    ledger = tmp_path / "l.sqlite"
    judge = AtOnce(5, script, cost_p=1, worst_p=4)
    with pytest.raises(ZeroDivisionError):
        run(judge, items=5, ledger=ledger, terms=Terms("run", order=Order.FIXED))
    again = ScriptedJudge(script_from([1.0] * 5), cost_p=1)
    finished = run(again, items=5, ledger=ledger, terms=Terms("run", order=Order.FIXED))
    assert [call.item.id for call in again.calls] == [judge.calls[0].item.id]
    assert finished.spend.run_p == 4 + 4 + 1, (
        "four verdicts, the fault at its worst case, and the one asked again"
    )


def at_call(number, act, delay_s):
    """Do something when the judge gets its call of that number; every call takes `delay_s`."""
    calls = itertools.count(1)

    def delay(call):
        if next(calls) == number:
            act()
        return delay_s

    return delay


@pytest.mark.parametrize("how", [StopKind.INTERRUPTED, StopKind.DEADLINE])
def test_an_interruption_or_a_deadline_drains_what_is_in_flight_and_keeps_it(how, tmp_path):
    interruption = Interruption()
    terms, delay_s = Terms("run", concurrency=4), at_call(20, interruption.request, 0.03)
    if how is StopKind.DEADLINE:
        terms, delay_s = replace(terms, deadline_s=2.0), lambda call: 0.3
    judge = ScriptedJudge(script_from([1.0, 0.0] * 20), cost_p=1, delay_s=delay_s)
    finished = run(
        judge, limits=Limits(40, 40), terms=terms, interruption=interruption,
        ledger=tmp_path / "l.sqlite",
    )  # fmt: skip
    assert finished.outcome.stop.kind is how
    if how is StopKind.DEADLINE:
        assert finished.outcome.stop.sentence == "the deadline of 2 s is reached"
    assert 0 < finished.outcome.asked < 40
    assert finished.spend.charged_p == len(judge.calls)
    assert finished.spend.charged_p >= 2 * finished.outcome.asked, "first calls alone are kept too"


@pytest.mark.timeout(30)
def test_a_second_interruption_abandons_what_is_in_flight_and_leaves_it_charged(tmp_path):
    interruption = Interruption()

    def twice():
        interruption.request()
        asyncio.get_running_loop().call_later(0.05, interruption.request)

    delay_s = at_call(4, twice, 60)
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=5, delay_s=delay_s)
    terms = Terms("run", concurrency=4)
    finished = run(judge, terms=terms, interruption=interruption, ledger=tmp_path / "l.sqlite")
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED
    assert finished.outcome.asked == 0
    assert finished.spend.charged_p == 5 * len(judge.calls) > 0


@pytest.mark.timeout(30)
def test_an_interruption_ends_the_wait_for_another_attempt():
    interruption = Interruption()

    def script(call):
        asyncio.get_running_loop().call_later(0.05, interruption.request)
        raise JudgeError(ErrorKind.RETRY, "busy", billed=False, wait_s=50)

    finished = run(ScriptedJudge(script), terms=Terms("run"), interruption=interruption)
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED


def test_a_cancelled_run_books_what_was_in_flight(tmp_path):
    async def story():
        book = SqliteLedger(tmp_path / "l.sqlite")
        asked = asyncio.Event()
        delay_s = at_call(1, asked.set, 60)
        judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=5, delay_s=delay_s)
        running = asyncio.create_task(
            drive(make_session(40), make_pool(40), judge, book, Terms("run"))
        )
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
    run(
        ScriptedJudge(script_from(table)),
        ledger=ledger,
        limits=Limits(max_judgments=7),
        rule=TieAware(-1),
    )
    judge = ScriptedJudge(script_from(table))
    terms = Terms("run", offline=True)
    outcome = run(
        judge, ledger=ledger, limits=Limits(max_judgments=20), rule=TieAware(-1), terms=terms
    ).outcome
    assert outcome.stop.kind is StopKind.DRY_RUN
    assert outcome.asked == 7
    assert not judge.calls


def test_a_judge_that_leaves_halts_the_run_as_if_interrupted(tmp_path):
    def script(call):
        if len(judge.calls) > 3:
            raise JudgeError(ErrorKind.QUIT, "the judge has left", billed=False)
        return Verdict(1.0)

    judge = ScriptedJudge(script, cost_p=1)
    terms = Terms("run", order=Order.FIXED, concurrency=1)
    finished = run(judge, ledger=tmp_path / "l.sqlite", terms=terms, limits=Limits(9, 9))
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED
    assert finished.outcome.asked == 3
    assert finished.spend.charged_p == 3
    again = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1)
    run(again, ledger=tmp_path / "l.sqlite", terms=terms, limits=Limits(9, 9))
    assert len(again.calls) == 6


REJECTIONS = {
    "a rejection": JudgeError(
        ErrorKind.REJECTED, "HTTP 401: the key is not accepted", billed=False
    ),
    "no credit": JudgeError(
        ErrorKind.REJECTED, "HTTP 429: the account has no credit left", billed=False
    ),
    "a rejection that is billed": JudgeError(ErrorKind.REJECTED, "HTTP 400: no", billed=True),
}


@pytest.mark.parametrize("order", [Order.FIXED, Order.BOTH])
@pytest.mark.parametrize("rejection", REJECTIONS)
def test_after_a_terminal_answer_no_reservation_that_waits_is_sent(rejection, order, tmp_path):
    """Eight calls are in flight and four wait for a place; the first reply is terminal, the others
    come when their places could have been taken by those that wait."""
    error = REJECTIONS[rejection]

    def script(call):
        if call is judge.calls[0]:
            raise error
        return Verdict(1.0)

    judge = AtOnce(8, script, cost_p=1, worst_p=5)
    terms = Terms("run", concurrency=8, order=order, policy=RetryPolicy(first_wait_s=0.01))
    finished = run(judge, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite", terms=terms)
    assert finished.outcome.stop.kind is StopKind.JUDGE_FAILED
    assert str(error) in finished.outcome.stop.sentence
    assert len(judge.calls) == 8
    assert finished.spend.charged_p == 7 + 5 * error.billed


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
    assert finished.outcome.stop.kind is StopKind.JUDGE_FAILED
    assert len(asked) == 8


def test_after_a_fault_in_a_judge_no_reservation_that_waits_is_sent():
    def script(call):
        if call.item.id == judge.calls[0].item.id:
            raise ZeroDivisionError
        return Verdict(1.0)

    judge = AtOnce(8, script)
    with pytest.raises(ZeroDivisionError):
        run(judge, terms=Terms("run", concurrency=8, order=Order.FIXED), limits=Limits(40, 40))
    assert len(judge.calls) == 8
