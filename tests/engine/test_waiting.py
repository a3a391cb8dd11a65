"""What a run waits for that other runs of its ledger do: money that they hold back, and a call that
they make as well."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing

import pytest
from support.chat_server import ChatServer, goodness, used, verdict
from support.driving import script_from
from support.patience import PATIENCE_S
from support.pools import make_pool, make_session, scores

from judgeloop.core.money import to_pico
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Reply, Verdict
from judgeloop.engine import state
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.periods import MIDNIGHT
from judgeloop.ledger.postgres import PostgresConnection
from judgeloop.ledger.records import Reservation

pytestmark = pytest.mark.usefixtures("no_task_is_lost")

ITEMS = 8
WORST_P, COST_P = 100, 1
# Both orders of one item at their worst case, and what all calls of three runs cost.
LIMIT_P = 2 * WORST_P + 3 * 2 * ITEMS * COST_P


def wanted(key="held", cost_p=WORST_P):
    return [[Reservation(key, cost_p, item_id="i", judge="j", note={})]]


@pytest.fixture
def opened(address):
    """Open the ledger once more, with a limit for all its runs."""

    def open_one(limit_p=LIMIT_P):
        ledger = open_ledger(address)
        ledger.set_budget("", limit_p, "total", MIDNIGHT)
        return ledger

    return open_one


async def job(ledger, name, *, waits=lambda waited: None, judge=None, **terms):
    """A run from opening its ledger to closing it; `waits` gets what is said meanwhile."""
    judge = judge or ScriptedJudge(
        script_from(scores(ITEMS, seed=1)), cost_p=COST_P, worst_p=WORST_P, model=name, delay_s=lambda call: 0.01
    )
    try:
        with ledger.only_run(name):
            return await drive(
                make_session(ITEMS, limits=Limits(ITEMS, ITEMS, 1.0)),
                make_pool(ITEMS),
                judge,
                ledger,
                Terms(name, **terms),
                observe=lambda progress: waits(progress.waited),
            )
    finally:
        await ledger.aclose()


def test_three_jobs_that_start_together_share_a_limit_that_one_of_them_fills(opened):
    told = []

    async def story():
        return await asyncio.gather(*(job(opened(), name, waits=told.append) for name in "abc"))

    ended = asyncio.run(story())
    assert [len(one.ending.labels) for one in ended] == [ITEMS] * 3
    assert sum(one.spend.charged_p for one in ended) <= LIMIT_P
    assert any("that other runs hold back (" in waited for waited in told)
    assert told[-1] == "", "it says so when the wait is over"


@pytest.mark.parametrize(("deadline_s", "why"), [(None, StopKind.BUDGET), (3600.0, StopKind.DEADLINE)])
def test_a_wait_for_money_has_an_end_that_says_who_holds_how_much(opened, clock, deadline_s, why):
    def waits(waited):
        if waited:
            clock.skip(state.MOST_WAIT_S if deadline_s is None else deadline_s)

    async def story():
        holder = opened()
        with holder.only_run("nightly"):
            await holder.reserve("nightly", wanted(cost_p=WORST_P), None)
            ended = await job(opened(), "mine", waits=waits, deadline_s=deadline_s)
        await holder.aclose()
        return ended.ending.stop

    stop = asyncio.run(story())
    assert stop.kind is why
    assert "s for $0.00000000010 that other runs hold back (nightly $0.0" in stop.sentence


def test_nobody_waits_for_money_that_would_not_be_enough(opened):
    async def story():
        holder = opened(2 * WORST_P)
        with holder.only_run("nightly"):
            ((ticket,),) = await holder.reserve("past", wanted("spent"), None)
            await holder.settle(ticket, Reply(Verdict(1.0), cost_p=WORST_P))
            await holder.reserve("nightly", wanted(cost_p=WORST_P - 1), None)
            held = {"nightly": WORST_P - 1}
            assert await holder.held_back("mine", WORST_P, None) == held
            assert await holder.held_back("mine", WORST_P + 1, None) is None, "the ledger's limit"
            assert await holder.held_back("mine", WORST_P, WORST_P - 1) is None, "its own budget"
        await holder.aclose()

    asyncio.run(story())


def test_of_two_runs_that_hold_money_only_the_earlier_waits_for_the_other(opened):
    async def story():
        one, other = opened(), opened()
        with one.only_run("early"), other.only_run("late"):
            for ledger, run in ((one, "early"), (other, "late")):
                await ledger.reserve(run, wanted(run), None)
            assert await one.held_back("early", LIMIT_P - 2 * WORST_P + 1, None) == {"late": WORST_P}
            assert await other.held_back("late", LIMIT_P - WORST_P, None) is None
            # Who holds nothing keeps nobody waiting.
            assert await other.held_back("free", 1, None) == {"early": WORST_P, "late": WORST_P}
        await one.aclose()
        await other.aclose()

    asyncio.run(story())


def test_what_a_dead_process_never_sent_is_given_back_to_who_needs_it(opened, monkeypatch):
    monkeypatch.setattr(PostgresConnection, "grace_s", 0.0)

    async def story():
        dead, ledger = opened(), opened()
        sent, _ = [(await dead.reserve("dead", wanted(key), None))[0][0] for key in ("sent", "never sent")]
        await dead.sending(sent)
        assert await ledger.held_back("mine", WORST_P, None) == {}
        assert (await ledger.spend("dead", None)).charged_p == WORST_P, "it may be billed"
        assert await ledger.reserve("mine", wanted(), None) != []
        await dead.aclose()
        await ledger.aclose()

    asyncio.run(story())


@pytest.mark.parametrize("answers", [True, False])
def test_a_call_that_another_run_makes_is_waited_for_and_the_run_named(opened, monkeypatch, answers):
    monkeypatch.setattr(state, "MOST_WAIT_S", 1e9 if answers else 0.3)
    told = []

    async def story():
        gate, sent = asyncio.Event(), asyncio.Event()

        class Slow(ScriptedJudge):
            async def judge(self, call):
                sent.set()
                await gate.wait()
                return Reply(self.script(call), cost_p=self.cost_p, model=self.model)

        def judge():
            return Slow(script_from(scores(ITEMS, seed=1)), cost_p=1)

        first = asyncio.create_task(job(opened(), "first", judge=judge(), concurrency=2))
        await sent.wait()

        def tell(progress):
            told.append(progress.waited)
            if answers and "first" in progress.waited:
                gate.set()

        ledger = opened()
        with ledger.only_run("second"):
            second = await drive(
                make_session(ITEMS, limits=Limits(ITEMS, ITEMS, 1.0)),
                make_pool(ITEMS),
                judge(),
                ledger,
                Terms("second", concurrency=1),
                observe=tell,
            )
        gate.set()
        await first
        await ledger.aclose()
        # Each call was made once: what the other made is answered from the ledger.
        spend = second.spend
        assert not answers or spend.attempts + spend.remembered == spend.answers > 0
        return second.ending

    outcome = asyncio.run(story())
    assert any(waited.endswith("s for a call that the run first makes as well") for waited in told)
    if answers:
        assert len(outcome.labels) == ITEMS
        assert told[-1] == ""
    else:
        assert outcome.stop.kind is StopKind.DEADLINE
        assert "the run first makes the same call, and did not end it in time" in (outcome.stop.sentence)


@pytest.mark.processes
def test_three_commands_at_once_all_judge_under_a_limit_that_one_fills(tmp_path):
    for name, good in (("a", 3), ("b", 1)):
        rows = [
            {"item_id": f"i{at}", "prompt": f"p{at}", "output": f"{'good ' * good}{name}{at}"} for at in range(ITEMS)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    # A little more than 16 calls of each of three runs cost, and than two of them may cost.
    with closing(open_ledger(tmp_path / ".judgeloop/ledger.sqlite")) as ledger:
        ledger.set_budget("", to_pico("0.35"), "day", MIDNIGHT)
    server = ChatServer(lambda request, number: verdict(goodness(request), usage=used(request)))
    base = [sys.executable, "-m", "judgeloop", "compare", "a.jsonl", "b.jsonl", "--json"]
    base += ["--judge-base-url", server.url, "--judge-price", "10,10", "--concurrency", "1"]
    environment = os.environ | {"OPENAI_API_KEY": "sk-test", "JUDGELOOP_MIN_JUDGMENTS": str(ITEMS)}
    try:
        children = [
            subprocess.Popen(
                [*base, "--judge", f"openai/{model}"],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for model in ("m1", "m2", "m3")
        ]
        results = [child.communicate(timeout=PATIENCE_S) for child in children]
    finally:
        server.close()
    said = [json.loads(out) for out, _ in results]
    assert [one["judged"] for one in said] == [ITEMS] * 3, [err for _, err in results]
    assert sum(float(one["run_spent_usd"]) for one in said) <= 0.35
