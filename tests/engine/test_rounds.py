"""Verdicts of judges that compute and cost nothing: booked by the round, in two commits."""

from __future__ import annotations

import asyncio

import pytest
from support.driving import jitter, run, script_from
from support.pools import make_pool, make_session, scores

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Quote, Reply, Verdict
from judgeloop.engine import accounts
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger import sqlite
from judgeloop.ledger.opening import open_ledger
from judgeloop.papers.diffuse.rules import TieAware

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


class Computed(ScriptedJudge):
    """As a metric: it computes in another thread; its cost is recorded, not paid."""

    def quote(self, call):
        return Quote(self.cost_p, self.cost_p, rehearsed=True)

    async def judge(self, call):
        answer = await asyncio.to_thread(self.script, call)
        if self.delay_s is not None:
            await asyncio.sleep(self.delay_s(call))
        self.calls.append(call)
        return Reply(answer, cost_p=self.cost_p)


def computed(table, **options):
    return Computed(script_from(table), order_matters=False, **options)


@pytest.fixture
def commits(monkeypatch):
    """Counts the transactions that change the ledger."""
    counted, carry_out = [], sqlite.carry_out

    def counting(connection, group):
        before = connection.file.total_changes
        done = carry_out(connection, group)
        if connection.file.total_changes != before:
            counted.append(len(group))
        return done

    monkeypatch.setattr(sqlite, "carry_out", counting)
    return counted


@pytest.mark.parametrize("cost_p", [0, 3])
@pytest.mark.parametrize("selector", ["random", "diffuse"])
def test_a_round_takes_two_commits(commits, selector, cost_p):
    judge = computed(scores(60, 1), cost_p=cost_p, delay_s=jitter)
    outcome = run(judge, items=60, selector=selector, rule=TieAware(0.01)).ending
    assert len(judge.calls) == outcome.asked > 2 * outcome.rounds
    assert len(commits) == 2 * outcome.rounds + 1, "and one notes that the run has ended"


def test_a_judge_that_costs_money_settles_each_reply_when_it_comes(commits):
    judge = ScriptedJudge(
        script_from(scores(40, 1)), cost_p=1, order_matters=False, delay_s=lambda call: 0.02 * len(judge.calls)
    )
    outcome = run(judge, limits=Limits(20, 20)).ending
    assert len(commits) > 2 * outcome.rounds


def test_a_verdict_does_not_wait_for_a_slow_one_of_its_round(commits, monkeypatch, tmp_path):
    monkeypatch.setattr(accounts, "LINGER_S", 0.05)
    seen = []

    def delay(call):
        return 0.5 if call.item.id == "item-3" else 0.0

    judge = computed([1.0] * 10, delay_s=delay)
    run(judge, items=10, limits=Limits(10, 10), observe=lambda told: seen.append(told.asked))
    assert len(commits) == 4, "the others after a moment, the slow one, and the end of the run"
    assert 0 < seen[0] < 10


@pytest.mark.parametrize("budget", [0, 2, 7, 31, 90])
def test_a_rehearsed_budget_ends_the_run_at_the_same_place_at_every_concurrency(budget):
    def ended(concurrency):
        terms = Terms("run", budget_p=budget, concurrency=concurrency)
        return run(computed(scores(40, 2), cost_p=3), rule=TieAware(-1), terms=terms)

    one, other = ended(1), ended(64)
    assert (one.ending, one.spend) == (other.ending, other.spend)
    assert one.ending.asked == min(budget // 3, 40)
    assert (one.ending.stop.kind is StopKind.BUDGET) == (budget < 120)


def test_what_was_computed_is_kept_when_the_rest_is_abandoned(tmp_path):
    judge = computed([1.0] * 10, delay_s=lambda call: 60 if call.item.id == "item-3" else 0.0)
    interruption = Interruption()

    async def abandon():
        while len(judge.calls) < 9:  # noqa: ASYNC110 - the judge runs in threads
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # until the last reply is on its way to the ledger
        interruption.request()
        interruption.request()

    async def story():
        book, abandoning = open_ledger(tmp_path / "l.sqlite"), asyncio.create_task(abandon())
        try:
            return await drive(
                make_session(10, limits=Limits(10, 10)), make_pool(10), judge, book, Terms("run"),
                interruption=interruption,
            )  # fmt: skip
        finally:
            abandoning.cancel()  # done already, unless the run failed
            await asyncio.gather(abandoning, return_exceptions=True)
            await book.aclose()

    finished = asyncio.run(story())
    assert finished.ending.stop.kind is StopKind.INTERRUPTED
    again = computed([1.0] * 10)
    run(again, items=10, limits=Limits(10, 10), ledger=tmp_path / "l.sqlite")
    assert [call.item.id for call in again.calls] == ["item-3"]


def test_an_error_in_such_a_judge_is_raised_and_the_other_verdicts_are_kept(tmp_path):
    def script(call):
        if call.item.id == "item-3":
            raise ZeroDivisionError
        return Verdict(1.0)

    faulty = Computed(script, order_matters=False)
    with pytest.raises(ZeroDivisionError):
        run(faulty, items=10, limits=Limits(10, 10), ledger=tmp_path / "l.sqlite")
    again = computed([1.0] * 10)
    run(again, items=10, limits=Limits(10, 10), ledger=tmp_path / "l.sqlite")
    assert {"item-3"} <= {call.item.id for call in again.calls}
    assert len(again.calls) == 10 - len(faulty.calls)
