"""What every ledger promises (`ledger/ledger.py`)."""

from __future__ import annotations

import asyncio

import pytest

from judgeloop.core.errors import LedgerError
from judgeloop.core.records import Abstention, Reply, Usage, Verdict
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import End, Reservation

pytestmark = [pytest.mark.smoke, pytest.mark.anyio]

RUN = "a run"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def ledger(address):
    ledger = open_ledger(address)
    yield ledger
    await ledger.aclose()


def wanted(key="k", cost_p=10, *, rehearsed=False):
    return Reservation(key, cost_p, item_id="i", judge="j", note={}, rehearsed=rehearsed)


async def one(ledger, key="k", cost_p=10, budget_p=None, **more):
    granted = await ledger.reserve(RUN, [[wanted(key, cost_p, **more)]], budget_p)
    return granted[0][0] if granted else None


async def charged(ledger, budget_p=None):
    return (await ledger.spend(RUN, budget_p)).charged_p


async def test_a_settled_verdict_is_held_and_costs_what_it_cost(ledger):
    ticket = await one(ledger, cost_p=10)
    assert (await ledger.spend(RUN, None)).charged_p == 10, "reserved at the worst case"
    verdict = await ledger.settle(ticket, Reply(Verdict(1.0, "why"), cost_p=3, usage=Usage(5, 2)))
    assert verdict == Verdict(1.0, "why")
    assert await ledger.verdicts(["k", "other"]) == {"k": Verdict(1.0, "why")}
    assert await charged(ledger) == 3


async def test_what_answers_cost_counts_replies_of_any_run_and_no_attempt_that_failed(ledger):
    (granted,) = await ledger.reserve("another run", [[wanted("k")]], None)
    await ledger.settle(granted[0], Reply(Verdict(1.0), cost_p=3, usage=Usage(5, 2)))
    await ledger.settle(await one(ledger, "l"), Reply(Verdict(0.0), cost_p=4, usage=Usage(5, 2)))
    lost = await one(ledger, "m")
    await ledger.sending(lost)
    spend = await ledger.spend(RUN, None, {"k", "l", "m", "unknown"})
    assert (spend.answers_p, spend.answers) == (7, 2)
    assert (await ledger.spend(RUN, None)).answers_p == 0


async def test_a_reply_that_does_not_say_its_cost_is_charged_at_its_worst_case(ledger):
    await ledger.settle(await one(ledger), Reply(Verdict(0.0), cost_p=None))
    assert await charged(ledger) == 10


async def test_an_abstention_is_charged_and_never_held(ledger):
    assert await ledger.settle(await one(ledger), Reply(Abstention("refused"), cost_p=4)) is None
    assert await ledger.verdicts(["k"]) == {}
    assert await charged(ledger) == 4


async def test_a_released_attempt_costs_nothing(ledger):
    await ledger.release(await one(ledger), End.UNSENT, "never left")
    assert await charged(ledger) == 0


async def test_an_abandoned_attempt_stays_charged_at_its_worst_case(ledger):
    await ledger.abandon(await one(ledger), End.TIMED_OUT, "timed out")
    assert await charged(ledger) == 10


@pytest.mark.parametrize("way", ["settle", "release", "abandon"])
async def test_an_attempt_closes_once(ledger, way):
    ticket = await one(ledger)
    await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=3))
    how = [Reply(Verdict(1.0), cost_p=1)] if way == "settle" else [End.FAILED, "again"]
    with pytest.raises(LedgerError, match="not open"):
        await getattr(ledger, way)(ticket, *how)
    assert await charged(ledger) == 3


@pytest.mark.parametrize("way", ["release", "abandon"])
async def test_a_reply_counts_although_its_attempt_was_closed_meanwhile(ledger, way):
    closed, other = await one(ledger, "a"), await one(ledger, "b")
    await getattr(ledger, way)(closed, End.LOST, "taken for dead")
    reply = Reply(Verdict(1.0), cost_p=3)
    held = await ledger.settle_all([(closed, reply), (other, reply)])
    assert held == [Verdict(1.0), Verdict(1.0)]
    assert (await ledger.verdicts(["a"])) == {"a": Verdict(1.0)}
    assert await charged(ledger) == 6


async def test_the_budget_admits_up_to_the_last_picodollar_and_not_one_more(ledger):
    assert await one(ledger, "a", 60, budget_p=100)
    assert await one(ledger, "b", 41, budget_p=100) is None
    assert await one(ledger, "c", 40, budget_p=100)
    assert await one(ledger, "d", 1, budget_p=100) is None
    assert await one(ledger, "e", 0, budget_p=100)
    assert await charged(ledger, 100) == 100


async def test_groups_are_reserved_whole_and_in_order(ledger):
    groups = [[wanted("a", 30), wanted("b", 30)], [wanted("c", 30), wanted("d", 30)], [wanted("e", 1)]]
    granted = await ledger.reserve(RUN, groups, 100)
    assert [[ticket.key for ticket in group] for group in granted] == [["a", "b"]]
    assert await charged(ledger, 100) == 60


async def test_each_ticket_is_that_of_its_own_call_however_many_are_reserved_at_once(ledger):
    keys = [f"{place * 7919 % 600:03d}" for place in range(600)]  # in no order that a store would choose
    [tickets] = await ledger.reserve(RUN, [[wanted(key, cost_p) for cost_p, key in enumerate(keys, 1)]], None)
    await asyncio.gather(*map(ledger.sending, tickets))
    replies = [Reply(Verdict(1.0, ticket.key), cost_p=0) for ticket in tickets]
    await ledger.settle_all(list(zip(tickets, replies, strict=True)))
    held = await ledger.verdicts(keys)
    assert {key: verdict.reason for key, verdict in held.items()} == {key: key for key in keys}


async def test_a_group_without_calls_needs_no_money_even_when_more_than_all_is_spent(ledger):
    await one(ledger, "a", 60)
    assert await ledger.reserve(RUN, [[], []], 50) == [[], []]


async def test_each_run_has_its_own_budget(ledger):
    assert await one(ledger, "a", 100, budget_p=100)
    assert await ledger.reserve("another run", [[wanted("b", 100)]], 100)


async def test_the_first_verdict_under_a_key_stays(ledger):
    first, second = await one(ledger), await one(ledger)
    await ledger.settle(first, Reply(Verdict(1.0, "first"), cost_p=1))
    held = await ledger.settle(second, Reply(Verdict(0.0, "second"), cost_p=1))
    assert held == Verdict(1.0, "first")
    assert await charged(ledger) == 2


async def test_rehearsed_cost_counts_against_the_budget_and_is_not_money_spent(ledger):
    ticket = await one(ledger, cost_p=7, rehearsed=True)
    await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=7))
    spend = await ledger.spend(RUN, 10)
    assert (spend.now_p, spend.run_p, spend.rehearsed_p, spend.charged_p) == (0, 0, 7, 7)
    assert await one(ledger, "b", 4, budget_p=10) is None


async def test_many_bookings_at_once_never_exceed_the_budget(ledger):
    tickets = await asyncio.gather(*(one(ledger, f"k{i}", 7, budget_p=100) for i in range(50)))
    assert sum(ticket is not None for ticket in tickets) == 14
    assert await charged(ledger) == 98


async def test_a_booking_is_carried_out_even_if_its_caller_is_cancelled(ledger):
    ticket = await one(ledger)
    booking = asyncio.create_task(ledger.settle(ticket, Reply(Verdict(1.0), cost_p=2)))
    await asyncio.sleep(0)
    booking.cancel()
    await asyncio.gather(booking, return_exceptions=True)
    assert await charged(ledger) == 2


async def test_more_keys_than_one_lookup_takes(ledger):
    tickets = await ledger.reserve(RUN, [[wanted(f"k{i}", 0)] for i in range(1200)], None)
    await asyncio.gather(*(ledger.settle(t[0], Reply(Verdict(0.5), cost_p=0)) for t in tickets))
    assert len(await ledger.verdicts([f"k{i}" for i in range(1200)])) == 1200


async def test_a_closed_ledger_refuses_work(tmp_path):
    ledger = open_ledger(tmp_path / "l.sqlite")
    await ledger.aclose()
    await ledger.aclose()
    with pytest.raises(LedgerError, match="closed"):
        await ledger.verdicts(["k"])
