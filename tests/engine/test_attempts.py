"""One call until it has an answer: attempts, each with its own reservation, that fail or cannot be read."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from support.driving import AT_ONCE, failing, run, script_from

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Abstention, Order, Verdict
from judgeloop.engine.attempts import FIRST_ITEMS, IN_A_ROW, Refusals
from judgeloop.engine.pace import RetryPolicy
from judgeloop.engine.session import Limits
from judgeloop.engine.state import RunState, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.papers.diffuse.rules import TieAware

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


@pytest.mark.parametrize(("billed", "cost_p"), [(False, 2), (True, 2 + 2 * 7)])
def test_every_attempt_is_a_reservation_of_its_own(billed, cost_p):
    judge = ScriptedJudge(failing(2, JudgeError(ErrorKind.RETRY, "busy", billed=billed)), cost_p=2, worst_p=7)
    finished = run(judge, items=5)
    assert finished.ending.winner == 0
    assert len(judge.calls) == 10 * 3
    assert finished.spend.charged_p == 10 * cost_p


def test_a_call_that_fails_at_its_last_attempt_abstains_until_the_next_run(tmp_path):
    error = JudgeError(ErrorKind.RETRY, "busy", billed=False)

    def script(call):
        if call.item.id == "item-3":
            raise error
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    ledger = tmp_path / "l.sqlite"
    terms = Terms("run", policy=AT_ONCE, order=Order.FIXED)
    outcome = run(ScriptedJudge(script), items=5, ledger=ledger, terms=terms).ending
    assert outcome.estimate.tally.abstentions == 1
    judge = ScriptedJudge(script_from([1.0] * 5))
    outcome = run(judge, items=5, ledger=ledger, terms=terms).ending
    assert [call.item.id for call in judge.calls] == ["item-3"]
    assert outcome.estimate.tally.abstentions == 0


def test_a_crowded_server_is_asked_again_beyond_four_attempts_at_a_lower_pace():
    now, seen = 0, []

    class Crowded(ScriptedJudge):
        """Bears two calls at a time."""

        async def judge(self, call):
            nonlocal now
            now += 1
            seen.append(now)
            try:
                await asyncio.sleep(0.001)
                if len(seen) < 60:
                    raise JudgeError(ErrorKind.CROWDED, "HTTP 429", billed=False)
                return await super().judge(call)
            finally:
                now -= 1

    policy = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.01)
    told = []
    finished = run(
        Crowded(script_from([1.0] * 40)),
        terms=Terms("run", concurrency=10, policy=policy),
        limits=Limits(10, 10),
        observe=told.append,
    )
    assert finished.ending.winner == 0
    assert (told[0].asked, told[0].slowed_to) == (0, 7), "it is told before the first answer"
    assert len(seen) > 4 * 10
    assert max(seen[:10]) == 10
    assert max(seen[20:60]) <= 7, "fewer at a time once it is crowded"
    assert finished.spend.charged_p == 0


def test_a_crowded_server_is_given_up_once_patience_is_at_its_end():
    error = JudgeError(ErrorKind.CROWDED, "HTTP 429", billed=False)
    judge = ScriptedJudge(failing(10**9, error))
    policy = RetryPolicy(first_wait_s=0.01, longest_wait_s=0.01, patience_s=0.3)
    finished = run(judge, items=1, terms=Terms("run", order=Order.FIXED, policy=policy), limits=Limits(1, 1, 1.0))
    assert finished.ending.estimate.tally.abstentions == 1
    assert len(judge.calls) > 4


def unreadable(times, *, again=True):
    """A script whose replies cannot be read so many times on each call."""
    failed = Counter()

    def script(call):
        key = (call.item.id, call.systems)
        failed[key] += 1
        if failed[key] <= times:
            return Abstention("unparsable", again=again)
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    return script


@pytest.mark.parametrize(
    ("times", "again", "calls_each", "abstentions"),
    [(0, True, 1, 0), (1, True, 2, 0), (2, True, 2, 5), (1, False, 1, 5)],
)
def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_charged(times, again, calls_each, abstentions):
    judge = ScriptedJudge(unreadable(times, again=again), cost_p=2, worst_p=5)
    finished = run(judge, items=5, terms=Terms("run", order=Order.FIXED), limits=Limits(5, 5, 1.0))
    assert len(judge.calls) == 5 * calls_each
    assert finished.spend.charged_p == 2 * len(judge.calls)
    assert finished.ending.estimate.tally.abstentions == abstentions


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_a_second_asking_waits_for_what_others_give_back_before_it_is_given_up(concurrency):
    asked = Counter()

    def script(call):
        asked[call.item.id] += 1
        return Abstention("unparsable", again=True) if asked[call.item.id] == 1 else Verdict(1.0)

    judge = ScriptedJudge(script, cost_p=1, worst_p=10, delay_s=lambda call: 0.002)
    finished = run(
        judge, items=8, rule=TieAware(-1), limits=Limits(8, 8, 1.0),
        terms=Terms("run", budget_p=80, order=Order.FIXED, concurrency=concurrency, policy=AT_ONCE),
    )  # fmt: skip
    assert finished.ending.estimate.tally.abstentions == 0
    assert finished.spend.charged_p == 16


def test_where_no_money_comes_back_a_second_asking_is_given_up_and_nothing_hangs():
    judge = ScriptedJudge(lambda call: Abstention("unparsable", again=True), cost_p=10, worst_p=10)
    finished = run(
        judge, items=8, limits=Limits(8, 8, 1.0),
        terms=Terms("run", budget_p=80, order=Order.FIXED, concurrency=8, policy=AT_ONCE),
    )  # fmt: skip
    assert finished.ending.estimate.tally.abstentions == 8
    assert finished.spend.charged_p == 80


def refusals_of(*, found=False, **options):
    state = RunState(Terms("run"))
    state.found = found
    return Refusals(state, **options)


def test_before_any_reply_the_first_items_are_blamed_however_often_each_is_refused():
    refusals = refusals_of()
    for number in range(FIRST_ITEMS - 1):
        assert all(refusals.blames(f"i{number}") for _ in range(IN_A_ROW))
    assert not refusals.blames("one more")


@pytest.mark.parametrize("found", [False, True])
def test_a_reply_now_or_in_the_ledger_begins_a_longer_row(found):
    refusals = refusals_of(found=found)
    if not found:
        assert refusals.blames("i0")
        refusals.note_reply()
    blamed = [refusals.blames(f"i{number}") for number in range(IN_A_ROW + 1)]
    assert blamed == [*[True] * IN_A_ROW, False]
    refusals.note_reply()
    assert refusals.blames("i0")


def test_where_one_item_is_asked_about_no_item_is_blamed_before_a_reply():
    assert not refusals_of(first_items=1).blames("i")
