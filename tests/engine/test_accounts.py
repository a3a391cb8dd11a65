"""Which calls may be made with what money: further attempts wait for what others give back, on
events and no clock."""

from __future__ import annotations

import asyncio

import pytest
from support.pools import make_pool

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Order, Verdict
from judgeloop.core.spend import Spend
from judgeloop.engine.accounts import FREE_AHEAD, Accounts
from judgeloop.engine.asks import Planned, asks_for
from judgeloop.engine.state import Interruption, RunState, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.records import Ticket

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_lost", "without_a_clock")]

COST_P = 10


class Purse:
    """A ledger that only reserves; it counts how often it was asked."""

    def __init__(self, left_p=0):
        self.left_p = left_p
        self.asked = 0
        self.after_refusing = lambda: None  # what happens before the refusal is known

    async def held_back(self, run, cost_p, budget_p):
        return None

    async def spend(self, run, budget_p):
        return Spend(budget_p=budget_p)

    async def reserve(self, run, groups, budget_p, **_):
        self.asked += 1
        await asyncio.sleep(0)  # a durable write takes its time
        granted = []
        for group in groups:
            cost_p = sum(wanted.cost_p for wanted in group)
            if cost_p > self.left_p:
                self.after_refusing()
                break
            self.left_p -= cost_p
            granted.append([Ticket(self.asked, wanted.key, wanted.cost_p) for wanted in group])
        return granted


def judge_of():
    return ScriptedJudge(lambda call: Verdict(1.0), cost_p=COST_P)


def accounts_of(purse, *, judges=None, interruption=None, **terms):
    state = RunState(Terms("run", **terms), interruption)
    return Accounts(judges or [judge_of()], purse, state), state


def planned(position, order=Order.FIXED):
    query = make_pool().query(position, (0, 1))
    return Planned(query, asks_for(query, [judge_of()], Terms("run", order=order)))


def ask(position):
    return planned(position).asks[0]


async def turns(count=20):
    """Let every task that can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
async def without_a_clock(anyio_backend, monkeypatch):
    """Fails where anything in the test waits for time to pass."""

    def refuse(*_, **__):
        raise AssertionError("it waits for a clock")

    for name in ("call_at", "call_later"):
        monkeypatch.setattr(asyncio.get_running_loop(), name, refuse)


async def test_another_attempt_is_reserved_once_money_comes_back():
    purse = Purse()
    accounts, state = accounts_of(purse)
    accounts.begins("this")
    accounts.begins("another")
    waiting = asyncio.create_task(accounts.reserve_again(ask(0)))
    await turns()
    assert (waiting.done(), purse.asked) == (False, 1)
    state.changes.notify()  # closed at its worst case: nothing came back
    await turns()
    assert (waiting.done(), purse.asked) == (False, 2)
    purse.left_p = COST_P
    await turns()
    assert purse.asked == 2, "nobody has said so"
    state.changes.notify()
    ticket = await waiting
    assert (ticket.key, purse.asked, purse.left_p) == (ask(0).key, 3, 0)


async def test_what_is_given_back_while_an_attempt_is_being_refused_is_not_missed():
    purse = Purse()
    accounts, state = accounts_of(purse)
    accounts.begins("this")
    accounts.begins("another")

    def give_back():
        purse.left_p = COST_P
        state.changes.notify()

    purse.after_refusing = give_back
    ticket = await accounts.reserve_again(ask(0))
    assert (ticket.key, purse.asked) == (ask(0).key, 2)


@pytest.mark.parametrize("count", [1, 2, 7])
async def test_where_all_calls_in_flight_wait_for_money_all_are_refused_and_none_hangs(count):
    accounts, _ = accounts_of(Purse())

    async def call(number):
        try:
            return await accounts.reserve_again(ask(number))
        finally:
            accounts.ends(str(number))

    for number in range(count):
        accounts.begins(str(number))
    assert await asyncio.gather(*map(call, range(count))) == [None] * count


async def test_an_interruption_ends_the_wait_for_money():
    interruption, purse = Interruption(), Purse()
    accounts, _ = accounts_of(purse, interruption=interruption)
    accounts.begins("this")
    accounts.begins("another")
    waiting = asyncio.create_task(accounts.reserve_again(ask(0)))
    await turns()
    assert not waiting.done()
    interruption.request()
    assert await waiting is None


async def test_a_call_that_is_cancelled_while_it_waits_no_longer_counts_as_waiting():
    purse = Purse()
    accounts, _ = accounts_of(purse)
    for key in ("0", "1"):
        accounts.begins(key)
    gone = asyncio.create_task(accounts.reserve_again(ask(0)))
    await turns()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    waiting = asyncio.create_task(accounts.reserve_again(ask(1)))
    await turns()
    assert not waiting.done(), "the call that was cancelled is in flight until it ends"
    accounts.ends("0")
    assert await waiting is None


def test_a_call_that_is_known_or_belongs_to_a_query_before_is_not_reserved_again():
    first, second = planned(0, Order.BOTH), planned(1, Order.BOTH)
    groups = accounts_of(Purse())[0].wanted([first, first, second], known={second.keys[0]: Verdict(1.0)})
    assert [[wanted.key for wanted in group] for group in groups] == [first.keys, [], second.keys[1:]]


@pytest.mark.parametrize("first", [Verdict(0.5), Verdict(1.0)])
def test_a_second_call_that_is_known_not_to_be_needed_is_not_reserved(first):
    planning = planned(1, Order.BOTH)
    (group,) = accounts_of(Purse())[0].wanted([planning], known={planning.keys[0]: first})
    assert [wanted.key for wanted in group] == ([] if first.preference == 0 else planning.keys[1:])


@pytest.mark.parametrize(("cost_p", "concurrency", "slots"), [(COST_P, 8, 12), (COST_P, 1, 2), (0, 8, FREE_AHEAD)])
def test_half_as_many_calls_again_are_admitted_and_more_where_they_cost_nothing(cost_p, concurrency, slots):
    judges = [ScriptedJudge(lambda call: Verdict(1.0), cost_p=cost_p, order_matters=False)]
    accounts, _ = accounts_of(Purse(), judges=judges, concurrency=concurrency)
    groups = accounts.wanted([planned(0)], {})
    assert accounts.slots == FREE_AHEAD, "what is wanted changes nothing"
    accounts.learn_costs(groups)
    assert accounts.slots == slots


async def test_out_of_money_says_what_the_next_query_needs_at_worst():
    accounts, _ = accounts_of(Purse(), budget_p=5)
    reason = await accounts.out_of_money(planned(0, Order.BOTH))
    assert reason.kind is StopKind.BUDGET
    assert f"of a query, {show_usd(2 * COST_P)}" in reason.sentence
    assert reason.need_p == 2 * COST_P
    accounts.learn_costs(accounts.wanted([planned(1, Order.BOTH)], {}))
    assert (await accounts.out_of_money(planned(0))).need_p == 2 * COST_P, "one that was dearer may come again"
